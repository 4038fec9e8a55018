/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows over a host tensor: sizes of convolution and pooling, and which input elements a
 * row of windows sees. Positions are computed, data is not touched. */
#ifndef TL_IR_EVAL_CONV_WINDOW_H
#define TL_IR_EVAL_CONV_WINDOW_H

#include "ir/eval/kernel/kernel.h"

/* Windows over the spatial axes of a tensor. Sizes and steps are in elements. */
typedef struct tl_windows {
  int n; /* spatial axes; with none there is one window of one element */
  int64_t in[TL_MAX_RANK];
  int64_t out[TL_MAX_RANK];
  int64_t kernel[TL_MAX_RANK];
  int64_t stride[TL_MAX_RANK];
  int64_t dilation[TL_MAX_RANK];
  int64_t begin[TL_MAX_RANK]; /* padding before the first element; may be negative */
  int64_t end[TL_MAX_RANK];   /* padding after the last one, as the attributes say */
  int64_t taps;               /* positions of the kernel */
  int64_t in_plane;           /* elements of all spatial axes */
  int64_t out_plane;
} tl_windows;

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode, and computes `out`. in: n
 * sizes. kernel: n sizes; NULL: from the attribute, which then must be present.
 * TL_INVALID_MODEL. */
tl_status tl_window_open(tl_eval *ctx, int n, const int64_t *in, const int64_t *kernel,
                         tl_windows *w) TL_NODISCARD;
/* As tl_window_open, without the sizes that depend on the output: sets kernel, strides, dilations,
 * explicit pads and `in`. */
tl_status tl_window_attributes(tl_eval *ctx, int n, const int64_t *in, const int64_t *kernel,
                               tl_windows *w) TL_NODISCARD;
/* Reads a spatial list attribute of n values from `min` to 2^31 - 1; .at is NULL when it is absent
 * or empty. */
tl_status tl_window_list(tl_eval *ctx, tl_symbol name, uint32_t n, int64_t min,
                         tl_int_list *out) TL_NODISCARD;
/* Sets taps, in_plane and out_plane. TL_INVALID_MODEL when they cannot be counted. */
tl_status tl_window_count(tl_eval *ctx, tl_windows *w) TL_NODISCARD;

/* Windows that are neighbours along the last axis. */
typedef struct tl_window_run {
  int64_t at; /* index of the first window in the output plane */
  int64_t count;
  int64_t lane;               /* of the first one in a block of windows */
  int64_t index[TL_MAX_RANK]; /* of the first window by axis */
} tl_window_run;

/* Finds the run that begins at window `at` and is at most `most` windows long; sets all but
 * lane. */
void tl_window_run_at(const tl_windows *w, int64_t at, int64_t most, tl_window_run *r);

/* Those windows of a run for which one tap lies inside the input: `count` windows from number
 * `first` on. Their elements begin at `from` in the input plane and are the last axis' stride
 * apart. */
typedef struct tl_window_piece {
  int64_t from;
  int64_t first;
  int64_t count;
} tl_window_piece;

/* Finds the piece of a tap. tap: its position in the kernel by axis. */
tl_window_piece tl_window_piece_of(const tl_windows *w, const tl_window_run *r, const int64_t *tap);
/* Splits a tap's number into its position by axis. */
void tl_window_tap(const tl_windows *w, int64_t number, int64_t *tap);
/* Moves to the next tap in row-major order; false after the last one, when it is back at the
 * first. */
static inline bool tl_window_next_tap(const tl_windows *w, int64_t *tap) {
  for (int i = w->n - 1; i >= 0; i--) {
    if (++tap[i] < w->kernel[i])
      return true;
    tap[i] = 0;
  }
  return false;
}

#endif
