/* SPDX-License-Identifier: Apache-2.0 */
/* Computes products of integer matrices with zero points and scales. Sums are exact 32-bit integers
 * that wrap; the scales are applied once, in f32. */
#include <math.h>

#include "ir/eval/linear/matmul.h"
#include "ir/eval/quantized/requant.h"

/* An integer product before it is scaled. */
typedef struct product {
  tl_matmul plan;
  tl_gemm_ints a;
  tl_gemm_ints b;
  uint64_t rows; /* of all batches */
  uint64_t columns;
} product;

static bool is_integer(const tl_host *t) {
  return t->dtype == TL_DTYPE_U8 || t->dtype == TL_DTYPE_I8 || t->dtype == TL_DTYPE_U16 ||
         t->dtype == TL_DTYPE_I16;
}

/* The numbers of the operands that are a matrix and its zero points; beyond the last operand:
 * none. */
typedef struct side {
  uint32_t at;
  uint32_t zero;
  bool transposed;
} side;

/* Plans the product of two operands. The zero points of A may be those of one matrix or of all. */
static tl_status open_product(tl_eval *ctx, side of_a, side of_b, product *p) {
  tl_matmul_view a, b;
  const int32_t *zero_a, *zero_b;
  TL_TRY(tl_matmul_view_of(ctx, of_a.at, false, of_a.transposed, &a));
  TL_TRY(tl_matmul_view_of(ctx, of_b.at, false, of_b.transposed, &b));
  if (!is_integer(tl_eval_in(ctx, of_a.at)) || !is_integer(tl_eval_in(ctx, of_b.at)))
    return tl_eval_unsupported(ctx, "a quantized product of these types is not supported");
  TL_TRY(tl_matmul_plan(ctx, &a, &b, true, &p->plan));
  tl_gemm *g = &p->plan.gemm;
  p->columns = (uint64_t)g->n;
  p->rows = g->batches * (uint64_t)g->m;
  const tl_host *za = tl_eval_in(ctx, of_a.zero);
  uint64_t own = za && za->n == (uint64_t)g->m ? (uint64_t)g->m : p->rows;
  TL_TRY(tl_zeros_read(ctx, of_a.zero, own, &zero_a));
  TL_TRY(tl_zeros_read(ctx, of_b.zero, p->columns, &zero_b));
  tl_gemm_side_ints(tl_eval_in(ctx, of_a.at), zero_a, &p->a, &g->a);
  tl_gemm_side_ints(tl_eval_in(ctx, of_b.at), zero_b, &p->b, &g->b);
  p->a.matrix = own == p->rows ? g->m : 0;
  g->type = TL_GEMM_U32;
  return TL_OK;
}

/* Reads numbers of rows: one, one for each row of a matrix, or one for each row of all batches. */
static tl_status row_factors(tl_eval *ctx, uint32_t i, const product *p, tl_factors *out) {
  const tl_host *t = tl_eval_in(ctx, i);
  uint64_t m = (uint64_t)p->plan.gemm.m;
  return tl_factors_read(ctx, i, t && t->n == m ? m : p->rows, p->columns, out);
}

/* Computes the sums as a value of their own. *sums: the caller's to release; NULL on failure. */
static tl_status sum_up(tl_eval *ctx, product *p, tl_host **sums) {
  int64_t n;
  *sums = NULL;
  if (!tl_eval_product(p->plan.dims, 0, p->plan.rank, &n))
    return tl_eval_fail(ctx, "the result would have more elements than can be counted");
  *sums = tl_host_new(ctx->heap, TL_DTYPE_I32, p->plan.rank, p->plan.dims);
  if (!*sums)
    return tl_eval_no_memory(ctx);
  p->plan.gemm.c = (*sums)->data;
  tl_status status = tl_gemm_run(ctx, &p->plan.gemm);
  if (status != TL_OK) {
    tl_host_release(*sums);
    *sums = NULL;
  }
  return status;
}

/* Makes result 0 of type dtype from the scaled sums. */
static tl_status scale_product(tl_eval *ctx, product *p, const tl_requant *q, tl_dtype dtype) {
  tl_host *sums, *y;
  TL_TRY(sum_up(ctx, p, &sums));
  tl_status status = tl_eval_result(ctx, 0, dtype, p->plan.rank, p->plan.dims, &y);
  if (status == TL_OK)
    tl_requant_run(ctx, q, sums, y);
  tl_host_release(sums);
  return status;
}

/* ---- integers in, integers out -------------------------------------------------------------- */

/* Makes the sums themselves result 0. */
static tl_status plain(tl_eval *ctx, tl_dtype dtype, uint32_t zeros) {
  product p;
  tl_host *y;
  TL_TRY(open_product(ctx, (side){0, zeros, false}, (side){1, zeros + 1, false}, &p));
  TL_TRY(tl_eval_result(ctx, 0, dtype, p.plan.rank, p.plan.dims, &y));
  p.plan.gemm.c = y->data;
  return tl_gemm_run(ctx, &p.plan.gemm);
}

tl_status tl_eval_matmul_integer(tl_eval *ctx) { return plain(ctx, TL_DTYPE_I32, 2); }

tl_status tl_eval_matmul_integer16(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  bool is_unsigned = tl_eval_in(ctx, 0)->dtype == TL_DTYPE_U16;
  return plain(ctx, is_unsigned ? TL_DTYPE_U32 : TL_DTYPE_I32, UINT32_MAX - 1);
}

/* QLinearMatMul: a, scale, zero point, b, scale, zero point, scale and zero point of y. */
tl_status tl_eval_qlinear_matmul(tl_eval *ctx) {
  product p;
  tl_requant q = {.alpha = 1.0f};
  const tl_host *zero = tl_eval_in(ctx, 7);
  if (!zero || (zero->dtype != TL_DTYPE_U8 && zero->dtype != TL_DTYPE_I8))
    return tl_eval_unsupported(ctx, "a quantized product of these types is not supported");
  TL_TRY(open_product(ctx, (side){0, 2, false}, (side){3, 5, false}, &p));
  TL_TRY(row_factors(ctx, 1, &p, &q.a));
  TL_TRY(tl_factors_read(ctx, 4, p.columns, 1, &q.b));
  TL_TRY(row_factors(ctx, 6, &p, &q.y));
  if (!q.a.at || !q.b.at || !q.y.at)
    return tl_eval_fail(ctx, "a scale is missing");
  TL_TRY(tl_zeros_read(ctx, 7, q.y.n, &q.y_zero));
  return scale_product(ctx, &p, &q, (tl_dtype)zero->dtype);
}

/* ---- integers in, floats out ---------------------------------------------------------------- */

/* MatMulIntegerToFloat: A, B, scales, zero points, bias. */
tl_status tl_eval_matmul_integer_to_float(tl_eval *ctx) {
  product p;
  tl_requant q = {.alpha = 1.0f};
  TL_TRY(open_product(ctx, (side){0, 4, false}, (side){1, 5, false}, &p));
  TL_TRY(row_factors(ctx, 2, &p, &q.a));
  TL_TRY(tl_factors_read(ctx, 3, p.columns, 1, &q.b));
  TL_TRY(tl_factors_read(ctx, 6, p.columns, 1, &q.bias));
  return scale_product(ctx, &p, &q, TL_DTYPE_F32);
}

/* ---- Gemm ----------------------------------------------------------------------------------- */

/* Adds C, [M,N] or broadcast to it, to the sums, whose scale it has. */
static tl_status add_c(tl_eval *ctx, const tl_host *c, tl_host *sums) {
  int64_t dims[TL_MAX_RANK], strides[2][TL_MAX_RANK];
  int rank;
  const tl_host *both[2] = {sums, c};
  TL_TRY(tl_eval_broadcast(ctx, both, 2, &rank, dims, strides));
  if (rank != 2 || dims[0] != sums->dims[0] || dims[1] != sums->dims[1])
    return tl_eval_fail(ctx, "C does not fit the result");
  uint32_t *y = sums->data;
  for (int64_t i = 0; i < dims[0]; i++)
    for (int64_t j = 0; j < dims[1]; j++)
      y[i * dims[1] + j] +=
          (uint32_t)((const int32_t *)c->data)[i * strides[1][0] + j * strides[1][1]];
  return TL_OK;
}

/* QGemm: A, scale, zero point, B, scale, zero point, C, scale and zero point of y. Without the
 * latter the result is f32. */
tl_status tl_eval_qgemm(tl_eval *ctx) {
  product p;
  tl_host *sums, *y;
  tl_requant q = {.alpha = tl_eval_float(ctx, TL_SYM_alpha, 1.0f)};
  const tl_host *c = tl_eval_in(ctx, 6), *zero = tl_eval_in(ctx, 8);
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 2));
  TL_TRY(tl_eval_need_rank(ctx, 3, 2, 2));
  TL_TRY(open_product(ctx, (side){0, 2, tl_eval_int(ctx, TL_SYM_transA, 0) != 0},
                      (side){3, 5, tl_eval_int(ctx, TL_SYM_transB, 0) != 0}, &p));
  TL_TRY(tl_factors_read(ctx, 1, 1, 1, &q.a));
  TL_TRY(tl_factors_read(ctx, 4, p.columns, 1, &q.b));
  if (tl_eval_in(ctx, 7)) {
    TL_TRY(tl_factors_read(ctx, 7, 1, 1, &q.y));
    TL_TRY(tl_zeros_read(ctx, 8, 1, &q.y_zero));
  }
  if (q.y.at && !zero)
    return tl_eval_fail(ctx, "y_zero_point is missing");
  TL_TRY(sum_up(ctx, &p, &sums));
  tl_status status = c ? add_c(ctx, c, sums) : TL_OK;
  if (status == TL_OK)
    status =
        tl_eval_result(ctx, 0, q.y.at ? (tl_dtype)zero->dtype : TL_DTYPE_F32, 2, p.plan.dims, &y);
  if (status == TL_OK)
    tl_requant_run(ctx, &q, sums, y);
  tl_host_release(sums);
  return status;
}

/* ---- DynamicQuantizeMatMul ------------------------------------------------------------------ */

/* Chooses scale and zero point of u8 for the range of t and zero, as DynamicQuantizeLinear does. */
static void choose_scale(const tl_host *t, float *scale, int32_t *zero) {
  const float *at = t->data;
  float low = 0, high = 0;
  for (uint64_t i = 0; i < t->n; i++) {
    low = at[i] < low ? at[i] : low;
    high = at[i] > high ? at[i] : high;
  }
  *scale = (high - low) / 255.0f;
  float z = *scale > 0 && isfinite(*scale) ? rintf(-low / *scale) : 0.0f;
  *zero = z >= 255.0f ? 255 : z > 0 ? (int32_t)z : 0;
}

static tl_status quantize_a(tl_eval *ctx, const tl_host *t, float *scale, const int32_t **zero,
                            tl_host **out) {
  int32_t *z = tl_eval_scratch(ctx, 1, sizeof *z);
  *out = tl_host_new(ctx->heap, TL_DTYPE_U8, t->rank, t->dims);
  if (!*out || !z)
    return tl_eval_no_memory(ctx); /* *out is released by the caller */
  choose_scale(t, scale, z);
  for (uint64_t i = 0; i < t->n; i++) {
    float v = *scale > 0 ? rintf(((const float *)t->data)[i] / *scale) + (float)*z : (float)*z;
    ((uint8_t *)(*out)->data)[i] = v >= 255.0f ? 255 : v > 0 ? (uint8_t)v : 0;
  }
  *zero = z;
  return TL_OK;
}

/* Multiplies `a`, the quantized A, by B. Operands: A (floats), B, scale and zero point of B,
 * bias. */
static tl_status multiply_quantized(tl_eval *ctx, const tl_host *a, const float *scale,
                                    int32_t zero) {
  product p;
  tl_matmul_view va, vb;
  const int32_t *zero_b;
  tl_requant q = {.alpha = 1.0f, .a = {scale, 1, 1}};
  const tl_host *b = tl_eval_in(ctx, 1);
  TL_TRY(tl_matmul_view_of(ctx, 0, false, false, &va));
  TL_TRY(tl_matmul_view_of(ctx, 1, false, false, &vb));
  TL_TRY(tl_matmul_plan(ctx, &va, &vb, true, &p.plan));
  tl_gemm *g = &p.plan.gemm;
  p.columns = (uint64_t)g->n;
  int32_t *zero_a = tl_eval_scratch(ctx, (uint64_t)g->m, sizeof *zero_a);
  if (!zero_a)
    return tl_eval_no_memory(ctx);
  for (int64_t i = 0; i < g->m; i++)
    zero_a[i] = zero;
  TL_TRY(tl_zeros_read(ctx, 3, p.columns, &zero_b));
  TL_TRY(tl_factors_read(ctx, 2, p.columns, 1, &q.b));
  TL_TRY(tl_factors_read(ctx, 4, p.columns, 1, &q.bias));
  tl_gemm_side_ints(a, zero_a, &p.a, &g->a);
  tl_gemm_side_ints(b, zero_b, &p.b, &g->b);
  g->type = TL_GEMM_U32;
  return scale_product(ctx, &p, &q, TL_DTYPE_F32);
}

tl_status tl_eval_dynamic_quantize_matmul(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 1, TL_MAX_RANK));
  const tl_host *a = tl_eval_in(ctx, 0);
  const int32_t *zero;
  float scale;
  tl_host *quantized = NULL;
  if (a->dtype != TL_DTYPE_F32 || !is_integer(tl_eval_in(ctx, 1)))
    return tl_eval_unsupported(ctx, "a quantized product of these types is not supported");
  tl_status status = quantize_a(ctx, a, &scale, &zero, &quantized);
  if (status == TL_OK)
    status = multiply_quantized(ctx, quantized, &scale, *zero);
  tl_host_release(quantized);
  return status;
}
