/* SPDX-License-Identifier: Apache-2.0 */
/* Records passes: compares the module behind each pass with what is known of the state before it,
 * a hash for each node and a few words for each value. */
#include "tools/page/record.h"

#include <stdio.h>

#include "support/hash.h"
#include "support/json_writer.h"

typedef tl_json_writer writer;

/* What a pass did. */
typedef struct delta {
  tl_u32_vec removed;
  tl_u32_vec added;
  tl_u32_vec changed;
  tl_u32_vec values; /* new ones */
  tl_u32_vec types;  /* values that have another type, name, tensor or kind */
  tl_u32_vec names;
  tl_u32_vec tensors;
  bool moved; /* nodes that stayed are in another order */
  bool borders;
  bool edges;
} delta;

static void push(tl_view_record *r, tl_u32_vec *list, uint32_t id) {
  if (!tl_u32_vec_push(list, id))
    r->no_memory = true;
}

/* Makes room for all ids below `end`. */
static void grow(tl_view_record *r, uint32_t nodes, uint32_t values) {
  static const tl_view_value no_value = {0};
  while (r->prints.n < nodes && !r->no_memory)
    r->no_memory = !tl_view_print_vec_push(&r->prints, 0) || !tl_u32_vec_push(&r->places, 0) ||
                   !tl_u32_vec_push(&r->seen, 0);
  while (r->values.n < values && !r->no_memory)
    r->no_memory = !tl_view_value_vec_push(&r->values, no_value);
}

/* ---- what nodes are -------------------------------------------------------------------------- */

/* Hashes the value of an attribute. Lists by their contents: a pass may write the same one anew. */
static uint64_t print_attr(const tl_attr *a) {
  uint64_t h = tl_hash_mix(tl_map_pair(a->kind, a->count), a->name);
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INT:
  case TL_ATTR_BOOL:
  case TL_ATTR_DTYPE: return tl_hash_mix(h, (uint64_t)a->u.i);
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS:
  case TL_ATTR_DTYPES: return tl_hash_bytes(a->u.is, a->count * sizeof *a->u.is, h);
  case TL_ATTR_FLOATS: return tl_hash_bytes(a->u.fs, a->count * sizeof *a->u.fs, h);
  case TL_ATTR_STRINGS:
  case TL_ATTR_TENSORS:
  case TL_ATTR_GRAPHS:
  case TL_ATTR_TYPES:
  case TL_ATTR_SPARSES: return tl_hash_bytes(a->u.ids, a->count * sizeof *a->u.ids, h);
  case TL_ATTR_INT_LISTS:
    for (uint32_t i = 0; i < a->count; i++)
      h = tl_hash_bytes(a->u.lists[i].at, a->u.lists[i].n * sizeof *a->u.lists[i].at, h);
    return h;
  default: return tl_hash_mix(h, a->u.s);
  }
}

/* Returns a hash of all that the columns show of a node; never 0. */
static uint64_t print_node(const tl_module *m, const tl_node *node) {
  uint64_t h =
      tl_hash_mix(tl_map_pair(node->op, node->name), tl_map_pair(node->graph, node->scope));
  h = tl_hash_mix(h, tl_map_pair((uint32_t)node->stream, node->results));
  h = tl_hash_mix(h, tl_map_pair(node->n_results, (uint32_t)(node->candidate + 2)));
  for (uint32_t i = 0; i < node->n_operands; i++)
    h = tl_hash_mix(h, tl_use_get(m, node->operands + i)->value);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    h = tl_hash_mix(h, print_attr(&node->attrs[i]));
  return h ? h : 1;
}

static void compare_node(tl_view_record *r, delta *d, tl_node_id n) {
  uint64_t now = print_node(r->m, tl_node_get(r->m, n)), before = r->prints.at[n];
  if (!before)
    push(r, &d->added, n);
  else if (before != now)
    push(r, &d->changed, n);
  if (before != now)
    tl_view_note_name(r, n, true);
  r->prints.at[n] = now;
}

static uint64_t hash_edges(const tl_module *m, tl_node_id n, uint64_t h) {
  for (tl_control_id c = tl_node_get(m, n)->control_out; c; c = tl_control_get(m, c)->next_out)
    h = tl_hash_mix(h, tl_map_pair(n, tl_control_get(m, c)->to));
  return h;
}

/* Compares the nodes of all graphs, in their order. */
static void compare_nodes(tl_view_record *r, delta *d) {
  uint32_t place = 0;
  uint64_t edges = 0;
  for (uint32_t i = 0; i < r->m->graphs.n && !r->no_memory; i++) {
    uint32_t last = 0;
    if (r->m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(r->m, r->m->graphs.at[i], n) {
      bool stayed = r->prints.at[n] != 0;
      d->moved = d->moved || (stayed && r->places.at[n] < last);
      last = stayed ? r->places.at[n] : last;
      compare_node(r, d, n);
      edges = hash_edges(r->m, n, edges);
      r->places.at[n] = ++place;
      r->seen.at[n] = r->state;
    }
  }
  for (tl_node_id n = 1; n < r->prints.n; n++)
    if (r->prints.at[n] && r->seen.at[n] != r->state) {
      push(r, &d->removed, n);
      r->prints.at[n] = 0;
    }
  d->edges = edges != r->edges;
  r->edges = edges;
}

static void compare_borders(tl_view_record *r, delta *d) {
  uint64_t h = 0;
  for (uint32_t i = 0; i < r->m->graphs.n; i++) {
    const tl_graph *g = r->m->graphs.at[i];
    if (g->erased)
      continue;
    h = tl_hash_mix(h, tl_map_pair(g->id, g->owner));
    for (uint32_t k = 0; k < g->inputs.n; k++)
      h = tl_hash_mix(h, g->inputs.at[k]);
    for (uint32_t k = 0; k < tl_graph_n_outputs(r->m, g); k++)
      h = tl_hash_mix(h, tl_map_pair(1, tl_graph_output(r->m, g, k)));
  }
  d->borders = h != r->borders;
  r->borders = h;
}

/* ---- what values are ------------------------------------------------------------------------- */

/* Notes the tensor of a constant, or the default of an input. */
static void note_weight(tl_view_record *r, const tl_view_value *v) {
  while (r->weight_of.n <= v->tensor && !r->no_memory)
    push(r, &r->weight_of, 0);
  if (r->no_memory || r->weight_of.at[v->tensor])
    return;
  tl_view_weight weight = {v->tensor, v->id - 1, tl_view_symbol(r->strings, r->m, v->name)};
  if (!tl_view_weight_vec_push(&r->weights, weight))
    r->no_memory = true;
  r->weight_of.at[v->tensor] = r->weights.n;
}

static void compare_value(tl_view_record *r, delta *d, tl_value_id id) {
  const tl_value *value = tl_value_get(r->m, id);
  tl_view_value *known = &r->values.at[id];
  tl_view_value now = {known->id, value->type, value->name,
                       value->kind == TL_VALUE_RESULT ? TL_NO_TENSOR : value->tensor, value->kind};
  if (value->kind == TL_VALUE_NONE)
    return;
  if (!known->id) {
    now.id = ++r->n_values;
    push(r, &d->values, id);
  } else {
    if (known->type != now.type)
      push(r, &d->types, id);
    if (known->name != now.name)
      push(r, &d->names, id);
    if (known->tensor != now.tensor || known->kind != now.kind)
      push(r, &d->tensors, id);
  }
  *known = now;
  if (now.tensor)
    note_weight(r, known);
}

static void compare(tl_view_record *r, delta *d) {
  r->state++;
  grow(r, tl_module_node_end(r->m), tl_module_value_end(r->m));
  for (tl_value_id v = 1; v < r->values.n && !r->no_memory; v++)
    compare_value(r, d, v);
  if (!r->no_memory)
    compare_nodes(r, d);
  compare_borders(r, d);
  r->named_to = tl_module_node_end(r->m);
}

static void release(delta *d) {
  tl_u32_vec *const lists[] = {&d->removed, &d->added, &d->changed, &d->values,
                               &d->types,   &d->names, &d->tensors};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    tl_u32_vec_release(lists[i]);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static void put_ids(writer *w, const char *key, const tl_u32_vec *ids) {
  tl_json_line(w, 0);
  tl_put_key(w, key);
  tl_put_array(w);
  for (uint32_t i = 0; i < ids->n; i++)
    tl_put_u64(w, ids->at[i]);
  tl_put_end(w);
}

static tl_status end_chunk(tl_view_record *r, const char *name) {
  tl_chunks_add(r->chunks, name, &r->json);
  return r->no_memory || r->chunks->failed || r->strings->failed ? TL_NO_MEMORY : TL_OK;
}

tl_status tl_view_record_begin(tl_view_record *r, tl_module *m) {
  delta d = {0};
  if (r->begun)
    return TL_OK;
  r->begun = true;
  r->m = m;
  r->log.m = m;
  m->log = &r->log;
  compare(r, &d);
  writer w = tl_json_compact(&r->json);
  tl_put_object(&w);
  tl_view_put_nodes(r, &w, &d.added, false);
  tl_view_put_borders(r, &w);
  tl_view_put_control(r, &w);
  tl_put_end(&w);
  tl_status status = end_chunk(r, "graph");
  w = tl_json_compact(&r->json);
  tl_put_object(&w);
  tl_view_put_values(r, &w, &d.values);
  tl_put_end(&w);
  release(&d);
  return status == TL_OK ? end_chunk(r, "values") : status;
}

/* What became of a value: a pair of its number and something. */
typedef int64_t (*aspect)(tl_view_record *r, const tl_view_value *v);

static int64_t type_of(tl_view_record *r, const tl_view_value *v) {
  return tl_view_type(r->strings, r->m, v->type);
}

static int64_t name_of(tl_view_record *r, const tl_view_value *v) {
  return tl_view_symbol(r->strings, r->m, v->name);
}

static int64_t weight_of(tl_view_record *r, const tl_view_value *v) {
  return v->tensor ? (int64_t)r->weight_of.at[v->tensor] - 1 : -1;
}

static int64_t kind_of(tl_view_record *r, const tl_view_value *v) {
  (void)r;
  return v->kind - TL_VALUE_RESULT;
}

static void put_pairs(tl_view_record *r, writer *w, const char *key, const tl_u32_vec *values,
                      const aspect *aspects) {
  if (!values->n)
    return;
  tl_json_line(w, 0);
  tl_put_key(w, key);
  tl_put_array(w);
  for (uint32_t i = 0; i < values->n; i++) {
    tl_put_array(w);
    tl_put_i64(w, tl_view_value_number(r, values->at[i]));
    for (const aspect *a = aspects; *a; a++)
      tl_put_i64(w, (*a)(r, &r->values.at[values->at[i]]));
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void put_values(tl_view_record *r, writer *w, const delta *d) {
  tl_json_line(w, 0);
  tl_put_key(w, "values");
  tl_put_object(w);
  tl_member_u64(w, "from", r->n_values - d->values.n);
  tl_view_put_values(r, w, &d->values);
  tl_put_end(w);
  put_pairs(r, w, "value_types", &d->types, (const aspect[]){type_of, NULL});
  put_pairs(r, w, "value_names", &d->names, (const aspect[]){name_of, NULL});
  put_pairs(r, w, "value_weights", &d->tensors, (const aspect[]){weight_of, kind_of, NULL});
}

/* All nodes in their order. */
static void put_order(tl_view_record *r, writer *w) {
  tl_json_line(w, 0);
  tl_put_key(w, "order");
  tl_put_array(w);
  for (uint32_t i = 0; i < r->m->graphs.n; i++)
    if (!r->m->graphs.at[i]->erased)
      TL_FOR_NODES(r->m, r->m->graphs.at[i], n)
        tl_put_u64(w, n);
  tl_put_end(w);
}

static void put_nodes(tl_view_record *r, writer *w, const char *key, const tl_u32_vec *nodes,
                      bool after) {
  tl_json_line(w, 0);
  tl_put_key(w, key);
  tl_put_object(w);
  tl_view_put_nodes(r, w, nodes, after);
  tl_put_end(w);
}

static bool is_empty(const tl_view_record *r, const delta *d) {
  return !d->removed.n && !d->added.n && !d->changed.n && !d->values.n && !d->types.n &&
         !d->names.n && !d->tensors.n && !d->moved && !d->borders && !d->edges && !r->log.marks.n;
}

static tl_status put_delta(tl_view_record *r, const delta *d) {
  char name[32];
  writer w = tl_json_compact(&r->json);
  tl_put_object(&w);
  put_ids(&w, "removed", &d->removed);
  put_nodes(r, &w, "added", &d->added, true);
  put_nodes(r, &w, "changed", &d->changed, false);
  put_values(r, &w, d);
  if (d->moved)
    put_order(r, &w);
  if (d->borders)
    tl_view_put_borders(r, &w);
  if (d->edges)
    tl_view_put_control(r, &w);
  tl_view_put_rewrites(r, &w);
  tl_put_end(&w);
  snprintf(name, sizeof name, "pass-%u", r->passes.n - 1);
  return end_chunk(r, name);
}

tl_status tl_view_record_pass(void *user, tl_module *m, const tl_pass_event *e) {
  tl_view_record *r = user;
  delta d = {0};
  TL_TRY(tl_view_record_begin(r, m));
  if (!e->after) {
    tl_view_pass pass = {.row = e->row, .nodes_before = e->nodes_before};
    tl_edit_log_clear(&r->log);
    r->first_new = tl_module_node_end(m);
    r->said.n = 0;
    return tl_view_pass_vec_push(&r->passes, pass) ? TL_OK : TL_NO_MEMORY;
  }
  tl_view_pass *pass = &r->passes.at[r->passes.n - 1];
  pass->nanoseconds = e->nanoseconds;
  pass->rewrites = e->changed;
  pass->nodes_after = e->nodes_after;
  compare(r, &d);
  pass->changed = !is_empty(r, &d);
  r->no_memory = r->no_memory || r->log.lost;
  tl_status status = pass->changed ? put_delta(r, &d) : TL_OK;
  release(&d);
  return r->no_memory ? TL_NO_MEMORY : status;
}

/* ---- life ------------------------------------------------------------------------------------ */

void tl_view_record_init(tl_view_record *r, tl_chunks *chunks, tl_view_strings *strings) {
  *r = (tl_view_record){.chunks = chunks, .strings = strings};
  tl_buf_init(&r->json);
}

void tl_view_record_release(tl_view_record *r) {
  if (r->m)
    r->m->log = NULL;
  tl_edit_log_release(&r->log);
  tl_view_print_vec_release(&r->prints);
  tl_u32_vec_release(&r->places);
  tl_u32_vec_release(&r->seen);
  tl_view_value_vec_release(&r->values);
  tl_u32_vec_release(&r->weight_of);
  tl_view_weight_vec_release(&r->weights);
  tl_view_pass_vec_release(&r->passes);
  tl_view_said_vec_release(&r->said);
  tl_view_decision_vec_release(&r->decisions);
  tl_u32_vec_release(&r->decision_nodes);
  tl_u32_vec_release(&r->motions);
  tl_u32_vec_release(&r->by_name);
  tl_u32_vec_release(&r->by_result);
  tl_u32_vec_release(&r->scope_of_name);
  tl_u32_vec_release(&r->why);
  tl_map_release(&r->rules);
  tl_u32_vec_release(&r->rule_list);
  tl_buf_release(&r->json);
}
