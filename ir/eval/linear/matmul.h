/* SPDX-License-Identifier: Apache-2.0 */
/* Plans matrix products by the rules of numpy: vectors, transposed operands, batches that are
 * broadcast. Every kernel that multiplies two operands shares it; gemm.h computes. */
#ifndef TL_IR_EVAL_LINEAR_MATMUL_H
#define TL_IR_EVAL_LINEAR_MATMUL_H

#include "ir/eval/linear/gemm.h"

/* An operand as the product sees it. Strides are in elements. */
typedef struct tl_matmul_view {
  int rank;
  int64_t dims[TL_MAX_RANK];
  int64_t strides[TL_MAX_RANK];
} tl_matmul_view;

/* The plan of a product. */
typedef struct tl_matmul {
  tl_gemm gemm; /* sides have strides and places, not data; k, m, n, batches are set */
  int rank;
  int64_t dims[TL_MAX_RANK]; /* of the result */
  int batch_rank;            /* leading axes of it that count batches */
} tl_matmul;

/* Describes operand i, of rank 1 or more. batch: the first axis moves behind the other batch axes.
 * trans: the last two axes are swapped. */
tl_status tl_matmul_view_of(tl_eval *ctx, uint32_t i, bool batch, bool trans,
                            tl_matmul_view *out) TL_NODISCARD;
/* Describes a row-major tensor of the given shape, whose number of elements must fit an int64_t. */
void tl_matmul_view_set(tl_matmul_view *v, int rank, const int64_t *dims);
/* Plans the product of a and b. The batch of A is folded into its rows when B has none and A lies
 * so, unless keep_batches is set. TL_INVALID_MODEL when the shapes do not fit together. */
tl_status tl_matmul_plan(tl_eval *ctx, const tl_matmul_view *a, const tl_matmul_view *b,
                         bool keep_batches, tl_matmul *out) TL_NODISCARD;
/* Makes result 0 as the planned product of a and b, tensors of one dtype. TL_UNSUPPORTED for a
 * dtype without products. */
tl_status tl_matmul_run(tl_eval *ctx, tl_matmul *p, const tl_host *a, const tl_host *b,
                        tl_host **out) TL_NODISCARD;

/* Computes MatMul for the node, with alpha, transA, transB, transBatchA and transBatchB where it
 * has them. *y: result 0. */
tl_status tl_matmul_fused(tl_eval *ctx, tl_host **y) TL_NODISCARD;
/* Computes Gemm for the node: alpha, beta, transA, transB, C as operand 2. *y: result 0. */
tl_status tl_linear_run(tl_eval *ctx, tl_host **y) TL_NODISCARD;

#endif
