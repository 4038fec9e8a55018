/* SPDX-License-Identifier: Apache-2.0 */
/* Types of results that nobody reads, and that the graph therefore lacks: unread.tbl. */
#include "backend/air/air.h"

#include "ir/ops_gen.h"

typedef enum rule { LIKE, SCALAR, ROWS, AXIS, SPACE, STATE } rule;

static const struct {
  tl_op_id op;
  uint8_t result, rule, operand;
} rows[] = {
#define UNREAD(op, result, rule, operand) {TL_OP_npu_##op, result, rule, operand},
#include "backend/air/unread.tbl"
#undef UNREAD
};

static const tl_type *operand_type(const tl_air *a, tl_node_id n, uint32_t i) {
  return tl_type_get(a->m, tl_value_type(a->m, tl_operand(a->m, n, i)));
}

/* Returns from which dim of x on a result has 1; -1 if that is not known. */
static int ones_from(const tl_air *a, tl_node_id n, rule how, const tl_type *x,
                     const tl_type *other) {
  int64_t axis = x->rank;
  if (how == ROWS)
    axis = other->rank < 0 ? -1 : x->rank - other->rank;
  if (how == AXIS) {
    const tl_attr *given = tl_node_attr_or_default(a->m, n, TL_SYM_begin_norm_axis);
    axis = given && given->kind == TL_ATTR_INT ? given->u.i : -x->rank - 1;
    axis += axis < 0 ? x->rank : 0;
  }
  if (how == SPACE) {
    tl_sv format = tl_node_attr_string(a->m, n, TL_SYM_data_format);
    axis = format.n >= 2 && memcmp(format.p, "NC", 2) == 0 && x->rank >= 2 ? 2 : -1;
  }
  return axis >= 0 && axis <= x->rank ? (int)axis : -1;
}

/* Fills in the state that a recurrent layer ends with. */
static bool state_dims(const tl_air *a, tl_node_id n, tl_dim *dims) {
  static const uint8_t operands[] = {1, 0, 2};
  for (int i = 0; i < 3; i++) {
    const tl_type *t = operand_type(a, n, operands[i]);
    if (t->kind != TL_KIND_TENSOR || t->rank != 3)
      return false;
    dims[i] = t->dims[i];
  }
  return true;
}

/* Fills in the dims by a row and returns their number, TL_RANK_UNKNOWN if they are not known. */
static int fill(const tl_air *a, tl_node_id n, size_t row, tl_dim *dims) {
  rule how = (rule)rows[row].rule;
  if (how == SCALAR)
    return 0;
  if (how == STATE)
    return state_dims(a, n, dims) ? 3 : TL_RANK_UNKNOWN;
  const tl_type *other = operand_type(a, n, rows[row].operand);
  const tl_type *x = how == LIKE ? other : operand_type(a, n, 0);
  if (x->kind != TL_KIND_TENSOR || x->rank < 0)
    return TL_RANK_UNKNOWN;
  int ones = ones_from(a, n, how, x, other);
  for (int i = 0; i < x->rank; i++)
    dims[i] = i < ones ? x->dims[i] : 1;
  return ones < 0 ? TL_RANK_UNKNOWN : x->rank;
}

static int find(const tl_air *a, tl_node_id n, uint32_t result) {
  tl_op_id op = tl_node_get(a->m, n)->op;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op && rows[i].result == result)
      return (int)i;
  return -1;
}

uint32_t tl_air_unread_operand(const tl_air *a, tl_node_id n, uint32_t result) {
  int row = find(a, n, result);
  return row < 0 ? 0 : rows[row].operand;
}

int tl_air_unread_dims(const tl_air *a, tl_node_id n, uint32_t result, tl_dim *dims) {
  int row = find(a, n, result);
  return row < 0 ? TL_RANK_UNKNOWN : fill(a, n, (size_t)row, dims);
}

/* Returns the element type of an operand that must have the type of an output; NONE without one. */
static tl_dtype shared_dtype(const tl_air *a, tl_node_id n, const tl_op *op, const tl_op_port *p) {
  tl_dtype d = TL_DTYPE_NONE;
  for (uint32_t i = 0; i < tl_node_get(a->m, n)->n_operands && d == TL_DTYPE_NONE; i++) {
    const tl_op_port *port = tl_op_operand_port(op, i);
    if (port && p->var >= 0 && port->var == p->var)
      d = tl_type_dtype(a->m, tl_value_type(a->m, tl_operand(a->m, n, i)));
  }
  return d;
}

/* Returns the element type of what a body gives for a result; NONE if none says it. The test of a
 * loop gives no results. */
static tl_dtype body_dtype(const tl_air *a, tl_node_id n, uint32_t result) {
  const tl_node *node = tl_node_get(a->m, n);
  tl_dtype d = TL_DTYPE_NONE;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    uint32_t n_bodies;
    const uint32_t *bodies = tl_attr_graphs(&node->attrs[i], &n_bodies);
    if (node->attrs[i].name == TL_SYM_cond)
      continue;
    for (uint32_t k = 0; k < n_bodies && d == TL_DTYPE_NONE; k++) {
      const tl_graph *g = tl_graph_get(a->m, bodies[k]);
      if (result < tl_graph_n_outputs(a->m, g))
        d = tl_type_dtype(a->m, tl_value_type(a->m, tl_graph_output(a->m, g, result)));
    }
  }
  return d;
}

uint8_t tl_air_likely_dtype(const tl_air *a, tl_node_id n, uint32_t result, const tl_op *op,
                            const tl_op_port *p) {
  uint64_t mask = p->var >= 0 ? op->vars[p->var].dtypes : 0;
  if (p->heterogeneous) /* of any type each, whatever class they share with an operand */
    return (uint8_t)body_dtype(a, n, result);
  tl_dtype shared = shared_dtype(a, n, op, p);
  if (shared != TL_DTYPE_NONE || tl_value_get(a->m, tl_result(a->m, n, result))->n_uses)
    return (uint8_t)shared;
  uint32_t operand = tl_air_unread_operand(a, n, result);
  if (!tl_operand(a->m, n, operand))
    operand = 0;
  tl_dtype first = tl_type_dtype(a->m, tl_value_type(a->m, tl_operand(a->m, n, operand)));
  if (first != TL_DTYPE_NONE && (mask & TL_DTYPE_BIT(first)))
    return (uint8_t)first;
  for (tl_dtype d = TL_DTYPE_F32; d < TL_N_DTYPES; d++)
    if (mask & TL_DTYPE_BIT(d))
      return (uint8_t)d;
  return TL_DTYPE_NONE;
}
