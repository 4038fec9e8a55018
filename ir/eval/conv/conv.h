/* SPDX-License-Identifier: Apache-2.0 */
/* Computes convolutions of every dtype and layout. There are two ways. As a matrix product, whose
 * packing function reads the windows from the input, so that no matrix of windows is ever stored;
 * or directly, when a group has too few channels for that to pay. In both, sums run over channels,
 * then over taps, so that the result does not depend on the way (channels-last weights: over taps
 * first). */
#ifndef TL_IR_EVAL_CONV_CONV_H
#define TL_IR_EVAL_CONV_CONV_H

#include "ir/eval/conv/window.h"
#include "ir/eval/linear/gemm.h"

/* How numbers are read from operands. */
typedef enum tl_conv_source { TL_CONV_F32, TL_CONV_F64, TL_CONV_U8, TL_CONV_I8 } tl_conv_source;

/* A convolution; tl_conv_open sets all but y, accumulate and the zero points. All pointers are
 * borrowed. */
typedef struct tl_conv {
  tl_windows window;
  int64_t batch;
  int64_t groups;
  int64_t in_channels;  /* of a group */
  int64_t out_channels; /* of a group */
  bool channels_last;   /* of input and result */
  bool taps_first;      /* the weight's channels lie behind its taps: [M, k..., C/group] */
  const void *x;
  const void *w;
  uint8_t x_source; /* tl_conv_source */
  uint8_t w_source;
  int32_t x_zero;        /* integers: subtracted; padding is zero after that */
  const int32_t *w_zero; /* [groups * out_channels]; NULL: 0 */
  void *y;               /* f32, f64; for integer operands 32-bit integers */
  bool accumulate;       /* add to what y holds */
} tl_conv;

/* Reads the sizes from operands x_at and w_at and the attributes of the node. x, w and their
 * sources are set, y is not. TL_INVALID_MODEL when the shapes do not fit, TL_UNSUPPORTED for other
 * dtypes. */
tl_status tl_conv_open(tl_eval *ctx, uint32_t x_at, uint32_t w_at, bool channels_last,
                       tl_conv *c) TL_NODISCARD;
/* Gives the shape of the result, of operand x's rank. */
void tl_conv_dims(const tl_conv *c, int64_t *dims);
/* Computes y, whose shape tl_conv_dims gives. */
tl_status tl_conv_run(tl_eval *ctx, const tl_conv *c) TL_NODISCARD;
/* Sets each channel of y to its bias. bias: one element a channel, of `size` bytes, 4 or 8. */
void tl_conv_fill(const tl_eval *ctx, const tl_conv *c, const void *bias, size_t size);

/* Computes Conv for the node with floats: operands X, W, B. *y: result 0. */
tl_status tl_conv_float(tl_eval *ctx, bool channels_last, tl_host **y) TL_NODISCARD;

/* Packs windows of the input for the product; a tl_gemm_pack whose user is the tl_conv. */
void tl_conv_pack_windows(const void *user, const tl_gemm_block *b, void *dst);
/* Packs weights of 8-bit integers, less their zero points; the same. */
void tl_conv_pack_weights(const void *user, const tl_gemm_block *b, void *dst);
/* Computes y without a product; channels first only. */
void tl_conv_direct(const tl_eval *ctx, const tl_conv *c);

#endif
