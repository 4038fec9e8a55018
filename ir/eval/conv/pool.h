/* SPDX-License-Identifier: Apache-2.0 */
/* What pooling kernels share: windows over single channels. */
#ifndef TL_IR_EVAL_CONV_POOL_H
#define TL_IR_EVAL_CONV_POOL_H

#include "ir/eval/conv/window.h"

/* A pooling of operand 0; tl_pooling_open sets all but y. */
typedef struct tl_pooling {
  tl_windows window;
  const tl_host *x;
  tl_host *y;
  int64_t images;
  int64_t channels;
  bool channels_last;
  int64_t place; /* elements between neighbours along the last spatial axis */
} tl_pooling;

/* Reads sizes from operand 0 and the attributes; y is not set. */
tl_status tl_pooling_open(tl_eval *ctx, bool channels_last, tl_pooling *p) TL_NODISCARD;
/* Gives the shape of the result, of operand 0's rank. */
void tl_pooling_dims(const tl_pooling *p, int64_t *dims);
/* Makes result 0 with operand 0's dtype as p->y. */
tl_status tl_pooling_result(tl_eval *ctx, tl_pooling *p) TL_NODISCARD;

/* Returns the index of the first element of channel i, counted over all images, in a tensor whose
 * planes have `plane` places. */
int64_t tl_pooling_base(const tl_pooling *p, int64_t i, int64_t plane);
/* Calls fn for parts of the channels of all images, on the pool. */
void tl_pooling_for(const tl_eval *ctx, tl_pooling *p, tl_eval_range fn, void *user);

/* The taps that reach the input from some window of a run: along each axis from `low` to `high`,
 * both included. */
typedef struct tl_tap_box {
  int64_t low[TL_MAX_RANK];
  int64_t high[TL_MAX_RANK];
} tl_tap_box;
/* Finds that box; false when no tap reaches the input. */
bool tl_tap_box_of(const tl_windows *w, const tl_window_run *r, tl_tap_box *box);
/* Moves to the next tap of the box in row-major order; false after the last one. */
static inline bool tl_tap_box_next(const tl_windows *w, const tl_tap_box *box, int64_t *tap) {
  for (int i = w->n - 1; i >= 0; i--) {
    if (++tap[i] <= box->high[i])
      return true;
    tap[i] = box->low[i];
  }
  return false;
}

/* Returns how many taps of the window at `index` lie in the input along one axis, or with `padding`
 * in the padded input. */
int64_t tl_window_taps_inside(const tl_windows *w, int axis, int64_t index, bool padding);

#endif
