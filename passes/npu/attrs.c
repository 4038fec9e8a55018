/* SPDX-License-Identifier: Apache-2.0 */
/* Converts ONNX values to the attributes that prototypes of NPU ops want. A conversion that lacks a
 * fact returns an absent value; x->why says why if a user can act on it. */
#include <math.h>

#include "ir/ops_gen.h"
#include "passes/expr/function.h"
#include "passes/npu/eval.h"
#include "passes/npu/tensor.h"

/* Spatial dims of the widest convolution or pooling (NCDHW). */
enum { MAX_SPATIAL = 3 };

/* Returns a constant string, interned in the module. */
static tl_rv text(tl_site *site, const char *z) {
  tl_symbol s = tl_module_intern(site->m, tl_sv_from(z));
  site->failed = site->failed || s == TL_NO_SYMBOL;
  return (tl_rv){.kind = TL_RV_STRING, .s = s};
}

static tl_rv dtype_value(tl_dtype d) {
  return d == TL_DTYPE_NONE ? tl_rv_none() : (tl_rv){.kind = TL_RV_DTYPE, .i = d};
}

/* Returns the only element of a list of one, else the value itself. */
static tl_rv scalar(tl_rv v) {
  if (v.kind == TL_RV_BOOL)
    return tl_rv_int(v.i);
  if (v.kind == TL_RV_INTS && v.is.n == 1)
    return tl_rv_int(v.is.at[0]);
  if (v.kind == TL_RV_FLOATS && v.is.n == 1)
    return (tl_rv){.kind = TL_RV_FLOAT, .f = tl_rv_float_at(v, 0)};
  return v;
}

/* Truncates a float to an integer. Beyond 9e15 (about 2^53) a double does not name one integer, so
 * such values are refused. */
static tl_rv to_int(tl_rv v) {
  v = scalar(v);
  if (v.kind == TL_RV_FLOAT && v.f >= -9e15 && v.f <= 9e15)
    return tl_rv_int((int64_t)v.f);
  return v.kind == TL_RV_INT ? v : tl_rv_none();
}

/* Converts to a float. An absent operand counts as 0: it is an optional zero point. */
static tl_rv to_float(const tl_expr *arg, tl_rv v) {
  v = scalar(v);
  if (v.kind == TL_RV_INT)
    return (tl_rv){.kind = TL_RV_FLOAT, .f = (double)v.i};
  if (v.kind == TL_RV_NONE && arg->kind == TL_EXPR_OPERAND)
    return (tl_rv){.kind = TL_RV_FLOAT};
  return v.kind == TL_RV_FLOAT ? v : tl_rv_none();
}

static tl_rv to_bool(tl_rv v, bool invert) {
  v = scalar(v);
  return v.kind == TL_RV_INT ? tl_rv_int((v.i != 0) != invert) : tl_rv_none();
}

/* Returns a list of n copies of `fill`. */
static tl_rv filled(tl_site *site, uint32_t n, int64_t fill) {
  int64_t *at = tl_npu_room(site, n, sizeof *at);
  for (uint32_t i = 0; at && i < n; i++)
    at[i] = fill;
  return at ? tl_rv_list(at, n) : tl_rv_none();
}

/* Returns a list attribute. ONNX defines absent strides and dilations as ones over the spatial
 * dims. */
static tl_rv to_ints(tl_site *site, const tl_expr *arg) {
  tl_rv v = tl_npu_evaluate(site, arg);
  tl_int_list list;
  bool ones = arg->kind == TL_EXPR_ATTR &&
              (arg->u.s == TL_SYM_strides || arg->u.s == TL_SYM_dilations);
  int rank = tl_npu_rank(site, tl_operand(site->m, site->node, 0));
  if (v.kind == TL_RV_NONE && ones && rank > 2)
    return filled(site, (uint32_t)rank - 2, 1);
  return tl_npu_as_ints(site, v, &list) ? tl_rv_list(list.at, list.n) : tl_rv_none();
}

/* Returns [lead, lead, v...], the NPU form of a list over N, C and n spatial dims. An absent v
 * gives `lead` everywhere; a v of another length is refused. */
static tl_rv with_lead(tl_site *site, tl_rv v, uint32_t n, int64_t lead) {
  tl_int_list list = {0};
  if (v.kind != TL_RV_NONE && (!tl_npu_as_ints(site, v, &list) || list.n != n)) {
    site->why = "a list over the spatial dims has the wrong length";
    return tl_rv_none();
  }
  int64_t *at = tl_npu_room(site, n + 2, sizeof *at);
  for (uint32_t i = 0; at && i < n + 2; i++)
    at[i] = i < 2 || !list.at ? lead : list.at[i - 2];
  return at ? tl_rv_list(at, n + 2) : tl_rv_none();
}

static int64_t list_item(tl_int_list list, uint32_t i, int64_t fallback) {
  return i < list.n ? list.at[i] : fallback;
}

/* Computes the explicit pads for SAME_UPPER and SAME_LOWER, [begin, end] per spatial dim: total =
 * (output - 1) * stride + (kernel - 1) * dilation + 1 - input. SAME_UPPER puts the odd element at
 * the end. Returns false for other modes, unknown sizes and transposed convolutions (they have
 * output_padding and other rules). */
static bool same_pads(tl_site *site, uint32_t n, int64_t *out) {
  tl_symbol mode = TL_SYM_NOTSET;
  const tl_attr *a = tl_node_attr_or_default(site->m, site->node, TL_SYM_auto_pad);
  mode = a && a->kind == TL_ATTR_STRING ? a->u.s : mode;
  tl_value_id in = tl_operand(site->m, site->node, 0);
  tl_value_id to = tl_result(site->m, site->node, 0);
  const tl_op *row = tl_op_row(tl_node_get(site->m, site->node)->op);
  if ((mode != TL_SYM_SAME_UPPER && mode != TL_SYM_SAME_LOWER) || n > MAX_SPATIAL ||
      tl_op_attr_find(row, TL_SYM_output_padding) || tl_npu_rank(site, in) != (int)n + 2)
    return false;
  tl_int_list kernel = tl_node_attr_ints(site->m, site->node, TL_SYM_kernel_shape);
  tl_int_list strides = tl_node_attr_ints(site->m, site->node, TL_SYM_strides);
  tl_int_list dilations = tl_node_attr_ints(site->m, site->node, TL_SYM_dilations);
  for (uint32_t i = 0; i < n; i++) {
    tl_dim size = tl_npu_dim(site, in, i + 2);
    tl_dim made = tl_npu_dim(site, to, i + 2);
    tl_dim weight = tl_npu_dim(site, tl_operand(site->m, site->node, 1), i + 2);
    int64_t k = list_item(kernel, i, weight);
    int64_t stride = list_item(strides, i, 1) & INT32_MAX;
    if (stride == 1) /* a result of the operand's size: pads depend on the window alone */
      size = made = 1;
    if (size < 0 || made < 0 || k <= 0 || size > INT32_MAX || made > INT32_MAX || k > INT32_MAX)
      return false;
    int64_t span = (k - 1) * (list_item(dilations, i, 1) & INT32_MAX) + 1;
    int64_t total = (made - 1) * stride + span - size;
    total = total < 0 ? 0 : total;
    int64_t small = total / 2;
    int64_t begin = mode == TL_SYM_SAME_UPPER ? small : total - small;
    *out++ = begin;
    *out++ = total - begin;
  }
  return true;
}

/* Reorders pads from ONNX's [b0, b1.., e0, e1..] to the NPU's [b0, e0, b1, e1..]. Absent pads are
 * 0. */
static tl_rv pads_by_dim(tl_site *site, tl_rv v, uint32_t n) {
  int64_t *at = tl_npu_room(site, 2 * (size_t)n, sizeof *at);
  tl_int_list list = {0};
  if (!at)
    return tl_rv_none();
  if (same_pads(site, n, at))
    return tl_rv_list(at, 2 * n);
  if (v.kind != TL_RV_NONE && (!tl_npu_as_ints(site, v, &list) || list.n != 2 * n)) {
    site->why = "pads do not fit the rank";
    return tl_rv_none();
  }
  for (uint32_t i = 0; list.at && i < n; i++) {
    at[2 * (size_t)i] = list.at[i];
    at[2 * (size_t)i + 1] = list.at[(size_t)n + i];
  }
  return tl_rv_list(at, 2 * n);
}

/* Returns true if SAME pads can be written as numbers; auto_pad is NOTSET then. */
static bool pads_are_explicit(tl_site *site) {
  int64_t pads[2 * MAX_SPATIAL];
  int rank = tl_npu_rank(site, tl_operand(site->m, site->node, 0));
  return rank > 2 && rank <= 2 + MAX_SPATIAL && same_pads(site, (uint32_t)rank - 2, pads);
}

static tl_rv to_str(tl_site *site, const tl_expr *arg, tl_rv v) {
  if (arg->kind == TL_EXPR_ATTR && arg->u.s == TL_SYM_auto_pad && pads_are_explicit(site))
    return (tl_rv){.kind = TL_RV_STRING, .s = TL_SYM_NOTSET};
  if (v.kind == TL_RV_INT && v.i != 0)
    site->why = "the NPU op needs a name, not a number";
  return v.kind == TL_RV_STRING ? v : tl_rv_none();
}

/* Returns the padding mode of pooling ops: SAME, VALID or CALCULATED (explicit pads). */
static tl_rv pad_mode(tl_site *site, tl_rv v) {
  bool same = v.kind == TL_RV_STRING && (v.s == TL_SYM_SAME_UPPER || v.s == TL_SYM_SAME_LOWER);
  if (same && !pads_are_explicit(site)) {
    if (v.s == TL_SYM_SAME_LOWER) /* SAME pads the end more than the beginning */
      site->why = "the pads of SAME_LOWER depend on unknown sizes";
    return text(site, "SAME");
  }
  return v.kind == TL_RV_STRING && v.s == TL_SYM_VALID ? v : text(site, "CALCULATED");
}

/* Maps the ONNX names of GridSample modes to those of the NPU op. */
static tl_rv sampling_mode(tl_rv v) {
  if (v.kind == TL_RV_STRING && v.s == TL_SYM_linear)
    v.s = TL_SYM_bilinear;
  else if (v.kind == TL_RV_STRING && v.s == TL_SYM_cubic)
    v.s = TL_SYM_bicubic;
  return v;
}

/* Returns torch's name of a quantized type. The number is an ONNX dtype (3 int8, 2 uint8, 6 int32)
 * or a torch one (12 qint8, 13 quint8, 14 qint32); the two ranges do not overlap here. */
static tl_rv quantized_name(tl_site *site, tl_rv v) {
  if (v.kind == TL_RV_STRING)
    return v;
  if (v.kind == TL_RV_INT && (v.i == 3 || v.i == 12))
    return text(site, "torch.qint8");
  if (v.kind == TL_RV_INT && (v.i == 2 || v.i == 13))
    return text(site, "torch.quint8");
  if (v.kind == TL_RV_INT && (v.i == 6 || v.i == 14))
    return text(site, "torch.qint32");
  return tl_rv_none();
}

/* Returns the dtype of an ONNX number; without a number, the dtype of the first result, or f32 if
 * that is unknown. */
static tl_rv named_dtype(tl_site *site, tl_rv v) {
  if (v.kind == TL_RV_DTYPE)
    return v;
  if (v.kind == TL_RV_INT)
    return dtype_value(tl_dtype_from_onnx(v.i));
  tl_dtype d = tl_type_dtype(site->m, tl_value_type(site->m, tl_result(site->m, site->node, 0)));
  return dtype_value(d == TL_DTYPE_NONE ? TL_DTYPE_F32 : d);
}

/* Returns constant axes; with `all`, absent or empty axes mean every axis. */
static tl_rv axes_of(tl_site *site, const tl_expr *arg, bool all) {
  tl_rv v = tl_npu_evaluate(site, arg);
  tl_int_list list = {0};
  if (tl_expr_value(site, arg) && !tl_npu_as_ints(site, v, &list)) {
    site->why = "axes are not constant";
    return tl_rv_none();
  }
  int rank = tl_npu_rank(site, tl_operand(site->m, site->node, 0));
  if (list.n || !all)
    return tl_rv_list(list.at, list.n);
  if (rank < 0) {
    site->why = "the attribute applies to all axes and the rank is unknown";
    return tl_rv_none();
  }
  int64_t *at = tl_npu_room(site, (size_t)rank, sizeof *at);
  for (int i = 0; at && i < rank; i++)
    at[i] = i;
  return at ? tl_rv_list(at, (uint32_t)rank) : tl_rv_none();
}

/* Returns the given scale of attention, or 1 / sqrt(head size), the default. */
static tl_rv attention_scale(tl_site *site, tl_rv v) {
  tl_dim size = tl_npu_dim(site, tl_operand(site->m, site->node, 0), -1);
  if (v.kind == TL_RV_FLOAT && v.f > 0)
    return v;
  if (size <= 0) {
    site->why = "the head size is unknown";
    return tl_rv_none();
  }
  return (tl_rv){.kind = TL_RV_FLOAT, .f = 1.0 / sqrt((double)size)};
}

/* Makes the matrix of EyeLike as a constant: ones on the diagonal `offset`. Sides are limited to
 * 4096, so offsets beyond +-8192 select no element. Two values are announced for a 1x1 matrix
 * because a count of 1 would mean "broadcast"; only the first is read. */
static tl_rv identity_tensor(tl_site *site, const tl_expr *e) {
  tl_rv shape = tl_npu_evaluate(site, e->args[0]);
  tl_rv k = tl_npu_evaluate(site, e->args[1]);
  tl_dtype dtype =
      tl_type_dtype(site->m, tl_value_type(site->m, tl_result(site->m, site->node, 0)));
  if (shape.kind != TL_RV_INTS || shape.is.n != 2 || shape.is.at[0] > 4096 ||
      shape.is.at[1] > 4096) {
    site->why = "the identity matrix is too large for a constant";
    return tl_rv_none();
  }
  int64_t columns = shape.is.at[1];
  int64_t offset = k.kind == TL_RV_INT ? k.i : 0;
  uint64_t n = (uint64_t)(shape.is.at[0] * columns);
  double *at = tl_npu_room(site, n, sizeof *at);
  for (uint64_t i = 0; at && i < n; i++) {
    int64_t row = (int64_t)i / columns;
    at[i] = offset > -8192 && offset < 8192 && (int64_t)i % columns == row + offset ? 1 : 0;
  }
  tl_tensor_id t = at ? tl_npu_tensor(site->m, dtype, 2, shape.is.at, at, n == 1 ? 2 : n) : 0;
  return t ? (tl_rv){.kind = TL_RV_TENSOR, .i = t} : tl_rv_none();
}

static bool is_half_pixel(tl_rv v) {
  return v.kind == TL_RV_STRING && (v.s == TL_SYM_half_pixel || v.s == TL_SYM_pytorch_half_pixel ||
                                    v.s == TL_SYM_tf_half_pixel_for_nn);
}

static tl_rv type_of_port(const tl_site *site, const tl_expr *arg) {
  return dtype_value(tl_type_dtype(site->m, tl_value_type(site->m, tl_expr_value(site, arg))));
}

/* Conversions that need more than the value of their first argument. */
static tl_rv convert_special(tl_site *site, const tl_expr *e) {
  switch (e->function) {
  case TL_FN_int_list: return to_ints(site, e->args[0]);
  case TL_FN_given_axes: return axes_of(site, e->args[0], false);
  case TL_FN_axes_or_all: return axes_of(site, e->args[0], true);
  case TL_FN_ge_of: return type_of_port(site, e->args[0]);
  case TL_FN_eye: return identity_tensor(site, e);
  default: return tl_npu_evaluate(site, e);
  }
}

tl_rv tl_npu_convert(tl_site *site, const tl_expr *e) {
  if (e->kind != TL_EXPR_CALL || e->n != 1)
    return e->kind == TL_EXPR_CALL ? convert_special(site, e) : tl_npu_evaluate(site, e);
  const tl_expr *arg = e->args[0];
  tl_rv v = tl_npu_evaluate(site, arg);
  switch (e->function) {
  case TL_FN_int: return to_int(v);
  case TL_FN_float: return to_float(arg, v);
  case TL_FN_boolean: return to_bool(v, false);
  case TL_FN_not: return to_bool(v, true);
  case TL_FN_str: return to_str(site, arg, v);
  case TL_FN_list: return v.kind == TL_RV_INT ? filled(site, 1, v.i) : tl_rv_none();
  case TL_FN_nchw: return with_lead(site, v, 2, 1);
  case TL_FN_ncdhw: return with_lead(site, v, 3, 1);
  case TL_FN_onchw: return with_lead(site, v, 2, 0);
  case TL_FN_oncdhw: return with_lead(site, v, 3, 0);
  case TL_FN_hhww: return pads_by_dim(site, v, 2);
  case TL_FN_ddhhww: return pads_by_dim(site, v, 3);
  case TL_FN_dtype_of: return named_dtype(site, v);
  case TL_FN_padmode: return pad_mode(site, v);
  case TL_FN_gsmode: return sampling_mode(v);
  case TL_FN_half_pixel: return tl_rv_int(is_half_pixel(v));
  case TL_FN_qname: return quantized_name(site, v);
  case TL_FN_scale_or_rsqrt_d: return attention_scale(site, v);
  case TL_FN_tensor: return v.kind == TL_RV_TENSOR ? v : tl_rv_none();
  default: return convert_special(site, e);
  }
}

/* Returns the kind of attribute that holds a value as it is. */
static uint8_t own_kind(uint8_t kind) {
  static const uint8_t kinds[] = {
      [TL_RV_BOOL] = TL_ATTR_INT,      [TL_RV_INT] = TL_ATTR_INT,
      [TL_RV_FLOAT] = TL_ATTR_FLOAT,   [TL_RV_STRING] = TL_ATTR_STRING,
      [TL_RV_DTYPE] = TL_ATTR_DTYPE,   [TL_RV_INTS] = TL_ATTR_INTS,
      [TL_RV_FLOATS] = TL_ATTR_FLOATS, [TL_RV_STRINGS] = TL_ATTR_STRINGS,
      [TL_RV_TENSOR] = TL_ATTR_TENSOR};
  return kinds[kind];
}

/* Makes a list attribute of the given kind; kind NONE if an element cannot be converted. */
static tl_attr list_attr(tl_site *site, tl_symbol name, uint8_t kind, tl_rv v) {
  tl_attr none = {.name = name};
  const double *fs;
  tl_int_list list;
  uint32_t n;
  if (kind == TL_ATTR_FLOATS) {
    float *out = tl_npu_as_floats(site, v, &fs, &n) ? tl_npu_room(site, n, sizeof *out) : NULL;
    for (uint32_t i = 0; out && i < n; i++)
      out[i] = (float)fs[i];
    return out ? tl_attr_floats(site->m, name, out, n) : none;
  }
  if (kind == TL_ATTR_STRINGS)
    return v.kind == TL_RV_STRINGS ? tl_attr_ids(site->m, name, TL_ATTR_STRINGS, v.ids, v.is.n)
                                   : none;
  if (!tl_npu_as_ints(site, v, &list))
    return none;
  tl_attr a = tl_attr_ints(site->m, name, list.at, list.n);
  a.kind = a.kind == TL_ATTR_NONE ? a.kind : kind;
  return a;
}

tl_attr tl_npu_attr_from(tl_site *site, tl_symbol name, uint8_t kind, tl_rv v) {
  tl_attr none = {.name = name};
  if (v.kind == TL_RV_NONE)
    return none;
  kind = kind == TL_ATTR_NONE ? own_kind(v.kind) : kind;
  bool is_int = v.kind == TL_RV_INT || v.kind == TL_RV_BOOL;
  switch ((tl_attr_kind)kind) {
  case TL_ATTR_INT:
    if (v.kind == TL_RV_DTYPE && tl_dtype_get((tl_dtype)v.i)->ge_internal >= 0)
      return tl_attr_int(name, tl_dtype_get((tl_dtype)v.i)->ge_internal);
    return is_int ? tl_attr_int(name, v.i) : none;
  case TL_ATTR_BOOL: return is_int ? tl_attr_bool(name, v.i != 0) : none;
  case TL_ATTR_FLOAT:
    if (is_int)
      return tl_attr_float(name, (float)v.i);
    return v.kind == TL_RV_FLOAT ? tl_attr_float(name, (float)v.f) : none;
  case TL_ATTR_STRING: return v.kind == TL_RV_STRING ? tl_attr_string(name, v.s) : none;
  case TL_ATTR_DTYPE:
    if (is_int && tl_dtype_from_ge(v.i) != TL_DTYPE_NONE)
      return tl_attr_dtype(name, tl_dtype_from_ge(v.i));
    return v.kind == TL_RV_DTYPE ? tl_attr_dtype(name, (tl_dtype)v.i) : none;
  case TL_ATTR_TENSOR:
    return v.kind == TL_RV_TENSOR ? tl_attr_tensor(name, (tl_tensor_id)v.i) : none;
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS:
  case TL_ATTR_FLOATS:
  case TL_ATTR_STRINGS: return list_attr(site, name, kind, v);
  default: return none;
  }
}
