/* SPDX-License-Identifier: Apache-2.0 */
/* Computes ScaledSum, BatchScale, FakeQuant and FakeQuantGrad, as training graphs of ONNX Runtime
 * have them. */
#include <math.h>

#include "ir/eval/kernel/kernel.h"
#include "ir/eval/kernel/lines.h"
#include "ir/eval/kernel/loop.h"

/* Factors that an op can have. */
enum { MOST_SCALED = 3 };

/* Reads the attributes scale_0, scale_1 and scale_2; an absent one is 0. */
static void read_factors(const tl_eval *ctx, double *factors) {
  static const tl_symbol names[] = {TL_SYM_scale_0, TL_SYM_scale_1, TL_SYM_scale_2};
  for (int i = 0; i < MOST_SCALED; i++)
    factors[i] = (double)tl_node_attr_float(ctx->m, ctx->node, names[i], 0);
}

/* ScaledSum: two or three operands of one shape, each times its factor, added up in f64. */
tl_status tl_eval_scaled_sum(tl_eval *ctx) {
  tl_host *out;
  double factors[MOST_SCALED];
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  read_factors(ctx, factors);
  const tl_host *first = tl_eval_in(ctx, 0);
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)first->dtype, first, &out));
  for (uint32_t k = 1; k < MOST_SCALED; k++)
    if (tl_eval_in(ctx, k) && !tl_host_same_shape(tl_eval_in(ctx, k), first))
      return tl_eval_fail(ctx, "the operands must have one shape");
  for (uint64_t i = 0; i < first->n; i++) {
    double sum = 0;
    for (uint32_t k = 0; k < MOST_SCALED; k++)
      sum += tl_eval_in(ctx, k) ? tl_cell_at(tl_eval_in(ctx, k), i) * factors[k] : 0;
    tl_cells_store(out->dtype, &sum, out->data, i, 1, 1);
  }
  return TL_OK;
}

/* BatchScale: result k is the operand times factor k. */
tl_status tl_eval_batch_scale(tl_eval *ctx) {
  double factors[MOST_SCALED];
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  read_factors(ctx, factors);
  const tl_host *in = tl_eval_in(ctx, 0);
  for (uint32_t k = 0; k < MOST_SCALED; k++) {
    tl_host *out;
    TL_TRY(tl_eval_result_like(ctx, k, (tl_dtype)in->dtype, in, &out));
    for (uint64_t i = 0; i < in->n; i++) {
      double v = tl_cell_at(in, i) * factors[k];
      tl_cells_store(out->dtype, &v, out->data, i, 1, 1);
    }
  }
  return TL_OK;
}

/* FakeQuant: X, scale, zero point -> X quantized and converted back, and whether each element was
 * within [quant_min, quant_max]. */
tl_status tl_eval_fake_quant(tl_eval *ctx) {
  double scale, zero;
  tl_host *out, *mask;
  TL_TRY(tl_eval_need_tensors(ctx, 3));
  TL_TRY(tl_eval_operand_float(ctx, 1, 1, &scale));
  TL_TRY(tl_eval_operand_float(ctx, 2, 0, &zero));
  const tl_host *in = tl_eval_in(ctx, 0);
  double least = (double)tl_eval_int(ctx, TL_SYM_quant_min, 0);
  double most = (double)tl_eval_int(ctx, TL_SYM_quant_max, 255);
  bool single = in->dtype == TL_DTYPE_F32;
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  TL_TRY(tl_eval_result_like(ctx, 1, TL_DTYPE_BOOL, in, &mask));
  for (uint64_t i = 0; i < in->n; i++) {
    double v = tl_cell_at(in, i);
    /* the quotient of f32 data is rounded to f32, which can decide a tie */
    v = single ? (double)((float)v / (float)scale) : v / scale;
    v = trunc(nearbyint(v) + zero);
    ((uint8_t *)mask->data)[i] = v >= least && v <= most;
    v = (fmin(most, fmax(least, v)) - zero) * scale;
    tl_cells_store(out->dtype, &v, out->data, i, 1, 1);
  }
  return TL_OK;
}

/* FakeQuantGrad: dY, mask -> dY where the mask is true, else 0. */
tl_status tl_eval_fake_quant_grad(tl_eval *ctx) {
  tl_host *out;
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  const tl_host *dy = tl_eval_in(ctx, 0), *mask = tl_eval_in(ctx, 1);
  if (!tl_host_same_shape(dy, mask))
    return tl_eval_fail(ctx, "there must be a bool for each element of the gradient");
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)dy->dtype, dy, &out));
  for (uint64_t i = 0; i < dy->n; i++) {
    double v = ((const uint8_t *)mask->data)[i] ? tl_cell_at(dy, i) : 0;
    tl_cells_store(out->dtype, &v, out->data, i, 1, 1);
  }
  return TL_OK;
}
