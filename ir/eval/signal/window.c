/* SPDX-License-Identifier: Apache-2.0 */
/* Makes windows (Hann, Hamming, Blackman) and mel filters. */
#include <math.h>

#include "ir/eval/math/elementary.h"
#include "ir/eval/signal/fft.h"

#define PI 3.14159265358979323846

/* ---- windows -------------------------------------------------------------------------------- */

enum { HANN, HAMMING, BLACKMAN }; /* ARG of the kernel */

/* Returns the window at a fraction of its turn. Hamming has ONNX's exact coefficients, not 0.54 and
 * 0.46. */
static double window_at(int64_t kind, double turn) {
  const double c = tl_cos(2.0 * PI * turn);
  if (kind == HANN)
    return 0.5 - 0.5 * c;
  if (kind == HAMMING)
    return 25.0 / 46.0 - 21.0 / 46.0 * c;
  return 0.42 - 0.5 * c + 0.08 * tl_cos(4.0 * PI * turn);
}

tl_status tl_eval_window(tl_eval *ctx) {
  int64_t size;
  tl_dtype dtype;
  tl_host *t;
  if (!tl_eval_in(ctx, 0))
    return tl_eval_fail(ctx, "the size is missing");
  TL_TRY(tl_eval_operand_int(ctx, 0, 0, &size));
  TL_TRY(tl_eval_dtype_attr(ctx, TL_SYM_output_datatype, TL_DTYPE_F32, &dtype));
  TL_TRY(tl_eval_number_result(ctx, 0, dtype, 1, &size, &t));
  /* The one point of a symmetric window is 0 / 0, as in ONNX's definition and in ONNX Runtime. */
  const int64_t whole = tl_eval_int(ctx, TL_SYM_periodic, 1) ? size : size - 1;
  for (uint64_t i = 0; i < t->n; i++)
    tl_store_number(t, i, whole ? window_at(ctx->arg, (double)i / (double)whole) : (double)NAN);
  return TL_OK;
}

/* ---- MelWeightMatrix ------------------------------------------------------------------------ */

/* The filters of MelWeightMatrix. */
typedef struct mel {
  int64_t filters;
  int64_t length;
  int64_t rate;
  double low; /* in mel */
  double step;
  int64_t bins;
} mel;

static double to_mel(double hertz) { return 2595.0 * tl_log10(1.0 + hertz / 700.0); }

/* Corners are spread evenly in mel between the two edges. */
static tl_status read_mel(tl_eval *ctx, mel *w) {
  double low, high;
  for (uint32_t i = 0; i < 5; i++)
    if (!tl_eval_in(ctx, i))
      return tl_eval_fail(ctx, "operand %u is missing", i);
  TL_TRY(tl_eval_operand_int(ctx, 0, 0, &w->filters));
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &w->length));
  TL_TRY(tl_eval_operand_int(ctx, 2, 0, &w->rate));
  TL_TRY(tl_eval_operand_float(ctx, 3, 0, &low));
  TL_TRY(tl_eval_operand_float(ctx, 4, 0, &high));
  if (w->filters < 0 || w->length < 0 || w->rate < 1 || w->filters > INT32_MAX ||
      w->length > INT32_MAX)
    return tl_eval_fail(ctx, "%lld filters of a transform of %lld points at rate %lld",
                        (long long)w->filters, (long long)w->length, (long long)w->rate);
  w->bins = w->length / 2 + 1;
  w->low = to_mel(low);
  w->step = (to_mel(high) - w->low) / (double)(w->filters + 2);
  return TL_OK;
}

/* Finds the bin of the i-th corner of the triangles. */
static tl_status corner(tl_eval *ctx, const mel *w, int64_t i, int64_t *out) {
  double hertz = 700.0 * (tl_pow(10.0, (w->low + (double)i * w->step) / 2595.0) - 1.0);
  double bin = floor((double)(w->length + 1) * hertz / (double)w->rate);
  if (!(bin >= 0 && bin < (double)w->bins + 1))
    return tl_eval_fail(ctx, "a filter ends outside the %lld bins of the spectrum",
                        (long long)w->bins);
  *out = (int64_t)bin;
  return TL_OK;
}

/* Fills one filter: rising from the first corner to the second, falling to the third. */
static void fill_triangle(const mel *w, const int64_t *at, int64_t filter, tl_host *t) {
  const int64_t left = at[0], top = at[1], right = at[2];
  for (int64_t j = left; j <= top && j < w->bins; j++)
    tl_store_number(t, (uint64_t)(j * w->filters + filter),
                    top == left ? 1.0 : (double)(j - left) / (double)(top - left));
  for (int64_t j = top; j < right && j < w->bins; j++)
    tl_store_number(t, (uint64_t)(j * w->filters + filter),
                    (double)(right - j) / (double)(right - top));
}

tl_status tl_eval_mel_weight_matrix(tl_eval *ctx) {
  mel w;
  tl_dtype dtype;
  tl_host *t;
  TL_TRY(read_mel(ctx, &w));
  TL_TRY(tl_eval_dtype_attr(ctx, TL_SYM_output_datatype, TL_DTYPE_F32, &dtype));
  const int64_t dims[2] = {w.bins, w.filters};
  TL_TRY(tl_eval_number_result(ctx, 0, dtype, 2, dims, &t));
  for (uint64_t i = 0; i < t->n; i++)
    tl_store_number(t, i, 0);
  for (int64_t i = 0; i < w.filters; i++) {
    int64_t at[3];
    for (int k = 0; k < 3; k++)
      TL_TRY(corner(ctx, &w, i + k, &at[k]));
    fill_triangle(&w, at, i, t);
  }
  return TL_OK;
}
