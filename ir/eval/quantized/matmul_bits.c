/* SPDX-License-Identifier: Apache-2.0 */
/* Computes products with a weight of 2, 4 or 8 bits in blocks that have a scale each. The weight is
 * converted to float once, then multiplied; memory is not the concern here. */
#include "ir/eval/linear/matmul.h"

/* A quantized weight of N rows by K. */
typedef struct packed {
  int64_t k;
  int64_t n;
  int64_t block; /* elements along k with one scale */
  int64_t bits;
  int64_t blocks; /* of a row */
  const tl_host *b;
  const tl_host *scales;
  const tl_host *zeros;  /* NULL: the middle of the range */
  const tl_host *groups; /* by k: number of its block; NULL: in order */
  tl_host *weight;       /* [N][K] f32 */
} packed;

static tl_status read_sizes(tl_eval *ctx, packed *p) {
  int64_t total;
  p->k = tl_eval_int(ctx, TL_SYM_K, 0);
  p->n = tl_eval_int(ctx, TL_SYM_N, 0);
  p->block = tl_eval_int(ctx, TL_SYM_block_size, 0);
  if (p->k < 1 || p->n < 1 || p->block < 1 || p->k > INT32_MAX || p->n > INT32_MAX ||
      p->block > INT32_MAX || __builtin_mul_overflow(p->k, p->n, &total))
    return tl_eval_fail(ctx, "K %lld, N %lld, block_size %lld are out of range", (long long)p->k,
                        (long long)p->n, (long long)p->block);
  p->blocks = (p->k + p->block - 1) / p->block;
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  if (tl_eval_in(ctx, 0)->dtype != TL_DTYPE_F32)
    return tl_eval_unsupported(ctx, "such a product of %s is not supported",
                               tl_dtype_get((tl_dtype)tl_eval_in(ctx, 0)->dtype)->name);
  return TL_OK;
}

/* Multiplies operand 0 by the float weight, whose transposed form is a matter of strides, and adds
 * the bias. */
static tl_status multiply(tl_eval *ctx, const packed *p, const tl_host *bias) {
  tl_matmul_view a, b;
  tl_matmul plan;
  tl_host *y;
  int64_t dims[2] = {p->k, p->n};
  TL_TRY(tl_matmul_view_of(ctx, 0, false, false, &a));
  tl_matmul_view_set(&b, 2, dims);
  b.strides[0] = 1;
  b.strides[1] = p->k;
  TL_TRY(tl_matmul_plan(ctx, &a, &b, false, &plan));
  TL_TRY(tl_matmul_run(ctx, &plan, tl_eval_in(ctx, 0), p->weight, &y));
  for (uint64_t i = 0; bias && i < y->n; i++)
    ((float *)y->data)[i] += ((const float *)bias->data)[i % bias->n];
  return TL_OK;
}

/* ---- MatMulNBits ---------------------------------------------------------------------------- */

/* Returns number i of a packed row, the lowest bits first. Numbers do not cross bytes. */
static int32_t unpack(const uint8_t *row, int64_t i, int64_t bits) {
  int64_t at = i * bits;
  return (row[at / 8] >> (at % 8)) & ((1 << bits) - 1);
}

/* Reads the operands of MatMulNBits. B: [N][blocks][block * bits / 8] bytes. */
static tl_status read_nbits(tl_eval *ctx, packed *p) {
  TL_TRY(read_sizes(ctx, p));
  p->bits = tl_eval_int(ctx, TL_SYM_bits, 4);
  p->b = tl_eval_in(ctx, 1);
  p->scales = tl_eval_in(ctx, 2);
  p->zeros = tl_eval_in(ctx, 3);
  p->groups = tl_eval_in(ctx, 4);
  if ((p->bits != 2 && p->bits != 4 && p->bits != 8) || p->block * p->bits % 8)
    return tl_eval_unsupported(ctx, "weights of %lld bits in blocks of %lld are not supported",
                               (long long)p->bits, (long long)p->block);
  if (tl_eval_int(ctx, TL_SYM_weight_prepacked, 0) != 0)
    return tl_eval_unsupported(ctx, "a weight packed for one processor is not supported");
  if (!p->b || p->b->dtype != TL_DTYPE_U8 ||
      p->b->n != (uint64_t)(p->n * p->blocks) * (uint64_t)(p->block * p->bits / 8))
    return tl_eval_fail(ctx, "B must be u8 with %lld rows of %lld blocks", (long long)p->n,
                        (long long)p->blocks);
  if (!p->scales || p->scales->dtype != TL_DTYPE_F32 ||
      p->scales->n != (uint64_t)(p->n * p->blocks))
    return tl_eval_fail(ctx, "scales must have one number for each block");
  if (p->groups && (p->groups->dtype != TL_DTYPE_I32 || p->groups->n < (uint64_t)p->k))
    return tl_eval_fail(ctx, "g_idx must have one number for each of K");
  uint64_t zeros = p->zeros && p->zeros->dtype == TL_DTYPE_U8
                       ? (uint64_t)p->n * (uint64_t)((p->blocks * p->bits + 7) / 8)
                       : (uint64_t)(p->n * p->blocks);
  if (p->zeros &&
      ((p->zeros->dtype != TL_DTYPE_U8 && p->zeros->dtype != TL_DTYPE_F32) || p->zeros->n != zeros))
    return tl_eval_fail(ctx, "zero_points must have %llu elements", (unsigned long long)zeros);
  return TL_OK;
}

/* Returns the zero point of a block: given as bytes, given as floats, or the middle of the
 * range. */
static float zero_of(const packed *p, int64_t row, int64_t block) {
  if (!p->zeros)
    return (float)(1 << (p->bits - 1));
  if (p->zeros->dtype == TL_DTYPE_F32)
    return ((const float *)p->zeros->data)[row * p->blocks + block];
  return (float)unpack((const uint8_t *)p->zeros->data + row * ((p->blocks * p->bits + 7) / 8),
                       block, p->bits);
}

/* Converts rows of the weight; g_idx may assign columns to blocks out of order. */
static void make_rows(void *user, uint64_t begin, uint64_t end) {
  const packed *p = user;
  for (int64_t row = (int64_t)begin; row < (int64_t)end; row++) {
    const uint8_t *from = (const uint8_t *)p->b->data + row * p->blocks * (p->block * p->bits / 8);
    const float *scales = (const float *)p->scales->data + row * p->blocks;
    for (int64_t k = 0; k < p->k; k++) {
      int64_t block = p->groups ? ((const int32_t *)p->groups->data)[k] : k / p->block;
      float v = (float)unpack(from, k, p->bits) - zero_of(p, row, block);
      ((float *)p->weight->data)[row * p->k + k] = v * scales[block];
    }
  }
}

static tl_status check_groups(tl_eval *ctx, const packed *p) {
  for (int64_t k = 0; p->groups && k < p->k; k++) {
    int32_t g = ((const int32_t *)p->groups->data)[k];
    if (g < 0 || g >= p->blocks)
      return tl_eval_fail(ctx, "g_idx has %d, but a row has %lld blocks", g, (long long)p->blocks);
  }
  return TL_OK;
}

static tl_status check_bias(tl_eval *ctx, const packed *p, const tl_host *bias) {
  if (!bias || (bias->dtype == TL_DTYPE_F32 && bias->n == (uint64_t)p->n))
    return TL_OK;
  return tl_eval_fail(ctx, "the bias must have one number for each of %lld columns",
                      (long long)p->n);
}

tl_status tl_eval_matmul_nbits(tl_eval *ctx) {
  packed p = {0};
  const tl_host *bias = tl_eval_in(ctx, 5);
  TL_TRY(read_nbits(ctx, &p));
  TL_TRY(check_groups(ctx, &p));
  TL_TRY(check_bias(ctx, &p, bias));
  int64_t dims[2] = {p.n, p.k};
  p.weight = tl_host_new(ctx->heap, TL_DTYPE_F32, 2, dims);
  if (!p.weight)
    return tl_eval_no_memory(ctx);
  tl_eval_for(ctx, (uint64_t)p.n, 16, make_rows, &p);
  tl_status status = multiply(ctx, &p, bias);
  tl_host_release(p.weight);
  return status;
}

/* ---- MatMulBnb4 ----------------------------------------------------------------------------- */

/* The two code books of bitsandbytes, FP4 and NF4. */
static const float codes[2][16] = {
    {0.0f, 5.208333333e-03f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f,
     -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
     -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
     0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
     0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f}};

/* MatMulBnb4. Blocks run over the whole weight, across rows; the first of two numbers is in the
 * high bits. */
tl_status tl_eval_matmul_bnb4(tl_eval *ctx) {
  packed p = {0};
  int64_t kind = tl_eval_int(ctx, TL_SYM_quant_type, 0);
  TL_TRY(read_sizes(ctx, &p));
  p.b = tl_eval_in(ctx, 1);
  p.scales = tl_eval_in(ctx, 2);
  uint64_t total = (uint64_t)p.n * (uint64_t)p.k, block = (uint64_t)p.block;
  if (kind < 0 || kind > 1 || tl_eval_int(ctx, TL_SYM_transB, 1) != 1)
    return tl_eval_unsupported(ctx, "quant_type %lld is not known", (long long)kind);
  if (!p.b || p.b->dtype != TL_DTYPE_U8 || p.b->n != (total + 1) / 2 || !p.scales ||
      p.scales->dtype != TL_DTYPE_F32 || p.scales->n != (total + block - 1) / block)
    return tl_eval_fail(ctx, "B and absmax do not fit K, N and block_size");
  int64_t dims[2] = {p.n, p.k};
  p.weight = tl_host_new(ctx->heap, TL_DTYPE_F32, 2, dims);
  if (!p.weight)
    return tl_eval_no_memory(ctx);
  const uint8_t *from = p.b->data;
  for (uint64_t i = 0; i < total; i++)
    ((float *)p.weight->data)[i] = codes[kind][i % 2 ? from[i / 2] & 15 : from[i / 2] >> 4] *
                                   ((const float *)p.scales->data)[i / block];
  tl_status status = multiply(ctx, &p, NULL);
  tl_host_release(p.weight);
  return status;
}

/* ---- WeightQuantBatchMatmulV2 ---------------------------------------------------------------- */

/* Returns element i of a weight of i8, or of i4, of which the first is in the low bits. */
static float whole_weight(const tl_host *w, int64_t i) {
  const uint8_t *bytes = w->data;
  if (w->dtype == TL_DTYPE_I8)
    return (float)((const int8_t *)w->data)[i];
  int bits = bytes[i / 2] >> (i % 2 * 4) & 15;
  return (float)(bits < 8 ? bits : bits - 16);
}

/* Checks that scales or offsets are a row of N for each group of K. */
static bool is_by_group(const tl_host *h, const packed *p) {
  return h->dtype == TL_DTYPE_F32 && h->n == (uint64_t)(p->blocks * p->n);
}

static tl_status read_weight_quant(tl_eval *ctx, packed *p) {
  p->b = tl_eval_in(ctx, 1);
  p->scales = tl_eval_in(ctx, 2);
  p->zeros = tl_eval_in(ctx, 3);
  if (tl_eval_int(ctx, TL_SYM_transpose_x, 0) || tl_eval_int(ctx, TL_SYM_transpose_weight, 0) ||
      tl_eval_in(ctx, 4) || tl_eval_in(ctx, 5) || tl_eval_in(ctx, 0)->dtype != TL_DTYPE_F32 ||
      (p->b->dtype != TL_DTYPE_I8 && p->b->dtype != TL_DTYPE_I4))
    return tl_eval_unsupported(ctx, "such a product with a quantized weight is not supported");
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 2, 2));
  p->k = p->b->dims[0];
  p->n = p->b->dims[1];
  p->block = tl_eval_int(ctx, TL_SYM_antiquant_group_size, 0);
  p->block = p->block ? p->block : p->k;
  if (p->k < 1 || p->n < 1 || p->block < 1 || p->block > p->k)
    return tl_eval_fail(ctx, "antiquant_group_size does not fit the weight");
  p->blocks = (p->k + p->block - 1) / p->block;
  if (!is_by_group(p->scales, p) || (p->zeros && !is_by_group(p->zeros, p)))
    return tl_eval_fail(ctx, "antiquant_scale and antiquant_offset need %lld x %lld numbers",
                        (long long)p->blocks, (long long)p->n);
  return TL_OK;
}

/* WeightQuantBatchMatmulV2: x ((weight + offset) scale). The weight is [K,N] here, so it is
 * transposed to the [N,K] that multiply() takes. */
tl_status tl_eval_weight_quant_matmul(tl_eval *ctx) {
  packed p = {0};
  const tl_host *bias = tl_eval_in(ctx, 6);
  TL_TRY(read_weight_quant(ctx, &p));
  TL_TRY(check_bias(ctx, &p, bias));
  int64_t dims[2] = {p.n, p.k};
  p.weight = tl_host_new(ctx->heap, TL_DTYPE_F32, 2, dims);
  if (!p.weight)
    return tl_eval_no_memory(ctx);
  for (int64_t k = 0; k < p.k; k++)
    for (int64_t n = 0; n < p.n; n++) {
      int64_t at = k / p.block * p.n + n;
      float offset = p.zeros ? ((const float *)p.zeros->data)[at] : 0;
      ((float *)p.weight->data)[n * p.k + k] = (whole_weight(p.b, k * p.n + n) + offset) *
                                               ((const float *)p.scales->data)[at];
    }
  tl_status status = multiply(ctx, &p, bias);
  tl_host_release(p.weight);
  return status;
}
