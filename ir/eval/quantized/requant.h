/* SPDX-License-Identifier: Apache-2.0 */
/* Products of quantized numbers: packing with a zero point, and what becomes of the 32-bit sums. */
#ifndef TL_IR_EVAL_QUANTIZED_REQUANT_H
#define TL_IR_EVAL_QUANTIZED_REQUANT_H

#include "ir/eval/linear/gemm.h"

/* Numbers that belong to rows, columns or channels of a result: element i of the result uses
 * at[i / inner % n]. */
typedef struct tl_factors {
  const float *at; /* NULL: none */
  uint64_t n;
  uint64_t inner;
} tl_factors;

/* Reads operand i as floats: one number, or one for each of `n` lanes. inner: elements of the
 * result that share a lane. Absent: .at is NULL. */
tl_status tl_factors_read(tl_eval *ctx, uint32_t i, uint64_t n, uint64_t inner,
                          tl_factors *out) TL_NODISCARD;
/* Returns the number that element i of the result uses; .at must not be NULL. */
static inline float tl_factor_of(const tl_factors *f, uint64_t i) {
  return f->n == 1 ? f->at[0] : f->at[i / f->inner % f->n];
}
/* Reads operand i as zero points: one, or one for each of `n` lanes. *out: [n] in scratch; all 0
 * when the operand is absent. */
tl_status tl_zeros_read(tl_eval *ctx, uint32_t i, uint64_t n, const int32_t **out) TL_NODISCARD;

/* A side of 8- or 16-bit integers, packed as 32-bit ones less the zero point of their lane. */
typedef struct tl_gemm_ints {
  const void *data;
  tl_dtype dtype;
  int64_t lane_stride;
  int64_t k_stride;
  const int64_t *at;
  const int32_t *zero; /* by lane; NULL: 0 */
  int64_t matrix;      /* lanes of a matrix, where zero goes on from batch to batch; else 0 */
} tl_gemm_ints;
/* Packs a block of integers; a tl_gemm_pack whose user is a tl_gemm_ints. */
void tl_gemm_pack_ints(const void *user, const tl_gemm_block *b, void *dst);
/* Turns a side with strides into one that packs integers of t. *of must live as long as the
 * side. */
void tl_gemm_side_ints(const tl_host *t, const int32_t *zero, tl_gemm_ints *of, tl_gemm_side *side);

/* What to do with sums: multiply by a and b, add bias; then, when y is set, divide by y, round, add
 * the zero point and saturate to the result's dtype. */
typedef struct tl_requant {
  tl_factors a;
  tl_factors b;
  tl_factors bias; /* after scaling */
  tl_factors y;
  const int32_t *y_zero; /* as many as y has, or NULL */
  float alpha;
} tl_requant;
/* Applies q to every sum. from: i32 sums; to: f32, or an 8-bit integer when y is set. */
void tl_requant_run(const tl_eval *ctx, const tl_requant *q, const tl_host *from, tl_host *to);

#endif
