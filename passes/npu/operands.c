/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the operands of NPU nodes: operands of the node, or constants from attributes and shapes.
 * Each give function sets the list of the port; a refusal leaves the reason in x->why. */
#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "passes/expr/function.h"
#include "passes/npu/eval.h"
#include "passes/npu/tensor.h"

/* The operands made for one port by expression e, in scratch. */
typedef struct operands {
  tl_site *x;
  const tl_expr *e;
  tl_value_id *at;
  uint32_t n;
} operands;

static bool refuse(tl_site *site, const char *why) {
  site->why = why;
  return false;
}

static bool give(operands *o, tl_value_id v) {
  o->at = tl_npu_room(o->x, 1, sizeof *o->at);
  if (o->at)
    o->at[0] = v;
  o->n = 1;
  return o->at != NULL;
}

/* Adds the tensor as a constant of the node's graph, named after the node's first result. */
static bool give_tensor(operands *o, tl_tensor_id t) {
  tl_module *m = o->x->m;
  tl_value_id result = tl_result(m, o->x->node, 0);
  tl_sv base = result && tl_value_name(m, result).n ? tl_value_name(m, result) : TL_SV("const");
  tl_symbol name = t ? tl_module_fresh_name(m, base) : TL_NO_SYMBOL;
  tl_value_id v = TL_NO_VALUE;
  if (name != TL_NO_SYMBOL)
    v = tl_graph_add_constant(m, tl_node_get(m, o->x->node)->graph, name, t);
  o->x->failed = o->x->failed || !v;
  return v && give(o, v);
}

/* Gives all operands from index `from` on, without absent ones at the end. */
static bool give_range(operands *o, uint32_t from) {
  const tl_site *site = o->x;
  uint32_t n = tl_node_get(site->m, site->node)->n_operands;
  while (n && !tl_operand(site->m, site->node, n - 1))
    n--;
  o->n = n > from ? n - from : 0;
  o->at = tl_npu_room(o->x, o->n, sizeof *o->at);
  for (uint32_t i = 0; o->at && i < o->n; i++)
    o->at[i] = tl_operand(site->m, site->node, from + i);
  return o->at != NULL;
}

static bool give_floats(operands *o, tl_dtype dtype, int rank, const double *at, uint32_t n) {
  tl_dim dim = n;
  return give_tensor(o, tl_npu_tensor(o->x->m, dtype, rank, &dim, at, n));
}

/* i32(e), i64(e) (rank 0), i32s(e), i64s(e) (rank 1): makes integer constants. An absent `perm`
 * reverses the dims, as ONNX defines; any other absent attribute is 0 (a seed); a float is
 * truncated if it is near enough to fit. */
static bool give_ints(operands *o, tl_dtype dtype, int rank) {
  tl_site *site = o->x;
  const tl_expr *arg = o->e->args[0];
  tl_rv v = tl_npu_evaluate(site, arg);
  tl_int_list list;
  bool is_perm = arg->kind == TL_EXPR_ATTR && arg->u.s == TL_SYM_perm;
  int n = tl_npu_rank(site, tl_operand(site->m, site->node, 0));
  if (v.kind == TL_RV_NONE && is_perm && n >= 0) {
    int64_t *at = tl_npu_room(site, (size_t)n, sizeof *at);
    for (int i = 0; at && i < n; i++)
      at[i] = n - 1 - i;
    v = tl_rv_list(at, (uint32_t)n);
  } else if (v.kind == TL_RV_FLOAT) {
    v = tl_rv_int((int64_t)(v.f > -1e9 && v.f < 1e9 ? v.f : 0));
  } else if (v.kind == TL_RV_NONE && arg->kind == TL_EXPR_ATTR && !is_perm) {
    v = tl_rv_int(0);
  }
  if (!tl_npu_as_ints(site, v, &list) || (rank == 0 && list.n != 1))
    return refuse(site, "a value that must be known here depends on an unknown shape");
  if (dtype == TL_DTYPE_I64)
    return give_tensor(o, tl_tensor_i64s(site->m, list.at, list.n, rank));
  int32_t *narrow = tl_npu_room(site, list.n, sizeof *narrow);
  for (uint32_t i = 0; narrow && i < list.n; i++) {
    if (list.at[i] < INT32_MIN || list.at[i] > INT32_MAX)
      return refuse(site, "a number does not fit 32 bits");
    narrow[i] = (int32_t)list.at[i];
  }
  return narrow && give_tensor(o, tl_tensor_i32s(site->m, narrow, list.n, rank));
}

static bool give_f32s(operands *o) {
  const double *at;
  uint32_t n;
  if (!tl_npu_as_floats(o->x, tl_npu_evaluate(o->x, o->e->args[0]), &at, &n))
    return refuse(o->x, "scales are not constant");
  return give_floats(o, TL_DTYPE_F32, 1, at, n);
}

static tl_dtype dtype_of(const tl_site *site, tl_value_id v) {
  return tl_type_dtype(site->m, tl_value_type(site->m, v));
}

/* like_const(port, e), like_number(port, e): makes e a constant of this rank in the dtype of the
 * port; an absent e is a single 0. */
static bool give_like(operands *o, int rank) {
  static const double zero = 0;
  const double *at = &zero;
  uint32_t n = 1;
  tl_rv v = tl_npu_evaluate(o->x, o->e->args[1]);
  if (v.kind != TL_RV_NONE && !tl_npu_as_floats(o->x, v, &at, &n))
    return refuse(o->x, "scales are not constant");
  if (rank == 0 && n != 1)
    return refuse(o->x, "one number is wanted, not a list");
  return give_floats(o, dtype_of(o->x, tl_expr_value(o->x, o->e->args[0])), rank, at, n);
}

/* Gives the value of ConstantOfShape as a scalar constant; ONNX's default is f32 0. */
static bool give_fill_value(operands *o) {
  static const double zero = 0;
  tl_rv v = tl_npu_evaluate(o->x, o->e->args[0]);
  if (v.kind != TL_RV_TENSOR)
    return give_floats(o, TL_DTYPE_F32, 0, &zero, 1);
  tl_tensor t = *tl_tensor_get(o->x->m, (tl_tensor_id)v.i);
  if (tl_tensor_elements(o->x->m, &t) != 1)
    return refuse(o->x, "the fill value must have one element");
  t.type = tl_type_tensor(o->x->m, (tl_dtype)t.dtype, 0, NULL);
  return give_tensor(o, t.type ? tl_tensor_add(o->x->m, &t) : TL_NO_TENSOR);
}

/* Gives the operand, or an empty list of the dtype. */
static bool give_or_empty(operands *o, tl_dtype dtype) {
  tl_value_id v = tl_expr_value(o->x, o->e->args[0]);
  return v ? give(o, v) : give_floats(o, dtype, 1, NULL, 0);
}

/* Gives the axes of a reduction. Axes that the model leaves out are written out: without any, GE's
 * shape function keeps the shape. An empty list stays where it means that nothing is reduced, or
 * where the rank is unknown. */
static bool give_or_all_axes(operands *o) {
  const tl_module *m = o->x->m;
  tl_value_id v = tl_expr_value(o->x, o->e->args[0]);
  int rank = tl_npu_rank(o->x, tl_operand(m, o->x->node, 0));
  uint32_t n_axes = rank > 0 ? (uint32_t)rank : 0;
  uint64_t n = 0;
  bool empty = !v || (tl_type_elements(m, tl_value_type(m, v), &n) && n == 0);
  if (v && (!empty || tl_node_attr_int(m, o->x->node, TL_SYM_noop_with_empty_axes, 0)))
    return give(o, v);
  double *axes = tl_npu_room(o->x, n_axes + 1u, sizeof *axes);
  for (uint32_t i = 0; axes && i < n_axes; i++)
    axes[i] = i;
  return axes && give_floats(o, TL_DTYPE_I32, 1, axes, n_axes);
}

/* Gives the operand, or an empty list: f16 if the other port has f16, else f32. */
static bool give_or_empty_half(operands *o) {
  tl_value_id like = tl_expr_value(o->x, o->e->args[1]);
  return give_or_empty(o, dtype_of(o->x, like) == TL_DTYPE_F16 ? TL_DTYPE_F16 : TL_DTYPE_F32);
}

/* Gives the operand, or zeros with the type of another one. */
static bool give_or_zeros(operands *o) {
  static const double zero = 0;
  tl_module *m = o->x->m;
  tl_value_id v = tl_expr_value(o->x, o->e->args[0]);
  tl_value_id like = tl_expr_value(o->x, o->e->args[1]);
  if (v)
    return give(o, v);
  if (!tl_type_is_static(m, tl_value_type(m, like)))
    return refuse(o->x, "the shape of a missing operand is unknown");
  const tl_type t = *tl_type_get(m, tl_value_type(m, like));
  return give_tensor(o, tl_npu_tensor(m, (tl_dtype)t.dtype, t.rank, t.dims, &zero, 1));
}

/* Gives the operand, or n ones in the dtype of operand 0. */
static bool give_or_ones(operands *o) {
  static const double one = 1;
  tl_value_id v = tl_expr_value(o->x, o->e->args[0]);
  tl_rv n = tl_npu_evaluate(o->x, o->e->args[1]);
  if (v)
    return give(o, v);
  if (n.kind != TL_RV_INT)
    return refuse(o->x, "the size of a missing operand is unknown");
  tl_dim dim = n.i;
  tl_dtype dtype = dtype_of(o->x, tl_operand(o->x->m, o->x->node, 0));
  return give_tensor(o, tl_npu_tensor(o->x->m, dtype, 1, &dim, &one, 1));
}

/* full_pads(pads, axes): spreads the pads of chosen axes over all axes, [begins, ends]; others get
 * 0. */
static bool give_full_pads(operands *o) {
  tl_site *site = o->x;
  tl_int_list pads;
  tl_int_list axes;
  int rank = tl_npu_rank(site, tl_operand(site->m, site->node, 0));
  if (rank < 0 || !tl_npu_as_ints(site, tl_npu_evaluate(site, o->e->args[0]), &pads) ||
      !tl_npu_as_ints(site, tl_npu_evaluate(site, o->e->args[1]), &axes) || pads.n != 2 * axes.n)
    return refuse(site, "pads over chosen axes must be constant and the rank known");
  int64_t *all = tl_npu_room(site, 2 * (size_t)rank, sizeof *all);
  for (uint32_t i = 0; all && i < axes.n; i++) {
    int64_t k = axes.at[i] + (axes.at[i] < 0 ? rank : 0);
    if (k < 0 || k >= rank)
      return refuse(site, "a pad axis is out of range");
    all[k] = pads.at[i];
    all[k + rank] = pads.at[i + axes.n];
  }
  return all && give_tensor(o, tl_tensor_i64s(site->m, all, 2 * (uint32_t)rank, 1));
}

/* Makes dequantization scales in the chip's format: u64 with the bits of an f32 in the low half. */
static bool give_chip_scale(operands *o) {
  tl_site *site = o->x;
  const double *at;
  uint32_t n;
  if (!tl_npu_as_floats(site, tl_npu_evaluate(site, o->e->args[0]), &at, &n))
    return refuse(site, "scales are not constant");
  uint64_t *bits = tl_npu_room(site, n, sizeof *bits);
  for (uint32_t i = 0; bits && i < n; i++) {
    float f = (float)at[i];
    uint32_t low;
    memcpy(&low, &f, sizeof f);
    bits[i] = low;
  }
  tl_dim dim = n;
  tl_type_id type = tl_type_tensor(site->m, TL_DTYPE_U64, 1, &dim);
  return bits && give_tensor(o, tl_tensor_from_bytes(site->m, type, bits, n * sizeof *bits));
}

static bool give_call(operands *o) {
  switch (o->e->function) {
  case TL_FN_captured: return give_range(o, 1);
  case TL_FN_i32: return give_ints(o, TL_DTYPE_I32, 0);
  case TL_FN_i32s: return give_ints(o, TL_DTYPE_I32, 1);
  case TL_FN_i64s: return give_ints(o, TL_DTYPE_I64, 1);
  case TL_FN_f32s: return give_f32s(o);
  case TL_FN_like_const: return give_like(o, 1);
  case TL_FN_like_number: return give_like(o, 0);
  case TL_FN_tensor_or_f32_0: return give_fill_value(o);
  case TL_FN_or_all_axes: return give_or_all_axes(o);
  case TL_FN_or_empty_f32: return give_or_empty(o, TL_DTYPE_F32);
  case TL_FN_or_empty_half: return give_or_empty_half(o);
  case TL_FN_or_zeros: return give_or_zeros(o);
  case TL_FN_or_ones: return give_or_ones(o);
  case TL_FN_full_pads: return give_full_pads(o);
  case TL_FN_deqscale: return give_chip_scale(o);
  default: return refuse(o->x, "this value cannot be an operand");
  }
}

bool tl_npu_operands(tl_site *site, const tl_expr *e, tl_value_id **out, uint32_t *n) {
  operands o = {.x = site, .e = e};
  bool ok;
  switch ((tl_expr_kind)e->kind) {
  case TL_EXPR_OPERAND: ok = give(&o, tl_expr_value(site, e)); break;
  case TL_EXPR_OPERANDS: ok = give_range(&o, 0); break;
  case TL_EXPR_CALL: ok = give_call(&o); break;
  default: ok = refuse(site, "the operand has no NPU form"); break;
  }
  *out = o.at;
  *n = o.n;
  return ok;
}
