/* SPDX-License-Identifier: Apache-2.0 */
/* Computes com.microsoft QLinearAveragePool: the mean over windows of bytes. Sums of bytes are
 * exact; the mean is scaled in f64 and quantized once. */
#include "ir/eval/conv/pool.h"
#include "ir/eval/quantized/qlinear.h"

typedef struct averaging {
  tl_pooling p;
  tl_quantizer q;
  tl_dtype dtype;
  tl_scaled from;
  tl_scaled to;
  bool count_padding;
} averaging;

/* Returns the sum of one window's bytes less their zero point; taps in the padding add nothing.
 * base: the first element of the channel. */
static double window_sum(const averaging *a, const tl_window_run *r, int64_t base) {
  const tl_windows *w = &a->p.window;
  int64_t tap[TL_MAX_RANK], sum = 0, n = 0;
  tl_tap_box box;
  if (!tl_tap_box_of(w, r, &box))
    return 0;
  memcpy(tap, box.low, (size_t)w->n * sizeof *tap);
  do {
    const int64_t at = base + tl_window_piece_of(w, r, tap).from * a->p.place;
    const uint8_t byte = ((const uint8_t *)a->p.x->data)[at];
    sum += a->dtype == TL_DTYPE_I8 ? (int8_t)byte : byte;
    n++;
  } while (tl_tap_box_next(w, &box, tap));
  return (double)sum - (double)n * (double)a->from.zero;
}

/* Returns how many elements the mean divides by. */
static int64_t divisor(const averaging *a, const int64_t *index) {
  const tl_windows *w = &a->p.window;
  int64_t n = 1;
  for (int i = 0; i < w->n; i++)
    n *= tl_window_taps_inside(w, i, index[i], a->count_padding);
  return n;
}

static void average_channels(void *user, uint64_t begin, uint64_t end) {
  const averaging *a = user;
  const tl_windows *w = &a->p.window;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    const int64_t from = tl_pooling_base(&a->p, i, w->in_plane);
    const int64_t to = tl_pooling_base(&a->p, i, w->out_plane);
    for (int64_t at = 0; at < w->out_plane; at++) {
      tl_window_run r;
      tl_window_run_at(w, at, 1, &r);
      double mean = window_sum(a, &r, from) / (double)divisor(a, r.index);
      float v = (float)(mean * (double)a->from.scale / (double)a->to.scale);
      tl_quantizer_store(&a->q, &v, (tl_zero_points){&a->to.zero, 0}, a->p.y->data,
                         (uint64_t)(to + at * a->p.place), 1);
    }
  }
}

tl_status tl_eval_qlinear_average_pool(tl_eval *ctx) {
  averaging a = {.count_padding = tl_eval_int(ctx, TL_SYM_count_include_pad, 0) != 0};
  TL_TRY(tl_qlinear_bytes(ctx, 0, &a.dtype, &a.q));
  TL_TRY(tl_qlinear_scale(ctx, 1, &a.from));
  TL_TRY(tl_qlinear_scale(ctx, 3, &a.to));
  TL_TRY(tl_pooling_open(ctx, tl_eval_int(ctx, TL_SYM_channels_last, 0) != 0, &a.p));
  TL_TRY(tl_pooling_result(ctx, &a.p));
  tl_pooling_for(ctx, &a.p, average_channels, &a);
  return TL_OK;
}
