/* SPDX-License-Identifier: Apache-2.0 */
/* Lays figures over the last state of a graph. */
#include <stdio.h>

#include "ir/trace.h"
#include "passes/train/time/cost.h"
#include "passes/ub/traffic.h"
#include "tools/page/facts.h"

/* ---- overlays -------------------------------------------------------------------------------- */

void tl_view_overlay_begin(tl_view_overlay *o) {
  *o = (tl_view_overlay){0};
  tl_buf_init(&o->values);
  o->list = tl_json_compact(&o->values);
  tl_put_array(&o->list);
}

static void add(tl_view_overlay *o, tl_node_id n, uint32_t note) {
  o->failed = o->failed || !tl_u32_vec_push(&o->nodes, n) || !tl_u32_vec_push(&o->notes, note);
}

void tl_view_overlay_number(tl_view_overlay *o, tl_node_id n, double value, uint32_t note) {
  add(o, n, note);
  if (value >= 0 && value < 9e15 && value == (double)(uint64_t)value)
    tl_put_u64(&o->list, (uint64_t)value);
  else
    tl_put_f64(&o->list, value);
}

void tl_view_overlay_text(tl_view_model *v, tl_view_overlay *o, tl_node_id n, uint32_t value,
                          uint32_t note) {
  (void)v;
  add(o, n, note);
  tl_put_u64(&o->list, value);
}

static void put_list(tl_json_writer *w, const char *key, const tl_u32_vec *list) {
  tl_put_key(w, key);
  tl_put_array(w);
  for (uint32_t i = 0; i < list->n; i++)
    tl_put_u64(w, list->at[i]);
  tl_put_end(w);
}

void tl_view_overlay_end(tl_view_model *v, tl_view_overlay *o, const tl_view_title *t) {
  char name[64];
  tl_buf json;
  tl_buf_init(&json);
  tl_json_writer w = tl_json_compact(&json);
  tl_put_end(&o->list);
  tl_put_object(&w);
  tl_member_z(&w, "title", t->title);
  tl_member_z(&w, "unit", t->unit);
  tl_member_z(&w, "kind", t->kind);
  tl_put_key(&w, "state");
  tl_put_i64(&w, -1);
  put_list(&w, "node", &o->nodes);
  tl_put_key(&w, "value");
  tl_put_made(&w, tl_buf_view(&o->values));
  put_list(&w, "note", &o->notes);
  tl_put_end(&w);
  snprintf(name, sizeof name, "overlay-%s", t->name);
  json.failed = json.failed || o->failed || o->values.failed;
  if (o->nodes.n || json.failed)
    tl_chunks_add(v->chunks, name, &json);
  tl_buf_release(&json);
  tl_u32_vec_release(&o->nodes);
  tl_u32_vec_release(&o->notes);
  tl_buf_release(&o->values);
}

/* ---- figures --------------------------------------------------------------------------------- */

/* Adds one node to an overlay, or nothing. */
typedef void (*figure)(tl_view_model *v, tl_view_overlay *o, tl_node_id n);

static tl_dtype dtype_of(const tl_view_model *v, tl_value_id value) {
  return value ? tl_type_dtype(v->m, tl_value_type(v->m, value)) : TL_DTYPE_NONE;
}

static void add_dtype(tl_view_model *v, tl_view_overlay *o, tl_node_id n) {
  tl_dtype dtype = dtype_of(v, tl_result(v->m, n, 0));
  if (dtype != TL_DTYPE_NONE)
    tl_view_overlay_text(v, o, n, tl_view_text(&v->strings, tl_sv_from(tl_dtype_get(dtype)->name)),
                         tl_view_get(&v->dtype_why, n));
}

static void add_cast(tl_view_model *v, tl_view_overlay *o, tl_node_id n) {
  tl_dtype from = dtype_of(v, tl_operand(v->m, n, 0)), to = dtype_of(v, tl_result(v->m, n, 0));
  char text[64];
  if (!tl_sv_is(tl_op_name(v->m, tl_node_get(v->m, n)->op), "Cast") || !from || !to)
    return;
  snprintf(text, sizeof text, "%s -> %s", tl_dtype_get(from)->name, tl_dtype_get(to)->name);
  uint32_t why = tl_view_get(&v->dtype_why, n);
  tl_view_overlay_text(v, o, n, tl_view_text(&v->strings, tl_sv_from(text)),
                       why ? why : tl_view_get(&v->record.why, n));
}

/* A weight that several nodes read counts for each of them. */
static void add_weights(tl_view_model *v, tl_view_overlay *o, tl_node_id n) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < tl_node_get(v->m, n)->n_operands; i++) {
    tl_value_id value = tl_operand(v->m, n, i);
    const tl_tensor *t = value ? tl_value_constant(v->m, value) : NULL;
    bytes += t ? t->bytes : 0;
  }
  if (bytes)
    tl_view_overlay_number(o, n, (double)bytes, 0);
}

static void add_macs(tl_view_model *v, tl_view_overlay *o, tl_node_id n) {
  double macs = tl_cost_macs(v->m, n);
  if (macs > 0)
    tl_view_overlay_number(o, n, macs, 0);
}

static void add_traffic(tl_view_model *v, tl_view_overlay *o, tl_node_id n) {
  uint64_t bytes = tl_ub_node_traffic(v->m, n);
  if (bytes)
    tl_view_overlay_number(o, n, (double)bytes, 0);
}

static void add_kernel(tl_view_model *v, tl_view_overlay *o, tl_node_id n) {
  tl_symbol scope = tl_symbol_find(&v->m->symbols, TL_SV(TL_UB_SCOPE_ATTR));
  tl_symbol pass = tl_symbol_find(&v->m->symbols, TL_SV(TL_UB_PASS_ATTR));
  int64_t kernel = scope == TL_NO_SYMBOL ? 0 : tl_ub_scope(v->m, n, scope);
  const tl_attr *a = pass == TL_NO_SYMBOL ? NULL : tl_node_attr(v->m, n, pass);
  char text[32];
  if (kernel <= 0)
    return;
  snprintf(text, sizeof text, "%lld", (long long)kernel);
  tl_view_overlay_text(v, o, n, tl_view_text(&v->strings, tl_sv_from(text)),
                       a && a->kind == TL_ATTR_STRING ? tl_view_symbol(&v->strings, v->m, a->u.s)
                                                      : 0);
}

/* The fusions that made a node, and the nodes of the model that it stands for. */
static void add_fusion(tl_view_model *v, tl_view_overlay *o, tl_node_id n) {
  tl_sv passes = tl_trace_get(v->m, n, TL_TRACE_PASSES), item;
  tl_buf text, room;
  tl_buf_init(&text);
  tl_buf_init(&room);
  tl_trace_items at = tl_trace_start(passes);
  while (passes.n && tl_trace_next(&at, &room, &item)) {
    tl_buf_add_z(&text, text.n ? ", " : "");
    tl_buf_add_sv(&text, item);
  }
  if (text.n)
    tl_view_overlay_text(v, o, n, tl_view_text(&v->strings, tl_buf_view(&text)),
                         tl_view_text(&v->strings, tl_trace_get(v->m, n, TL_TRACE_NAMES)));
  v->record.no_memory = v->record.no_memory || text.failed || room.failed;
  tl_buf_release(&text);
  tl_buf_release(&room);
}

static void add_stream(tl_view_model *v, tl_view_overlay *o, tl_node_id n) {
  int32_t stream = tl_node_get(v->m, n)->stream;
  char text[32];
  if (stream < 0)
    return;
  snprintf(text, sizeof text, "%d", stream);
  tl_view_overlay_text(v, o, n, tl_view_text(&v->strings, tl_sv_from(text)), 0);
}

void tl_view_figures(tl_view_model *v) {
  static const struct {
    tl_view_title title;
    figure fn;
  } rows[] = {
      {{"dtype", "Element type of the first result", "", "category"}, add_dtype},
      {{"casts", "Casts, and why", "", "category"}, add_cast},
      {{"weights", "Weights that a node reads", "bytes", "number"}, add_weights},
      {{"macs", "Multiplications of products and convolutions", "MACs", "number"}, add_macs},
      {{"traffic", "Reads and writes of global memory", "bytes", "number"}, add_traffic},
      {{"kernels", "Kernels of several nodes", "", "category"}, add_kernel},
      {{"fusion", "Fusions that made a node", "", "category"}, add_fusion},
      {{"streams", "Streams", "", "category"}, add_stream},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tl_view_overlay o;
    tl_view_overlay_begin(&o);
    for (uint32_t g = 0; g < v->m->graphs.n; g++)
      if (!v->m->graphs.at[g]->erased)
        TL_FOR_NODES(v->m, v->m->graphs.at[g], n)
          rows[i].fn(v, &o, n);
    tl_view_overlay_end(v, &o, &rows[i].title);
  }
}
