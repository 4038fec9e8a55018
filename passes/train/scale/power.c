/* SPDX-License-Identifier: Apache-2.0 */
/* Computes powers of a factor (power.h) by the rows of linear_ops.tbl. */
#include "passes/train/scale/power.h"

#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "passes/edit/copy.h"
#include "passes/edit/values.h"
#include "passes/train/scale/linear.h"
#include "passes/train/step/update_cone.h"

enum { MOST_ELEMENTS = 4096 };

bool tl_is_all(const tl_module *m, tl_value_id v, double wanted) {
  const tl_tensor *t = tl_value_constant(m, v);
  uint64_t n = t && t->kind != TL_SOURCE_STRINGS ? tl_tensor_elements(m, t) : 0;
  double e;
  for (uint64_t i = 0; i < n && n <= MOST_ELEMENTS; i++)
    if (!tl_tensor_float_at(m, t, i, &e) || e != wanted)
      return false;
  return n && n <= MOST_ELEMENTS;
}

/* Constants carry no power, but constant zeros fit any power, since 0 * s = 0. */
static tl_power power_of(const tl_powers *s, tl_value_id v) {
  if (!v || s->of[v] != TL_POWER_NONE || !tl_value_constant(s->m, v))
    return v ? (tl_power)s->of[v] : TL_POWER_NONE;
  return tl_is_all(s->m, v, 0) ? TL_POWER_ANY : TL_POWER_NONE;
}

/* Power of a sum of two values. */
static tl_power joined(tl_power a, tl_power b) {
  if (a == TL_POWER_ANY || a == b)
    return b;
  return b == TL_POWER_ANY ? a : TL_POWER_OTHER;
}

/* Power of a product of two values. s * s is neither of the powers that are followed. */
static tl_power product(tl_power a, tl_power b) {
  if (a == TL_POWER_OTHER || b == TL_POWER_OTHER)
    return TL_POWER_OTHER;
  if (a == TL_POWER_ANY || b == TL_POWER_ANY)
    return TL_POWER_ANY;
  if (a == TL_POWER_NONE || b == TL_POWER_NONE)
    return a == TL_POWER_NONE ? b : a;
  return a == b ? TL_POWER_OTHER : TL_POWER_NONE; /* s and 1/s */
}

/* Power of 1/a. The inverse of zeros is unknown. */
static tl_power inverse(tl_power a) {
  return a == TL_POWER_ONCE      ? TL_POWER_INVERSE
         : a == TL_POWER_INVERSE ? TL_POWER_ONCE
         : a == TL_POWER_ANY     ? TL_POWER_OTHER
                                 : a;
}

/* Power of a product of the first `count` operands. */
static tl_power product_of_all(const tl_powers *s, tl_node_id n, uint32_t count) {
  tl_power p = TL_POWER_NONE;
  for (uint32_t i = 0; i < count; i++)
    p = product(p, power_of(s, tl_operand(s->m, n, i)));
  return p;
}

/* Power of a product of the first two operands; a third one, a bias, is added. */
static tl_power product_and_bias(const tl_powers *s, tl_node_id n, uint32_t count) {
  tl_power p = product_of_all(s, n, 2);
  return count > 2 && tl_operand(s->m, n, 2) ? joined(p, power_of(s, tl_operand(s->m, n, 2))) : p;
}

/* Returns true if no operand in [from, to) carries the factor. */
static bool plain(const tl_powers *s, tl_node_id n, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    tl_power p = power_of(s, tl_operand(s->m, n, i));
    if (p != TL_POWER_NONE && p != TL_POWER_ANY)
      return false;
  }
  return true;
}

/* Returns true if all operands carry a power of the factor. */
static bool is_known(const tl_powers *s, tl_node_id n, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (power_of(s, tl_operand(s->m, n, i)) == TL_POWER_OTHER)
      return false;
  return true;
}

/* Returns true if no value that the bodies capture carries the factor. */
static bool captures_plain(tl_powers *s, tl_node_id n) {
  const tl_node *node = tl_node_get(s->m, n);
  s->captures.n = 0;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPHS)
      return false;
    if (a->kind == TL_ATTR_GRAPH &&
        !tl_graph_captures(s->m, tl_graph_get(s->m, a->u.g), &s->captures))
      s->no_memory = true;
  }
  for (uint32_t i = 0; i < s->captures.n; i++)
    if (s->of[s->captures.at[i]] != TL_POWER_NONE && s->of[s->captures.at[i]] != TL_POWER_ANY)
      return false;
  return true;
}

/* Returns true if scattered rows replace others or are added; a product or maximum would change the
 * power. */
static bool adds_up(const tl_module *m, tl_node_id n) {
  tl_sv how = tl_node_attr_string(m, n, TL_SYM_reduction);
  return how.n == 0 || tl_sv_is(how, "none") || tl_sv_is(how, "add");
}

static bool makes_zeros(const tl_module *m, tl_node_id n) {
  const tl_attr *a = tl_node_attr(m, n, TL_SYM_value);
  double e;
  return tl_node_get(m, n)->op == TL_OP_ConstantOfShape &&
         (!a || (a->kind == TL_ATTR_TENSOR &&
                 tl_tensor_float_at(m, tl_tensor_get(m, a->u.t), 0, &e) && e == 0));
}

/* Power of a list of operands from `port` on, which must agree; zeros agree with everything. */
static tl_power alike(const tl_powers *s, tl_node_id n, uint32_t port) {
  uint32_t end = tl_node_get(s->m, n)->n_operands;
  while (port + 1 < end && !tl_operand(s->m, n, port)) /* what is absent adds nothing */
    port++;
  tl_power p = power_of(s, tl_operand(s->m, n, port));
  for (uint32_t i = port + 1; i < end; i++)
    if (tl_operand(s->m, n, i))
      p = joined(p, power_of(s, tl_operand(s->m, n, i)));
  return p;
}

/* Power of a scatter. Data that is not given is zeros. */
static tl_power scattered(const tl_powers *s, tl_node_id n, tl_power p) {
  tl_value_id other = tl_operand(s->m, n, 2);
  if (!plain(s, n, 1, 2) || !adds_up(s->m, n))
    return TL_POWER_OTHER;
  return other ? joined(p, power_of(s, other)) : p;
}

tl_power tl_power_of_node(tl_powers *s, tl_node_id n) {
  const tl_node *node = tl_node_get(s->m, n);
  uint32_t count = node->n_operands;
  const tl_linear *row = tl_linear_find(node->op);
  if (makes_zeros(s->m, n))
    return TL_POWER_ANY;
  if (plain(s, n, 0, count) && (!tl_op_has_trait(node->op, TL_TRAIT_BODY) || captures_plain(s, n)))
    return row && row->how == TL_LINEAR_MAP ? power_of(s, tl_operand(s->m, n, row->port))
                                            : TL_POWER_NONE;
  if (!row)
    return TL_POWER_OTHER;
  uint32_t port = row->port;
  tl_power p = power_of(s, tl_operand(s->m, n, port));
  switch (row->how) {
  case TL_LINEAR_MAP:
    return plain(s, n, 0, port) && plain(s, n, port + 1, count) ? p : TL_POWER_OTHER;
  case TL_LINEAR_ALIKE: return plain(s, n, 0, port) ? alike(s, n, port) : TL_POWER_OTHER;
  case TL_LINEAR_SCATTER: return scattered(s, n, p);
  case TL_LINEAR_QUOTIENT: return product(p, inverse(power_of(s, tl_operand(s->m, n, 1))));
  case TL_LINEAR_INVERSE: return inverse(p);
  case TL_LINEAR_COMPARE: return alike(s, n, 0) == TL_POWER_OTHER ? TL_POWER_OTHER : TL_POWER_NONE;
  case TL_LINEAR_CONSTANT: return is_known(s, n, count) ? TL_POWER_NONE : TL_POWER_OTHER;
  case TL_LINEAR_FACTORS: return product_of_all(s, n, count);
  default: return product_and_bias(s, n, count);
  }
}

/* ---- whole graphs ---------------------------------------------------------------------------- */

/* Returns the first value of a list that carries the factor; TL_NO_VALUE if none does. */
static tl_value_id culprit(const tl_powers *s, const tl_value_id *at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    tl_power p = at[i] ? power_of(s, at[i]) : TL_POWER_NONE;
    if (p != TL_POWER_NONE && p != TL_POWER_ANY)
      return at[i];
  }
  return TL_NO_VALUE;
}

/* Stores a power. The user vouches for trusted values where the ops tell nothing. */
static void put(tl_powers *s, tl_value_id v, tl_power p, tl_value_id from) {
  if (s->fixed[v])
    return;
  s->of[v] = (uint8_t)(p == TL_POWER_OTHER && s->trusted[v] ? TL_POWER_ONCE : p);
  s->from[v] = from;
}

/* Power of an If: its branches must agree, and its condition must not carry the factor. */
static void put_choice(tl_powers *s, tl_node_id n) {
  bool plain_choice = plain(s, n, 0, 1);
  for (uint32_t i = 0; i < tl_node_get(s->m, n)->n_results; i++) {
    tl_value_id from[] = {tl_if_result(s->m, n, 0, i), tl_if_result(s->m, n, 1, i)};
    tl_power p = joined(power_of(s, from[0]), power_of(s, from[1]));
    tl_value_id of = plain_choice ? culprit(s, from, 2) : tl_operand(s->m, n, 0);
    put(s, tl_result(s->m, n, i), plain_choice ? p : TL_POWER_OTHER, of);
  }
}

static void sweep_branches(tl_powers *s, tl_node_id n) {
  const tl_node *node = tl_node_get(s->m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind == TL_ATTR_GRAPH)
      tl_power_sweep(s, tl_graph_get(s->m, node->attrs[i].u.g));
  put_choice(s, n);
}

/* Result i of a gradient collective has the power of operand i; other results share the node's
 * power. */
static void visit(tl_powers *s, tl_node_id n) {
  const tl_node *node = tl_node_get(s->m, n);
  bool each = tl_is_gradient_collective(s->m, n);
  tl_power p = each ? TL_POWER_NONE : tl_power_of_node(s, n);
  tl_value_id operands[16]; /* the way that is told of a node with more is that by the first */
  uint32_t count = 0;
  for (; count < node->n_operands && count < 16; count++)
    operands[count] = tl_operand(s->m, n, count);
  tl_value_id from = culprit(s, operands, count);
  if (!from && p != TL_POWER_NONE) /* captured; the list is of the last node that asked */
    from = culprit(s, s->captures.at, s->captures.n);
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_value_id of = each && i < node->n_operands ? tl_operand(s->m, n, i) : TL_NO_VALUE;
    put(s, tl_result(s->m, n, i), of ? power_of(s, of) : p, of ? of : from);
  }
}

void tl_power_sweep(tl_powers *s, const tl_graph *g) {
  TL_FOR_NODES(s->m, g, n) {
    if (tl_node_is_return(s->m, n))
      continue;
    if (tl_if_result(s->m, n, 0, 0) && tl_if_result(s->m, n, 1, 0))
      sweep_branches(s, n);
    else
      visit(s, n);
  }
}
