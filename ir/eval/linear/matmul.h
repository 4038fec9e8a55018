/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of matrix products by the rules of numpy: vectors, transposed operands, batches that are
 * broadcast. Shared by every kernel that multiplies two operands. */
#ifndef TL_IR_EVAL_LINEAR_MATMUL_H
#define TL_IR_EVAL_LINEAR_MATMUL_H

#include "ir/eval/linear/gemm.h"

/* An operand as the product sees it; strides in elements. */
typedef struct tl_matmul_view {
  int rank;
  int64_t dims[TL_MAX_RANK];
  int64_t strides[TL_MAX_RANK];
} tl_matmul_view;

typedef struct tl_matmul {
  tl_gemm gemm; /* sides have strides and places, not data; k, m, n, batches are set */
  int rank;
  int64_t dims[TL_MAX_RANK]; /* of the result */
  int batch_rank;            /* leading axes of it that count batches */
} tl_matmul;

/* Operand i, rank 1 or more. `batch`: the first axis moves behind the other batch axes; `trans`:
 * the last two are swapped. */
tl_status tl_matmul_view_of(tl_eval *x, uint32_t i, bool batch, bool trans, tl_matmul_view *out)
    TL_NODISCARD;
/* A shape of its own, row-major; the product of the dims is known to fit. */
void tl_matmul_view_set(tl_matmul_view *v, int rank, const int64_t *dims);
/* Plans the product. The batch of A is folded into its rows when B has none and A lies so, unless
 * keep_batches. */
tl_status tl_matmul_plan(tl_eval *x, const tl_matmul_view *a, const tl_matmul_view *b,
                         bool keep_batches, tl_matmul *out) TL_NODISCARD;
/* Makes result 0 of `dtype` from operands a and b of that dtype. */
tl_status tl_matmul_run(tl_eval *x, tl_matmul *p, const tl_host *a, const tl_host *b,
                        tl_host **out) TL_NODISCARD;

/* MatMul of the node with alpha, transA, transB, transBatchA, transBatchB where it has them. */
tl_status tl_matmul_fused(tl_eval *x, tl_host **y) TL_NODISCARD;
/* Gemm of the node: alpha, beta, transA, transB, C as operand 2. */
tl_status tl_linear_run(tl_eval *x, tl_host **y) TL_NODISCARD;

#endif
