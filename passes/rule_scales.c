/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rules: how the scales of quantized models hang together, and who reads a value. */
#include <math.h>

#include "passes/rule_functions.h"

static const tl_tensor *constant_arg(const tl_match *x, const tl_expr *e, uint32_t i) {
  tl_value_id v = tl_rule_value_arg(x, e, i);
  return v ? tl_value_constant(x->m, v) : NULL;
}

/* Element i of n, or the only one. */
static bool scale_at(const tl_match *x, const tl_tensor *t, uint64_t n, uint64_t i, double *out) {
  uint64_t own = tl_tensor_elements(x->m, t);
  return (own == 1 || own == n) && tl_tensor_float_at(x->m, t, own == 1 ? 0 : i, out);
}

tl_rv tl_rule_fn_is_product(tl_match *x, const tl_expr *e) {
  enum { MOST = 1 << 20 };             /* channels */
  static const double rounding = 3e-7; /* of a product in f32, and of one written in decimals */
  const tl_tensor *t[3];
  uint64_t n = 1;
  for (uint32_t i = 0; i < 3; i++) {
    t[i] = constant_arg(x, e, i);
    uint64_t own = t[i] ? tl_tensor_elements(x->m, t[i]) : 0;
    if (own == 0 || own > MOST)
      return tl_rv_none();
    n = own > n ? own : n;
  }
  for (uint64_t i = 0; i < n; i++) {
    double p, a, b;
    if (!scale_at(x, t[0], n, i, &p) || !scale_at(x, t[1], n, i, &a) ||
        !scale_at(x, t[2], n, i, &b) || !(fabs(p - a * b) <= rounding * fabs(a * b)))
      return tl_rv_truth(false);
  }
  return tl_rv_truth(true);
}

tl_rv tl_rule_fn_all_users(tl_match *x, const tl_expr *e) {
  tl_value_id v = tl_rule_value_arg(x, e, 0);
  tl_rv name = tl_rule_arg(x, e, 1);
  tl_node_id from = v ? tl_value_producer(x->m, v) : TL_NO_NODE;
  if (!from || name.kind != TL_RV_STRING)
    return tl_rv_none();
  TL_FOR_USES (x->m, v, u) {
    const tl_node *user = tl_node_get(x->m, tl_use_get(x->m, u)->user);
    if (user->op == TL_OP_RETURN || user->graph != tl_node_get(x->m, from)->graph ||
        tl_op_domain_symbol(x->m, user->op) != 0 || tl_op_name_symbol(x->m, user->op) != name.s)
      return tl_rv_truth(false);
  }
  return tl_rv_truth(true);
}

/* The node, of ONNX's domain and the name that argument i gives, that the use u belongs to. */
static tl_node_id named_user(tl_match *x, const tl_expr *e, uint32_t i, tl_use_id u) {
  tl_rv name = tl_rule_arg(x, e, i);
  tl_node_id n = tl_use_get(x->m, u)->user;
  tl_op_id op = tl_node_get(x->m, n)->op;
  bool fits = op != TL_OP_RETURN && name.kind == TL_RV_STRING &&
              tl_op_domain_symbol(x->m, op) == 0 && tl_op_name_symbol(x->m, op) == name.s;
  return fits ? n : TL_NO_NODE;
}

tl_rv tl_rule_fn_feeds(tl_match *x, const tl_expr *e) {
  enum { NAMES = 4, MOST = 256 }; /* uses looked at: a mask may be shared by all layers */
  tl_use_id at[NAMES];
  uint32_t depth = 1;
  tl_value_id v = tl_rule_value_arg(x, e, 0);
  at[1] = v ? tl_value_get(x->m, v)->first_use : 0;
  for (int left = MOST; depth > 0 && left > 0; left--) {
    if (!at[depth]) { /* no way on from here */
      depth--;
      continue;
    }
    tl_node_id n = named_user(x, e, depth, at[depth]);
    at[depth] = tl_use_get(x->m, at[depth])->next;
    if (!n || tl_node_get(x->m, n)->n_results == 0)
      continue;
    if (depth + 1 == e->n)
      return tl_rv_truth(true);
    at[++depth] = tl_value_get(x->m, tl_node_get(x->m, n)->results)->first_use;
  }
  return tl_rv_truth(false);
}
