/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rules that follow a value through the graph: who uses it, and what is behind. */
#include "ir/ops_gen.h"
#include "passes/engine/functions.h"

/* An output of the graph has RETURN as a user, and a user in a body is in another graph: neither is
 * such an op. */
tl_rv tl_fn_all_users(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_fn_value(site, e, 0);
  tl_rv name = tl_fn_arg(site, e, 1);
  tl_node_id from = v ? tl_value_producer(site->m, v) : TL_NO_NODE;
  if (!from || name.kind != TL_RV_STRING)
    return tl_rv_none();
  TL_FOR_USES(site->m, v, u) {
    const tl_node *user = tl_node_get(site->m, tl_use_get(site->m, u)->user);
    if (user->op == TL_OP_RETURN || user->graph != tl_node_get(site->m, from)->graph ||
        tl_op_domain_symbol(site->m, user->op) != 0 ||
        tl_op_name_symbol(site->m, user->op) != name.s)
      return tl_rv_truth(false);
  }
  return tl_rv_truth(true);
}

/* Returns the node of use u if it is an ONNX op with the name that argument i gives; TL_NO_NODE if
 * not. */
static tl_node_id named_user(tl_site *site, const tl_expr *e, uint32_t i, tl_use_id u) {
  tl_rv name = tl_fn_arg(site, e, i);
  tl_node_id n = tl_use_get(site->m, u)->user;
  tl_op_id op = tl_node_get(site->m, n)->op;
  bool fits = op != TL_OP_RETURN && name.kind == TL_RV_STRING &&
              tl_op_domain_symbol(site->m, op) == 0 && tl_op_name_symbol(site->m, op) == name.s;
  return fits ? n : TL_NO_NODE;
}

/* Depth-first search without recursion: at[d] is the next use to try at depth d, for the op that
 * argument d names. The search ends with "no" when it has looked at MOST uses. */
tl_rv tl_fn_feeds(tl_site *site, const tl_expr *e) {
  enum { NAMES = 4, MOST = 256 }; /* arguments; uses looked at: all layers may share a mask */
  tl_use_id at[NAMES];
  uint32_t depth = 1;
  tl_value_id v = tl_fn_value(site, e, 0);
  at[1] = v ? tl_value_get(site->m, v)->first_use : 0;
  for (int left = MOST; depth > 0 && left > 0; left--) {
    if (!at[depth]) { /* all uses at this depth are tried */
      depth--;
      continue;
    }
    tl_node_id n = named_user(site, e, depth, at[depth]);
    at[depth] = tl_use_get(site->m, at[depth])->next;
    if (!n || tl_node_get(site->m, n)->n_results == 0)
      continue;
    if (depth + 1 == e->n)
      return tl_rv_truth(true);
    at[++depth] = tl_value_get(site->m, tl_node_get(site->m, n)->results)->first_use;
  }
  return tl_rv_truth(false);
}

/* Returns the only user of v if it is a node of the same graph with one result, else TL_NO_NODE. */
static tl_node_id only_user(const tl_module *m, tl_value_id v) {
  const tl_value *value = tl_value_get(m, v);
  tl_node_id from = tl_value_producer(m, v);
  if (value->n_uses != 1 || !from)
    return TL_NO_NODE;
  tl_node_id user = tl_use_get(m, value->first_use)->user;
  const tl_node *node = tl_node_get(m, user);
  bool fits = node->op != TL_OP_RETURN && node->graph == tl_node_get(m, from)->graph &&
              node->n_results == 1;
  return fits ? user : TL_NO_NODE;
}

/* Returns true if the op is an ONNX op that one of the arguments [first, end) names. */
static bool is_named(tl_site *site, const tl_expr *e, tl_op_id op, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    tl_rv name = tl_fn_arg(site, e, i);
    if (name.kind == TL_RV_STRING && name.s == tl_op_name_symbol(site->m, op) &&
        tl_op_domain_symbol(site->m, op) == 0)
      return true;
  }
  return false;
}

/* An absent operand counts as a constant: nothing is computed for it. */
static bool is_constant(const tl_module *m, tl_value_id v) {
  return !v || tl_value_constant(m, v) != NULL;
}

/* Returns true if v is a constant, or is computed from constants by a node that is not folded
 * (TL_TRAIT_UNFOLDED), such as the dequantization of a weight. */
static bool is_weight(const tl_module *m, tl_value_id v) {
  if (is_constant(m, v))
    return true;
  tl_node_id from = tl_value_producer(m, v);
  bool fixed = from && tl_op_has_trait(tl_node_get(m, from)->op, TL_TRAIT_UNFOLDED);
  for (uint32_t i = 0; fixed && i < tl_node_get(m, from)->n_operands; i++)
    fixed = is_constant(m, tl_operand(m, from, i));
  return fixed;
}

/* Returns true if v can be viewed in another order of dims at no cost: at most one dim is not 1,
 * and v is the result of a Reshape or Transpose, or of the dequantization of such a result by
 * constants, with no other user. Another view then replaces that one. */
static bool is_turned(const tl_module *m, tl_value_id v) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  tl_node_id n = tl_value_producer(m, v);
  int longer = 0;
  for (int i = 0; tl_fn_known_rank(t) && i < t->rank; i++)
    longer += t->dims[i] != 1;
  if (!n || !tl_fn_known_rank(t) || longer > 1 || tl_value_get(m, v)->n_uses != 1)
    return false;
  if (tl_node_get(m, n)->op == TL_OP_DequantizeLinear) {
    for (uint32_t i = 1; i < tl_node_get(m, n)->n_operands; i++)
      if (!is_constant(m, tl_operand(m, n, i)))
        return false;
    v = tl_operand(m, n, 0);
    n = tl_value_producer(m, v);
  }
  return n && tl_value_get(m, v)->n_uses == 1 &&
         (tl_node_get(m, n)->op == TL_OP_Reshape || tl_node_get(m, n)->op == TL_OP_Transpose);
}

tl_rv tl_fn_turned(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_fn_value(site, e, 0);
  return v ? tl_rv_truth(is_turned(site->m, v)) : tl_rv_none();
}

/* Returns true if all operands of n except v are weights, or values that can be viewed in another
 * order as v is. */
static bool among_weights(const tl_module *m, tl_node_id n, tl_value_id v) {
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id o = tl_operand(m, n, i);
    if (o != v && !is_weight(m, o) && !is_turned(m, o))
      return false;
  }
  return true;
}

/* Walks from %x over single users that are elementwise, or named by arguments 2 and later, and
 * whose other operands are weights or views; tells whether it arrives at an op that argument 1
 * names. */
tl_rv tl_fn_meets(tl_site *site, const tl_expr *e) {
  enum { FARTHEST = 32 }; /* steps; fewer than the rounds of clean-up, as each step takes a round */
  tl_value_id v = tl_fn_value(site, e, 0);
  for (int i = 0; v && i <= FARTHEST; i++) {
    tl_node_id n = only_user(site->m, v);
    if (!n)
      break;
    const tl_node *node = tl_node_get(site->m, n);
    if (is_named(site, e, node->op, 1, 2))
      return tl_rv_truth(true);
    bool through = tl_op_has_trait(node->op, TL_TRAIT_ELEMENTWISE) ||
                   is_named(site, e, node->op, 2, e->n);
    if (!through || !among_weights(site->m, n, v))
      break;
    v = node->results;
  }
  return tl_rv_truth(false);
}
