/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of ops that make tensors from shapes and attributes: Constant, ConstantOfShape,
 * EyeLike, Range, Shape, Size, OneHot. */
#include <math.h>

#include "ir/infer/infer.h"
#include "ir/infer/infer_gen.h"
#include "ir/ops_gen.h"

/* ---- Constant ------------------------------------------------------------------------------- */

/* States a tensor's type and tracks its elements. */
static tl_status set_tensor(tl_infer *ctx, const tl_tensor *t) {
  tl_elem at[TL_MAX_PARTIAL];
  uint64_t n = tl_tensor_elements(ctx->m, t);
  TL_TRY(tl_infer_set_type(ctx, 0, t->type));
  int64_t v;
  if (n > TL_MAX_PARTIAL || (n > 0 && !tl_tensor_int_at(ctx->m, t, 0, &v)))
    return TL_OK;
  for (uint64_t i = 0; i < n; i++) {
    at[i].kind = tl_tensor_int_at(ctx->m, t, i, &v) ? TL_ELEM_INT : TL_ELEM_UNKNOWN;
    at[i].value = at[i].kind == TL_ELEM_INT ? v : 0;
  }
  return tl_infer_set_elems(ctx, 0, at, (uint32_t)n);
}

/* Tracks the list as well, up to TL_MAX_PARTIAL numbers. */
static tl_status set_int_list(tl_infer *ctx, const int64_t *v, uint32_t n, int rank) {
  tl_elem at[TL_MAX_PARTIAL];
  tl_dim dim = n;
  TL_TRY(tl_infer_set(ctx, 0, TL_DTYPE_I64, rank, &dim));
  for (uint32_t i = 0; i < n && n <= TL_MAX_PARTIAL; i++)
    at[i] = (tl_elem){TL_ELEM_INT, v[i]};
  return n <= TL_MAX_PARTIAL ? tl_infer_set_elems(ctx, 0, at, n) : TL_OK;
}

/* One of the attributes says what the constant is. */
static tl_status set_constant(tl_infer *ctx, const tl_attr *a) {
  tl_dim n = a->count;
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_TENSOR: return set_tensor(ctx, tl_tensor_get(ctx->m, a->u.t));
  case TL_ATTR_FLOAT: return tl_infer_set(ctx, 0, TL_DTYPE_F32, 0, NULL);
  case TL_ATTR_FLOATS: return tl_infer_set(ctx, 0, TL_DTYPE_F32, 1, &n);
  case TL_ATTR_INT: return set_int_list(ctx, &a->u.i, 1, 0);
  case TL_ATTR_INTS: return set_int_list(ctx, a->u.is, a->count, 1);
  case TL_ATTR_STRING: return tl_infer_set(ctx, 0, TL_DTYPE_STRING, 0, NULL);
  case TL_ATTR_STRINGS: return tl_infer_set(ctx, 0, TL_DTYPE_STRING, 1, &n);
  default: return TL_OK; /* a sparse value is carried as bytes: the declared type stands */
  }
}

tl_status tl_infer_constant(tl_infer *ctx, uint32_t node) {
  static const tl_symbol names[] = {TL_SYM_value,        TL_SYM_sparse_value, TL_SYM_value_float,
                                    TL_SYM_value_floats, TL_SYM_value_int,    TL_SYM_value_ints,
                                    TL_SYM_value_string, TL_SYM_value_strings};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const tl_attr *a = tl_node_attr(ctx->m, node, names[i]);
    if (a)
      return set_constant(ctx, a);
  }
  return tl_infer_fail(ctx, "a constant needs one of the attributes value, sparse_value, value_*");
}

/* A constant of an AIR file. Text dumps leave the value out; then its desc says the type. */
tl_status tl_infer_held_constant(tl_infer *ctx, uint32_t node) {
  const tl_attr *a = tl_node_attr(ctx->m, node, TL_SYM_value);
  return a ? set_constant(ctx, a) : TL_OK;
}

/* ---- ConstantOfShape, EyeLike --------------------------------------------------------------- */

/* Tracks the same integer n times. */
static tl_status fill_elems(tl_infer *ctx, int64_t v, tl_dim n) {
  tl_elem at[TL_MAX_PARTIAL];
  if (n < 0 || n > TL_MAX_PARTIAL)
    return TL_OK;
  for (tl_dim i = 0; i < n; i++)
    at[i] = (tl_elem){TL_ELEM_INT, v};
  return tl_infer_set_elems(ctx, 0, at, (uint32_t)n);
}

/* Reads a rank-1 shape operand as dims; TL_RANK_UNKNOWN when its length is unknown. */
static tl_status read_shape(tl_infer *ctx, uint32_t i, int *rank, tl_dim *dims) {
  tl_partial p = tl_infer_elems(ctx, i);
  tl_dim n = tl_infer_rank(ctx, i) == 1 ? tl_infer_dims(ctx, i)[0] : TL_DIM_UNKNOWN;
  if (p.at)
    n = p.n;
  *rank = n >= 0 && n <= TL_MAX_RANK ? (int)n : TL_RANK_UNKNOWN;
  for (int k = 0; k < *rank; k++) {
    dims[k] = p.at ? tl_elem_dim(p.at[k]) : TL_DIM_UNKNOWN;
    if (p.at && p.at[k].kind == TL_ELEM_INT && p.at[k].value < 0)
      return tl_infer_fail(ctx, "shape element %d is %lld, expected a size", k,
                           (long long)p.at[k].value);
  }
  return TL_OK;
}

/* Without a value the result is zeros of f32. */
tl_status tl_infer_constant_of_shape(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  int rank;
  int64_t v;
  const tl_attr *a = tl_node_attr(ctx->m, node, TL_SYM_value);
  const tl_tensor *t = a && a->kind == TL_ATTR_TENSOR ? tl_tensor_get(ctx->m, a->u.t) : NULL;
  TL_TRY(read_shape(ctx, 0, &rank, dims));
  TL_TRY(tl_infer_set(ctx, 0, t ? (tl_dtype)t->dtype : TL_DTYPE_F32, rank, dims));
  if (!t || rank < 0 || rank > 1 || !tl_tensor_int_at(ctx->m, t, 0, &v))
    return TL_OK;
  return fill_elems(ctx, v, rank == 0 ? 1 : dims[0]);
}

/* Random numbers of the NPU: the shape is an operand, the dtype an attribute. */
tl_status tl_infer_drawn(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  int rank;
  const tl_attr *a = tl_node_attr(ctx->m, node, TL_SYM_dtype);
  TL_TRY(read_shape(ctx, 0, &rank, dims));
  return tl_infer_set(ctx, 0, a && a->kind == TL_ATTR_DTYPE ? (tl_dtype)a->u.i : TL_DTYPE_F32, rank,
                      dims);
}

/* The mask has one bit for each element of the shape in operand 0, in whole groups of 128. */
tl_status tl_infer_dropout_mask(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_dim bytes = 1;
  int rank;
  (void)node;
  TL_TRY(read_shape(ctx, 0, &rank, dims));
  for (int i = 0; i < rank && bytes != TL_DIM_UNKNOWN; i++)
    if (!tl_dim_is_static(dims[i]) || __builtin_mul_overflow(bytes, dims[i], &bytes))
      bytes = TL_DIM_UNKNOWN;
  if (rank < 0 || bytes > INT64_MAX - 128)
    bytes = TL_DIM_UNKNOWN;
  bytes = bytes == TL_DIM_UNKNOWN ? bytes : (bytes + 127) / 128 * 16;
  return tl_infer_set(ctx, 0, TL_DTYPE_U8, 1, &bytes);
}

tl_status tl_infer_eye_like(tl_infer *ctx, uint32_t node) {
  int rank = tl_infer_rank(ctx, 0);
  const tl_attr *a = tl_node_attr(ctx->m, node, TL_SYM_dtype);
  tl_dtype dtype = a && a->kind == TL_ATTR_INT ? tl_dtype_from_onnx(a->u.i)
                                               : tl_infer_dtype(ctx, 0);
  if (rank >= 0 && rank != 2)
    return tl_infer_fail(ctx, "the operand has rank %d, expected 2", rank);
  return tl_infer_set(ctx, 0, dtype, rank, tl_infer_dims(ctx, 0));
}

/* ---- Shape, Size ---------------------------------------------------------------------------- */

/* Returns an axis, counted from the end when negative, clamped to [0, rank]. */
static int64_t clamp_axis(int64_t axis, int rank) {
  if (axis < 0)
    axis = axis < -rank ? 0 : axis + rank;
  return axis > rank ? rank : axis;
}

/* Shape tracks the dims, numbers and names alike: the source of partial values. */
tl_status tl_infer_shape(tl_infer *ctx, uint32_t node) {
  tl_elem at[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  tl_dim n = TL_DIM_UNKNOWN;
  if (rank < 0)
    return tl_infer_set(ctx, 0, TL_DTYPE_I64, 1, &n);
  int64_t start = clamp_axis(tl_node_attr_int(ctx->m, node, TL_SYM_start, 0), rank);
  int64_t end = clamp_axis(tl_node_attr_int(ctx->m, node, TL_SYM_end, rank), rank);
  n = end > start ? end - start : 0;
  for (tl_dim i = 0; i < n; i++)
    at[i] = tl_elem_from_dim(tl_infer_dims(ctx, 0)[start + i]);
  TL_TRY(tl_infer_set(ctx, 0, TL_DTYPE_I64, 1, &n));
  return tl_infer_set_elems(ctx, 0, at, (uint32_t)n);
}

tl_status tl_infer_keep_sizes(tl_module *m, tl_node_id n) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, tl_operand(m, n, 0)));
  int64_t sizes[TL_MAX_RANK];
  uint32_t count = 0;
  if (t->kind != TL_KIND_TENSOR || t->rank < 0 ||
      !tl_infer_exists_once(m, tl_node_get(m, n)->graph))
    return TL_OK;
  int64_t start = clamp_axis(tl_node_attr_int(m, n, TL_SYM_start, 0), t->rank);
  int64_t end = clamp_axis(tl_node_attr_int(m, n, TL_SYM_end, t->rank), t->rank);
  for (int64_t i = start; i < end; i++) {
    if (!tl_dim_is_static(t->dims[i]))
      return TL_OK;
    sizes[count++] = t->dims[i];
  }
  tl_tensor_id contents = tl_tensor_i64s(m, sizes, count, 1);
  tl_value_get(m, tl_result(m, n, 0))->tensor = contents;
  return contents ? TL_OK : TL_NO_MEMORY;
}

/* The number of elements is tracked as a product of dims. */
tl_status tl_infer_size(tl_infer *ctx, uint32_t node) {
  (void)node;
  bool exact;
  int rank = tl_infer_rank(ctx, 0);
  TL_TRY(tl_infer_set(ctx, 0, TL_DTYPE_I64, 0, NULL));
  if (rank < 0)
    return TL_OK;
  tl_elem e = tl_elem_from_dim(
      tl_infer_quotient(ctx, tl_infer_dims(ctx, 0), (uint32_t)rank, NULL, 0, &exact));
  return tl_infer_set_elems(ctx, 0, &e, 1);
}

/* ---- Range ---------------------------------------------------------------------------------- */

/* Returns the number of steps of an integer range; -1 when the numbers are too large to tell. */
static int64_t int_steps(int64_t start, int64_t limit, int64_t delta) {
  int64_t distance;
  if (__builtin_sub_overflow(limit, start, &distance) || distance == INT64_MIN)
    return -1;
  if (distance == 0 || (distance > 0) != (delta > 0))
    return 0;
  if (delta == INT64_MIN)
    return 1;
  return distance / delta + (distance % delta != 0);
}

/* Returns the one element of an operand; unknown otherwise. */
static tl_elem single_elem(tl_infer *ctx, uint32_t i) {
  tl_partial p = tl_infer_elems(ctx, i);
  return p.at && p.n == 1 ? p.at[0] : (tl_elem){TL_ELEM_UNKNOWN, 0};
}

/* Reads a constant, or a tracked element that is integral. */
static bool float_operand(tl_infer *ctx, uint32_t i, double *out) {
  const tl_tensor *t = tl_value_constant(ctx->m, tl_operand(ctx->m, ctx->node, i));
  tl_elem e = single_elem(ctx, i);
  *out = (double)e.value;
  return e.kind == TL_ELEM_INT || (t && tl_tensor_float_at(ctx->m, t, 0, out));
}

/* Beyond 9e15 not every integer is a double. */
static tl_dim float_range(tl_infer *ctx) {
  double start;
  double limit;
  double delta;
  if (!float_operand(ctx, 0, &start) || !float_operand(ctx, 1, &limit) ||
      !float_operand(ctx, 2, &delta) || !(fabs(delta) > 0))
    return TL_DIM_UNKNOWN;
  double n = ceil((limit - start) / delta);
  if (!(n < 9.0e15))
    return TL_DIM_UNKNOWN;
  return n > 0 ? (tl_dim)n : 0;
}

static tl_status int_range(tl_infer *ctx, int64_t start, int64_t limit, int64_t delta) {
  tl_elem at[TL_MAX_PARTIAL];
  if (delta == 0)
    return tl_infer_fail(ctx, "the step of a range is 0");
  int64_t n = int_steps(start, limit, delta);
  tl_dim dim = n < 0 ? TL_DIM_UNKNOWN : n;
  TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), 1, &dim));
  for (int64_t i = 0; i < n && n <= TL_MAX_PARTIAL; i++)
    at[i] = (tl_elem){TL_ELEM_INT, start + i * delta};
  return n >= 0 && n <= TL_MAX_PARTIAL ? tl_infer_set_elems(ctx, 0, at, (uint32_t)n) : TL_OK;
}

/* With symbols only the range from start to a named limit by steps of 1 has a known length. */
tl_status tl_infer_range(tl_infer *ctx, uint32_t node) {
  (void)node;
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  tl_dim n = TL_DIM_UNKNOWN;
  if (tl_dtype_is_float(dtype)) {
    n = float_range(ctx);
    return tl_infer_set(ctx, 0, dtype, 1, &n);
  }
  tl_elem start = single_elem(ctx, 0);
  tl_elem limit = single_elem(ctx, 1);
  tl_elem delta = single_elem(ctx, 2);
  bool known = delta.kind == TL_ELEM_INT && start.kind == TL_ELEM_INT;
  if (known && limit.kind == TL_ELEM_INT)
    return int_range(ctx, start.value, limit.value, delta.value);
  if (delta.kind == TL_ELEM_INT && delta.value == 1 && limit.kind == TL_ELEM_DIM)
    n = tl_dim_sub(ctx->m, limit.value, tl_elem_dim(start));
  return tl_infer_set(ctx, 0, dtype, 1, &n);
}

/* ---- OneHot --------------------------------------------------------------------------------- */

/* OneHot: indices, depth, values -> indices' dims with the depth inserted at the axis. */
tl_status tl_infer_one_hot(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  uint32_t axis;
  int rank = tl_infer_rank(ctx, 0);
  if (rank < 0 || rank >= TL_MAX_RANK)
    return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 2), TL_RANK_UNKNOWN, NULL);
  TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, -1), rank + 1, &axis));
  tl_elem depth = single_elem(ctx, 1);
  if (depth.kind == TL_ELEM_INT && depth.value < 0)
    return tl_infer_fail(ctx, "the depth is %lld, expected a size", (long long)depth.value);
  for (int i = 0; i < rank; i++)
    dims[i < (int)axis ? i : i + 1] = tl_infer_dims(ctx, 0)[i];
  dims[axis] = tl_elem_dim(depth);
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 2), rank + 1, dims);
}
