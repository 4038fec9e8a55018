/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which weights of an AIR file lie outside the message, and names their files.
 * There are two forms: GE's split form for models above 2 GiB (a Const node with location and
 * length), and on request FileConstant nodes, whose files are named by content. */
#include "backend/air/air.h"
#include "support/pool.h"

enum { SPLIT_BYTES = 1024 }; /* split form: weights up to this size stay in the message */

/* Adds a value to the weights if it is used and larger than `above` bytes. */
static tl_status collect_value(tl_air *a, tl_value_id v, uint64_t above) {
  const tl_value *value = v ? tl_value_get(a->m, v) : NULL;
  bool used = value && value->n_uses && value->tensor;
  const tl_tensor *t = used ? tl_tensor_get(a->m, value->tensor) : NULL;
  tl_air_weight w = {.tensor = t, .value = v};
  if (t && t->bytes > above && !tl_weight_vec_push(&a->weights, w))
    return tl_air_no_memory(a);
  return TL_OK;
}

/* Lists every used constant and every initial value of a state with more than `above` bytes. */
static tl_status collect(tl_air *a, uint64_t above) {
  a->weights.n = 0;
  for (uint32_t i = 0; i < a->graphs.n; i++) {
    const tl_graph *g = tl_graph_get(a->m, a->graphs.at[i]);
    for (uint32_t k = 0; k < g->inputs.n; k++)
      TL_TRY(collect_value(a, g->inputs.at[k], above));
    for (uint32_t k = 0; k < g->constants.n; k++)
      TL_TRY(collect_value(a, g->constants.at[k], above));
  }
  return TL_OK;
}

/* Adds a part of a weight file's path. '/', '\' and '.' become '_', so that a part is exactly one
 * path component and cannot leave the folder. */
static void add_part(tl_buf *b, tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    tl_buf_add_char(b, s.p[i] == '/' || s.p[i] == '\\' || s.p[i] == '.' ? '_' : s.p[i]);
}

/* Copies the text into the arena of the emission; p is NULL if memory is out. */
static tl_sv keep(tl_air *a, tl_buf *b) {
  tl_sv s = {b->failed ? NULL : tl_arena_copy(&a->arena, b->p ? b->p : "", b->n), b->n};
  return s;
}

/* Names the file "air_weight/<model>/Const_<graph>_<node>_file" and adds it to a->files. */
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
  return w->file.p && tl_weight_files_add(a->files, w->tensor, w->file) == TL_OK
             ? TL_OK
             : tl_air_no_memory(a);
}

/* Places each weight above SPLIT_BYTES in a file of its own. */
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

/* Hashes one weight; workers write to different entries, so no lock is needed. */
static tl_status hash_weight(void *user, size_t i, unsigned worker) {
  tl_air_weight *w = &((tl_air *)user)->weights.at[i];
  (void)worker;
  tl_hash_tensor(w->tensor, w->hash);
  return TL_OK;
}

/* Orders by content, then by value id, which makes the order of files deterministic. */
static int by_hash(const void *p, const void *q) {
  const tl_air_weight *a = p;
  const tl_air_weight *b = q;
  int order = memcmp(a->hash, b->hash, sizeof a->hash);
  return order ? order : (a->value > b->value) - (a->value < b->value);
}

/* Appends the content hash to the name of the node that holds the weight, unless the name, of an
 * AIR file that was read, has it or was cut behind it. */
static tl_status rename_holder(tl_air *a, const tl_air_weight *w, tl_buf *text) {
  if (tl_sv_ends_with(a->value_names[w->value], w->hash) ||
      tl_air_name_is_cut(a->value_names[w->value]))
    return TL_OK;
  tl_buf_clear(text);
  tl_buf_add_sv(text, a->value_names[w->value]);
  tl_buf_add_char(text, '_');
  tl_buf_add_z(text, w->hash);
  tl_sv name = text->failed ? (tl_sv){0} : tl_air_name(&a->names, TL_SV(""), tl_buf_view(text));
  a->value_names[w->value] = name;
  return name.p ? TL_OK : tl_air_no_memory(a);
}

/* Places the weights in the order of their hashes and renames the nodes that hold them. */
static tl_status name_files(tl_air *a, tl_buf *text) {
  for (uint32_t i = 0; i < a->weights.n; i++) {
    tl_air_weight *w = &a->weights.at[i];
    const tl_weight_place *place;
    a->weight_of[w->value] = i + 1;
    TL_TRY(rename_holder(a, w, text));
    if (tl_weight_files_share(a->files, w->tensor, w->hash, &place) != TL_OK)
      return tl_air_no_memory(a);
    w->file = place->file;
    w->offset = place->offset;
  }
  return TL_OK;
}

/* Hashes all weights in parallel, then places each content once, in the order of hashes. */
static tl_status place_by_content(tl_air *a) {
  tl_buf text;
  bool separate = a->options->external_weight == TL_WEIGHTS_SEPARATE;
  if (!a->save->shared && tl_weight_files_for_air(a->files, separate) != TL_OK)
    return tl_air_no_memory(a);
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
                   "external weights need an output file, not standard output");
  return a->form == TL_FORM_SPLIT ? place_split(a) : place_by_content(a);
}
