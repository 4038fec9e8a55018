/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of quantization. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* QuantizeLinear: x, y_scale, y_zero_point? -> y, of the zero point's dtype or of output_dtype;
 * they must agree. */
tl_status tl_infer_quantize(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  (void)node;
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_output_dtype, TL_DTYPE_NONE, &dtype));
  tl_dtype zero = tl_infer_has(ctx, 2) ? tl_infer_dtype(ctx, 2) : TL_DTYPE_NONE;
  if (dtype != TL_DTYPE_NONE && zero != TL_DTYPE_NONE && dtype != zero)
    return tl_infer_fail(ctx, "output_dtype is %s, but the zero point is %s",
                         tl_dtype_get(dtype)->name, tl_dtype_get(zero)->name);
  if (dtype == TL_DTYPE_NONE)
    dtype = tl_infer_has(ctx, 2) ? zero : TL_DTYPE_U8;
  return tl_infer_put_like(ctx, 0, dtype, 0);
}

/* DequantizeLinear: x, x_scale, x_zero_point? -> y, of the scale's dtype or of output_dtype. */
tl_status tl_infer_dequantize(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  (void)node;
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_output_dtype, tl_infer_dtype(ctx, 1), &dtype));
  return tl_infer_put_like(ctx, 0, dtype, 0);
}

/* DynamicQuantizeLinear: x -> y, scale, zero point. */
tl_status tl_infer_dynamic_quantize(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(tl_infer_put_like(ctx, 0, TL_DTYPE_U8, 0));
  TL_TRY(tl_infer_put(ctx, 1, TL_DTYPE_F32, 0, NULL));
  return tl_infer_put(ctx, 2, TL_DTYPE_U8, 0, NULL);
}

/* QLinearAdd and the like: A, A_scale, A_zero_point, B, ... -> A op B with broadcasting. */
tl_status tl_infer_qlinear_binary(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  int rank;
  (void)node;
  TL_TRY(tl_infer_broadcast_dims(ctx, tl_infer_view_of(ctx, 0), tl_infer_view_of(ctx, 3), &rank,
                                 dims));
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}
