/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling: what kernels of windows over single channels share. */
#ifndef TL_IR_EVAL_CONV_POOL_H
#define TL_IR_EVAL_CONV_POOL_H

#include "ir/eval/conv/window.h"

typedef struct tl_pooling {
  tl_windows window;
  const tl_host *x;
  tl_host *y;
  int64_t images;
  int64_t channels;
  bool channels_last;
  int64_t place; /* elements between neighbours along the last spatial axis */
} tl_pooling;

/* Sizes from operand 0 and the attributes; y is not set. */
tl_status tl_pooling_open(tl_eval *x, bool channels_last, tl_pooling *p) TL_NODISCARD;
/* Shape of the result. */
void tl_pooling_dims(const tl_pooling *p, int64_t *dims);
/* Makes result 0 of operand 0's dtype. */
tl_status tl_pooling_result(tl_eval *x, tl_pooling *p) TL_NODISCARD;

/* First element of channel i (over all images) of a tensor whose planes have `plane` places. */
int64_t tl_pooling_base(const tl_pooling *p, int64_t i, int64_t plane);
/* Calls fn for channels [begin, end) of all images. */
void tl_pooling_for(const tl_eval *x, tl_pooling *p, tl_eval_range fn, void *user);

/* The taps that reach the input from some window of the run; false when none does. Taps are walked
 * from `low` to `high` by axis, both included. */
typedef struct tl_tap_box {
  int64_t low[TL_MAX_RANK];
  int64_t high[TL_MAX_RANK];
} tl_tap_box;
bool tl_tap_box_of(const tl_windows *w, const tl_window_run *r, tl_tap_box *box);
static inline bool tl_tap_box_next(const tl_windows *w, const tl_tap_box *box, int64_t *tap) {
  for (int i = w->n - 1; i >= 0; i--) {
    if (++tap[i] <= box->high[i])
      return true;
    tap[i] = box->low[i];
  }
  return false;
}

/* Taps of the window at `index` along one axis that lie in the input, or in input and padding. */
int64_t tl_window_taps_inside(const tl_windows *w, int axis, int64_t index, bool padding);

#endif
