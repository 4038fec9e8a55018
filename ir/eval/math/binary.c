/* SPDX-License-Identifier: Apache-2.0 */
/* Computes arithmetic ops of two and more operands. Integers wrap, and integer division by zero
 * gives 0, so that no input stops the process. Max and Min return NaN when an operand is NaN. */
#include <math.h>

#include "ir/eval/kernel/loop.h"

/* Rows of macros end without a semicolon, and what stands behind them would move. */
/* clang-format off */
/* A row function for each type: R(op, suffix, type, type to compute in). Integers are computed as
 * unsigned ones of at least 32 bits, because signed overflow is undefined in C. */
#define SIGNED_TYPES(R, op)          \
  R(op, i8, int8_t, uint32_t)        \
  R(op, i16, int16_t, uint32_t)      \
  R(op, i32, int32_t, uint32_t)      \
  R(op, i64, int64_t, uint64_t)
#define UNSIGNED_TYPES(R, op)        \
  R(op, u8, uint8_t, uint32_t)       \
  R(op, u16, uint16_t, uint32_t)     \
  R(op, u32, uint32_t, uint32_t)     \
  R(op, u64, uint64_t, uint64_t)
#define FLOAT_TYPES(R, op) R(op, f32, float, float) R(op, f64, double, double)

#define ROWS(op)                                                                               \
  static const tl_row op##_rows[TL_N_DTYPES] = {                                               \
      [TL_DTYPE_F32] = op##_f32, [TL_DTYPE_F64] = op##_f64, [TL_DTYPE_I8] = op##_i8,           \
      [TL_DTYPE_I16] = op##_i16, [TL_DTYPE_I32] = op##_i32, [TL_DTYPE_I64] = op##_i64,         \
      [TL_DTYPE_U8] = op##_u8,   [TL_DTYPE_U16] = op##_u16, [TL_DTYPE_U32] = op##_u32,         \
      [TL_DTYPE_U64] = op##_u64};

#define ALL_TYPES(R, op) FLOAT_TYPES(R, op) SIGNED_TYPES(R, op) UNSIGNED_TYPES(R, op) ROWS(op)

/* ADD, SUB and MUL wrap; MAX and MIN test a_ != a_ first, so that a NaN on either side is kept (a
 * NaN in b_ fails the comparison and is taken). */
#define ADD(op, s, T, W) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, (W)a_ + (W)b_)
#define SUB(op, s, T, W) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, (W)a_ - (W)b_)
#define MUL(op, s, T, W) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, (W)a_ * (W)b_)
#define MAX(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, a_ > b_ || a_ != a_ ? a_ : b_)
#define MIN(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, a_ < b_ || a_ != a_ ? a_ : b_)
ALL_TYPES(ADD, add)
ALL_TYPES(SUB, sub)
ALL_TYPES(MUL, mul)
ALL_TYPES(MAX, max)
ALL_TYPES(MIN, min)

/* Division by -1 is a negation: the least integer divided by -1 would trap. */
#define DIV(op, s, T, W) static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, a_ / b_)
#define DIV_SIGNED(op, s, T, W)      \
  static void op##_##s(TL_ROW_ARGS)  \
      TL_ROW2(T, T, T, b_ == 0 ? 0 : b_ == -1 ? (T)(0 - (W)a_) : (T)(a_ / b_))
#define DIV_UNSIGNED(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, b_ == 0 ? 0 : a_ / b_)
FLOAT_TYPES(DIV, div) SIGNED_TYPES(DIV_SIGNED, div) UNSIGNED_TYPES(DIV_UNSIGNED, div) ROWS(div)

/* The remainder with the sign of the dividend, as C's %. By -1 it is 0 without a division, which
 * would trap for the least integer. */
#define REM(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, fmod((double)a_, (double)b_))
#define REM_SIGNED(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, b_ == 0 || b_ == -1 ? 0 : a_ % b_)
#define REM_UNSIGNED(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, b_ == 0 ? 0 : a_ % b_)
FLOAT_TYPES(REM, rem) SIGNED_TYPES(REM_SIGNED, rem) UNSIGNED_TYPES(REM_UNSIGNED, rem) ROWS(rem)

/* A C remainder other than 0 whose sign differs from the divisor's is moved by one divisor. */
static double floor_mod(double a, double b) {
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t floor_mod_int(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* The remainder with the sign of the divisor, as Python's %. For unsigned types both are the
 * same. */
#define MOD(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, floor_mod((double)a_, (double)b_))
#define MOD_SIGNED(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, floor_mod_int(a_, b_))
FLOAT_TYPES(MOD, mod) SIGNED_TYPES(MOD_SIGNED, mod) UNSIGNED_TYPES(REM_UNSIGNED, mod) ROWS(mod)

#define PRELU(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, a_ < 0 ? (T)((W)a_ * (W)b_) : a_)
/* Unsigned elements are never negative, so the slope has no effect. */
#define PRELU_UNSIGNED(op, s, T, W) \
  static void op##_##s(TL_ROW_ARGS) TL_ROW2(T, T, T, ((void)b_, a_))
FLOAT_TYPES(PRELU, prelu) SIGNED_TYPES(PRELU, prelu) UNSIGNED_TYPES(PRELU_UNSIGNED, prelu)
ROWS(prelu)

/* Chooses the row function of operand 0's type; all operands must have that type. */
static tl_status pick(tl_eval *ctx, const tl_row *rows, tl_row *row) {
  tl_dtype d = (tl_dtype)ctx->in[0]->dtype;
  for (uint32_t i = 1; i < ctx->n_in; i++)
    if (!ctx->in[i] || ctx->in[i]->kind != TL_HOST_TENSOR || ctx->in[i]->dtype != d)
      return tl_eval_fail(ctx, "operands 0 and %u must be tensors of one element type", i);
  *row = rows[d];
  return *row ? TL_OK
              : tl_eval_unsupported(ctx, "the kernel cannot compute in %s", tl_dtype_get(d)->name);
}

static tl_status binary(tl_eval *ctx, const tl_row *rows) {
  tl_row row;
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  TL_TRY(pick(ctx, rows, &row));
  return tl_eval_elementwise(ctx, ctx->in, 2, (tl_dtype)ctx->in[0]->dtype, row, NULL);
}

tl_status tl_eval_add(tl_eval *ctx) { return binary(ctx, add_rows); }
tl_status tl_eval_sub(tl_eval *ctx) { return binary(ctx, sub_rows); }
tl_status tl_eval_mul(tl_eval *ctx) { return binary(ctx, mul_rows); }
tl_status tl_eval_div(tl_eval *ctx) { return binary(ctx, div_rows); }

tl_status tl_eval_mod(tl_eval *ctx) {
  return binary(ctx, tl_eval_int(ctx, TL_SYM_fmod, 0) ? rem_rows : mod_rows);
}

/* The slope is broadcast to the operand, never the other way round; the shape of the result shows
 * it. */
tl_status tl_eval_prelu(tl_eval *ctx) {
  TL_TRY(binary(ctx, prelu_rows));
  if (!tl_host_same_shape(ctx->in[0], ctx->out[0]))
    return tl_eval_fail(ctx, "the slope cannot be broadcast to the operand");
  return TL_OK;
}

/* ---- any number of operands ----------------------------------------------------------------- */

/* Computes out = row(pair[0], pair[1]), broadcast to the shape of `out`, which may be pair[0]: each
 * element is read before it is written. */
static void fold_in(tl_eval *ctx, tl_row row, tl_host *out, const tl_host *const *pair,
                    const int64_t *const *strides) {
  tl_loop loop;
  size_t size = tl_host_element_size((tl_dtype)out->dtype);
  tl_loop_data d = {
      .in = {pair[0]->data, pair[1]->data}, .in_size = {size, size}, .out = out->data,
      .out_size = size};
  tl_loop_plan(&loop, out->rank, out->dims, strides, 2);
  tl_loop_run(ctx, &loop, row, &d, true);
}

/* Fills the strides of t in elements. Unsigned, because the product may wrap when the tensor has no
 * elements. */
static void dense_strides(const tl_host *t, int64_t *strides) {
  uint64_t step = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    strides[i] = (int64_t)step;
    step *= (uint64_t)t->dims[i];
  }
}

/* Combines all operands in order: the first two into the result, then one at a time, in place. */
static tl_status variadic(tl_eval *ctx, const tl_row *rows, tl_host **out) {
  tl_row row;
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  TL_TRY(pick(ctx, rows, &row));
  int rank;
  int64_t dims[TL_MAX_RANK], whole[TL_MAX_RANK];
  int64_t(*strides)[TL_MAX_RANK] = tl_eval_scratch(ctx, ctx->n_in, sizeof *strides);
  if (!strides)
    return tl_eval_no_memory(ctx);
  TL_TRY(tl_eval_broadcast(ctx, ctx->in, ctx->n_in, &rank, dims, strides));
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)ctx->in[0]->dtype, rank, dims, out));
  dense_strides(*out, whole);
  const int64_t *first[] = {strides[0], strides[1]};
  fold_in(ctx, row, *out, ctx->in, first);
  for (uint32_t k = 2; k < ctx->n_in; k++) {
    const tl_host *pair[] = {*out, ctx->in[k]};
    const int64_t *each[] = {whole, strides[k]};
    fold_in(ctx, row, *out, pair, each);
  }
  return TL_OK;
}

/* One operand is its own maximum, minimum and sum. */
static tl_status variadic_or_pass(tl_eval *ctx, const tl_row *rows) {
  tl_host *out;
  if (ctx->n_in == 1 && ctx->in[0])
    return tl_eval_pass(ctx, 0, ctx->in[0]);
  return variadic(ctx, rows, &out);
}

tl_status tl_eval_max(tl_eval *ctx) { return variadic_or_pass(ctx, max_rows); }
tl_status tl_eval_min(tl_eval *ctx) { return variadic_or_pass(ctx, min_rows); }
tl_status tl_eval_sum(tl_eval *ctx) { return variadic_or_pass(ctx, add_rows); }

typedef struct scaling {
  tl_host *t;
  double by;
  bool wide;
} scaling;

static void divide_range(void *user, uint64_t begin, uint64_t end) {
  const scaling *s = user;
  float *f = s->t->data, by = (float)s->by;
  double *d = s->t->data;
  for (uint64_t i = begin; i < end && !s->wide; i++)
    f[i] /= by;
  for (uint64_t i = begin; i < end && s->wide; i++)
    d[i] /= s->by;
}

tl_status tl_eval_mean(tl_eval *ctx) {
  tl_host *out;
  if (ctx->n_in == 1 && ctx->in[0])
    return tl_eval_pass(ctx, 0, ctx->in[0]);
  TL_TRY(variadic(ctx, add_rows, &out));
  if (!tl_dtype_is_float((tl_dtype)out->dtype))
    return tl_eval_unsupported(ctx, "the mean of integers is not defined");
  scaling s = {out, ctx->n_in, out->dtype == TL_DTYPE_F64};
  tl_eval_for(ctx, out->n, TL_LOOP_GRAIN, divide_range, &s);
  return TL_OK;
}
