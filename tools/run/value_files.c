/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values into folders, with file names that no two tensors share. */
#include "tools/run/value_files.h"

#include "backend/value/value.h"

/* Bytes of a tensor's name that a file name keeps; file systems allow 255 with suffixes. */
enum { LONGEST_NAME = 120 };

void tl_value_files_init(tl_value_files *f, tl_cli *cli) {
  *f = (tl_value_files){.cli = cli, .changes = &cli->changes};
  tl_arena_init(&f->arena, 0);
}

void tl_value_files_release(tl_value_files *f) {
  if (f->has_names)
    tl_symtab_release(&f->taken);
  tl_map_release(&f->uses);
  tl_arena_release(&f->arena);
}

tl_status tl_value_files_folder(tl_value_files *f, const char *folder) {
  return tl_changes_folder(f->changes, &f->cli->diag, folder);
}

static const char *join(tl_value_files *f, const char *folder, const char *name) {
  tl_buf b;
  tl_buf_init(&b);
  tl_buf_printf(&b, "%s/%s", folder, name);
  const char *path = b.failed ? NULL : tl_arena_copy(&f->arena, b.p, b.n);
  tl_buf_release(&b);
  return path;
}

/* Writes a value in the format of the suffix. .npy cannot hold all values. */
static tl_status emit(tl_value_files *f, const char *path, const tl_module *m, tl_value_id v,
                      const tl_host *value, tl_writer *w) {
  bool optional = tl_type_get(m, tl_value_type(m, v))->kind == TL_KIND_OPTIONAL;
  if (!tl_sv_ends_with(tl_sv_from(path), ".npy"))
    return tl_value_emit_pb(value, optional, tl_value_name(m, v), w);
  const char *obstacle = tl_npy_obstacle(value);
  if (!obstacle)
    return tl_value_emit_npy(value, w);
  return tl_fail(&f->cli->diag, TL_UNSUPPORTED, TL_AT_FILE(path),
                 "'%.*s' cannot be written: %s\v--format pb writes it",
                 TL_SV_ARG(tl_value_name(m, v)), obstacle);
}

/* Commits the file to the journal if status is TL_OK, else discards it. */
static tl_status end_file(tl_value_files *f, tl_writer *w, tl_status status) {
  if (status == TL_OK)
    return tl_changes_commit(f->changes, &f->cli->diag, w);
  tl_writer_abort(w);
  return status == TL_NO_MEMORY ? tl_fail_memory(&f->cli->diag, TL_NOWHERE) : status;
}

tl_status tl_value_files_write(tl_value_files *f, const char *folder, const char *name,
                               const tl_module *m, tl_value_id v, const tl_host *value) {
  tl_writer *w;
  const char *path = join(f, folder, name);
  if (!path)
    return tl_fail_memory(&f->cli->diag, TL_NOWHERE);
  TL_TRY(tl_writer_open(&f->cli->diag, path, f->cli->signal, &w));
  return end_file(f, w, emit(f, path, m, v, value, w));
}

/* Writes one file of a series. */
static tl_status write_numbered(tl_value_files *f, tl_value_series series, uint32_t number,
                                const tl_module *m, tl_value_id v, const tl_host *value) {
  tl_buf name;
  tl_buf_init(&name);
  tl_buf_printf(&name, "%s_%u.%s", series.stem, number, series.suffix);
  tl_status status = name.failed ? tl_fail_memory(&f->cli->diag, TL_NOWHERE)
                                 : tl_value_files_write(f, series.folder, name.p, m, v, value);
  tl_buf_release(&name);
  return status;
}

tl_status tl_value_files_series(tl_value_files *f, tl_value_series series, const tl_module *m,
                                bool outputs, const tl_host_vec *values) {
  const tl_graph *g = tl_module_main(m);
  uint32_t number = 0;
  TL_TRY(tl_value_files_folder(f, series.folder));
  for (uint32_t i = 0; i < values->n; i++) {
    tl_value_id v = outputs ? tl_graph_output(m, g, i) : g->inputs.at[i];
    if (values->at[i])
      TL_TRY(write_numbered(f, series, number++, m, v, values->at[i]));
  }
  return TL_OK;
}

tl_status tl_value_files_text(tl_value_files *f, const char *path, tl_buf *text) {
  tl_writer *w;
  if (text->failed)
    return tl_fail_memory(&f->cli->diag, TL_NOWHERE);
  TL_TRY(tl_writer_open(&f->cli->diag, path, f->cli->signal, &w));
  return end_file(f, w, tl_writer_write(w, text->p, text->n));
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

static void add_plain(tl_buf *out, tl_sv tensor) {
  for (size_t i = 0; i < tensor.n && i < LONGEST_NAME; i++) {
    /* A leading '.' would hide the file. */
    bool keep = is_plain(tensor.p[i]) && (i || tensor.p[i] != '.');
    tl_buf_add_char(out, keep ? tensor.p[i] : '_');
  }
}

/* Returns a symbol of the text in lower case, because some file systems ignore case; TL_NO_SYMBOL
 * if memory is out. */
static tl_symbol fold_case(tl_value_files *f, tl_sv text) {
  char *lower = tl_arena_copy(&f->arena, text.p ? text.p : "", text.n);
  for (size_t i = 0; lower && i < text.n; i++)
    if (lower[i] >= 'A' && lower[i] <= 'Z')
      lower[i] = (char)(lower[i] - 'A' + 'a');
  return lower ? tl_intern_view(&f->taken, (tl_sv){lower, text.n}) : TL_NO_SYMBOL;
}

/* Returns how often the plain form was used, this time included; 0 if memory is out. '~' is not
 * plain, so a number behind it makes no name that another tensor could have. */
static uint32_t count_use(tl_value_files *f, tl_sv plain) {
  uint32_t n = 0;
  tl_symbol s = fold_case(f, plain);
  if (s == TL_NO_SYMBOL)
    return 0;
  (void)tl_map_find(&f->uses, s, &n); /* none so far: 0 */
  return tl_map_set(&f->uses, s, n + 1) ? n + 1 : 0;
}

const char *tl_value_files_name(tl_value_files *f, tl_sv tensor, const char *suffix) {
  tl_buf b;
  if (!f->has_names && tl_symtab_init(&f->taken, &f->arena, NULL, 0) != TL_OK)
    return NULL;
  f->has_names = true;
  tl_buf_init(&b);
  add_plain(&b, tensor);
  uint32_t n = b.failed ? 0 : count_use(f, tl_buf_view(&b));
  if (n > 1)
    tl_buf_printf(&b, "~%u", n);
  tl_buf_printf(&b, ".%s", suffix);
  const char *name = n && !b.failed ? tl_arena_copy(&f->arena, b.p, b.n) : NULL;
  tl_buf_release(&b);
  return name;
}
