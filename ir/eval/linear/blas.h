/* SPDX-License-Identifier: Apache-2.0 */
/* Hands matrix products to a BLAS, for the fast mode of the evaluator when the build has one. */
#ifndef TL_IR_EVAL_LINEAR_BLAS_H
#define TL_IR_EVAL_LINEAR_BLAS_H

#include "ir/eval/linear/products.h"

#ifdef TL_BLAS
/* Runs the products when they are plain matrices of floats and returns true; otherwise returns
 * false and writes nothing. The BLAS uses threads of its own. */
bool tl_gemm_blas(const tl_gemm *g);
#else
/* Without a BLAS: false, always. */
static inline bool tl_gemm_blas(const tl_gemm *g) {
  (void)g;
  return false;
}
#endif

#endif
