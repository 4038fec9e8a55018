/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows over a host tensor: sizes of convolution and pooling, and which input elements a
 * row of windows sees. */
#ifndef TL_IR_EVAL_CONV_WINDOW_H
#define TL_IR_EVAL_CONV_WINDOW_H

#include "ir/eval/kernel/kernel.h"

typedef struct tl_windows {
  int n; /* spatial axes; with none there is one window of one element */
  int64_t in[TL_MAX_RANK];
  int64_t out[TL_MAX_RANK];
  int64_t kernel[TL_MAX_RANK];
  int64_t stride[TL_MAX_RANK];
  int64_t dilation[TL_MAX_RANK];
  int64_t begin[TL_MAX_RANK]; /* padding before the first element; may be negative */
  int64_t end[TL_MAX_RANK];   /* padding after the last one, as the attributes say */
  int64_t taps;      /* positions of the kernel */
  int64_t in_plane;  /* elements of all spatial axes */
  int64_t out_plane;
} tl_windows;

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode, and computes `out`.
 * in: n sizes; kernel: n sizes, NULL: from the attribute, which must be there then. */
tl_status tl_window_open(tl_eval *x, int n, const int64_t *in, const int64_t *kernel,
                         tl_windows *w) TL_NODISCARD;
/* The same without sizes of the output: strides, dilations, explicit pads, taps, in_plane. */
tl_status tl_window_attributes(tl_eval *x, int n, const int64_t *in, const int64_t *kernel,
                               tl_windows *w) TL_NODISCARD;
/* Spatial list attribute of n values from `min` to 2^31; .at NULL when absent or empty. */
tl_status tl_window_list(tl_eval *x, tl_symbol name, uint32_t n, int64_t min, tl_int_list *out)
    TL_NODISCARD;
/* Sets taps, in_plane and out_plane; fails when they cannot be counted. */
tl_status tl_window_count(tl_eval *x, tl_windows *w) TL_NODISCARD;

/* Windows that are neighbours along the last axis. */
typedef struct tl_window_run {
  int64_t at;    /* index of the first window in the output plane */
  int64_t count;
  int64_t lane;  /* of the first one in a block of windows */
  int64_t index[TL_MAX_RANK]; /* of the first window by axis */
} tl_window_run;

/* The run that begins at window `at`, at most `most` long. */
void tl_window_run_at(const tl_windows *w, int64_t at, int64_t most, tl_window_run *r);

/* Those windows of a run of which one tap lies inside the input: `count` windows from number
 * `first`, whose elements begin at `from` in the input plane and lie `stride of the last axis`
 * apart. */
typedef struct tl_window_piece {
  int64_t from;
  int64_t first;
  int64_t count;
} tl_window_piece;

/* tap: position in the kernel by axis. */
tl_window_piece tl_window_piece_of(const tl_windows *w, const tl_window_run *r,
                                   const int64_t *tap);
/* Splits a tap's number into positions. */
void tl_window_tap(const tl_windows *w, int64_t number, int64_t *tap);
/* The next tap in row-major order; false after the last one, when it is back at the first. */
static inline bool tl_window_next_tap(const tl_windows *w, int64_t *tap) {
  for (int i = w->n - 1; i >= 0; i--) {
    if (++tap[i] < w->kernel[i])
      return true;
    tap[i] = 0;
  }
  return false;
}

#endif
