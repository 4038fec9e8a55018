/* SPDX-License-Identifier: Apache-2.0 */
/* Finds roots and squares in the graph and applies growth.h to each node (range_growth.h). */
#include "passes/precision/range_growth.h"

#include <math.h>

#include "ir/ops_gen.h"
#include "passes/precision/range_rows.h"

static bool is_f32(const tl_module *m, tl_value_id v) {
  return v && tl_type_dtype(m, tl_value_type(m, v)) == TL_DTYPE_F32;
}

tl_status tl_range_growth_start(tl_range_growth *g, tl_arena *arena) {
  uint32_t n = tl_module_value_end(g->m) + 1U;
  g->growth = tl_arena_alloc(arena, n * sizeof *g->growth);
  g->root = tl_arena_alloc(arena, n * sizeof *g->root);
  if (!g->growth || !g->root)
    return TL_NO_MEMORY;
  for (uint32_t v = 0; v < n; v++) {
    g->growth[v] = tl_growth_plain();
    g->root[v] = v;
  }
  return TL_OK;
}

/* ---- roots ----------------------------------------------------------------------------------- */

/* Returns the operand that the node returns apart from a factor, a sign or order; TL_NO_VALUE if
 * none. A part of a value (flag PART) is another value. */
static tl_value_id root_operand(const tl_module *m, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(m, n);
  tl_value_id a = tl_operand(m, n, 0);
  tl_value_id b = tl_operand(m, n, 1);
  switch (row->kind) {
  case TL_RANGE_SAME: return row->flags & TL_RANGE_PART ? TL_NO_VALUE : a;
  case TL_RANGE_NEG:
  case TL_RANGE_ABS:
  case TL_RANGE_RELU: return a;
  case TL_RANGE_MUL:
  case TL_RANGE_DIV:
    if (b && tl_value_constant(m, b))
      return a;
    return row->kind == TL_RANGE_MUL && a && tl_value_constant(m, a) ? b : TL_NO_VALUE;
  default: return TL_NO_VALUE;
  }
}

/* Returns true if two values are computed by the same op from the same roots, in either order. */
static bool are_twins(const tl_range_growth *g, tl_value_id a, tl_value_id b) {
  tl_node_id p = tl_value_producer(g->m, a);
  tl_node_id q = tl_value_producer(g->m, b);
  if (!p || !q || p == q || (tl_range_op_of(g->m, p)->flags & TL_RANGE_PART) ||
      tl_node_get(g->m, p)->op != tl_node_get(g->m, q)->op ||
      tl_node_get(g->m, p)->n_operands != 2 || tl_node_get(g->m, q)->n_operands != 2 ||
      !tl_range_carries(tl_range_op_of(g->m, p)))
    return false;
  tl_value_id x = g->root[tl_operand(g->m, p, 0)], y = g->root[tl_operand(g->m, p, 1)];
  tl_value_id u = g->root[tl_operand(g->m, q, 0)], v = g->root[tl_operand(g->m, q, 1)];
  return (x == u && y == v) || (x == v && y == u);
}

bool tl_range_multiplies_itself(const tl_range_growth *g, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(g->m, n);
  tl_value_id a = tl_operand(g->m, n, 0);
  tl_value_id b = tl_operand(g->m, n, 1);
  bool multiplies = row->kind == TL_RANGE_MUL || row->kind == TL_RANGE_MULADD ||
                    tl_range_is_product(row);
  if (row->kind == TL_RANGE_MULADD && row->low > 0)
    b = tl_operand(g->m, n, 2);
  if (!multiplies || !is_f32(g->m, a) || !is_f32(g->m, b) || tl_value_constant(g->m, a) ||
      tl_value_constant(g->m, b))
    return false;
  return g->root[a] == g->root[b] || are_twins(g, g->root[a], g->root[b]);
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* Collects the facts of operand i. A constant beyond the lower dtype makes the result large, unless
 * it is only a limit, an infinity, or a softmax mask. */
static tl_grown operand_of(const tl_range_growth *g, tl_node_id n, uint32_t i) {
  tl_value_id v = tl_operand(g->m, n, i);
  tl_grown grown = {tl_growth_plain(), tl_interval_unknown(), false};
  tl_range_kind kind = (tl_range_kind)tl_range_op_of(g->m, n)->kind;
  if (!v)
    return grown;
  grown.range = g->values[v];
  grown.growth = g->growth[v];
  grown.constant = tl_value_constant(g->m, v) != NULL;
  if (!grown.constant)
    return grown;
  grown.growth = tl_growth_of_constant(&grown.range);
  bool limits = kind == TL_RANGE_CLIP || kind == TL_RANGE_MIN || kind == TL_RANGE_MAX;
  double most = tl_interval_magnitude(&grown.range);
  if (limits || most <= g->data_max || isinf(most)) /* infinities exist in every dtype */
    return grown;
  bool low = grown.range.high <= g->data_max && grown.range.low <= -1e4;
  if (!low || !tl_range_masks_softmax(g->m, n, i))
    grown.growth.flags = TL_GROWTH_BIG;
  return grown;
}

/* Collects the operands. For ops without a fixed number of operands (UNION, MIN, MAX and others)
 * all are combined in groups, so that `in` has room; otherwise the first TL_RANGE_OPERANDS. */
static uint32_t gather(const tl_range_growth *g, tl_node_id n, tl_growth_case *c, tl_grown *in) {
  uint32_t count = 0;
  const tl_node *node = tl_node_get(g->m, n);
  bool any = c->kind == TL_RANGE_UNION || c->kind == TL_RANGE_MIN || c->kind == TL_RANGE_MAX ||
             (c->kind == TL_RANGE_NONE && !c->product && !c->divides);
  for (uint32_t i = 0; i < node->n_operands && (any || i < TL_RANGE_OPERANDS); i++) {
    tl_value_id v = tl_operand(g->m, n, i);
    if ((any || c->product) && !is_f32(g->m, v))
      continue;
    in[count++] = operand_of(g, n, i);
    if (!any || count < TL_RANGE_OPERANDS)
      continue;
    c->n = count;
    in[0] = (tl_grown){tl_growth_apply(c), tl_interval_unknown(), false};
    count = 1;
  }
  return count;
}

/* Roots are set even if growth is unknown, since later products need them. A risky op without a
 * kind may give anything. */
tl_growth tl_range_growth_of(tl_range_growth *g, tl_node_id n, double elements) {
  const tl_range_op *row = tl_range_op_of(g->m, n);
  const tl_node *node = tl_node_get(g->m, n);
  tl_grown in[TL_RANGE_OPERANDS];
  tl_growth_case c = {.kind = (tl_range_kind)row->kind,
                      .product = tl_range_is_product(row),
                      .divides = (row->flags & TL_RANGE_DIVIDES) && row->kind == TL_RANGE_NONE,
                      .carries = (row->flags & TL_RANGE_PLAIN) && !(row->flags & TL_RANGE_LOGS),
                      .same = tl_range_multiplies_itself(g, n),
                      .least = row->low,
                      .elements = elements,
                      .in = in};
  tl_value_id root = root_operand(g->m, n);
  for (uint32_t i = 0; root && i < node->n_results; i++)
    g->root[node->results + i] = g->root[root];
  c.n = gather(g, n, &c, in);
  tl_growth y = tl_growth_apply(&c);
  if (row->kind == TL_RANGE_NONE && (row->flags & TL_RANGE_RISKY))
    y = (tl_growth){TL_GROWTH_ENDLESS, TL_GROWTH_BIG};
  return y;
}
