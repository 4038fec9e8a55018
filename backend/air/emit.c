/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an AIR file in two sweeps: the first learns the size of every node, the second writes.
 * Protobuf puts the length of a message before its contents, so sizes must be known first. Each
 * sweep encodes every node anew; only sizes are kept between the two, which bounds memory. */
#include "backend/air/air.h"
#include "backend/air/emit.h"
#include "backend/data.h"
#include "ir/marks.h"
#include "support/pages.h"

TL_VEC(size_vec, uint64_t);

/* State of both sweeps. out: NULL in the first one, which only counts. */
typedef struct sweep {
  tl_air *a;
  tl_writer *out;
  size_vec sizes;  /* of nodes, in the order they are written */
  size_vec graphs; /* of graphs */
  uint32_t next;   /* writing: the next size */
  uint64_t total;  /* counting: bytes of the graph so far */
  bool differs;    /* a node had another size in the second sweep: an error of this program */
} sweep;

/* Returns the size of a field of `length` bytes, whose tag is one byte (field numbers below 16). */
static uint64_t field_size(uint64_t length) { return 1 + tl_varint_size(length) + length; }

/* Writes a varint; errors are sticky in the writer. */
static void write_varint(tl_writer *w, uint64_t v) {
  unsigned char text[10];
  size_t n = 0;
  for (; v >= 0x80; v >>= 7)
    text[n++] = (unsigned char)(v | 0x80);
  text[n++] = (unsigned char)v;
  (void)tl_writer_write(w, text, n);
}

/* Writes a buffer, and the data of its hole in place. Errors are sticky in the writer. */
static void write_buffer(tl_writer *w, const tl_encoder *b) {
  size_t head = b->hole ? b->hole_at : b->n;
  (void)tl_writer_write(w, b->p, head);
  if (b->hole)
    (void)tl_data_write(w, b->hole);
  (void)tl_writer_write(w, b->p + head, b->n - head);
}

/* Counts or writes the node that a->buf holds. */
static tl_status take_node(sweep *s) {
  tl_encoder *b = &s->a->buf;
  uint64_t size = tl_encoder_size(b);
  if (b->failed)
    return tl_air_no_memory(s->a);
  if (!s->out) {
    s->total += field_size(size);
    return size_vec_push(&s->sizes, size) ? TL_OK : tl_air_no_memory(s->a);
  }
  s->differs = s->differs || s->next >= s->sizes.n || s->sizes.at[s->next] != size;
  s->next++;
  write_varint(s->out, TL_GRAPH_NODE << 3 | TL_WIRE_LENGTH);
  write_varint(s->out, size);
  write_buffer(s->out, b);
  return TL_OK;
}

/* Counts or writes what the buffer holds, which belongs to a graph. */
static tl_status take_fields(sweep *s) {
  if (s->a->buf.failed)
    return tl_air_no_memory(s->a);
  if (s->out)
    write_buffer(s->out, &s->a->buf);
  else
    s->total += s->a->buf.n;
  return TL_OK;
}

/* Returns true for an input that a body of the IR must have, and the one that was read has not. */
static bool is_absent(const tl_air *a, tl_value_id v) {
  const tl_value *value = tl_value_get(a->m, v);
  return value->extra && !value->n_uses && tl_extra_get(a->m, value->extra, TL_NOTE_ABSENT).p;
}

/* Counts or writes name, inputs and outputs of a graph. */
static tl_status graph_head(sweep *s, const tl_graph *g) {
  tl_air *a = s->a;
  tl_encoder_clear(&a->buf);
  tl_encode_bytes(&a->buf, TL_GRAPH_NAME, a->graph_names[g->id]);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (!is_absent(a, g->inputs.at[i]))
      tl_air_edge(a, TL_GRAPH_INPUT, g->inputs.at[i]);
  for (uint32_t i = 0; i < tl_graph_n_outputs(a->m, g); i++)
    tl_air_edge(a, TL_GRAPH_OUTPUT, tl_graph_output(a->m, g, i));
  return take_fields(s);
}

/* Counts or writes the attributes of a graph: those of the file that was read. */
static tl_status graph_tail(sweep *s, const tl_graph *g) {
  tl_encoder_clear(&s->a->buf);
  s->a->entries.n = 0;
  tl_air_noted_attrs(s->a, g->extra, TL_AIR_METADATA);
  tl_air_entries(s->a, TL_GRAPH_ATTR, NULL);
  return take_fields(s);
}

/* Counts or writes one graph: Data nodes, used constants, nodes in topological order, NetOutput.
 * Ids are positions in this order, which the loader requires. */
static tl_status sweep_graph(sweep *s, const tl_graph *g, uint32_t index) {
  tl_air *a = s->a;
  int64_t id = 0;
  s->total = 0;
  if (s->out) {
    write_varint(s->out, TL_MODEL_GRAPH << 3 | TL_WIRE_LENGTH);
    write_varint(s->out, s->graphs.at[index]);
  }
  TL_TRY(graph_head(s, g));
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    if (is_absent(a, g->inputs.at[i]))
      continue;
    tl_air_data_node(a, g, i, id++);
    TL_TRY(take_node(s));
  }
  for (uint32_t i = 0; i < g->constants.n; i++) {
    tl_value_id v = g->constants.at[i];
    if (!v || !tl_value_get(a->m, v)->n_uses)
      continue;
    tl_air_const_node(a, v, id++);
    TL_TRY(take_node(s));
  }
  TL_FOR_NODES(a->m, g, n) {
    tl_air_op_node(a, n, id++);
    TL_TRY(take_node(s));
  }
  tl_air_output_node(a, g, id);
  TL_TRY(take_node(s));
  TL_TRY(graph_tail(s, g));
  if (!s->out && !size_vec_push(&s->graphs, s->total))
    return tl_air_no_memory(a);
  return TL_OK;
}

static tl_status sweep_graphs(sweep *s) {
  for (uint32_t i = 0; i < s->a->graphs.n; i++)
    TL_TRY(sweep_graph(s, tl_graph_get(s->a->m, s->a->graphs.at[i]), i));
  return TL_OK;
}

/* Encodes the model's name. By default it is the name of the main graph and not of the file, so
 * that the bytes do not depend on a path. */
static void model_head(tl_air *a) {
  tl_sv name = a->save->model_name ? tl_sv_from(a->save->model_name)
                                   : a->graph_names[a->graphs.at[0]];
  tl_encoder_clear(&a->buf);
  tl_encode_bytes(&a->buf, TL_MODEL_NAME, name);
}

/* An attribute of the model. */
typedef struct model_entry {
  tl_sv key;
  tl_sv value;
  bool encoded; /* value is an AttrDef, else a string */
} model_entry;

/* Inserts an entry by its key; of equal keys the last one counts. */
static void put_entry(model_entry *sorted, uint32_t *n, model_entry e) {
  uint32_t k = *n;
  for (; k && tl_sv_compare(sorted[k - 1].key, e.key) >= 0; k--)
    if (tl_sv_eq(sorted[k - 1].key, e.key)) {
      sorted[k - 1] = e;
      return;
    }
  memmove(sorted + k + 1, sorted + k, (*n - k) * sizeof *sorted);
  sorted[k] = e;
  ++*n;
}

/* Encodes the attributes of the model, sorted by key: those that an AIR file had which was read,
 * then the options for the device compiler, of which the one given last counts. */
static tl_status model_tail(tl_air *a) {
  const tl_options *o = a->options;
  const tl_extra *extra = &a->m->extras.at[a->m->extra];
  tl_sv prefix = TL_SV(TL_AIR_METADATA);
  uint32_t n = 0;
  tl_encoder_clear(&a->buf);
  model_entry *sorted =
      tl_arena_calloc(&a->arena, (size_t)o->n_carried + extra->n_metadata + 1, sizeof *sorted);
  if (!sorted)
    return tl_air_no_memory(a);
  for (uint32_t i = 0; i < extra->n_metadata; i++) {
    tl_sv key = tl_sym(a->m, extra->metadata[i].key);
    if (key.n > prefix.n && memcmp(key.p, prefix.p, prefix.n) == 0)
      put_entry(sorted, &n,
                (model_entry){{key.p + prefix.n, key.n - prefix.n},
                              tl_sym(a->m, extra->metadata[i].value),
                              true});
  }
  for (uint32_t i = 0; i < o->n_carried; i++)
    put_entry(sorted, &n, (model_entry){o->carried[i].key, o->carried[i].value, false});
  for (uint32_t i = 0; i < n; i++) {
    if (!sorted[i].encoded) {
      tl_air_string_entry(&a->buf, TL_MODEL_ATTR, sorted[i].key, sorted[i].value);
      continue;
    }
    size_t entry = tl_encode_open(&a->buf, TL_MODEL_ATTR);
    tl_encode_bytes(&a->buf, 1, sorted[i].key);
    tl_encode_bytes(&a->buf, 2, sorted[i].value);
    tl_encode_close(&a->buf, entry);
  }
  return a->buf.failed ? tl_air_no_memory(a) : TL_OK;
}

/* First sweep: sizes of all nodes and graphs, and the size of the whole message. */
static tl_status count(sweep *s, uint64_t *total) {
  s->sizes.n = 0;
  s->graphs.n = 0;
  TL_TRY(sweep_graphs(s));
  model_head(s->a);
  *total = s->a->buf.n;
  for (uint32_t i = 0; i < s->graphs.n; i++)
    *total += field_size(s->graphs.at[i]);
  TL_TRY(model_tail(s->a));
  *total += s->a->buf.n;
  return TL_OK;
}

/* Counts with weights inside; if the message exceeds the limit, counts again with weights in files
 * beside it. Protobuf readers refuse messages of 2^31 bytes and more. */
static tl_status count_fitting(sweep *s) {
  tl_air *a = s->a;
  uint64_t limit = a->save->limit ? a->save->limit : INT32_MAX;
  uint64_t total;
  TL_TRY(tl_air_place_weights(a));
  TL_TRY(count(s, &total));
  if (total > limit && a->form == TL_FORM_INSIDE) {
    a->form = TL_FORM_SPLIT;
    TL_TRY(tl_air_place_weights(a));
    TL_TRY(count(s, &total));
  }
  if (total > INT32_MAX)
    return tl_fail(a->m->diag, TL_LIMIT, TL_AT_FILE(a->path),
                   "the graph needs %llu bytes without its weights, AIR files end at %d",
                   (unsigned long long)total, INT32_MAX);
  return TL_OK;
}

/* Second sweep. The finished bytes are read back by the self-check before the file gets its name.
 */
static tl_status write_model(sweep *s) {
  tl_air *a = s->a;
  model_head(a);
  write_buffer(s->out, &a->buf);
  TL_TRY(sweep_graphs(s));
  TL_TRY(model_tail(a));
  write_buffer(s->out, &a->buf);
  if (s->differs)
    return tl_fail(a->m->diag, TL_INTERNAL, TL_AT_FILE(a->path), "sizes changed while writing");
  uint64_t n;
  const unsigned char *view = tl_writer_view(s->out, &n);
  return view ? tl_air_check(a->m->diag, a->path, view, n) : TL_IO;
}

/* Counts, writes, checks and commits. Weight files are written before the model gets its name, so
 * that no model refers to files that are not there. */
static tl_status write_all(sweep *s) {
  tl_air *a = s->a;
  TL_TRY(count_fitting(s));
  TL_TRY(tl_writer_open(a->m->diag, a->path, a->save->cancel, &s->out));
  tl_status status = write_model(s);
  if (status == TL_OK && !a->save->shared)
    status = tl_weight_files_write(a->files, a->m->diag, a->save->cancel, a->changes);
  if (status == TL_OK)
    return tl_changes_commit(a->changes, a->m->diag, s->out);
  tl_writer_abort(s->out);
  return status;
}

/* Fills state_of, so that no input searches the states. */
static void find_states(tl_air *a) {
  const tl_module *m = a->m;
  for (uint32_t i = 0; i < m->gradients.n; i++)
    a->state_of[m->gradients.at[i].param] = TL_AIR_PARAMETER;
  for (uint32_t i = m->states.n; i-- > 0;)
    a->state_of[m->states.at[i].input] = TL_AIR_STATE + i;
}

/* Allocates all tables and plans the file. The caller releases a also after an error. */
static tl_status prepare(tl_air *a) {
  tl_module *m = a->m;
  size_t values = tl_module_value_end(m);
  a->node_names = tl_pages_alloc(tl_module_node_end(m), sizeof *a->node_names);
  a->value_names = tl_pages_alloc(values, sizeof *a->value_names);
  a->formats = calloc(values, 1);
  a->node_formats = calloc(tl_module_node_end(m), 1);
  a->weight_of = calloc(values, sizeof *a->weight_of);
  a->state_of = calloc(values, sizeof *a->state_of);
  a->rows = tl_arena_calloc(&a->arena, tl_n_op_rows, sizeof *a->rows);
  a->graph_names = tl_arena_calloc(&a->arena, m->graphs.n + 1u, sizeof *a->graph_names);
  if (!a->node_names || !a->value_names || !a->formats || !a->node_formats || !a->weight_of ||
      !a->state_of || !a->rows || !a->graph_names ||
      tl_air_names_init(&a->names, &a->arena, tl_module_node_end(m)) != TL_OK ||
      tl_air_names_init(&a->graph_pool, &a->arena, m->graphs.n) != TL_OK)
    return tl_air_no_memory(a);
  a->stem = tl_model_stem(a->path);
  find_states(a);
  a->form = a->options->external_weight ? TL_FORM_FILE_CONSTANT : TL_FORM_INSIDE;
  TL_TRY(tl_air_prepare_descs(a));
  return tl_air_plan(a);
}

static void release(tl_air *a) {
  tl_pages_free(a->node_names, tl_module_node_end(a->m), sizeof *a->node_names);
  tl_pages_free(a->value_names, tl_module_value_end(a->m), sizeof *a->value_names);
  free(a->formats);
  free(a->node_formats);
  free(a->weight_of);
  free(a->state_of);
  tl_pages_free(a->descs, a->n_descs, sizeof *a->descs);
  tl_air_names_release(&a->names);
  tl_air_names_release(&a->graph_pool);
  tl_u32_vec_release(&a->graphs);
  tl_slot_vec_release(&a->inputs);
  tl_slot_vec_release(&a->outputs);
  tl_entry_vec_release(&a->entries);
  tl_weight_vec_release(&a->weights);
  tl_encoder_release(&a->buf);
  tl_arena_release(&a->arena);
}

tl_status tl_air_save(tl_module *m, const char *path, const tl_air_options *o) {
  const tl_options defaults = tl_options_default();
  tl_changes changes = {0};
  tl_weight_files files;
  tl_air a = {.m = m,
              .options = o->options ? o->options : &defaults,
              .save = o,
              .path = path,
              .files = o->shared ? o->shared : &files,
              .changes = o->changes ? o->changes : &changes};
  tl_weight_files_init(&files, path);
  sweep s = {.a = &a};
  tl_arena_init(&a.arena, 0);
  tl_status status = prepare(&a);
  if (status == TL_OK)
    status = write_all(&s);
  if (status == TL_OK && !o->changes)
    status = tl_changes_apply(&changes, m->diag);
  tl_changes_undo(&changes);
  tl_weight_files_release(&files);
  size_vec_release(&s.sizes);
  size_vec_release(&s.graphs);
  release(&a);
  return status;
}

static bool copy_names(tl_arena *arena, const tl_sv *from, size_t n, tl_sv *to) {
  for (size_t i = 0; i < n; i++) {
    const char *copy = from[i].n ? tl_arena_copy(arena, from[i].p, from[i].n) : NULL;
    if (from[i].n && !copy)
      return false;
    to[i] = (tl_sv){copy, from[i].n};
  }
  return true;
}

tl_status tl_air_list_names(tl_module *m, const tl_options *options, tl_arena *arena, tl_sv *nodes,
                            tl_sv *values) {
  const tl_air_options save = {.options = options};
  tl_weight_files files;
  tl_air a = {.m = m, .options = options, .save = &save, .path = "-", .files = &files};
  tl_weight_files_init(&files, "-");
  tl_arena_init(&a.arena, 0);
  tl_status status = prepare(&a);
  if (status == TL_OK && (!copy_names(arena, a.node_names, tl_module_node_end(m), nodes) ||
                          !copy_names(arena, a.value_names, tl_module_value_end(m), values)))
    status = tl_air_no_memory(&a);
  tl_weight_files_release(&files);
  release(&a);
  return status;
}
