/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites a node for the order of its axes: a function for each way to name one (apply.h). */
#include "passes/layout/apply.h"

#include "ir/ops_gen.h"
#include "passes/edit/maker.h"

typedef struct applying {
  const tl_law *law;
  tl_module *m;
  tl_node_id n;
  tl_maker k;
  tl_order seen; /* order of the dims that axes are numbers of */
  tl_u32_vec *made;
  bool no_memory;
} applying;

static const tl_type *type_of(const tl_module *m, tl_value_id v) {
  return tl_type_get(m, tl_value_type(m, v));
}

/* Appends the node that makes v to those that folding evaluates. */
static tl_value_id to_fold(applying *a, tl_value_id v) {
  tl_node_id n = v ? tl_value_producer(a->m, v) : TL_NO_NODE;
  a->no_memory = a->no_memory || (n && !tl_u32_vec_push(a->made, n));
  return v;
}

static int64_t renamed(const applying *a, int64_t axis, unsigned rank) {
  return tl_order_at(tl_order_back(a->seen), (unsigned)(axis < 0 ? axis + rank : axis));
}

/* The rank that axes are counted in. */
static unsigned counted_in(const applying *a) {
  bool inserts = a->law->row->kind == TL_LAW_INSERTED;
  return inserts ? a->law->n_out : a->law->n_in ? a->law->n_in : a->law->n_axes;
}

/* Axes in an operand. Where the first ones are meant without it, they are written out: numbers stay
 * in their order. */
static void rename_list(applying *a, uint32_t i) {
  int64_t axes[TL_MOST_AXES];
  uint32_t count = 0;
  unsigned rank = counted_in(a);
  tl_value_id v = tl_operand(a->m, a->n, i);
  if (!v) {
    const tl_type *starts = type_of(a->m, tl_operand(a->m, a->n, 1));
    for (count = 0; count < rank && count < starts->dims[0]; count++)
      axes[count] = count;
  } else if (!tl_law_list(a->m, v, axes, TL_MOST_AXES, &count)) {
    return;
  }
  for (uint32_t k = 0; k < count; k++)
    axes[k] = renamed(a, axes[k], rank);
  const tl_type *t = v ? type_of(a->m, v) : NULL;
  bool narrow = t && t->dtype == TL_DTYPE_I32;
  int32_t small[TL_MOST_AXES];
  for (uint32_t k = 0; k < count; k++)
    small[k] = (int32_t)axes[k];
  int list = t ? t->rank : 1;
  tl_tensor_id tensor = narrow ? tl_tensor_i32s(a->m, small, count, list)
                               : tl_tensor_i64s(a->m, axes, count, list);
  tl_value_id made = tl_make_constant(&a->k, tensor, "axes");
  if (made && i >= tl_node_get(a->m, a->n)->n_operands) {
    tl_value_id all[5] = {0};
    for (uint32_t k = 0; k < i; k++)
      all[k] = tl_operand(a->m, a->n, k);
    all[i] = made;
    a->no_memory = a->no_memory || tl_node_set_operands(a->m, a->n, all, i + 1) != TL_OK;
  } else if (made) {
    tl_node_set_operand(a->m, a->n, i, made);
  }
}

static void rename_attr(applying *a) {
  int64_t axis = tl_node_attr_int(a->m, a->n, TL_SYM_axis, 0);
  int64_t rank = counted_in(a), to;
  bool scales = a->law->row->axis == TL_LAW_AXIS_SCALES;
  if (scales && type_of(a->m, tl_operand(a->m, a->n, 1))->rank == 0) /* one for all */
    return;
  to = renamed(a, axis, (unsigned)rank);
  if (to != (axis < 0 ? axis + rank : axis))
    a->no_memory = a->no_memory ||
                   tl_node_set_attr(a->m, a->n, tl_attr_int(TL_SYM_axis, to)) != TL_OK;
}

/* A number, or two, for each axis: they are gathered in the new order. */
static void reorder_list(applying *a, uint32_t i, uint32_t runs) {
  int64_t places[2 * TL_MOST_AXES];
  tl_value_id v = tl_operand(a->m, a->n, i);
  const tl_type *t = type_of(a->m, v);
  unsigned n = a->law->n_axes;
  if (t->rank != 1 || t->dims[0] == 0)
    return;
  for (unsigned k = 0; k < runs * n; k++)
    places[k] = tl_order_at(a->law->now, k % n) + k / n * n;
  tl_value_id at = tl_make_ints(&a->k, places, runs * n);
  tl_value_id made = tl_make_with(&a->k, TL_OP_Gather, v, at, tl_attr_int(TL_SYM_axis, 0));
  if (made && tl_value_constant(a->m, v))
    to_fold(a, made);
  if (made)
    tl_node_set_operand(a->m, a->n, i, made);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* A constant with the dims of the node, in its order. */
static tl_value_id turned(applying *a, tl_value_id v, tl_order o) {
  int64_t dims[TL_MOST_AXES], perm[TL_MOST_AXES];
  const tl_type *t = type_of(a->m, v);
  unsigned rank = a->law->n_axes, own = (unsigned)t->rank;
  for (unsigned i = 0; i < rank; i++) {
    dims[i] = i + own < rank ? 1 : t->dims[i + own - rank];
    perm[i] = tl_order_at(o, i);
  }
  if (own < rank) {
    tl_value_id shape = tl_make_ints(&a->k, dims, rank);
    v = to_fold(a, tl_make(&a->k, TL_OP_Reshape, v, shape, TL_NO_VALUE));
  }
  return v ? to_fold(a, tl_make_transpose(&a->k, v, perm, rank)) : v;
}

/* A constant that is dequantized by the node `from`: the same node again, over the turned one. */
static tl_value_id turned_quantized(applying *a, tl_node_id from) {
  tl_value_id operands[3];
  unsigned rank = a->law->n_axes;
  unsigned own = (unsigned)type_of(a->m, tl_operand(a->m, from, 0))->rank;
  int64_t axis = tl_node_attr_int(a->m, from, TL_SYM_axis, 0);
  operands[0] = turned(a, tl_operand(a->m, from, 0), a->law->now);
  for (uint32_t i = 1; i < 3; i++)
    operands[i] = tl_operand(a->m, from, i);
  tl_node_spec spec = {.op = tl_node_get(a->m, from)->op,
                       .operands = operands,
                       .n_operands = tl_node_get(a->m, from)->n_operands,
                       .n_results = 1,
                       .attrs = tl_node_get(a->m, from)->attrs,
                       .n_attrs = tl_node_get(a->m, from)->n_attrs};
  tl_value_id made = operands[0] ? tl_make_node(&a->k, &spec) : TL_NO_VALUE;
  tl_node_id n = made ? tl_value_producer(a->m, made) : TL_NO_NODE;
  bool by_axis = type_of(a->m, operands[1])->rank == 1;
  unsigned at = (unsigned)(axis < 0 ? axis + own : axis) + rank - own;
  int64_t to = by_axis ? tl_order_at(tl_order_back(a->law->now), at) : 0;
  if (n && by_axis)
    a->no_memory = a->no_memory || tl_node_set_attr(a->m, n, tl_attr_int(TL_SYM_axis, to)) != TL_OK;
  return made;
}

/* Operands that are constants have the order of the node at once. */
static void turn_weights(applying *a) {
  tl_law_port port;
  for (uint32_t i = 0; i < tl_node_get(a->m, a->n)->n_operands; i++) {
    tl_value_id v = tl_operand(a->m, a->n, i), made = TL_NO_VALUE;
    if (!tl_law_operand(a->law, a->m, a->n, i, &port))
      continue;
    bool spread = a->law->row->kind == TL_LAW_SPREAD;
    bool weight = spread ? tl_law_beside_of(a->law, a->m, a->n, i, a->law->now) == TL_LAW_WEIGHT
                         : tl_value_constant(a->m, v) != NULL;
    if (weight && !tl_value_constant(a->m, v))
      made = turned_quantized(a, tl_value_producer(a->m, v));
    else if (weight)
      made = turned(a, v, spread ? a->law->now : tl_law_seen(port, a->law->now));
    if (made)
      tl_node_set_operand(a->m, a->n, i, made);
  }
}

/* ---- nodes of their own kind ----------------------------------------------------------------- */

static void reshape(applying *a) {
  int64_t spec[TL_MOST_AXES];
  bool same;
  if (!tl_law_reshape(a->law, a->m, a->n, a->law->now, spec, &same))
    return;
  tl_value_id made = tl_make_ints(&a->k, spec, a->law->n_out);
  if (made)
    tl_node_set_operand(a->m, a->n, 1, made);
  tl_node_remove_attr(a->m, a->n, TL_SYM_allowzero);
}

/* The sizes of a value in another order, gathered back: what is gathered takes over the name. */
static void gather_sizes(applying *a) {
  int64_t places[TL_MOST_AXES];
  tl_value_id v = tl_result(a->m, a->n, 0);
  for (unsigned i = 0; i < a->law->n_axes; i++)
    places[i] = tl_order_at(tl_order_back(a->seen), i);
  a->k.before = tl_node_get(a->m, a->n)->next;
  tl_value_id at = tl_make_ints(&a->k, places, a->law->n_axes);
  tl_value_id made = tl_make_with(&a->k, TL_OP_Gather, v, at, tl_attr_int(TL_SYM_axis, 0));
  if (!made)
    return;
  tl_symbol name = tl_value_get(a->m, v)->name;
  tl_value_set_name(a->m, v, tl_value_get(a->m, made)->name);
  tl_value_set_name(a->m, made, name);
  tl_value_set_type(a->m, made, tl_value_type(a->m, v));
  tl_value_get(a->m, v)->tensor = TL_NO_TENSOR;
  tl_value_replace_uses(a->m, v, made);
  tl_node_set_operand(a->m, tl_value_producer(a->m, made), 0, v);
}

tl_status tl_law_apply(const tl_law *law, tl_module *m, tl_node_id n, tl_u32_vec *made) {
  tl_law_port port = {law->n_in ? law->n_in : law->n_axes, false, law->in};
  applying a = {law, m, n, tl_maker_before(m, n), TL_ORDER_SAME, made, false};
  if (law->row->kind == TL_LAW_INSERTED)
    port = (tl_law_port){law->n_out, false, law->out};
  a.seen = tl_law_seen(port, law->now);
  if (law->row->axis != TL_LAW_AXIS_NONE && law->row->axis != TL_LAW_AXIS_BEHIND &&
      law->row->axis != TL_LAW_AXIS_ROWS)
    rename_attr(&a);
  for (uint32_t i = 1; i < 5; i++) {
    bool first;
    if (tl_law_lists_axes(law, i, &first) && (tl_operand(m, n, i) || first))
      rename_list(&a, i);
    uint32_t runs = tl_law_runs(law, m, n, i);
    if (runs)
      reorder_list(&a, i, runs);
  }
  turn_weights(&a);
  if (law->row->kind == TL_LAW_RESHAPED)
    reshape(&a);
  if (law->row->kind == TL_LAW_SIZED)
    gather_sizes(&a);
  if (a.no_memory)
    return tl_no_memory(m);
  return tl_maker_status(&a.k);
}
