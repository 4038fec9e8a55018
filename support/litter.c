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
#include <sys/syscall.h>
#include <unistd.h>

enum { DEPTH = 4, ROOM = 4096 };

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

/* Calls fn for each name in a folder but dots. Takes no memory, other than readdir. */
static void each_name(int folder, void (*fn)(void *user, int folder, const char *name),
                      void *user) {
  _Alignas(struct dirent64) char room[ROOM];
  for (ssize_t n; (n = syscall(SYS_getdents64, folder, room, sizeof room)) > 0;) {
    size_t next = 0;
    for (size_t at = 0; at < (size_t)n; at = next) {
      const struct dirent64 *e = (const void *)(room + at);
      next = at + e->d_reclen;
      if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
        fn(user, folder, e->d_name);
    }
  }
}

/* Paths of which the first one names the folder. */
typedef struct looked_for {
  const char *const *paths;
  size_t first, n;
} looked_for;

static void remove_litter(void *user, int folder, const char *name) {
  const looked_for *l = user;
  size_t length = folder_length(l->paths[l->first]);
  bool litter = false;
  for (size_t i = l->first; name[0] == '.' && !litter && i < l->n; i++)
    litter = l->paths[i] && same_folder(l->paths[i], l->paths[l->first]) &&
             tl_is_litter(name, l->paths[i] + length);
  if (litter)
    (void)unlinkat(folder, name, 0);
}

/* Looks at the folder of paths[first] for litter of all paths in it. */
static void clean_folder(const char *const *paths, size_t first, size_t n) {
  looked_for l = {paths, first, n};
  size_t length = folder_length(paths[first]);
  char folder[PATH_MAX] = ".";
  if (length >= sizeof folder)
    return;
  if (length) {
    memcpy(folder, paths[first], length);
    folder[length] = '\0';
  }
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  each_name(fd, remove_litter, &l);
  close(fd);
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

/* ---- folders --------------------------------------------------------------------------------- */

static bool erase_at(int parent, const char *path, int depth);

static void erase_one(void *user, int folder, const char *name) {
  int depth = *(const int *)user;
  if (unlinkat(folder, name, 0) != 0)
    (void)erase_at(folder, name, depth - 1);
}

static bool erase_at(int parent, const char *path, int depth) {
  int fd = depth ? openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (fd >= 0) {
    each_name(fd, erase_one, &depth);
    close(fd);
  }
  return unlinkat(parent, path, AT_REMOVEDIR) == 0;
}

bool tl_folder_erase(const char *path) { return erase_at(AT_FDCWD, path, DEPTH); }
