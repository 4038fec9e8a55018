/* SPDX-License-Identifier: Apache-2.0 */
/* Makes nodes and constants with inferred types and fresh names (maker.h). */
#include "passes/edit/maker.h"

#include "ir/host.h"
#include "ir/infer/infer.h"
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/edit/values.h"
#include "support/assert.h"

/* The first named result gives the prefix of new names; without one they start with '/'. */
tl_maker tl_maker_before(tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  tl_maker k = {.m = m, .graph = n ? node->graph : tl_module_main(m)->id, .before = n, .like = n};
  for (uint32_t i = 0; i < node->n_results && !k.base; i++)
    k.base = tl_value_get(m, node->results + i)->name;
  return k;
}

tl_status tl_maker_status(tl_maker *k) {
  if (k->no_memory)
    return tl_no_memory(k->m);
  if (k->clash)
    return tl_fail(k->m->diag, TL_INVALID_MODEL, tl_node_where(k->m, k->like),
                   "the shapes of its operands contradict each other");
  return TL_OK;
}

/* Notes that memory is out. */
static tl_value_id no_memory(tl_maker *k) {
  k->no_memory = true;
  return TL_NO_VALUE;
}

tl_symbol tl_maker_name(tl_maker *k, tl_sv word) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "%.*s/%.*s", TL_SV_ARG(tl_sym(k->m, k->base)), TL_SV_ARG(word));
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_fresh_name(k->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Diagnostics are muted: the caller decides whether a clash is an error or a reason to undo. */
bool tl_maker_infer(tl_maker *k, tl_node_id n) {
  tl_muted muted;
  tl_mute(&muted, k->m, NULL, NULL);
  tl_status status = tl_infer_node(k->m, n);
  tl_unmute(&muted);
  k->no_memory = k->no_memory || status == TL_NO_MEMORY;
  k->clash = k->clash || (status != TL_OK && status != TL_NO_MEMORY);
  return status == TL_OK;
}

/* Names are made before the node, so that a failure leaves the graph as it was. `like` may be no
 * node; node 0 then gives no scope. */
tl_value_id tl_make_node(tl_maker *k, const tl_node_spec *wanted) {
  enum { MOST = 16 };
  tl_node_spec spec = *wanted;
  tl_symbol names[MOST];
  if (tl_maker_failed(k))
    return TL_NO_VALUE;
  if (!spec.results) {
    TL_ASSERT(spec.n_results <= MOST);
    for (uint32_t i = 0; i < spec.n_results; i++)
      if ((names[i] = tl_maker_name(k, tl_op_name(k->m, spec.op))) == TL_NO_SYMBOL)
        return no_memory(k);
    spec.results = names;
  }
  tl_node_id n = k->before ? tl_graph_insert(k->m, k->before, &spec)
                           : tl_graph_append(k->m, k->graph, &spec);
  if (!n)
    return no_memory(k);
  tl_node_get(k->m, n)->scope = tl_node_get(k->m, k->like)->scope;
  tl_node_get(k->m, n)->stream = k->like ? tl_node_get(k->m, k->like)->stream : -1;
  if (k->mark && !tl_node_put_mark(k->m, n, k->mark))
    return no_memory(k);
  if (!tl_trace_derive(k->m, n, &k->like, 1, k->inserted))
    return no_memory(k);
  return tl_maker_infer(k, n) ? tl_result(k->m, n, 0) : TL_NO_VALUE;
}

tl_value_id tl_make_list(tl_maker *k, tl_op_id op, const tl_value_id *at, uint32_t n,
                         tl_attr attr) {
  while (n && !at[n - 1])
    n--;
  tl_node_spec spec = {.op = op,
                       .operands = at,
                       .n_operands = n,
                       .n_results = 1,
                       .attrs = &attr,
                       .n_attrs = attr.kind != TL_ATTR_NONE};
  return tl_make_node(k, &spec);
}

tl_value_id tl_make(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_value_id c) {
  const tl_value_id operands[] = {a, b, c};
  return tl_make_list(k, op, operands, 3, (tl_attr){.kind = TL_ATTR_NONE});
}

tl_value_id tl_make_with(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_attr attr) {
  const tl_value_id operands[] = {a, b};
  return tl_make_list(k, op, operands, 2, attr);
}

/* ---- constants ------------------------------------------------------------------------------ */

tl_value_id tl_make_constant(tl_maker *k, tl_tensor_id tensor, const char *name) {
  if (tl_maker_failed(k))
    return TL_NO_VALUE;
  tl_symbol s = tensor ? tl_maker_name(k, tl_sv_from(name)) : TL_NO_SYMBOL;
  tl_value_id v = s == TL_NO_SYMBOL ? TL_NO_VALUE
                                    : tl_graph_add_constant(k->m, k->graph, s, tensor);
  return v ? v : no_memory(k);
}

tl_value_id tl_make_int(tl_maker *k, int64_t v) {
  return tl_make_constant(k, tl_tensor_i64s(k->m, &v, 1, 0), "const");
}

tl_value_id tl_make_ints(tl_maker *k, const int64_t *v, uint32_t n) {
  return tl_make_constant(k, tl_tensor_i64s(k->m, v, n, 1), "const");
}

tl_value_id tl_make_bool(tl_maker *k, bool v, bool along_a_dim) {
  const uint8_t byte = v;
  const tl_dim one = 1;
  tl_type_id type = tl_type_tensor(k->m, TL_DTYPE_BOOL, along_a_dim, &one);
  return tl_make_constant(k, type ? tl_tensor_from_bytes(k->m, type, &byte, 1) : TL_NO_TENSOR,
                          "const");
}

/* Dtypes other than floats are only needed with 0, whose bits are all zero. */
tl_value_id tl_make_number(tl_maker *k, tl_dtype dtype, double v) {
  uint8_t bytes[16] = {0}; /* large enough for every dtype; number zero has all bits zero */
  uint64_t n = 0;
  tl_type_id type = tl_type_tensor(k->m, dtype, 0, NULL);
  bool known = tl_dtype_bytes(dtype, 1, &n) && n <= sizeof bytes;
  TL_ASSERT(known && (v == 0 || tl_dtype_is_float(dtype)));
  if (known && v != 0)
    tl_host_from_f64(dtype, &v, bytes, 0, 1, (tl_narrowing){false, TL_E8M0_NEAREST});
  return tl_make_constant(
      k, type && known ? tl_tensor_from_bytes(k->m, type, bytes, n) : TL_NO_TENSOR, "const");
}

/* ---- often wanted --------------------------------------------------------------------------- */

tl_value_id tl_make_as(tl_maker *k, tl_value_id x, tl_dtype dtype) {
  bool has = !x || tl_type_dtype(k->m, tl_value_type(k->m, x)) == dtype;
  return has ? x : tl_make_cast(k, x, dtype);
}

tl_value_id tl_make_cast(tl_maker *k, tl_value_id x, tl_dtype dtype) {
  return tl_make_with(k, TL_OP_Cast, x, TL_NO_VALUE,
                      tl_attr_int(TL_SYM_to, tl_dtype_get(dtype)->onnx));
}

tl_value_id tl_make_concat(tl_maker *k, const tl_value_id *at, uint32_t n, int64_t axis) {
  return tl_make_list(k, TL_OP_Concat, at, n, tl_attr_int(TL_SYM_axis, axis));
}

tl_value_id tl_make_reshape(tl_maker *k, tl_value_id x, const int64_t *dims, uint32_t n) {
  return tl_make(k, TL_OP_Reshape, x, tl_make_ints(k, dims, n), TL_NO_VALUE);
}

tl_value_id tl_make_sequence(tl_maker *k, const tl_value_id *at, uint32_t n) {
  return tl_make_list(k, TL_OP_SequenceConstruct, at, n, (tl_attr){.kind = TL_ATTR_NONE});
}

tl_value_id tl_make_identity(tl_maker *k, tl_value_id x) {
  return tl_make(k, TL_OP_Identity, x, TL_NO_VALUE, TL_NO_VALUE);
}

tl_value_id tl_make_unsqueeze(tl_maker *k, tl_value_id x, int64_t axis) {
  return tl_make(k, TL_OP_Unsqueeze, x, tl_make_ints(k, &axis, 1), TL_NO_VALUE);
}

tl_value_id tl_make_squeeze(tl_maker *k, tl_value_id x, int64_t axis) {
  return tl_make(k, TL_OP_Squeeze, x, tl_make_ints(k, &axis, 1), TL_NO_VALUE);
}

tl_value_id tl_make_slice(tl_maker *k, tl_value_id x, int64_t axis, int64_t from, int64_t to) {
  tl_value_id operands[4] = {x};
  operands[1] = tl_make_ints(k, &from, 1);
  operands[2] = tl_make_ints(k, &to, 1);
  operands[3] = tl_make_ints(k, &axis, 1);
  return tl_make_list(k, TL_OP_Slice, operands, 4, (tl_attr){.kind = TL_ATTR_NONE});
}

tl_value_id tl_make_pick(tl_maker *k, tl_value_id x, int64_t axis, tl_value_id place) {
  return tl_make_with(k, TL_OP_Gather, x, place, tl_attr_int(TL_SYM_axis, axis));
}

tl_value_id tl_make_transpose(tl_maker *k, tl_value_id x, const int64_t *perm, uint32_t n) {
  tl_attr a = tl_attr_ints(k->m, TL_SYM_perm, perm, n);
  if (a.kind == TL_ATTR_NONE)
    return no_memory(k);
  return tl_make_with(k, TL_OP_Transpose, x, TL_NO_VALUE, a);
}

/* A static size becomes a constant at once. */
tl_value_id tl_make_size(tl_maker *k, tl_value_id x, int64_t axis) {
  const tl_type *t = tl_type_get(k->m, tl_value_type(k->m, x));
  int64_t at = axis < 0 ? axis + t->rank : axis;
  if (t->kind == TL_KIND_TENSOR && at >= 0 && at < t->rank && tl_dim_is_static(t->dims[at]))
    return tl_make_int(k, t->dims[at]);
  tl_value_id shape = tl_make(k, TL_OP_Shape, x, TL_NO_VALUE, TL_NO_VALUE);
  return tl_make_pick(k, shape, 0, tl_make_int(k, axis));
}

/* ---- replacing and taking back -------------------------------------------------------------- */

/* The Identity takes over the name before the uses move; on failure the name goes back. */
void tl_maker_replace(tl_maker *k, tl_value_id old, tl_value_id made) {
  if (tl_maker_failed(k))
    return;
  if (tl_value_leaves_graph(k->m, old)) {
    tl_symbol name = tl_value_get(k->m, old)->name;
    tl_node_spec spec = {
        .op = TL_OP_Identity, .operands = &made, .n_operands = 1, .results = &name, .n_results = 1};
    tl_value_set_name(k->m, old, 0);
    made = tl_make_node(k, &spec);
    if (!made) {
      tl_value_set_name(k->m, old, name);
      return;
    }
  }
  tl_value_move_roles(k->m, old, made);
  tl_value_replace_uses(k->m, old, made);
}

tl_maker_mark tl_maker_save(const tl_maker *k) {
  const tl_graph *g = tl_graph_get(k->m, k->graph);
  return (tl_maker_mark){k->before ? tl_node_get(k->m, k->before)->previous : g->last,
                         g->constants.n};
}

/* Nodes are erased from the last to the first, so that users go before their operands. */
void tl_maker_undo(tl_maker *k, tl_maker_mark mark) {
  const tl_graph *g = tl_graph_get(k->m, k->graph);
  tl_node_id last;
  while ((last = k->before ? tl_node_get(k->m, k->before)->previous : g->last) != mark.previous)
    tl_node_erase(k->m, last);
  for (uint32_t i = g->constants.n; i > mark.n_constants; i--)
    if (g->constants.at[i - 1])
      tl_graph_erase_constant(k->m, g->constants.at[i - 1]);
}
