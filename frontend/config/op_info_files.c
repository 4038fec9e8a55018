/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files that --op-info stands for, and reads them in order. */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "frontend/config/config_file.h"
#include "frontend/config/op_info.h"
#include "frontend/config/values.h"

enum {
  MAX_FILE_BYTES = 64 << 20, /* the whole library of a chip has about 5 MB */
  MAX_DEPTH = 16,            /* of folders: the libraries are 9 deep */
  MAX_ENTRIES = 1 << 18      /* looked at below one folder; an installation has 100,000 */
};

TL_VEC(path_vec, char *);

/* A folder on the way down from the root, known by device and inode. A folder that is on the way
 * already is not entered again: links can make circles. */
typedef struct level {
  const struct level *above;
  dev_t device;
  ino_t inode;
  int depth;
} level;

/* State of one search below a folder. */
typedef struct finder {
  tl_diag *diag;
  tl_arena *arena;
  const char *root;
  tl_buf prefix;  /* "aic-ascend910b-ops-info" */
  path_vec found; /* arena texts */
  uint32_t entries;
  char other[64]; /* first name of a file for another chip, "" while none was seen */
} finder;

/* Adds the beginning of the file names of a chip family, which has its name in lower case. */
static void add_prefix(tl_buf *out, const tl_soc *chip) {
  tl_buf_add_z(out, "aic-");
  for (const char *c = chip->name; *c; c++)
    tl_buf_add_char(out, *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c);
  tl_buf_add_z(out, "-ops-info");
}

/* Returns true for a file of this chip family. Otherwise keeps the least name of a file for another
 * family, for the message if no file is found. */
static bool is_wanted(finder *f, const char *name) {
  tl_sv file = tl_sv_from(name);
  if (!tl_sv_starts_with(file, "aic-") || !tl_sv_ends_with(file, ".json") ||
      !strstr(name, "-ops-info"))
    return false;
  if (tl_sv_starts_with(file, f->prefix.p))
    return true;
  if (file.n < sizeof f->other && (!f->other[0] || strcmp(name, f->other) < 0))
    memcpy(f->other, name, file.n + 1);
  return false;
}

static tl_status visit(finder *f, const char *folder, const struct stat *st, const level *above);

/* Follows one entry of a folder: enters folders, adds wanted files. stat follows links, because
 * installations have many. */
static tl_status visit_entry(finder *f, const char *folder, const char *name, const level *here) {
  struct stat st;
  tl_buf path;
  tl_buf_init(&path);
  tl_buf_printf(&path, "%s/%s", folder, name);
  char *copy = path.failed ? NULL : tl_arena_copy(f->arena, path.p, path.n);
  tl_buf_release(&path);
  if (!copy)
    return tl_fail_memory(f->diag, TL_AT_FILE(f->root));
  if (stat(copy, &st) != 0) /* ENOENT: a link to nowhere */
    return errno == ENOENT || errno == ELOOP
               ? TL_OK
               : tl_fail(f->diag, TL_IO, TL_AT_FILE(copy), "cannot examine the file: %s",
                         strerror(errno));
  if (S_ISDIR(st.st_mode))
    return visit(f, copy, &st, here);
  if (S_ISREG(st.st_mode) && is_wanted(f, name) && !path_vec_push(&f->found, copy))
    return tl_fail_memory(f->diag, TL_AT_FILE(f->root));
  return TL_OK;
}

/* Returns true for a regular file that cannot be wanted, which saves a call of stat. */
static bool is_other(const struct dirent *e) {
  return e->d_type == DT_REG && strncmp(e->d_name, "aic-", 4) != 0;
}

/* Adds the wanted files below a folder. Depth and number of entries have upper bounds, so a wrong
 * path, such as '/', ends in a message. */
static tl_status visit(finder *f, const char *folder, const struct stat *st, const level *above) {
  level here = {above, st->st_dev, st->st_ino, above ? above->depth + 1 : 0};
  if (here.depth > MAX_DEPTH)
    return TL_OK;
  for (const level *l = above; l; l = l->above) {
    if (l->device == here.device && l->inode == here.inode)
      return TL_OK;
  }
  DIR *dir = opendir(folder);
  tl_status status = TL_OK;
  if (!dir)
    return tl_fail(f->diag, TL_IO, TL_AT_FILE(folder), "cannot read the folder: %s",
                   strerror(errno));
  tl_diag_opened(f->diag, folder, NULL); /* a new file in it counts */
  int error = 0;
  for (const struct dirent *e; status == TL_OK && (e = tl_folder_next(dir, &error));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || is_other(e))
      continue;
    if (++f->entries > MAX_ENTRIES)
      status = tl_fail(f->diag, TL_LIMIT, TL_AT_FILE(f->root),
                       "more than %d files below this folder\vname the folder config of the "
                       "operator library",
                       MAX_ENTRIES);
    else
      status = visit_entry(f, folder, e->d_name, &here);
  }
  closedir(dir);
  return error ? tl_fail(f->diag, TL_IO, TL_AT_FILE(folder), "cannot read the folder: %s",
                         strerror(error))
               : status;
}

/* Orders built-in libraries before custom ones, so that custom ops replace built-in ones; then by
 * path, since readdir has no order. */
static int by_path(const void *a, const void *b) {
  const char *x = *(char *const *)a;
  const char *y = *(char *const *)b;
  bool own_x = strstr(x, "/built-in/") == NULL;
  bool own_y = strstr(y, "/built-in/") == NULL;
  return own_x != own_y ? (own_x ? 1 : -1) : strcmp(x, y);
}

static tl_status read_file(tl_diag *d, tl_location where, const char *path,
                           tl_op_info_draft *draft) {
  static const tl_config_kind kind = {"op information", NULL, NULL, false, MAX_FILE_BYTES};
  tl_file *f;
  TL_TRY(tl_config_open(d, where, path, &kind, &f));
  tl_status status =
      tl_read_op_info_text(d, path, (tl_sv){(const char *)f->data, (size_t)f->size}, draft);
  tl_file_close(f);
  return status;
}

/* Reads all wanted files below a folder, in the order of by_path. */
static tl_status read_folder(finder *f, tl_location where, const struct stat *st,
                             tl_op_info_draft *draft) {
  TL_TRY(visit(f, f->root, st, NULL));
  if (f->found.n == 0)
    return tl_fail(f->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(f->root),
                   "no file %s*.json below this folder\v%s%s", f->prefix.p,
                   f->other[0] ? "it has operator information of another chip, such as "
                               : "name the op_impl folder of CANN, or a file",
                   f->other);
  qsort(f->found.at, f->found.n, sizeof *f->found.at, by_path);
  for (uint32_t i = 0; i < f->found.n; i++)
    TL_TRY(read_file(f->diag, where, f->found.at[i], draft));
  return TL_OK;
}

/* Reads one path of the option, a folder or a file. */
static tl_status read_path(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                           const tl_soc *chip, tl_op_info_draft *draft) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
    return read_file(d, where, path, draft);
  finder f = {.diag = d, .arena = a, .root = path};
  tl_buf_init(&f.prefix);
  add_prefix(&f.prefix, chip);
  tl_status status = f.prefix.failed ? tl_fail_memory(f.diag, TL_AT_FILE(f.root))
                                     : read_folder(&f, where, &st, draft);
  path_vec_release(&f.found);
  tl_buf_release(&f.prefix);
  return status;
}

tl_status tl_read_op_info(tl_diag *d, tl_arena *a, tl_location where, tl_sv paths, tl_options *o) {
  const tl_soc *chip = tl_options_chip(o);
  tl_op_info_draft draft;
  tl_op_info_draft_init(&draft, tl_op_info_builtin(chip->table));
  tl_status status = TL_OK;
  for (tl_sv rest = paths; rest.p && status == TL_OK;) {
    tl_sv path = tl_sv_split(&rest, '\n');
    const char *name = tl_arena_copy(a, path.n ? path.p : "", path.n);
    status = !name ? tl_fail_memory(d, where) : read_path(d, a, where, name, chip, &draft);
  }
  if (status == TL_OK)
    status = tl_op_info_draft_finish(&draft, d, a, "--op-info", &o->op_info);
  tl_op_info_draft_release(&draft);
  return status;
}
