/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that guards and index expressions of NPU candidates have beside those of all
 * expressions (passes/expr). */
#include "passes/npu/eval.h"

#include "ir/ops_gen.h"
#include "passes/edit/half.h"
#include "passes/expr/function.h"
#include "passes/npu/nearest.h"
#include "passes/npu/windows.h"

enum { MAX_SCAN = 1 << 20 }; /* upper bound on elements read from one constant */

/* Returns true if v is absent or a constant of zeros only. */
static bool is_zero(tl_site *site, tl_value_id v) {
  const tl_tensor *t = v ? tl_value_constant(site->m, v) : NULL;
  uint64_t n = t ? tl_tensor_elements(site->m, t) : 0;
  double element = 0;
  if (!v)
    return true;
  if (!t || n > MAX_SCAN)
    return false;
  for (uint64_t i = 0; i < n; i++)
    if (!tl_tensor_float_at(site->m, t, i, &element) || !(element <= 0 && element >= 0))
      return false; /* NaN is no zero */
  return true;
}

/* Returns true if all operands have the same type of known rank without unknown dims. Types are
 * interned, so that equal ids mean equal dtypes and dims; a symbolic dim equals itself. */
static bool same_shapes(const tl_site *site) {
  uint32_t n = tl_node_get(site->m, site->node)->n_operands;
  tl_value_id first = tl_operand(site->m, site->node, 0);
  for (int k = 0; k < tl_npu_rank(site, first); k++)
    if (tl_npu_dim(site, first, k) == TL_DIM_UNKNOWN)
      return false;
  for (uint32_t i = 1; i < n; i++)
    if (tl_value_type(site->m, tl_operand(site->m, site->node, i)) != tl_value_type(site->m, first))
      return false;
  return tl_npu_rank(site, first) >= 0;
}

/* Returns true if the dims of v equal those of operand 0 from the axis on, without broadcasting.
 * Unknown dims pass, except that a 1 against another dim might be stretched. */
static bool spans(tl_site *site, tl_value_id v, const tl_expr *from_axis) {
  tl_value_id whole = tl_operand(site->m, site->node, 0);
  int rank = tl_npu_rank(site, whole);
  int n = tl_npu_rank(site, v);
  tl_rv axis = tl_npu_evaluate(site, from_axis);
  if (rank < 0 || n < 0 || axis.kind != TL_RV_INT)
    return true;
  int64_t from = axis.i < 0 ? axis.i + rank : axis.i;
  if (n != rank - from)
    return false;
  for (int k = 0; k < n; k++) {
    tl_dim a = tl_npu_dim(site, v, k);
    tl_dim b = tl_npu_dim(site, whole, from + k);
    if (a != b && (a == 1 || (a > 0 && b > 0)))
      return false;
  }
  return true;
}

/* Returns true if v comes from an integer matrix op: two 8-bit operands, 32-bit result. */
static bool from_cube(const tl_site *site, tl_value_id v) {
  tl_node_id n = v ? tl_value_producer(site->m, v) : TL_NO_NODE;
  if (!n || tl_type_dtype(site->m, tl_value_type(site->m, v)) != TL_DTYPE_I32)
    return false;
  for (uint32_t i = 0; i < 2; i++) {
    tl_dtype d = tl_type_dtype(site->m, tl_value_type(site->m, tl_operand(site->m, n, i)));
    if (d != TL_DTYPE_I8 && d != TL_DTYPE_U8)
      return false;
  }
  return true;
}

/* Returns true for a slice that reverses whole axes. Exporters write -1 or INT_MAX as begin, a very
 * negative end, and stride -1. */
static bool is_reversal(tl_site *site, const tl_expr *e) {
  tl_int_list list[3];
  for (int i = 0; i < 3; i++)
    if (!tl_npu_as_ints(site, tl_npu_evaluate(site, e->args[i]), &list[i]) ||
        list[i].n != list[0].n)
      return false;
  for (uint32_t i = 0; i < list[0].n; i++) {
    int64_t begin = list[0].at[i];
    if ((begin != -1 && begin < INT32_MAX) || list[1].at[i] > -INT32_MAX || list[2].at[i] != -1)
      return false;
  }
  return list[0].n > 0;
}

/* Returns true if the axis is one of the last two of operand 0; false if it or the rank is
 * unknown. */
static bool is_one_of_last_two(tl_site *site, const tl_expr *e) {
  tl_rv axis = tl_npu_evaluate(site, e->args[0]);
  int rank = tl_npu_rank(site, tl_operand(site->m, site->node, 0));
  if (axis.kind != TL_RV_INT || rank < 0)
    return false;
  return axis.i < 0 ? axis.i >= -2 : axis.i >= rank - 2 && axis.i < rank;
}

/* Returns all dims behind the second, the size of an image; NONE unless they are static. */
static tl_rv image_of(tl_site *site, tl_value_id v) {
  const tl_type *t = tl_type_get(site->m, tl_value_type(site->m, v));
  int rank = tl_npu_rank(site, v);
  for (int i = 2; i < rank; i++)
    if (!tl_dim_is_static(t->dims[i]))
      return tl_rv_none();
  return rank >= 2 ? tl_rv_list(t->dims + 2, (uint32_t)rank - 2) : tl_rv_none();
}

/* Splits n elements into k chunks as torch.chunk does: ceil(n/k) each, the last ones smaller or
 * empty. */
static tl_rv split_sizes(tl_site *site, tl_rv n, tl_rv k) {
  if (n.kind != TL_RV_INT || k.kind != TL_RV_INT || k.i <= 0 || k.i > UINT32_MAX)
    return tl_rv_none();
  int64_t chunk = n.i / k.i + (n.i % k.i != 0);
  int64_t left = n.i;
  int64_t *is = tl_npu_room(site, (size_t)k.i, sizeof *is);
  for (int64_t i = 0; is && i < k.i; i++) {
    is[i] = left < chunk ? left : chunk;
    left -= is[i];
  }
  return is ? (tl_rv){.kind = TL_RV_INTS, .is = {is, (uint32_t)k.i}} : tl_rv_none();
}

/* Returns the number of operands, or of results, up to the last one present. A result is present if
 * it has a name or users. */
static int64_t given(const tl_site *site, bool operands) {
  const tl_node *node = tl_node_get(site->m, site->node);
  uint32_t n = operands ? node->n_operands : node->n_results;
  while (n && operands && !tl_operand(site->m, site->node, n - 1))
    n--;
  while (n && !operands && !tl_value_get(site->m, node->results + n - 1)->name &&
         !tl_value_get(site->m, node->results + n - 1)->n_uses)
    n--;
  return n;
}

static tl_rv dim_value(tl_dim d) { return tl_dim_is_static(d) ? tl_rv_int(d) : tl_rv_none(); }

/* Returns the family of the chip, "910" or "a2", as guards name it. */
static tl_rv family(tl_site *site) {
  bool a2 = tl_options_chip(site->options)->table == TL_SOC_A2;
  tl_symbol name = tl_module_intern(site->m, a2 ? TL_SV("a2") : TL_SV("910"));
  site->failed = site->failed || name == TL_NO_SYMBOL;
  return (tl_rv){.kind = TL_RV_STRING, .s = name};
}

/* Evaluates a word without arguments. A module that never had an opset counts as newer than all. */
static tl_rv word(tl_site *site, const tl_expr *e) {
  switch (e->function) {
  case TL_FN_always: return tl_rv_truth(true);
  case TL_FN_ends_in_padding: return tl_rv_truth(tl_npu_ends_in_padding(site));
  case TL_FN_tf_nearest: return tl_rv_truth(tl_npu_tf_nearest(site));
  case TL_FN_nin: return tl_rv_int(given(site, true));
  case TL_FN_nout: return tl_rv_int(given(site, false));
  case TL_FN_source_opset:
    return tl_rv_int(site->m->source_opset ? site->m->source_opset : INT64_MAX);
  case TL_FN_soc: return family(site);
  case TL_FN_channels: return dim_value(tl_npu_dim(site, tl_operand(site->m, site->node, 0), 1));
  default: return tl_rv_none(); /* none, captured: operands */
  }
}

/* Evaluates a predicate. NE is true for NaN, which differs from every number, but not for unknown
 * operands. */
static bool predicate(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_expr_value(site, e->args[0]);
  switch (e->function) {
  case TL_FN_present: return v != TL_NO_VALUE;
  case TL_FN_absent: return v == TL_NO_VALUE;
  case TL_FN_const_or_absent: return !v || tl_value_constant(site->m, v);
  case TL_FN_used: return v && tl_value_get(site->m, v)->n_uses > 0;
  case TL_FN_set: return tl_node_attr(site->m, site->node, e->args[0]->u.s) != NULL;
  case TL_FN_zero: return is_zero(site, v);
  case TL_FN_sameshape: return same_shapes(site);
  case TL_FN_last_two: return is_one_of_last_two(site, e);
  case TL_FN_reverse: return is_reversal(site, e);
  case TL_FN_from_cube: return from_cube(site, v);
  case TL_FN_spans: return v && spans(site, v, e->args[1]);
  case TL_FN_wide: return v && tl_precision_stays_wide(site->m, site->options, v);
  case TL_FN_halvable: return v && tl_precision_may_halve(site->m, site->options, v);
  default: return false; /* conversions stand outside of all else */
  }
}

/* Evaluates a function that only the op table has: a value, a predicate, or a word. */
static tl_rv call(tl_site *site, const tl_expr *e) {
  switch (e->function) {
  case TL_FN_out_hw: return image_of(site, tl_expr_value(site, e->args[0]));
  case TL_FN_split_sizes:
    return split_sizes(site, tl_expr_eval(site, e->args[0]), tl_expr_eval(site, e->args[1]));
  default: return e->n ? tl_rv_truth(predicate(site, e)) : word(site, e);
  }
}

static const tl_fn functions[TL_N_FUNCTIONS] = {
#define ROW_EXPR(name) [TL_FN_##name] = tl_fn_##name,
#define ROW_NPU(name) [TL_FN_##name] = call,
#define ROW_RULES(name)
#define ROW_EACH(name) [TL_FN_##name] = call,
#define TL_FUNCTION(name, least, most, room, places, signature, summary) ROW_##room(name)
#include "passes/expr/functions.tbl"
};

tl_rv tl_npu_evaluate(tl_site *site, const tl_expr *e) {
  site->functions = functions;
  return tl_expr_eval(site, e);
}

bool tl_npu_guard_holds(tl_site *site, const tl_expr *guard) {
  return !guard || tl_rv_is_true(tl_npu_evaluate(site, guard));
}
