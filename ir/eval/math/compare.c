/* SPDX-License-Identifier: Apache-2.0 */
/* Computes comparisons, logic, bit operations, Where and Clip. */
#include "ir/eval/kernel/loop.h"

/* Rows of macros end without a semicolon, and what stands behind them would move. */
/* clang-format off */
/* One function R(op, suffix, type) for each number type, and the table entries that name them. */
#define NUMBERS(R, op)                                                                     \
  R(op, f32, float) R(op, f64, double) R(op, i8, int8_t) R(op, i16, int16_t)               \
  R(op, i32, int32_t) R(op, i64, int64_t) R(op, u8, uint8_t) R(op, u16, uint16_t)          \
  R(op, u32, uint32_t) R(op, u64, uint64_t)
#define NUMBER_ROWS(op)                                                                    \
  [TL_DTYPE_F32] = op##_f32, [TL_DTYPE_F64] = op##_f64, [TL_DTYPE_I8] = op##_i8,           \
  [TL_DTYPE_I16] = op##_i16, [TL_DTYPE_I32] = op##_i32, [TL_DTYPE_I64] = op##_i64,         \
  [TL_DTYPE_U8] = op##_u8, [TL_DTYPE_U16] = op##_u16, [TL_DTYPE_U32] = op##_u32,           \
  [TL_DTYPE_U64] = op##_u64

#define EQUAL(op, s, T) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, uint8_t, a_ == b_)
#define LESS(op, s, T) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, uint8_t, a_ < b_)
#define LESS_EQUAL(op, s, T) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, uint8_t, a_ <= b_)
NUMBERS(EQUAL, equal)
NUMBERS(LESS, less)
NUMBERS(LESS_EQUAL, less_equal)

/* Any byte other than 0 is true, so bools are compared as truth values, not as bytes. */
static void equal_bool(TL_ROW_ARGS) TL_ROW2(uint8_t, uint8_t, uint8_t, !a_ == !b_)
static void equal_text(TL_ROW_ARGS) TL_ROW2(tl_sv, tl_sv, uint8_t, tl_sv_eq(a_, b_))
static void and_bool(TL_ROW_ARGS) TL_ROW2(uint8_t, uint8_t, uint8_t, a_ && b_)
static void or_bool(TL_ROW_ARGS) TL_ROW2(uint8_t, uint8_t, uint8_t, a_ || b_)
static void xor_bool(TL_ROW_ARGS) TL_ROW2(uint8_t, uint8_t, uint8_t, !a_ != !b_)

static const tl_row equal_rows[TL_N_DTYPES] = {
    NUMBER_ROWS(equal), [TL_DTYPE_BOOL] = equal_bool, [TL_DTYPE_STRING] = equal_text};
static const tl_row less_rows[TL_N_DTYPES] = {NUMBER_ROWS(less)};
static const tl_row less_equal_rows[TL_N_DTYPES] = {NUMBER_ROWS(less_equal)};
static const tl_row and_rows[TL_N_DTYPES] = {[TL_DTYPE_BOOL] = and_bool};
static const tl_row or_rows[TL_N_DTYPES] = {[TL_DTYPE_BOOL] = or_bool};
static const tl_row xor_rows[TL_N_DTYPES] = {[TL_DTYPE_BOOL] = xor_bool};

/* Runs a row function on two operands of one type. result: NONE for the operands' type. swapped: a
 * > b is computed as b < a. */
static tl_status pairwise(tl_eval *ctx, const tl_row *rows, tl_dtype result, bool swapped) {
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  const tl_host *in[] = {ctx->in[swapped], ctx->in[!swapped]};
  tl_dtype d = (tl_dtype)in[0]->dtype;
  if (in[1]->dtype != d)
    return tl_eval_fail(ctx, "the operands must be of one element type");
  if (!rows[d])
    return tl_eval_unsupported(ctx, "the kernel cannot compute in %s", tl_dtype_get(d)->name);
  return tl_eval_elementwise(ctx, in, 2, result ? result : d, rows[d], NULL);
}

tl_status tl_eval_equal(tl_eval *ctx) { return pairwise(ctx, equal_rows, TL_DTYPE_BOOL, false); }
tl_status tl_eval_less(tl_eval *ctx) { return pairwise(ctx, less_rows, TL_DTYPE_BOOL, false); }
tl_status tl_eval_greater(tl_eval *ctx) { return pairwise(ctx, less_rows, TL_DTYPE_BOOL, true); }
tl_status tl_eval_less_equal(tl_eval *ctx) {
  return pairwise(ctx, less_equal_rows, TL_DTYPE_BOOL, false);
}
tl_status tl_eval_greater_equal(tl_eval *ctx) {
  return pairwise(ctx, less_equal_rows, TL_DTYPE_BOOL, true);
}
tl_status tl_eval_and(tl_eval *ctx) { return pairwise(ctx, and_rows, TL_DTYPE_NONE, false); }
tl_status tl_eval_or(tl_eval *ctx) { return pairwise(ctx, or_rows, TL_DTYPE_NONE, false); }
tl_status tl_eval_xor(tl_eval *ctx) { return pairwise(ctx, xor_rows, TL_DTYPE_NONE, false); }

/* ---- bits ----------------------------------------------------------------------------------- */

/* Bit operations do not depend on the sign: one function for each width. Right shifts are unsigned,
 * as ONNX BitShift takes unsigned types only. */
#define WIDTHS(R, op) R(op, 8, uint8_t) R(op, 16, uint16_t) R(op, 32, uint32_t) R(op, 64, uint64_t)
#define SIGNLESS_ROWS(op)                                                                  \
  [TL_DTYPE_I8] = op##_8, [TL_DTYPE_I16] = op##_16, [TL_DTYPE_I32] = op##_32,              \
  [TL_DTYPE_I64] = op##_64, [TL_DTYPE_U8] = op##_8, [TL_DTYPE_U16] = op##_16,              \
  [TL_DTYPE_U32] = op##_32, [TL_DTYPE_U64] = op##_64
#define BIT_AND(op, s, T) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, a_ & b_)
#define BIT_OR(op, s, T) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, a_ | b_)
#define BIT_XOR(op, s, T) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, a_ ^ b_)
/* A shift by the width or more gives 0; in C it is undefined. */
#define LEFT(op, s, T) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, b_ >= s ? 0 : (uint64_t)a_ << b_)
#define RIGHT(op, s, T) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, b_ >= s ? 0 : a_ >> b_)
WIDTHS(BIT_AND, bit_and)
WIDTHS(BIT_OR, bit_or)
WIDTHS(BIT_XOR, bit_xor)
WIDTHS(LEFT, left)
WIDTHS(RIGHT, right)

static const tl_row bit_and_rows[TL_N_DTYPES] = {SIGNLESS_ROWS(bit_and)};
static const tl_row bit_or_rows[TL_N_DTYPES] = {SIGNLESS_ROWS(bit_or)};
static const tl_row bit_xor_rows[TL_N_DTYPES] = {SIGNLESS_ROWS(bit_xor)};
static const tl_row left_rows[TL_N_DTYPES] = {SIGNLESS_ROWS(left)};
static const tl_row right_rows[TL_N_DTYPES] = {SIGNLESS_ROWS(right)};

tl_status tl_eval_bitwise_and(tl_eval *ctx) {
  return pairwise(ctx, bit_and_rows, TL_DTYPE_NONE, false);
}
tl_status tl_eval_bitwise_or(tl_eval *ctx) {
  return pairwise(ctx, bit_or_rows, TL_DTYPE_NONE, false);
}
tl_status tl_eval_bitwise_xor(tl_eval *ctx) {
  return pairwise(ctx, bit_xor_rows, TL_DTYPE_NONE, false);
}

tl_status tl_eval_bit_shift(tl_eval *ctx) {
  tl_sv direction = tl_eval_string(ctx, TL_SYM_direction);
  bool right = tl_sv_is(direction, "RIGHT");
  if (!right && !tl_sv_is(direction, "LEFT"))
    return tl_eval_fail(ctx, "direction is '%.*s', expected LEFT or RIGHT", TL_SV_ARG(direction));
  return pairwise(ctx, right ? right_rows : left_rows, TL_DTYPE_NONE, false);
}

/* ---- Where ---------------------------------------------------------------------------------- */

/* Where copies elements, so it needs only their size. bytes16 is the widest: complex128, or the
 * view of a string. */
typedef struct bytes16 {
  uint64_t at[2];
} bytes16;

#define WHERE(NAME, T)                                                                     \
  static void NAME(TL_ROW_ARGS) {                                                          \
    (void)user;                                                                            \
    const uint8_t *c = in[0];                                                              \
    const T *a = in[1], *b = in[2];                                                        \
    T *o = out;                                                                            \
    if (steps[0] == 1 && steps[1] == 1 && steps[2] == 1)                                   \
      for (uint64_t i = 0; i < n; i++)                                                     \
        o[i] = c[i] ? a[i] : b[i];                                                         \
    else                                                                                   \
      for (uint64_t i = 0; i < n; i++)                                                     \
        o[i] = c[(int64_t)i * steps[0]] ? a[(int64_t)i * steps[1]] : b[(int64_t)i * steps[2]]; \
  }
WHERE(where_1, uint8_t)
WHERE(where_2, uint16_t)
WHERE(where_4, uint32_t)
WHERE(where_8, uint64_t)
WHERE(where_16, bytes16)

static tl_row where_row(tl_dtype d) {
  switch (tl_host_element_size(d)) {
  case 1: return where_1;
  case 2: return where_2;
  case 4: return where_4;
  case 8: return where_8;
  case sizeof(bytes16): return where_16; /* complex numbers, and strings as views */
  default: return NULL;
  }
}

_Static_assert(sizeof(tl_sv) == sizeof(bytes16) || sizeof(tl_sv) == 8, "a string is moved as such");

tl_status tl_eval_where(tl_eval *ctx) {
  TL_TRY(tl_eval_need_tensors(ctx, 3));
  tl_dtype d = (tl_dtype)ctx->in[1]->dtype;
  if (ctx->in[0]->dtype != TL_DTYPE_BOOL || ctx->in[2]->dtype != d)
    return tl_eval_fail(ctx, "Where takes bool and two operands of one element type");
  tl_row row = where_row(d);
  if (!row)
    return tl_eval_unsupported(ctx, "elements of %s are smaller than a byte",
                               tl_dtype_get(d)->name);
  return tl_eval_elementwise(ctx, ctx->in, 3, d, row, NULL);
}

/* ---- Clip ----------------------------------------------------------------------------------- */

/* Applies the lower bound first, so that the upper one wins when they cross. NaN passes both
 * comparisons and stays. */
#define CLIP(op, s, T)                                                                     \
  static void op##_##s(TL_ROW_ARGS) {                                                      \
    const void *const *bounds = user;                                                      \
    const T *a = in[0], *low = bounds[0], *high = bounds[1];                               \
    T *o = out;                                                                            \
    (void)steps;                                                                           \
    for (uint64_t i = 0; i < n; i++) {                                                     \
      T v = a[i];                                                                          \
      v = low && v < *low ? *low : v;                                                      \
      o[i] = high && v > *high ? *high : v;                                                \
    }                                                                                      \
  }
NUMBERS(CLIP, clip)
static const tl_row clip_rows[TL_N_DTYPES] = {NUMBER_ROWS(clip)};

/* The bounds are scalars, passed as the row function's argument instead of broadcast. */
tl_status tl_eval_clip(tl_eval *ctx) {
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  tl_dtype d = (tl_dtype)ctx->in[0]->dtype;
  const void *bounds[2] = {NULL, NULL};
  for (uint32_t i = 1; i < 3; i++) {
    const tl_host *t = tl_eval_in(ctx, i);
    if (t && (t->kind != TL_HOST_TENSOR || t->n != 1 || t->dtype != d))
      return tl_eval_fail(ctx, "a bound must be one element of the operand's type");
    bounds[i - 1] = t ? t->data : NULL;
  }
  if (!bounds[0] && !bounds[1])
    return tl_eval_pass(ctx, 0, ctx->in[0]);
  if (!clip_rows[d])
    return tl_eval_unsupported(ctx, "the kernel cannot compute in %s", tl_dtype_get(d)->name);
  return tl_eval_elementwise(ctx, ctx->in, 1, d, clip_rows[d], bounds);
}
