/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what killed processes have left (litter.h). */
#include "support/litter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads digits; NULL if there are none, or too many for a number of a process. */
static const char *digits(const char *p, long *out) {
  char *end;
  if (*p < '0' || *p > '9')
    return NULL;
  errno = 0;
  *out = strtol(p, &end, 10);
  return errno || *out > INT32_MAX ? NULL : end;
}

static bool runs(long pid) { return kill((pid_t)pid, 0) == 0 || errno != ESRCH; }

bool tl_is_litter(const char *entry, const char *name) {
  size_t n = strnlen(name, TL_LITTER_NAME);
  long pid, number;
  if (entry[0] != '.' || strncmp(entry + 1, name, n) != 0 || entry[n + 1] != '.')
    return false;
  const char *p = digits(entry + n + 2, &pid);
  p = p && *p == '-' ? digits(p + 1, &number) : NULL;
  return p && (strcmp(p, ".tmp") == 0 || strcmp(p, ".old") == 0) && pid > 0 && !runs(pid);
}

static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool same_folder(const char *a, const char *b) {
  size_t n = folder_length(a);
  return n == folder_length(b) && memcmp(a, b, n) == 0;
}

/* Looks at the folder of paths[first] for litter of all paths in it. */
static void clean_folder(const char *const *paths, size_t first, size_t n) {
  size_t length = folder_length(paths[first]);
  char folder[PATH_MAX] = ".";
  if (length >= sizeof folder)
    return;
  if (length) {
    memcpy(folder, paths[first], length);
    folder[length] = '\0';
  }
  DIR *d = opendir(folder);
  if (!d)
    return;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    bool litter = false;
    for (size_t i = first; e->d_name[0] == '.' && !litter && i < n; i++)
      litter = paths[i] && same_folder(paths[i], paths[first]) &&
               tl_is_litter(e->d_name, paths[i] + length);
    if (litter)
      (void)unlinkat(dirfd(d), e->d_name, 0);
  }
  closedir(d);
}

void tl_litter_remove(const char *const *paths, size_t n) {
  for (size_t i = 0; i < n; i++) {
    bool seen = !paths[i];
    for (size_t k = 0; k < i && !seen; k++)
      seen = paths[k] && same_folder(paths[k], paths[i]);
    if (!seen)
      clean_folder(paths, i, n);
  }
}
