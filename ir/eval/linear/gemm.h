/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product under MatMul, Gemm, Einsum and convolution: C = A B or C += A B, for many
 * pairs of matrices at once.
 *
 * Every element of C is one chain of additions over k in index order. In exact mode each step is a
 * multiplication and an addition of their own, so that its bits are the same whatever the vector
 * width, the blocking and the number of threads. In fast mode a step is a fused multiply-add where
 * the processor has one. Integers wrap. */
#ifndef TL_IR_EVAL_LINEAR_GEMM_H
#define TL_IR_EVAL_LINEAR_GEMM_H

#include "ir/eval/kernel/kernel.h"
#include "ir/eval/linear/products.h"

/* Finds the type that computes a dtype: floats themselves, integers of either sign as unsigned
 * ones, which wrap alike. False for dtypes without products. */
bool tl_gemm_type_of(tl_dtype dtype, tl_gemm_type *out);
/* Runs the products on the pool. Working memory comes from scratch and is bounded by about two
 * megabytes for each thread, whatever the sizes. TL_NO_MEMORY. */
tl_status tl_gemm_run(tl_eval *ctx, const tl_gemm *g) TL_NODISCARD;
#endif
