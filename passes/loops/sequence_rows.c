/* SPDX-License-Identifier: Apache-2.0 */
/* sequence-rows: sequences whose elements have one shape become tensors with a dim more, in all
 * graphs: what an input is that held a sequence, what SplitToSequence takes apart, what SequenceMap
 * makes and what a Loop collects element by element. Optional values whose presence is known become
 * what they hold.
 *
 * Requires:  types inferred.     Keeps: names of outputs; everything else of the model.
 * After:     no op reads a sequence that is known to be the rows of a tensor, where the same can be
 *            had of the tensor; no Loop carries a sequence that it only appends to, if all that it
 *            appends has one shape.
 * Cost:      O(nodes).
 * Tests:     tests/golden/sequence-rows/ */
#include "passes/loops/sequence_loops.h"

#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/edit/rows.h"

static const tl_type *type_of(const tl_module *m, tl_value_id v) {
  return tl_type_get(m, tl_value_type(m, v));
}

/* Returns the integer that a constant of one element holds; false if it is none. */
static bool known_int(const tl_module *m, tl_value_id v, int64_t *out) {
  const tl_tensor *t = v ? tl_value_constant(m, v) : NULL;
  return t && tl_tensor_elements(m, t) == 1 && tl_tensor_int_at(m, t, 0, out);
}

/* ---- optionals ------------------------------------------------------------------------------- */

/* Returns what an operand of an op of optionals holds: itself if it is no optional. */
static tl_value_id held_by(const tl_module *m, tl_value_id v) {
  tl_value_id origin = tl_value_origin(m, v);
  tl_node_id n = origin ? tl_value_producer(m, origin) : TL_NO_NODE;
  tl_type_kind kind = origin ? (tl_type_kind)type_of(m, origin)->kind : TL_KIND_UNKNOWN;
  if (n && tl_node_get(m, n)->op == TL_OP_Optional)
    return tl_operand(m, n, 0);
  return kind == TL_KIND_TENSOR || kind == TL_KIND_SEQUENCE ? origin : TL_NO_VALUE;
}

/* Returns true if an optional is known to be empty. */
static bool is_empty(const tl_module *m, tl_value_id v) {
  tl_value_id origin = tl_value_origin(m, v);
  tl_node_id n = origin ? tl_value_producer(m, origin) : TL_NO_NODE;
  return !origin || (n && tl_node_get(m, n)->op == TL_OP_Optional && !tl_operand(m, n, 0));
}

static tl_value_id has_element(tl_maker *k, tl_node_id n) {
  tl_value_id v = tl_operand(k->m, n, 0);
  bool empty = is_empty(k->m, v);
  return empty || held_by(k->m, v) ? tl_make_bool(k, !empty, false) : TL_NO_VALUE;
}

/* ---- ops of sequences ------------------------------------------------------------------------ */

/* Rows along another axis are rows along the first one of the transposed tensor. */
static tl_value_id split(tl_maker *k, tl_node_id n) {
  int64_t perm[TL_MAX_RANK];
  tl_value_id x = tl_operand(k->m, n, 0);
  int rank = type_of(k->m, x)->rank;
  int64_t axis = tl_node_attr_int(k->m, n, TL_SYM_axis, 0);
  axis = axis < 0 ? axis + rank : axis;
  if (rank < 2 || axis < 1 || axis >= rank || tl_operand(k->m, n, 1) ||
      tl_node_attr_int(k->m, n, TL_SYM_keepdims, 1) != 0)
    return TL_NO_VALUE;
  perm[0] = axis;
  for (int64_t to = 1, from = 0; to < rank; to++, from++) {
    from += from == axis;
    perm[to] = from;
  }
  return tl_make_rows(k, tl_make_transpose(k, x, perm, (uint32_t)rank));
}

/* A known place in a list that the graph puts together, or a row. */
static tl_value_id at(tl_maker *k, tl_node_id n) {
  tl_value_id s = tl_operand(k->m, n, 0), place = tl_operand(k->m, n, 1);
  tl_value_id rows = tl_rows_of(k->m, s), origin = tl_value_origin(k->m, s);
  tl_node_id maker = tl_value_producer(k->m, origin);
  int64_t i = 0;
  if (rows && type_of(k->m, place)->rank == 0)
    return tl_make_pick(k, rows, 0, place);
  if (!maker || tl_node_get(k->m, maker)->op != TL_OP_SequenceConstruct ||
      !known_int(k->m, place, &i))
    return TL_NO_VALUE;
  i += i < 0 ? tl_node_get(k->m, maker)->n_operands : 0;
  return i >= 0 && i < tl_node_get(k->m, maker)->n_operands ? tl_operand(k->m, maker, (uint32_t)i)
                                                            : TL_NO_VALUE;
}

/* At the end, or at the front; another place may be out of range, which GE's op checks. */
static tl_value_id insert(tl_maker *k, tl_node_id n) {
  tl_value_id rows = tl_rows_of(k->m, tl_operand(k->m, n, 0)), t = tl_operand(k->m, n, 1);
  const tl_type *r = rows ? type_of(k->m, rows) : NULL, *e = type_of(k->m, t);
  int64_t place = -1;
  bool front = tl_operand(k->m, n, 2) && known_int(k->m, tl_operand(k->m, n, 2), &place);
  bool fits = r && r->rank == e->rank + 1 && e->kind == TL_KIND_TENSOR && e->rank >= 0;
  for (int i = 0; fits && i < e->rank; i++)
    fits = e->dims[i] != TL_DIM_UNKNOWN && e->dims[i] == r->dims[i + 1];
  if (!fits || (tl_operand(k->m, n, 2) && (!front || place != 0)))
    return TL_NO_VALUE;
  tl_value_id one = tl_make_unsqueeze(k, t, 0);
  const tl_value_id back[] = {rows, one}, first[] = {one, rows};
  return tl_make_rows(k, tl_make_concat(k, front ? first : back, 2, 0));
}

/* Stacks along an axis: the rows, their first dim moved there. */
static tl_value_id concat(tl_maker *k, tl_node_id n) {
  int64_t perm[TL_MAX_RANK];
  tl_value_id rows = tl_rows_of(k->m, tl_operand(k->m, n, 0));
  int rank = rows ? type_of(k->m, rows)->rank : 0;
  int64_t axis = tl_node_attr_int(k->m, n, TL_SYM_axis, 0);
  if (!rows || tl_node_attr_int(k->m, n, TL_SYM_new_axis, 0) == 0)
    return TL_NO_VALUE;
  if (axis == 0)
    return rows;
  axis = axis < 0 ? axis + rank : axis;
  if (rank < 1 || axis < 0 || axis >= rank)
    return TL_NO_VALUE;
  for (int64_t to = 0, from = 1; to < rank; to++)
    perm[to] = to == axis ? 0 : from++;
  return tl_make_transpose(k, rows, perm, (uint32_t)rank);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Returns what takes the place of the node's result, or TL_NO_VALUE. */
static tl_value_id form_of(tl_maker *k, tl_node_id n) {
  tl_value_id rows = TL_NO_VALUE;
  switch (tl_node_get(k->m, n)->op) {
  case TL_OP_OptionalGetElement: return held_by(k->m, tl_operand(k->m, n, 0));
  case TL_OP_OptionalHasElement: return has_element(k, n);
  case TL_OP_SplitToSequence: return split(k, n);
  case TL_OP_SequenceAt: return at(k, n);
  case TL_OP_SequenceInsert: return insert(k, n);
  case TL_OP_ConcatFromSequence: return concat(k, n);
  case TL_OP_SequenceLength:
    rows = tl_rows_of(k->m, tl_operand(k->m, n, 0));
    return rows ? tl_make_size(k, rows, 0) : TL_NO_VALUE;
  default: return TL_NO_VALUE;
  }
}

static tl_status visit_node(tl_rows_pass *w, tl_node_id n) {
  tl_module *m = w->m;
  const tl_node *node = tl_node_get(m, n);
  if (node->op == TL_OP_Loop)
    return tl_rows_of_loop(w, n);
  if (node->op == TL_OP_SequenceMap)
    return tl_rows_of_map(w, n);
  if (node->control_in || node->control_out || node->n_results != 1 ||
      tl_is_pinned(&w->pinned, node->results) || *w->p->rewrites >= w->p->limit)
    return TL_OK;
  tl_maker k = tl_maker_before(m, n);
  tl_maker_mark mark = tl_maker_save(&k);
  tl_value_id made = form_of(&k, n);
  if (k.clash) { /* what does not fit stays, and is told at run time */
    tl_maker_undo(&k, mark);
    return TL_OK;
  }
  if (k.no_memory || !made)
    return tl_maker_status(&k);
  if (!tl_pass_may_rewrite(w->p))
    return TL_OK;
  tl_maker_replace(&k, tl_result(m, n, 0), made);
  if (!tl_maker_failed(&k))
    tl_node_erase(m, n);
  return tl_maker_status(&k);
}

/* Bodies first: a Loop is judged by what its body has become. The reader bounds the nesting. */
static tl_status visit_graph(tl_rows_pass *w, tl_graph_id id) {
  tl_module *m = w->m;
  TL_FOR_NODES(m, tl_graph_get(m, id), n) {
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_attrs; i++) {
      const tl_attr *a = &tl_node_get(m, n)->attrs[i];
      if (a->kind == TL_ATTR_GRAPH && tl_node_get(m, n)->op != TL_OP_SequenceMap)
        TL_TRY(visit_graph(w, a->u.g));
    }
    TL_TRY(visit_node(w, n));
  }
  return TL_OK;
}

static bool is_wanted(const tl_module *m) {
  for (tl_value_id v = 1; v < tl_module_value_end(m); v++) {
    tl_type_kind kind = (tl_type_kind)type_of(m, v)->kind;
    if (kind == TL_KIND_SEQUENCE || kind == TL_KIND_OPTIONAL)
      return true;
  }
  return false;
}

tl_status tl_pass_sequence_rows(tl_pass *p, tl_module *m) {
  tl_rows_pass w = {.p = p, .m = m};
  if (!is_wanted(m))
    return TL_OK;
  TL_TRY(tl_pinned_find(p, m, &w.pinned));
  for (uint32_t id = 1; id <= m->graphs.n; id++)
    if (!tl_graph_get(m, id)->erased && tl_graph_get(m, id)->kind != TL_GRAPH_BODY)
      TL_TRY(visit_graph(&w, id));
  if (!p->changed)
    return TL_OK;
  tl_sequences_sweep(m);
  return tl_infer_module(m);
}
