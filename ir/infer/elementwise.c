/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of elementwise ops (same shape, numpy broadcasting, casts), and the arithmetic on
 * tracked elements that shape computations use. A tracked dim stands for a size, so it is never
 * negative; a float element is tracked only while it is integral. */
#include "ir/infer/infer.h"
#include "ir/infer/infer_gen.h"
#include "ir/ops_gen.h"

static const tl_elem unknown = {TL_ELEM_UNKNOWN, 0};

static tl_elem number(int64_t v) { return (tl_elem){TL_ELEM_INT, v}; }

static bool both_ints(tl_elem a, tl_elem b) {
  return a.kind == TL_ELEM_INT && b.kind == TL_ELEM_INT;
}

/* The element is this very number. */
static bool is_int(tl_elem e, int64_t v) { return e.kind == TL_ELEM_INT && e.value == v; }

/* Two unknown elements are not the same. */
static bool same_elem(tl_elem a, tl_elem b) {
  return a.kind != TL_ELEM_UNKNOWN && a.kind == b.kind && a.value == b.value;
}

/* ---- one element ---------------------------------------------------------------------------- */

/* Dim arithmetic knows sizes only: a negative number becomes a subtraction. */
static tl_elem add(tl_infer *ctx, tl_elem a, tl_elem b) {
  int64_t v;
  if (both_ints(a, b))
    return __builtin_add_overflow(a.value, b.value, &v) ? unknown : number(v);
  if (b.kind == TL_ELEM_INT && b.value < 0 && a.kind == TL_ELEM_DIM && b.value > INT64_MIN)
    return tl_elem_from_dim(tl_dim_sub(ctx->m, a.value, -b.value));
  if (a.kind == TL_ELEM_INT && a.value < 0)
    return b.kind == TL_ELEM_DIM ? add(ctx, b, a) : unknown;
  return tl_elem_from_dim(tl_dim_add(ctx->m, tl_elem_dim(a), tl_elem_dim(b)));
}

/* A name minus itself is 0; a negative number is added. */
static tl_elem subtract(tl_infer *ctx, tl_elem a, tl_elem b) {
  int64_t v;
  if (both_ints(a, b))
    return __builtin_sub_overflow(a.value, b.value, &v) ? unknown : number(v);
  if (same_elem(a, b))
    return number(0);
  if (b.kind == TL_ELEM_INT && b.value < 0)
    return b.value > INT64_MIN ? add(ctx, a, number(-b.value)) : unknown;
  return tl_elem_from_dim(tl_dim_sub(ctx->m, tl_elem_dim(a), tl_elem_dim(b)));
}

static tl_elem multiply(tl_infer *ctx, tl_elem a, tl_elem b) {
  int64_t v;
  if (both_ints(a, b))
    return __builtin_mul_overflow(a.value, b.value, &v) ? unknown : number(v);
  if (a.kind == TL_ELEM_UNKNOWN || b.kind == TL_ELEM_UNKNOWN)
    return unknown;
  return tl_elem_from_dim(tl_dim_mul(ctx->m, tl_elem_dim(a), tl_elem_dim(b)));
}

/* Integers round towards zero; a float quotient is known only when it is integral. */
static tl_elem divide(tl_infer *ctx, tl_elem a, tl_elem b, bool real) {
  if (is_int(b, 0) || (is_int(a, INT64_MIN) && is_int(b, -1)))
    return unknown;
  if (both_ints(a, b))
    return real && a.value % b.value != 0 ? unknown : number(a.value / b.value);
  if (a.kind == TL_ELEM_UNKNOWN || b.kind == TL_ELEM_UNKNOWN)
    return unknown;
  if (real)
    return is_int(b, 1) ? a : same_elem(a, b) ? number(1) : unknown;
  return tl_elem_from_dim(tl_dim_div(ctx->m, tl_elem_dim(a), tl_elem_dim(b)));
}

/* truncated: the remainder has the sign of the dividend (fmod), else of the divisor. By -1 the most
 * negative number would overflow. */
static tl_elem remainder_of(tl_elem a, tl_elem b, bool truncated) {
  if (is_int(b, 1) && a.kind != TL_ELEM_UNKNOWN)
    return number(0);
  if (!both_ints(a, b) || b.value == 0 || b.value == -1)
    return unknown;
  const int64_t most = INT64_C(1) << 53; /* runtimes do fmod in floats */
  if (truncated && (a.value > most || a.value < -most || b.value > most || b.value < -most))
    return unknown;
  int64_t r = a.value % b.value;
  bool shift = !truncated && r != 0 && (r < 0) != (b.value < 0);
  return number(shift ? r + b.value : r);
}

/* A size is at least 0, so that a number up to 0 decides. */
static tl_elem extreme(tl_elem a, tl_elem b, bool greater) {
  if (same_elem(a, b))
    return a;
  if (both_ints(a, b))
    return (a.value > b.value) == greater ? a : b;
  if (a.kind == TL_ELEM_INT) {
    tl_elem t = a;
    a = b;
    b = t;
  }
  if (a.kind != TL_ELEM_DIM || b.kind != TL_ELEM_INT || b.value > 0)
    return unknown;
  return greater ? a : b;
}

/* Returns the sign of a - b where it is certain: -1, 0 or 1; 3: at least 0; 2: nothing is
 * certain. */
static int compare(tl_elem a, tl_elem b) {
  if (both_ints(a, b))
    return (a.value > b.value) - (a.value < b.value);
  if (same_elem(a, b))
    return 0;
  if (a.kind != TL_ELEM_DIM || b.kind != TL_ELEM_INT)
    return 2;
  return b.value < 0 ? 1 : b.value == 0 ? 3 : 2;
}

/* Bools are tracked as 0 and 1. */
static tl_elem truth(bool v) { return number(v); }

static tl_elem is_equal(tl_elem a, tl_elem b) {
  int c = a.kind == TL_ELEM_INT ? compare(b, a) : compare(a, b);
  return c > 1 ? unknown : truth(c == 0);
}

/* Either order of the operands may tell something. */
static tl_elem is_less(tl_elem a, tl_elem b) {
  int c = compare(a, b);
  if (c == 2) {
    c = compare(b, a);
    return c == 1 ? truth(true) : unknown;
  }
  return truth(c == -1);
}

static tl_elem is_less_or_equal(tl_elem a, tl_elem b) {
  int c = compare(b, a);
  if (c == 2) {
    c = compare(a, b);
    return c == 1 ? truth(false) : unknown;
  }
  return truth(c != -1);
}

/* One false operand decides, whatever the other is. */
static tl_elem both(tl_elem a, tl_elem b) {
  if (is_int(a, 0) || is_int(b, 0))
    return truth(false);
  return both_ints(a, b) ? truth(true) : unknown;
}

static tl_elem negate(tl_elem a) {
  return a.kind == TL_ELEM_INT && a.value > INT64_MIN ? number(-a.value) : unknown;
}

static tl_elem not(tl_elem a) { return a.kind == TL_ELEM_INT ? truth(a.value == 0) : unknown; }

static tl_elem magnitude(tl_elem a) { return a.kind == TL_ELEM_INT && a.value < 0 ? negate(a) : a; }

/* Rounding changes nothing, since only integers are tracked. */
static tl_elem apply_unary(tl_op_id op, tl_elem a) {
  switch (op) {
  case TL_OP_Identity:
  case TL_OP_Floor:
  case TL_OP_Ceil:
  case TL_OP_Round: return a;
  case TL_OP_Abs: return magnitude(a);
  case TL_OP_Neg: return negate(a);
  case TL_OP_Not: return not(a);
  case TL_OP_Relu: return a.kind == TL_ELEM_INT && a.value < 0 ? number(0) : a;
  default: return unknown;
  }
}

static tl_elem apply_binary(tl_infer *ctx, tl_op_id op, tl_elem a, tl_elem b) {
  switch (op) {
  case TL_OP_Add:
  case TL_OP_Sum: return add(ctx, a, b);
  case TL_OP_Sub: return subtract(ctx, a, b);
  case TL_OP_Mul: return multiply(ctx, a, b);
  case TL_OP_Div: return divide(ctx, a, b, tl_dtype_is_float(tl_infer_dtype(ctx, 0)));
  case TL_OP_Mod:
    return remainder_of(a, b, tl_node_attr_int(ctx->m, ctx->node, TL_SYM_fmod, 0) != 0);
  case TL_OP_Min: return extreme(a, b, false);
  case TL_OP_Max: return extreme(a, b, true);
  case TL_OP_And: return both(a, b);
  case TL_OP_Or: return not(both(not(a), not(b)));
  case TL_OP_Equal: return is_equal(a, b);
  case TL_OP_Less: return is_less(a, b);
  case TL_OP_Greater: return is_less(b, a);
  case TL_OP_LessOrEqual: return is_less_or_equal(a, b);
  case TL_OP_GreaterOrEqual: return is_less_or_equal(b, a);
  default: return unknown;
  }
}

/* ---- whole operands ------------------------------------------------------------------------- */

/* Returns element k of an operand that is broadcast to n elements of rank 0 or 1. A constant is
 * read again each time; nothing is known of it when memory is out by then. */
static tl_elem elem_at(tl_partial p, uint32_t k) {
  return p.at ? p.at[p.n == 1 ? 0 : k] : (tl_elem){TL_ELEM_UNKNOWN, 0};
}

/* Gives the number of elements that all operands broadcast to. False when they are not tracked, or
 * when a rank above 1 makes flattened positions meaningless. */
static bool common_length(tl_infer *ctx, uint32_t *n) {
  uint32_t n_operands = tl_infer_n_operands(ctx);
  *n = 1;
  if (n_operands == 0 || !tl_infer_all_tracked(ctx))
    return false;
  for (uint32_t i = 0; i < n_operands; i++) {
    tl_partial p = tl_infer_elems(ctx, i);
    int rank = tl_infer_rank(ctx, i);
    if (!p.at || rank < 0 || rank > 1 || (p.n != 1 && *n != 1 && p.n != *n))
      return false;
    if (p.n != 1)
      *n = p.n;
  }
  return true;
}

/* An integer result must be a value of its dtype; what wraps round is not tracked. Beyond 2^24 an
 * f32 does not have every integer. */
static tl_elem fit(tl_elem e, tl_dtype dtype) {
  unsigned bits = tl_dtype_get(dtype)->bits;
  if (e.kind == TL_ELEM_INT && tl_dtype_is_float(dtype))
    return e.value < -(INT64_C(1) << 24) || e.value > INT64_C(1) << 24 ? unknown : e;
  if (e.kind != TL_ELEM_INT || !tl_dtype_is_integer(dtype))
    return e;
  bool is_unsigned = (dtype >= TL_DTYPE_U8 && dtype <= TL_DTYPE_U64) || dtype == TL_DTYPE_U4 ||
                     dtype == TL_DTYPE_U2;
  if (is_unsigned && e.value < 0)
    return unknown;
  if (bits >= 64)
    return e;
  int64_t most = (INT64_C(1) << (is_unsigned ? bits : bits - 1)) - 1;
  int64_t least = is_unsigned ? 0 : -most - 1;
  return e.value < least || e.value > most ? unknown : e;
}

/* Sum, Min and Max have any number of operands: from the left. */
static tl_status track_fold(tl_infer *ctx) {
  uint32_t n;
  tl_elem at[TL_MAX_PARTIAL];
  if (!common_length(ctx, &n))
    return TL_OK;
  tl_op_id op = tl_node_get(ctx->m, ctx->node)->op;
  tl_dtype dtype = tl_type_dtype(ctx->m, tl_value_type(ctx->m, tl_result(ctx->m, ctx->node, 0)));
  uint32_t n_operands = tl_infer_n_operands(ctx);
  for (uint32_t k = 0; k < n; k++) {
    at[k] = elem_at(tl_infer_elems(ctx, 0), k);
    for (uint32_t i = 1; i < n_operands; i++)
      at[k] = fit(apply_binary(ctx, op, at[k], elem_at(tl_infer_elems(ctx, i), k)), dtype);
  }
  return tl_infer_set_elems(ctx, 0, at, n);
}

/* The elements keep their places. */
static tl_status track_unary(tl_infer *ctx) {
  tl_elem at[TL_MAX_PARTIAL];
  if (tl_infer_n_operands(ctx) != 1 || !tl_infer_all_tracked(ctx))
    return TL_OK;
  tl_partial p = tl_infer_elems(ctx, 0);
  tl_op_id op = tl_node_get(ctx->m, ctx->node)->op;
  if (!p.at)
    return TL_OK;
  for (uint32_t k = 0; k < p.n; k++)
    at[k] = fit(apply_unary(op, p.at[k]), tl_infer_dtype(ctx, 0));
  return tl_infer_set_elems(ctx, 0, at, p.n);
}

/* ---- shape functions ------------------------------------------------------------------------ */

tl_status tl_infer_unary(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(tl_infer_set_like(ctx, 0, 0, TL_DTYPE_NONE));
  return track_unary(ctx);
}

/* The slope is stretched to the data, never the other way round. */
tl_status tl_infer_prelu(tl_infer *ctx, uint32_t node) {
  const tl_type *data = tl_infer_operand(ctx, 0);
  const tl_type *slope = tl_infer_operand(ctx, 1);
  if (data && slope && data->kind == TL_KIND_TENSOR && slope->kind == TL_KIND_TENSOR &&
      data->rank >= 0 && slope->rank > data->rank)
    return tl_infer_fail(ctx, "the slope has %d dims and the data has %d: it must fit the data",
                         slope->rank, data->rank);
  for (int i = 1; data && slope && i <= data->rank && i <= slope->rank; i++) {
    tl_dim d = data->dims[data->rank - i], s = slope->dims[slope->rank - i];
    if (d > 0 && s > 1 && d != s)
      return tl_infer_fail(ctx, "the slope has size %lld on axis -%d and the data has %lld",
                           (long long)s, i, (long long)d);
  }
  return tl_infer_unary(ctx, node);
}

/* Each bound is one element. */
tl_status tl_infer_clip(tl_infer *ctx, uint32_t node) {
  for (uint32_t i = 1; i < tl_node_get(ctx->m, ctx->node)->n_operands; i++) {
    const tl_type *bound = tl_infer_operand(ctx, i);
    if (bound && bound->kind == TL_KIND_TENSOR && bound->rank > 1)
      return tl_infer_fail(ctx, "operand %u is a bound and must be a scalar; it has %d dims", i,
                           bound->rank);
    for (int k = 0; bound && bound->kind == TL_KIND_TENSOR && k < bound->rank; k++)
      if (tl_dim_is_static(bound->dims[k]) && bound->dims[k] != 1)
        return tl_infer_fail(ctx,
                             "operand %u is a bound and must be one element; it has size %lld "
                             "on axis %d",
                             i, (long long)bound->dims[k], k);
  }
  return tl_infer_unary(ctx, node);
}

tl_status tl_infer_unary_bool(tl_infer *ctx, uint32_t node) {
  (void)node;
  return tl_infer_set_like(ctx, 0, 0, TL_DTYPE_BOOL);
}

/* A tracked element survives a cast to an integer type that can hold sizes, or to f32 and f64. */
static tl_elem cast_elem(tl_elem e, tl_dtype to) {
  bool sizes = to == TL_DTYPE_I32 || to == TL_DTYPE_I64 || to == TL_DTYPE_U32 ||
               to == TL_DTYPE_U64 || to == TL_DTYPE_F32 || to == TL_DTYPE_F64;
  if (e.kind == TL_ELEM_DIM)
    return sizes ? e : unknown;
  if (to == TL_DTYPE_BOOL && e.kind == TL_ELEM_INT)
    return truth(e.value != 0);
  return sizes || tl_dtype_is_integer(to) ? fit(e, to) : unknown;
}

/* Elements are looked at only where they cost nothing. */
static tl_status cast_to(tl_infer *ctx, tl_dtype to) {
  tl_elem at[TL_MAX_PARTIAL];
  TL_TRY(tl_infer_set(ctx, 0, to, tl_infer_rank(ctx, 0), tl_infer_dims(ctx, 0)));
  tl_value_id v = tl_operand(ctx->m, ctx->node, 0);
  bool constant = v && tl_value_get(ctx->m, v)->kind == TL_VALUE_CONSTANT;
  bool tracked = v < ctx->n_partials && ctx->partials[v].at;
  tl_partial p = constant || tracked ? tl_infer_elems(ctx, 0) : (tl_partial){NULL, 0};
  for (uint32_t k = 0; k < p.n; k++)
    at[k] = cast_elem(p.at[k], to);
  return p.at ? tl_infer_set_elems(ctx, 0, at, p.n) : TL_OK;
}

tl_status tl_infer_unary_like(tl_infer *ctx, uint32_t node) {
  int64_t like = tl_infer_arg(ctx, node);
  return cast_to(ctx, tl_infer_dtype(ctx, (uint32_t)like));
}

tl_status tl_infer_cast(tl_infer *ctx, uint32_t node) {
  int64_t number_of = tl_node_attr_int(ctx->m, node, TL_SYM_to, 0);
  tl_dtype to = tl_dtype_from_onnx(number_of);
  if (to == TL_DTYPE_NONE)
    return tl_infer_fail(ctx, "attribute 'to' is %lld, expected a TensorProto data type",
                         (long long)number_of);
  return cast_to(ctx, to);
}

/* The last dim grows or shrinks by the ratio of the widths. */
tl_status tl_infer_bitcast(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_dtype to = tl_dtype_from_onnx(tl_node_attr_int(ctx->m, node, TL_SYM_to, 0));
  tl_dtype from = tl_infer_dtype(ctx, 0);
  int rank = tl_infer_rank(ctx, 0);
  unsigned from_bits = tl_dtype_get(from)->bits;
  unsigned to_bits = tl_dtype_get(to)->bits;
  if (to == TL_DTYPE_NONE || from == TL_DTYPE_NONE || rank < 0)
    return tl_infer_set(ctx, 0, to, TL_RANK_UNKNOWN, NULL);
  if (from_bits == to_bits)
    return tl_infer_set(ctx, 0, to, rank, tl_infer_dims(ctx, 0));
  if (rank == 0 || to_bits == 0 || from_bits == 0)
    return tl_infer_fail(ctx, "cannot reinterpret %s as %s", tl_dtype_get(from)->name,
                         tl_dtype_get(to)->name);
  for (int i = 0; i < rank; i++)
    dims[i] = tl_infer_dims(ctx, 0)[i];
  tl_dim *last = &dims[rank - 1];
  if (*last >= 0)
    *last = tl_dim_div(ctx->m, tl_dim_mul(ctx->m, *last, from_bits), to_bits);
  else
    *last = TL_DIM_UNKNOWN;
  return tl_infer_set(ctx, 0, to, rank, dims);
}

/* Gives the shape that all operands broadcast to. */
static tl_status broadcast_operands(tl_infer *ctx, int *rank, tl_dim *dims) {
  tl_dim next[TL_MAX_RANK];
  uint32_t n = tl_infer_n_operands(ctx);
  *rank = tl_infer_rank(ctx, 0);
  for (int i = 0; i < *rank; i++)
    dims[i] = tl_infer_dims(ctx, 0)[i];
  for (uint32_t i = 1; i < n; i++) {
    TL_TRY(tl_infer_broadcast_dims(ctx, (tl_infer_view){*rank, dims}, tl_infer_view_of(ctx, i),
                                   rank, next));
    for (int k = 0; k < *rank; k++)
      dims[k] = next[k];
  }
  return TL_OK;
}

static tl_status broadcast_as(tl_infer *ctx, tl_dtype dtype) {
  tl_dim dims[TL_MAX_RANK];
  int rank;
  TL_TRY(broadcast_operands(ctx, &rank, dims));
  TL_TRY(tl_infer_set(ctx, 0, dtype, rank, dims));
  return track_fold(ctx);
}

tl_status tl_infer_broadcast(tl_infer *ctx, uint32_t node) {
  (void)node;
  return broadcast_as(ctx, tl_infer_dtype(ctx, 0));
}

tl_status tl_infer_broadcast_bool(tl_infer *ctx, uint32_t node) {
  (void)node;
  return broadcast_as(ctx, TL_DTYPE_BOOL);
}

/* An unknown condition matters only between different elements. */
static tl_elem select_elem(tl_elem condition, tl_elem yes, tl_elem no) {
  if (condition.kind == TL_ELEM_INT)
    return condition.value != 0 ? yes : no;
  return same_elem(yes, no) ? yes : unknown;
}

/* The result may be a mixture of known and unknown elements. */
tl_status tl_infer_where(tl_infer *ctx, uint32_t node) {
  (void)node;
  tl_dim dims[TL_MAX_RANK];
  tl_elem at[TL_MAX_PARTIAL];
  int rank;
  uint32_t n;
  TL_TRY(broadcast_operands(ctx, &rank, dims));
  tl_dtype dtype = tl_infer_dtype(ctx, 1);
  TL_TRY(tl_infer_set(ctx, 0, dtype != TL_DTYPE_NONE ? dtype : tl_infer_dtype(ctx, 2), rank, dims));
  if (tl_infer_n_operands(ctx) != 3 || !common_length(ctx, &n))
    return TL_OK;
  for (uint32_t k = 0; k < n; k++)
    at[k] = select_elem(elem_at(tl_infer_elems(ctx, 0), k), elem_at(tl_infer_elems(ctx, 1), k),
                        elem_at(tl_infer_elems(ctx, 2), k));
  return tl_infer_set_elems(ctx, 0, at, n);
}

tl_status tl_infer_dropout(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(tl_infer_set_like(ctx, 0, 0, TL_DTYPE_NONE));
  return tl_infer_set_like(ctx, 1, 0, TL_DTYPE_BOOL);
}
