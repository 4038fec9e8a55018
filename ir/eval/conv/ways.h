/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution and the two ways to compute it: packing for a matrix product (pack.c), and directly
 * (direct.c). Which way is taken is decided in conv.c. */
#ifndef TL_IR_EVAL_CONV_WAYS_H
#define TL_IR_EVAL_CONV_WAYS_H

#include "ir/eval/conv/window.h"
#include "ir/eval/linear/products.h"

/* How numbers are read from operands. */
typedef enum tl_conv_source { TL_CONV_F32, TL_CONV_F64, TL_CONV_U8, TL_CONV_I8 } tl_conv_source;

/* A convolution; tl_conv_open sets all but y, bias and the zero points. All pointers are
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
  const void *bias;      /* [groups * out_channels] as y, where sums begin; NULL: 0 */
} tl_conv;

/* Packs windows of the input for the product; a tl_gemm_pack whose user is the tl_conv. */
void tl_conv_pack_windows(const void *user, const tl_gemm_block *b, void *dst);
/* Packs weights of 8-bit integers, less their zero points; the same. */
void tl_conv_pack_weights(const void *user, const tl_gemm_block *b, void *dst);
/* Computes y without a product; channels first only. */
void tl_conv_direct(const tl_eval *ctx, const tl_conv *c);

#endif
