/* SPDX-License-Identifier: Apache-2.0 */
/* Implements reading what a device recorded. */
#include "tools/verify/dumps.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "frontend/npy/npy.h"
#include "support/hash.h"

enum { MOST_DEPTH = 8, MOST_FILES = 1 << 20 };

TL_VEC(path_vec, const char *);

/* State of reading a folder. Paths are in the arena of the settings: messages name files. */
typedef struct reader {
  tl_evaluation *e;
  tl_twins *t;
  tl_dumps *found;
  path_vec paths;
  tl_map results; /* value of b by hash of the spelled name and index of a result */
  tl_sv shapes;   /* the list for .bin files; "" without one */
} reader;

static tl_status no_memory(const reader *r) { return tl_fail_memory(&r->e->cli->diag, TL_NOWHERE); }

/* ---- names ----------------------------------------------------------------------------------- */

/* Hashes a name as GE spells it in the name of a file, with the index of a result. */
static uint64_t key_of(tl_sv name, uint64_t index) {
  uint64_t h = index + 1;
  for (size_t i = 0; i < name.n; i++) {
    char c = name.p[i];
    h = tl_hash_mix(h, (uint64_t)(unsigned char)(c && strchr("/\\. ", c) ? '_' : c));
  }
  return h;
}

/* Cuts the last part behind a '.' from a text; "" if there is none. */
static tl_sv cut_last(tl_sv *text) {
  for (size_t i = text->n; i > 0; i--)
    if (text->p[i - 1] == '.') {
      tl_sv last = {text->p + i, text->n - i};
      text->n = i - 1;
      return last;
    }
  return (tl_sv){"", 0};
}

static bool is_number(tl_sv s) {
  uint64_t v;
  return s.n && s.p[0] >= '0' && s.p[0] <= '9' && tl_parse_u64(s, &v);
}

/* Splits TYPE.NODE.TASK[.STREAM].TIME.output.INDEX[.FORMAT].SUFFIX. False for other names, and for
 * files of inputs. */
static bool split(tl_sv file, tl_sv *node, uint64_t *index) {
  tl_sv at = file;
  cut_last(&at); /* the suffix */
  tl_sv last = cut_last(&at);
  if (!is_number(last))
    last = cut_last(&at); /* it was the format */
  if (!tl_parse_u64(last, index) || !tl_sv_is(cut_last(&at), "output"))
    return false;
  for (int i = 0; i < 3; i++) { /* task, stream, time; older files have no stream */
    tl_sv rest = at;
    if (!is_number(cut_last(&rest)))
      break;
    at = rest;
  }
  const char *dot = at.n ? memchr(at.p, '.', at.n) : NULL;
  if (!dot)
    return false;
  *node = (tl_sv){dot + 1, at.n - (size_t)(dot + 1 - at.p)};
  return node->n > 0;
}

/* Enters the results of b under the names of their nodes. */
static tl_status enter_results(reader *r) {
  const tl_kin *kin = r->t->kin;
  tl_module *b = r->t->b;
  for (tl_value_id v = 1; v < tl_module_value_end(b); v++) {
    const tl_kin_row *row = tl_value_get(b, v)->kind == TL_VALUE_RESULT ? tl_kin_of(kin, b, v)
                                                                        : NULL;
    if (row && !tl_map_set(&r->results, key_of(tl_sym(b, row->node), row->result), v))
      return no_memory(r);
  }
  return TL_OK;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static const char *join(reader *r, const char *folder, const char *name) {
  tl_buf b;
  tl_buf_init(&b);
  tl_buf_printf(&b, "%s/%s", folder, name);
  const char *path = b.failed ? NULL : tl_arena_copy(&r->e->cli->settings.arena, b.p, b.n);
  tl_buf_release(&b);
  return path;
}

static bool is_dump(const char *path) {
  tl_sv s = tl_sv_from(path);
  return tl_sv_ends_with(s, ".npy") || tl_sv_ends_with(s, ".bin");
}

static tl_status list(reader *r, const char *folder, int depth);

static tl_status add_entry(reader *r, const char *folder, const char *name, int depth) {
  struct stat s;
  const char *path = join(r, folder, name);
  if (!path)
    return no_memory(r);
  if (name[0] == '.')
    return TL_OK;
  if (stat(path, &s) != 0)
    return errno == ENOENT || errno == ELOOP
               ? TL_OK
               : tl_fail(&r->e->cli->diag, TL_IO, TL_AT_FILE(path), "cannot examine the file: %s",
                         strerror(errno));
  if (S_ISDIR(s.st_mode) && depth < MOST_DEPTH)
    return list(r, path, depth + 1);
  if (!S_ISREG(s.st_mode) || !is_dump(path))
    return TL_OK;
  if (r->paths.n == MOST_FILES)
    return tl_fail(&r->e->cli->diag, TL_LIMIT, TL_AT_FILE(folder),
                   "more than %d files\vname the folder of one step", MOST_FILES);
  return path_vec_push(&r->paths, path) ? TL_OK : no_memory(r);
}

/* Lists the files of a folder and of the folders in it. */
static tl_status list(reader *r, const char *folder, int depth) {
  DIR *d = opendir(folder);
  tl_status status = TL_OK;
  if (!d)
    return tl_fail(&r->e->cli->diag, TL_IO, TL_AT_FILE(folder), "cannot open the folder: %s",
                   strerror(errno));
  int error = 0;
  for (struct dirent *entry; status == TL_OK && (entry = tl_folder_next(d, &error));)
    status = add_entry(r, folder, entry->d_name, depth);
  closedir(d);
  return error ? tl_fail(&r->e->cli->diag, TL_IO, TL_AT_FILE(folder), "cannot read the folder: %s",
                         strerror(error))
               : status;
}

static int by_path(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ---- files without a type -------------------------------------------------------------------- */

static tl_sv file_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return tl_sv_from(slash ? slash + 1 : path);
}

/* Reads "f16[1,64]". */
static bool read_type(tl_sv text, tl_dtype *dtype, int64_t *dims, int *rank) {
  const char *open = text.n ? memchr(text.p, '[', text.n) : NULL;
  *rank = 0;
  if (!open || text.p[text.n - 1] != ']')
    return false;
  *dtype = tl_dtype_from_name((tl_sv){text.p, (size_t)(open - text.p)});
  tl_sv rest = {open + 1, text.n - (size_t)(open + 2 - text.p)};
  while (rest.n && *rank < TL_MAX_RANK) {
    tl_sv item = tl_sv_trim(tl_sv_split(&rest, ','));
    if (!tl_parse_i64(item, &dims[*rank]) || dims[*rank] < 0)
      return false;
    ++*rank;
  }
  return tl_dtype_has_numbers(*dtype) && rest.n == 0;
}

/* Finds the type of a .bin file in the list: lines "FILE TYPE". False: it is not listed, or the
 * line is malformed, which is reported. */
static tl_status find_listed(const reader *r, const char *path, tl_dtype *dtype, int64_t *dims,
                             int *rank) {
  tl_sv rest = r->shapes, file = file_of(path);
  *dtype = TL_DTYPE_NONE;
  while (rest.n) {
    tl_sv line = tl_sv_trim(tl_sv_split(&rest, '\n'));
    if (line.n <= file.n || memcmp(line.p, file.p, file.n) != 0 || line.p[file.n] != ' ')
      continue;
    tl_sv type = tl_sv_trim((tl_sv){line.p + file.n, line.n - file.n});
    if (!read_type(type, dtype, dims, rank))
      return tl_fail(&r->e->cli->diag, TL_INVALID_MODEL,
                     TL_AT_FILE(tl_cli_get(r->e->cli, TL_OPTION_DUMP_SHAPES)),
                     "'%.*s' is not the type of a tensor\vwrite FILE.bin f16[1,64]",
                     TL_SV_ARG(tl_sv_shown(type)));
    return TL_OK;
  }
  return TL_OK;
}

/* Takes the type that the model has for the value. */
static bool take_declared(const reader *r, tl_value_id v, tl_dtype *dtype, int64_t *dims,
                          int *rank) {
  const tl_type *t = tl_type_get(r->t->b, tl_value_type(r->t->b, v));
  if (t->kind != TL_KIND_TENSOR || t->rank < 0 || !tl_dtype_has_numbers((tl_dtype)t->dtype))
    return false;
  *dtype = (tl_dtype)t->dtype;
  *rank = t->rank;
  for (int i = 0; i < t->rank; i++) {
    if (!tl_dim_is_static(t->dims[i]))
      return false;
    dims[i] = t->dims[i];
  }
  return *dtype != TL_DTYPE_NONE;
}

/* Reads the bytes of a file as a tensor of a type. */
static tl_status load_bytes(const reader *r, const char *path, tl_host *to) {
  tl_file *file;
  TL_TRY(tl_file_open(&r->e->cli->diag, path, TL_FILE_MAP, &file));
  tl_status status = TL_OK;
  if (file->size != to->bytes)
    status = tl_fail(&r->e->cli->diag, TL_INVALID_MODEL, TL_AT_FILE(path),
                     "has %llu bytes, its type needs %llu\v--dump-shapes=FILE says the types of "
                     ".bin files: lines 'FILE.bin f16[1,64]'",
                     (unsigned long long)file->size, (unsigned long long)to->bytes);
  else if (to->bytes)
    memcpy(to->data, file->data, (size_t)to->bytes);
  if (status == TL_OK)
    tl_order_turn((tl_dtype)to->dtype, to->data, to->bytes);
  tl_file_close(file);
  return status;
}

static tl_status load_bin(const reader *r, const char *path, tl_value_id v, tl_host **out) {
  int64_t dims[TL_MAX_RANK];
  tl_dtype dtype;
  int rank;
  TL_TRY(find_listed(r, path, &dtype, dims, &rank));
  if (dtype == TL_DTYPE_NONE && !take_declared(r, v, &dtype, dims, &rank))
    return tl_fail(
        &r->e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
        "its shape is not known, since the model leaves it open\v--dump-shapes=FILE says "
        "the types of .bin files: lines 'FILE.bin f16[1,64]'");
  tl_host *value = tl_host_new(&r->e->heap, dtype, rank, dims);
  if (!value)
    return tl_fail(&r->e->cli->diag, TL_LIMIT, TL_AT_FILE(path), "does not fit into memory");
  tl_status status = load_bytes(r, path, value);
  if (status == TL_OK)
    *out = value;
  else
    tl_host_release(value);
  return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

static tl_status read_file(reader *r, const char *path) {
  tl_sv node;
  uint64_t index;
  uint32_t v;
  if (!split(file_of(path), &node, &index) || !tl_map_find(&r->results, key_of(node, index), &v)) {
    r->found->foreign++;
    return TL_OK;
  }
  tl_host **slot = &r->t->given[v];
  if (*slot) {
    r->found->again++;
    return TL_OK;
  }
  r->found->used++;
  return tl_sv_ends_with(tl_sv_from(path), ".npy")
             ? tl_npy_load(r->e->store, path, &r->e->heap, slot)
             : load_bin(r, path, v, slot);
}

static tl_status read_all(reader *r, const char *folder) {
  TL_TRY(enter_results(r));
  TL_TRY(list(r, folder, 0));
  if (r->paths.n)
    qsort(r->paths.at, r->paths.n, sizeof *r->paths.at, by_path);
  for (uint32_t i = 0; i < r->paths.n; i++)
    TL_TRY(read_file(r, r->paths.at[i]));
  if (r->found->used == 0)
    return tl_fail(&r->e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(folder),
                   "no file is a result of the model (%u .npy and .bin files were looked at)\v"
                   "files are called TYPE.NODE.TASK.STREAM.TIME.output.INDEX.npy; the second model "
                   "has to be what the device ran: the AIR file, or --npu",
                   r->paths.n);
  return TL_OK;
}

/* Reads the list of --dump-shapes. */
static tl_status open_shapes(reader *r, tl_file **file) {
  const tl_cli *cli = r->e->cli;
  if (!tl_cli_has(cli, TL_OPTION_DUMP_SHAPES))
    return TL_OK;
  TL_TRY(
      tl_file_open(&r->e->cli->diag, tl_cli_get(cli, TL_OPTION_DUMP_SHAPES), TL_FILE_READ, file));
  r->shapes = (tl_sv){(const char *)(*file)->data, (size_t)(*file)->size};
  return TL_OK;
}

tl_status tl_dumps_read(tl_evaluation *e, tl_twins *t, tl_dumps *out) {
  reader r = {.e = e, .t = t, .found = out};
  tl_file *shapes = NULL;
  *out = (tl_dumps){0};
  t->given = calloc(tl_module_value_end(t->b), sizeof *t->given);
  tl_status status = t->given ? open_shapes(&r, &shapes) : no_memory(&r);
  if (status == TL_OK)
    status = read_all(&r, tl_cli_get(e->cli, TL_OPTION_DUMPS));
  if (shapes)
    tl_file_close(shapes);
  tl_map_release(&r.results);
  path_vec_release(&r.paths);
  return status;
}
