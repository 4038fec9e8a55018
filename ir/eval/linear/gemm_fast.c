/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of the fast mode. This file alone is built with contraction allowed: where the level has a
 * fused multiply-add, a step is one. */
#include "ir/eval/linear/gemm_unit.h"

TL_GEMM_DEFINE_LEVELS(f32, float)
TL_GEMM_DEFINE_LEVELS(f64, double)

const tl_gemm_unit *tl_gemm_fast_unit(tl_gemm_type type, unsigned level, bool row) {
  return type == TL_GEMM_F64 ? &f64_units[level][row] : &f32_units[level][row];
}
