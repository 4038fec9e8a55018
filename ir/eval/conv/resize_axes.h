/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of Resize: where a result element lies in the operand, and which operand elements it
 * is made of with which weights. It knows one axis at a time and touches no data. */
#ifndef TL_IR_EVAL_CONV_RESIZE_AXES_H
#define TL_IR_EVAL_CONV_RESIZE_AXES_H

#include "ir/eval/kernel/kernel.h"

typedef enum tl_resize_mode { TL_RESIZE_NEAREST, TL_RESIZE_LINEAR, TL_RESIZE_CUBIC } tl_resize_mode;

/* How a result coordinate becomes one of the operand. */
typedef enum tl_resize_map {
  TL_RESIZE_HALF_PIXEL,
  TL_RESIZE_HALF_PIXEL_SYMMETRIC,
  TL_RESIZE_PYTORCH_HALF_PIXEL,
  TL_RESIZE_ALIGN_CORNERS,
  TL_RESIZE_ASYMMETRIC,
  TL_RESIZE_TF_CROP,
  TL_RESIZE_TF_HALF_PIXEL_NN
} tl_resize_map;

/* Which neighbour is nearest. */
typedef enum tl_resize_near {
  TL_RESIZE_PREFER_FLOOR,
  TL_RESIZE_PREFER_CEIL,
  TL_RESIZE_FLOOR,
  TL_RESIZE_CEIL
} tl_resize_near;

/* The options and sizes of one Resize. */
typedef struct tl_resize {
  tl_resize_mode mode;
  tl_resize_map map;
  tl_resize_near near;
  bool antialias;
  bool exclude_outside;
  double cubic_a;
  double extrapolation;
  int64_t out[TL_MAX_RANK]; /* dims of the result */
  bool sized;               /* out are the exact sizes; else those are dims times scale */
  double scale[TL_MAX_RANK];
  double from[TL_MAX_RANK]; /* region of interest, in [0, 1] of the axis */
  double to[TL_MAX_RANK];
} tl_resize;

/* The taps of one axis: result i is the sum over k < n of weight[i * n + k] * operand[index[i * n +
 * k]]. */
typedef struct tl_taps {
  uint64_t n;
  int64_t *index;
  double *weight; /* NULL for nearest, where n is 1 */
  bool *outside;  /* [out]; NULL unless cropping */
  bool identity;  /* nothing happens along this axis */
} tl_taps;

/* Reads and checks attributes and operands of the node. TL_INVALID_MODEL. */
tl_status tl_resize_read(tl_eval *ctx, tl_resize *r) TL_NODISCARD;
/* Sets map and near from values of the attributes; false when one is not known. */
bool tl_resize_modes(tl_sv map, tl_sv near, tl_resize *r);
/* Returns the operand element that result element i is in nearest mode, along an axis of length
 * `in` > 0. Of r it reads map, near, sized, and the axis' out, scale, from and to. */
int64_t tl_resize_nearest(const tl_resize *r, int axis, int64_t in, int64_t i);
/* Makes the taps of an axis of length `in` > 0 and result length > 0, in scratch. TL_INVALID_MODEL,
 * TL_NO_MEMORY. */
tl_status tl_resize_taps(tl_eval *ctx, const tl_resize *r, int axis, int64_t in,
                         tl_taps *taps) TL_NODISCARD;

#endif
