/* SPDX-License-Identifier: Apache-2.0 */
/* --rules: reads the files; what is in them, passes/rule_parse.c says. */
#include <errno.h>
#include <sys/stat.h>

#include "frontend/config/values.h"
#include "support/file.h"

enum { MAX_BYTES = 4 << 20 };

static tl_status check_file(tl_diag *d, const char *path) {
  struct stat st;
  if (stat(path, &st) != 0)
    return tl_fail(d, TL_IO, TL_AT_FILE(path), "cannot open the rules: %s", strerror(errno));
  if (!S_ISREG(st.st_mode))
    return tl_fail(d, TL_IO, TL_AT_FILE(path), "cannot read the rules: it is %s",
                   S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
  if (st.st_size > MAX_BYTES)
    return tl_fail(d, TL_LIMIT, TL_AT_FILE(path),
                   "cannot read the rules: the file has %lld bytes, more than %d",
                   (long long)st.st_size, MAX_BYTES);
  return TL_OK;
}

static tl_status read_file(tl_diag *d, tl_arena *a, const char *path, tl_rule_file *out) {
  tl_file *f;
  TL_TRY(check_file(d, path));
  TL_TRY(tl_file_open(d, path, TL_FILE_READ, &f));
  const char *text = tl_arena_copy(a, f->size ? (const char *)f->data : "", (size_t)f->size);
  *out = (tl_rule_file){path, {text, (size_t)f->size}};
  tl_file_close(f);
  return text ? TL_OK : tl_fail(d, TL_NO_MEMORY, TL_AT_FILE(path), "out of memory");
}

tl_status tl_read_rule_files(tl_diag *d, tl_arena *a, tl_sv paths, tl_options *o) {
  uint32_t n = 1;
  for (size_t i = 0; i < paths.n; i++)
    n += paths.p[i] == '\n';
  tl_rule_file *files = tl_arena_calloc(a, n, sizeof *files);
  if (!files)
    return tl_fail(d, TL_NO_MEMORY, (tl_location){0}, "out of memory");
  o->rule_files = files;
  o->n_rule_files = 0;
  for (tl_sv rest = paths; rest.p;) {
    tl_sv path = tl_sv_split(&rest, '\n');
    const char *name = path.n ? tl_arena_copy(a, path.p, path.n) : NULL;
    if (path.n == 0)
      continue;
    if (!name)
      return tl_fail(d, TL_NO_MEMORY, (tl_location){0}, "out of memory");
    TL_TRY(read_file(d, a, name, &files[o->n_rule_files]));
    o->n_rule_files++;
  }
  return TL_OK;
}
