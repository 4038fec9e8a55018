/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of the exact mode, whose steps are a multiplication and then an addition. The build forbids
 * contraction into fused operations here, so that a lane computes the same bits at every vector
 * width. */
#include "ir/eval/linear/gemm_unit.h"

TL_GEMM_DEFINE_LEVELS(f32, float)
TL_GEMM_DEFINE_LEVELS(f64, double)
TL_GEMM_DEFINE_LEVELS(u32, uint32_t)
TL_GEMM_DEFINE_LEVELS(u64, uint64_t)

const tl_gemm_unit *tl_gemm_exact_unit(tl_gemm_type type, unsigned level, bool row) {
  switch (type) {
  case TL_GEMM_F32: return &f32_units[level][row];
  case TL_GEMM_F64: return &f64_units[level][row];
  case TL_GEMM_U32: return &u32_units[level][row];
  case TL_GEMM_U64: return &u64_units[level][row];
  }
  return NULL;
}
