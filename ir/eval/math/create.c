/* SPDX-License-Identifier: Apache-2.0 */
/* Makes tensors out of attributes and shapes: constants, fills, identity and triangular matrices,
 * one-hot vectors, ranges. */
#include <math.h>

#include "ir/eval/kernel/move.h"

enum { WIDEST = 16 }; /* bytes of an element */

/* The types that make_unit can write: at least a byte wide, and not f8e8m0, which has no zero. */
static bool is_number(tl_dtype d) {
  return tl_host_element_size(d) &&
         (tl_dtype_is_float(d) || tl_dtype_is_integer(d) || d == TL_DTYPE_BOOL) &&
         d != TL_DTYPE_F8E8M0;
}

/* Writes a number as one element. For integer types the fraction is dropped, what does not fit
 * saturates, and NaN gives 0. */
static void make_unit(tl_dtype dtype, float value, char *unit) {
  if (tl_dtype_is_float(dtype)) {
    tl_host_from_f32(dtype, &value, unit, 0, 1, false);
    return;
  }
  int64_t v = value >= 9.2e18f    ? INT64_MAX
              : value <= -9.2e18f ? INT64_MIN
              : value == value    ? (int64_t)value
                                  : 0;
  unsigned bits = tl_dtype_get(dtype)->bits;
  bool is_signed = dtype >= TL_DTYPE_I8 && dtype <= TL_DTYPE_I64;
  if (dtype == TL_DTYPE_BOOL)
    v = value != 0;
  else if (!is_signed && v < 0)
    v = 0;
  if (bits < 64 && !is_signed && v > (INT64_C(1) << bits) - 1)
    v = (INT64_C(1) << bits) - 1;
  if (bits < 64 && is_signed && v > (INT64_C(1) << (bits - 1)) - 1)
    v = (INT64_C(1) << (bits - 1)) - 1;
  if (bits < 64 && is_signed && v < -(INT64_C(1) << (bits - 1)))
    v = -(INT64_C(1) << (bits - 1));
  tl_uint_store(unit, (uint64_t)v, bits / 8);
}

/* ---- Constant ------------------------------------------------------------------------------- */

/* A constant is a view of the tensor's bytes where the host's layout allows it
 * (tl_host_from_tensor). */
static tl_status constant_tensor(tl_eval *ctx, tl_tensor_id id) {
  tl_host *t = tl_host_from_tensor(ctx->heap, ctx->m, tl_tensor_get(ctx->m, id));
  if (!t)
    return tl_eval_no_memory(ctx);
  tl_status status = tl_eval_pass(ctx, 0, t);
  tl_host_release(t);
  return status;
}

static tl_status constant_bytes(tl_eval *ctx, tl_dtype dtype, int rank, uint32_t n,
                                const void *data) {
  int64_t dim = n;
  tl_host *y;
  TL_TRY(tl_eval_result(ctx, 0, dtype, rank, &dim, &y));
  if (y->bytes)
    memcpy(y->data, data, (size_t)y->bytes);
  return TL_OK;
}

/* The text of symbols lives as long as the module, so views of it suffice. */
static tl_status constant_strings(tl_eval *ctx, int rank, uint32_t n, const tl_symbol *symbols) {
  int64_t dim = n;
  tl_host *y;
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_STRING, rank, &dim, &y));
  for (uint32_t i = 0; i < n; i++)
    ((tl_sv *)y->data)[i] = tl_sym(ctx->m, symbols[i]);
  return TL_OK;
}

static tl_status constant_attr(tl_eval *ctx, const tl_attr *a) {
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_TENSOR: return constant_tensor(ctx, a->u.t);
  case TL_ATTR_FLOAT: return constant_bytes(ctx, TL_DTYPE_F32, 0, 1, &a->u.f);
  case TL_ATTR_FLOATS: return constant_bytes(ctx, TL_DTYPE_F32, 1, a->count, a->u.fs);
  case TL_ATTR_INT: return constant_bytes(ctx, TL_DTYPE_I64, 0, 1, &a->u.i);
  case TL_ATTR_INTS: return constant_bytes(ctx, TL_DTYPE_I64, 1, a->count, a->u.is);
  case TL_ATTR_STRING: return constant_strings(ctx, 0, 1, &a->u.s);
  case TL_ATTR_STRINGS: return constant_strings(ctx, 1, a->count, a->u.ids);
  default: return tl_eval_unsupported(ctx, "a sparse constant of this size is not expanded");
  }
}

/* ONNX allows exactly one of these attributes; the first one found counts. */
tl_status tl_eval_constant(tl_eval *ctx) {
  static const tl_symbol names[] = {TL_SYM_value,        TL_SYM_sparse_value, TL_SYM_value_float,
                                    TL_SYM_value_floats, TL_SYM_value_int,    TL_SYM_value_ints,
                                    TL_SYM_value_string, TL_SYM_value_strings};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const tl_attr *a = tl_node_attr(ctx->m, ctx->node, names[i]);
    if (a)
      return constant_attr(ctx, a);
  }
  return tl_eval_fail(ctx, "the constant has no value");
}

/* ---- fills ---------------------------------------------------------------------------------- */

static tl_status check_rank(tl_eval *ctx, uint64_t rank) {
  return rank <= TL_MAX_RANK ? TL_OK
                             : tl_eval_unsupported(ctx, "the result would have %llu dims",
                                                   (unsigned long long)rank);
}

/* Makes result 0 of the given shape with every element equal to `unit`. */
static tl_status fill_result(tl_eval *ctx, tl_dtype dtype, tl_int_list shape, const char *unit) {
  tl_unit_result to;
  TL_TRY(check_rank(ctx, shape.n));
  TL_TRY(tl_eval_units_result(ctx, 0, dtype, (int)shape.n, shape.at, &to));
  tl_eval_units_fill(ctx, &to, 0, to.t->n, unit);
  tl_eval_units_done(&to);
  return TL_OK;
}

tl_status tl_eval_constant_of_shape(tl_eval *ctx) {
  tl_int_list shape;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, 1));
  TL_TRY(tl_eval_operand_ints(ctx, 0, &shape));
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, TL_SYM_value);
  if (!a)
    return fill_result(ctx, TL_DTYPE_F32, shape, tl_eval_zero_unit(TL_DTYPE_F32));
  if (a->kind != TL_ATTR_TENSOR)
    return tl_eval_fail(ctx, "the attribute value is not a tensor");
  tl_host *t = tl_host_from_tensor(ctx->heap, ctx->m, tl_tensor_get(ctx->m, a->u.t));
  if (!t)
    return tl_eval_no_memory(ctx);
  tl_units unit;
  tl_status status = t->n == 1 ? tl_eval_units_of(ctx, t, &unit)
                               : tl_eval_fail(ctx, "the attribute value must have one element");
  if (status == TL_OK)
    status = fill_result(ctx, (tl_dtype)t->dtype, shape, unit.data);
  tl_host_release(t);
  return status;
}

/* Finds the shape for ConstantFill and GivenTensorFill of old opsets: without an operand the
 * attribute `shape`; else the operand's shape, or its contents with input_as_shape. extra_shape is
 * appended. */
static tl_status old_shape(tl_eval *ctx, tl_int_list *out) {
  const tl_host *t = tl_eval_in(ctx, 0);
  tl_int_list more = tl_eval_ints(ctx, TL_SYM_extra_shape), own;
  if (!t) {
    *out = tl_eval_ints(ctx, TL_SYM_shape);
    return TL_OK;
  }
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  own = (tl_int_list){t->dims, (uint32_t)t->rank};
  if (tl_eval_int(ctx, TL_SYM_input_as_shape, 0))
    TL_TRY(tl_eval_operand_ints(ctx, 0, &own));
  TL_TRY(check_rank(ctx, (uint64_t)own.n + more.n));
  int64_t *dims = tl_eval_scratch(ctx, (uint64_t)own.n + more.n, sizeof *dims);
  if (!dims)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < own.n + more.n; i++)
    dims[i] = i < own.n ? own.at[i] : more.at[i - own.n];
  *out = (tl_int_list){dims, own.n + more.n};
  return TL_OK;
}

tl_status tl_eval_constant_fill(tl_eval *ctx) {
  char unit[WIDEST] = {0};
  tl_int_list shape;
  tl_dtype dtype = tl_dtype_from_onnx(tl_eval_int(ctx, TL_SYM_dtype, 1));
  float value = tl_eval_float(ctx, TL_SYM_value, 0);
  if (dtype != TL_DTYPE_F32 && dtype != TL_DTYPE_I32 && dtype != TL_DTYPE_I64 &&
      dtype != TL_DTYPE_BOOL)
    return tl_eval_fail(ctx, "dtype must be float, int32, int64 or bool");
  TL_TRY(old_shape(ctx, &shape));
  make_unit(dtype, value, unit);
  return fill_result(ctx, dtype, shape, unit);
}

/* The dtype comes from the type that the module states for the result; the op has no attribute for
 * it. */
tl_status tl_eval_given_tensor_fill(tl_eval *ctx) {
  tl_int_list shape;
  tl_host *y;
  const tl_attr *values = tl_node_attr(ctx->m, ctx->node, TL_SYM_values);
  tl_dtype dtype = tl_type_dtype(ctx->m, tl_value_type(ctx->m, tl_result(ctx->m, ctx->node, 0)));
  if (dtype == TL_DTYPE_NONE)
    dtype = TL_DTYPE_F32;
  if (!is_number(dtype))
    return tl_eval_fail(ctx, "numbers cannot fill a tensor of this dtype");
  TL_TRY(old_shape(ctx, &shape));
  TL_TRY(check_rank(ctx, shape.n));
  TL_TRY(tl_eval_result(ctx, 0, dtype, (int)shape.n, shape.at, &y));
  if (!values || values->kind != TL_ATTR_FLOATS || values->count != y->n)
    return tl_eval_fail(ctx, "the shape has %llu elements, there are %u values",
                        (unsigned long long)y->n, values ? values->count : 0);
  for (uint64_t i = 0; i < y->n; i++)
    make_unit(dtype, values->u.fs[i], (char *)y->data + i * tl_host_element_size(dtype));
  return TL_OK;
}

/* ---- EyeLike, Trilu, OneHot ----------------------------------------------------------------- */

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* k is clamped to the matrix: diagonals outside of it are all empty, and i + k cannot overflow. */
tl_status tl_eval_eye_like(tl_eval *ctx) {
  char unit[WIDEST] = {0};
  tl_unit_result to;
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 2));
  const tl_host *t = ctx->in[0];
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, TL_SYM_dtype);
  tl_dtype dtype = a && a->kind == TL_ATTR_INT ? tl_dtype_from_onnx(a->u.i) : (tl_dtype)t->dtype;
  if (!is_number(dtype))
    return tl_eval_fail(ctx, "an identity matrix cannot have this dtype");
  make_unit(dtype, 1, unit);
  TL_TRY(tl_eval_units_result(ctx, 0, dtype, 2, t->dims, &to));
  int64_t rows = t->dims[0], columns = t->dims[1];
  int64_t k = clamp(tl_eval_int(ctx, TL_SYM_k, 0), -rows, columns);
  tl_eval_units_clear(ctx, &to);
  for (int64_t i = k < 0 ? -k : 0; i < rows && i + k < columns; i++)
    memcpy(to.data + (size_t)(i * columns + i + k) * to.size, unit, to.size);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* What Trilu reads and writes: matrices of rows x columns, one after the other. */
typedef struct triangle {
  const tl_unit_result *to;
  const char *from;
  int64_t rows;
  int64_t columns;
  int64_t k;
  bool upper;
  bool text;
} triangle;

/* A string is not cleared by zero bytes: its view must point at an empty string. */
static void clear_units(const triangle *t, char *at, int64_t n) {
  if (n <= 0)
    return;
  if (!t->text)
    memset(at, 0, (size_t)n * t->to->size);
  for (int64_t i = 0; t->text && i < n; i++)
    ((tl_sv *)(void *)at)[i] = TL_SV("");
}

/* Copies the kept part of each row and clears the rest; rows of all matrices are counted
 * through. */
static void trilu_rows(void *user, uint64_t begin, uint64_t end) {
  const triangle *t = user;
  size_t size = t->to->size;
  for (uint64_t r = begin; r < end; r++) {
    int64_t i = (int64_t)(r % (uint64_t)t->rows);
    int64_t first = t->upper ? clamp(i + t->k, 0, t->columns) : 0;
    int64_t last = t->upper ? t->columns : clamp(i + t->k + 1, 0, t->columns);
    size_t at = (size_t)r * (size_t)t->columns * size;
    char *row = t->to->data + at;
    clear_units(t, row, first);
    if (last > first)
      memcpy(row + (size_t)first * size, t->from + at + (size_t)first * size,
             (size_t)(last - first) * size);
    clear_units(t, row + (size_t)last * size, t->columns - last);
  }
}

tl_status tl_eval_trilu(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  int64_t k;
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &k));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank, t->dims, &to));
  if (!t->n)
    return TL_OK;
  int64_t rows = t->dims[t->rank - 2], columns = t->dims[t->rank - 1];
  triangle w = {&to,
                from.data,
                rows,
                columns,
                clamp(k, -rows, columns),
                tl_eval_int(ctx, TL_SYM_upper, 1) != 0,
                t->dtype == TL_DTYPE_STRING};
  /* a part should move at least 2^16 elements */
  tl_eval_for(ctx, t->n / (uint64_t)columns, ((uint64_t)1 << 16) / (uint64_t)columns + 1,
              trilu_rows, &w);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* Resolves index i; false when it is outside [-depth, depth), where OneHot leaves the row off. */
static bool hot_place(const tl_host *indices, uint64_t i, int64_t depth, int64_t *out) {
  *out = tl_host_int_at(indices, i);
  if (*out < -depth || *out >= depth)
    return false;
  *out += *out < 0 ? depth : 0;
  return true;
}

tl_status tl_eval_one_hot(tl_eval *ctx) {
  tl_units values;
  tl_unit_result to;
  int64_t depth, dims[TL_MAX_RANK];
  uint32_t axis;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK - 1));
  if (!tl_eval_in(ctx, 1))
    return tl_eval_fail(ctx, "operand 1 must be a tensor");
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &depth));
  TL_TRY(tl_eval_units(ctx, 2, &values));
  const tl_host *indices = ctx->in[0];
  if (ctx->in[2]->n != 2)
    return tl_eval_fail(ctx, "operand 2 must be the off value and the on value");
  if (depth < 0)
    return tl_eval_fail(ctx, "the depth is %lld", (long long)depth);
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, -1), indices->rank + 1, &axis));
  for (int i = 0; i < indices->rank; i++)
    dims[i < (int)axis ? i : i + 1] = indices->dims[i];
  dims[axis] = depth;
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)ctx->in[2]->dtype, indices->rank + 1, dims, &to));
  tl_eval_units_fill(ctx, &to, 0, to.t->n, values.data);
  uint64_t inner = to.t->n ? tl_eval_around(to.t, axis).inner : 1;
  for (uint64_t i = 0; to.t->n && i < indices->n; i++) {
    int64_t at;
    if (hot_place(indices, i, depth, &at))
      memcpy(to.data + ((i / inner * (uint64_t)depth + (uint64_t)at) * inner + i % inner) * to.size,
             values.data + values.size, to.size);
  }
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- Range ---------------------------------------------------------------------------------- */

/* Computes elements as start + i * delta instead of by repeated addition, which would accumulate
 * rounding errors. 9e15 is below 2^53: counts beyond it are not exact in double. */
static tl_status float_range(tl_eval *ctx, tl_dtype dtype, double delta) {
  double start, limit;
  tl_host *y;
  TL_TRY(tl_eval_operand_float(ctx, 0, 0, &start));
  TL_TRY(tl_eval_operand_float(ctx, 1, 0, &limit));
  double steps = ceil((limit - start) / delta);
  if (!(fabs(delta) > 0) || !(steps < 9.0e15))
    return tl_eval_fail(ctx, "the range cannot be counted");
  int64_t n = steps > 0 ? (int64_t)steps : 0;
  TL_TRY(tl_eval_result(ctx, 0, dtype, 1, &n, &y));
  float first = (float)start, step = (float)delta;
  for (int64_t i = 0; i < n; i++) {
    if (dtype == TL_DTYPE_F32)
      ((float *)y->data)[i] = first + (float)i * step;
    else
      ((double *)y->data)[i] = start + (double)i * delta;
  }
  return TL_OK;
}

/* Stores element i of an integer range; the low bits are kept. */
static void int_range(tl_dtype dtype, void *to, int64_t i, int64_t v) {
  switch (tl_host_element_size(dtype)) {
  case 1: ((uint8_t *)to)[i] = (uint8_t)v; break;
  case 2: ((uint16_t *)to)[i] = (uint16_t)v; break;
  case 4: ((uint32_t *)to)[i] = (uint32_t)v; break;
  default: ((int64_t *)to)[i] = v; break;
  }
}

/* Counts the elements in unsigned arithmetic: limit - start may need 65 bits with sign, but its
 * magnitude fits 64. */
static tl_status integer_range(tl_eval *ctx, tl_dtype dtype, int64_t delta) {
  int64_t start, limit;
  tl_host *y;
  TL_TRY(tl_eval_operand_int(ctx, 0, 0, &start));
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &limit));
  if (!delta)
    return tl_eval_fail(ctx, "the step of the range is 0");
  uint64_t stride = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
  uint64_t span = delta < 0 ? (uint64_t)start - (uint64_t)limit : (uint64_t)limit - (uint64_t)start;
  uint64_t steps = (delta < 0) == (limit < start) && span ? (span - 1) / stride + 1 : 0;
  if (steps > INT64_MAX)
    return tl_eval_fail(ctx, "the range has more elements than can be counted");
  int64_t n = (int64_t)steps;
  TL_TRY(tl_eval_result(ctx, 0, dtype, 1, &n, &y));
  uint64_t v = (uint64_t)start;
  for (int64_t i = 0; i < n; i++, v += (uint64_t)delta)
    int_range(dtype, y->data, i, (int64_t)v);
  return TL_OK;
}

/* Range of both domains (ai.onnx and com.microsoft). Narrow floats are computed in f32, which is
 * what stash_type 1 asks for. */
tl_status tl_eval_number_range(tl_eval *ctx) {
  double wide_delta;
  int64_t delta;
  for (uint32_t i = 0; i < 2; i++)
    if (!tl_eval_in(ctx, i) || ctx->in[i]->kind != TL_HOST_TENSOR)
      return tl_eval_fail(ctx, "operand %u must be a tensor", i);
  tl_dtype dtype = (tl_dtype)ctx->in[0]->dtype;
  if (dtype == TL_DTYPE_U64)
    return tl_eval_unsupported(ctx, "a range of u64");
  tl_dtype stated = tl_type_dtype(ctx->m, tl_value_type(ctx->m, tl_result(ctx->m, ctx->node, 0)));
  if (tl_dtype_is_float(stated) && stated != TL_DTYPE_F32 && stated != TL_DTYPE_F64 &&
      tl_eval_int(ctx, TL_SYM_stash_type, 1) != 1)
    return tl_eval_unsupported(ctx, "a range of narrow floats with a stash_type other than 1");
  if (dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F64) {
    TL_TRY(tl_eval_operand_float(ctx, 2, 1, &wide_delta));
    return float_range(ctx, dtype, wide_delta);
  }
  TL_TRY(tl_eval_operand_int(ctx, 2, 1, &delta));
  return integer_range(ctx, dtype, delta);
}
