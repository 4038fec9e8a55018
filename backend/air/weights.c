/* SPDX-License-Identifier: Apache-2.0 */
/* Weights outside the message: GE's split form above 2 GiB (Const with location and length), and
 * FileConstant nodes with files named by content on request. */
#include "backend/air/air.h"
#include "backend/data.h"
#include "ir/tensor_expr.h"
#include "support/hash.h"
#include "support/pool.h"

enum { SPLIT_BYTES = 1024, COMBINED_ALIGN = 512 };

static bool is_combined(const tl_air *a) {
  return a->options->external_weight == TL_WEIGHTS_COMBINED;
}

/* Every used constant above the size that stays inside. */
static tl_status collect(tl_air *a, uint64_t above) {
  a->weights.n = 0;
  for (uint32_t i = 0; i < a->graphs.n; i++) {
    const tl_graph *g = tl_graph_get(a->m, a->graphs.at[i]);
    for (uint32_t k = 0; k < g->constants.n; k++) {
      tl_value_id v = g->constants.at[k];
      const tl_value *value = v ? tl_value_get(a->m, v) : NULL;
      const tl_tensor *t = value && value->n_uses ? tl_tensor_get(a->m, value->tensor) : NULL;
      tl_air_weight w = {.tensor = t, .owner = true, .value = v};
      if (t && t->bytes > above && !tl_weight_vec_push(&a->weights, w))
        return tl_air_no_memory(a);
    }
  }
  return TL_OK;
}

/* '/', '\' and '.' are '_' in the parts of a weight file's path. */
static void add_part(tl_buf *b, tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    tl_buf_add_char(b, s.p[i] == '/' || s.p[i] == '\\' || s.p[i] == '.' ? '_' : s.p[i]);
}

static tl_sv keep(tl_air *a, tl_buf *b) {
  tl_sv s = {b->failed ? NULL : tl_arena_copy(&a->arena, b->p ? b->p : "", b->n), b->n};
  return s;
}

static tl_status split_file(tl_air *a, tl_air_names *files, tl_air_weight *w, tl_buf *text) {
  const tl_value *value = tl_value_get(a->m, w->value);
  tl_buf_clear(text);
  tl_buf_add_z(text, "Const_");
  add_part(text, a->graph_names[value->def]);
  tl_buf_add_char(text, '_');
  add_part(text, a->value_names[w->value]);
  tl_buf_add_z(text, "_file");
  tl_sv name = text->failed ? (tl_sv){0} : tl_air_name(files, TL_SV(""), tl_buf_view(text));
  tl_buf_clear(text);
  tl_buf_add_z(text, "air_weight/");
  add_part(text, a->stem);
  tl_buf_add_z(text, a->stem.n ? "/" : "");
  tl_buf_add_sv(text, name);
  w->file = name.p ? keep(a, text) : name;
  return w->file.p ? TL_OK : tl_air_no_memory(a);
}

static tl_status place_split(tl_air *a) {
  tl_air_names files;
  tl_buf text;
  tl_buf_init(&text);
  tl_status status = collect(a, SPLIT_BYTES);
  if (tl_air_names_init(&files, &a->arena, a->weights.n) != TL_OK)
    status = tl_air_no_memory(a);
  for (uint32_t i = 0; i < a->weights.n && status == TL_OK; i++) {
    status = split_file(a, &files, &a->weights.at[i], &text);
    a->weight_of[a->weights.at[i].value] = i + 1;
  }
  tl_air_names_release(&files);
  tl_buf_release(&text);
  return status;
}

/* ---- files named by content ---- */

static tl_status hash_weight(void *user, size_t i, unsigned worker) {
  tl_air_weight *w = &((tl_air *)user)->weights.at[i];
  tl_tensor_room room;
  tl_sha256 sha;
  size_t n;
  (void)worker;
  tl_sha256_start(&sha);
  for (uint64_t at = 0; at < w->tensor->bytes; at += n) {
    const void *p = tl_tensor_block(w->tensor, at, &room, &n);
    tl_sha256_add(&sha, p, n);
  }
  tl_sha256_finish(&sha, w->hash);
  return TL_OK;
}

static int by_hash(const void *p, const void *q) {
  const tl_air_weight *a = p;
  const tl_air_weight *b = q;
  int order = memcmp(a->hash, b->hash, sizeof a->hash);
  return order ? order : (a->value > b->value) - (a->value < b->value);
}

/* The node of an external weight is called after its content too. */
static tl_status rename_holder(tl_air *a, const tl_air_weight *w, tl_buf *text) {
  tl_buf_clear(text);
  tl_buf_add_sv(text, a->value_names[w->value]);
  tl_buf_add_char(text, '_');
  tl_buf_add_z(text, w->hash);
  tl_sv name = text->failed ? (tl_sv){0} : tl_air_name(&a->names, TL_SV(""), tl_buf_view(text));
  a->value_names[w->value] = name;
  return name.p ? TL_OK : tl_air_no_memory(a);
}

static tl_status name_files(tl_air *a, tl_buf *text) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < a->weights.n; i++) {
    tl_air_weight *w = &a->weights.at[i];
    a->weight_of[w->value] = i + 1;
    TL_TRY(rename_holder(a, w, text));
    if (i && memcmp(w->hash, w[-1].hash, sizeof w->hash) == 0) {
      w->owner = false;
      w->file = w[-1].file;
      w->offset = w[-1].offset;
      continue;
    }
    tl_buf_clear(text);
    tl_buf_add_z(text, "weight/");
    if (is_combined(a))
      tl_buf_add_sv(text, a->stem);
    tl_buf_add_z(text, is_combined(a) ? "_weight_combined" : "weight_");
    tl_buf_add_z(text, is_combined(a) ? "" : w->hash);
    w->file = i && is_combined(a) ? w[-1].file : keep(a, text);
    if (!w->file.p)
      return tl_air_no_memory(a);
    w->offset = is_combined(a) ? end : 0;
    end += w->tensor->bytes + (COMBINED_ALIGN - w->tensor->bytes % COMBINED_ALIGN) % COMBINED_ALIGN;
  }
  return TL_OK;
}

static tl_status place_by_content(tl_air *a) {
  tl_buf text;
  TL_TRY(collect(a, 0));
  tl_pool *pool = tl_pool_create(0);
  if (!pool)
    return tl_air_no_memory(a);
  tl_status status = tl_pool_run(pool, a->weights.n, hash_weight, a);
  tl_pool_destroy(pool);
  if (a->weights.n)
    qsort(a->weights.at, a->weights.n, sizeof *a->weights.at, by_hash);
  tl_buf_init(&text);
  if (status == TL_OK)
    status = name_files(a, &text);
  tl_buf_release(&text);
  return status;
}

tl_status tl_air_place_weights(tl_air *a) {
  if (a->form == TL_FORM_INSIDE)
    return TL_OK;
  if (strcmp(a->path, "-") == 0)
    return tl_fail(a->m->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(a->path),
                   "weights beside the model need a file name for it, not standard output");
  return a->form == TL_FORM_SPLIT ? place_split(a) : place_by_content(a);
}

/* ---- writing ---- */

/* "<folder of the AIR file>/<relative>", NUL-terminated. */
static const char *beside(tl_air *a, tl_sv relative) {
  const char *slash = strrchr(a->path, '/');
  size_t n = slash ? (size_t)(slash + 1 - a->path) : 0;
  char *p = tl_arena_alloc(&a->arena, n + relative.n + 1);
  if (!p)
    return NULL;
  memcpy(p, a->path, n);
  memcpy(p + n, relative.p, relative.n);
  p[n + relative.n] = '\0';
  return p;
}

/* Makes the folders of a relative path, one level after the other. */
static tl_status make_folders(tl_air *a, tl_sv file) {
  for (size_t i = 0; i < file.n; i++) {
    const char *folder = file.p[i] == '/' ? beside(a, (tl_sv){file.p, i}) : NULL;
    if (file.p[i] == '/' && !folder)
      return tl_air_no_memory(a);
    if (folder)
      TL_TRY(tl_changes_folder(a->changes, a->m->diag, folder));
  }
  return TL_OK;
}

static tl_status open_beside(tl_air *a, tl_sv file, tl_writer **out) {
  const char *path = beside(a, file);
  return path ? tl_writer_open(a->m->diag, path, a->save->cancel, out) : tl_air_no_memory(a);
}

/* The n-th weight's file; a combined file takes all that follow. */
static tl_status write_file(tl_air *a, uint32_t first, uint32_t *next) {
  static const char zeros[COMBINED_ALIGN] = {0};
  tl_writer *out;
  *next = is_combined(a) && a->form == TL_FORM_FILE_CONSTANT ? a->weights.n : first + 1;
  TL_TRY(open_beside(a, a->weights.at[first].file, &out));
  for (uint32_t i = first; i < *next; i++) {
    const tl_air_weight *w = &a->weights.at[i];
    if (!w->owner)
      continue;
    (void)tl_writer_write(out, zeros, (size_t)(w->offset - tl_writer_position(out)));
    (void)tl_data_write(out, w->tensor);
  }
  return tl_changes_commit(a->changes, a->m->diag, out);
}

/* Content hash to file and offset, for tools that share weights between models. */
static tl_status write_meta(tl_air *a) {
  tl_buf text;
  tl_writer *out;
  tl_buf_init(&text);
  tl_buf_add_z(&text, "{");
  for (uint32_t i = 0, n = 0; i < a->weights.n; i++) {
    const tl_air_weight *w = &a->weights.at[i];
    if (w->owner)
      tl_buf_printf(&text, "%s\n  \"%s\": {\"file\": \"%.*s\", \"offset\": %llu, \"length\": %llu}",
                    n++ ? "," : "", w->hash, TL_SV_ARG(w->file), (unsigned long long)w->offset,
                    (unsigned long long)w->tensor->bytes);
  }
  tl_buf_add_z(&text, "\n}\n");
  tl_status status = text.failed ? tl_air_no_memory(a)
                                 : open_beside(a, TL_SV("weight/meta.json"), &out);
  if (status == TL_OK) {
    (void)tl_writer_write(out, text.p, text.n);
    status = tl_changes_commit(a->changes, a->m->diag, out);
  }
  tl_buf_release(&text);
  return status;
}

tl_status tl_air_write_weights(tl_air *a) {
  if (a->form == TL_FORM_INSIDE || a->weights.n == 0)
    return TL_OK;
  TL_TRY(make_folders(a, a->weights.at[0].file));
  for (uint32_t i = 0; i < a->weights.n;) {
    if (a->weights.at[i].owner)
      TL_TRY(write_file(a, i, &i));
    else
      i++;
  }
  return a->form == TL_FORM_FILE_CONSTANT ? write_meta(a) : TL_OK;
}
