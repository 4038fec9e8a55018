/* SPDX-License-Identifier: Apache-2.0 */
/* Computes convolutions of every dtype and layout. There are two ways. As a matrix product, whose
 * packing function reads the windows from the input, so that no matrix of windows is ever stored;
 * or directly, when a group has too few channels for that to pay. In both, sums run over channels,
 * then over taps, so that the result does not depend on the way (channels-last weights: over taps
 * first). */
#ifndef TL_IR_EVAL_CONV_CONV_H
#define TL_IR_EVAL_CONV_CONV_H

#include "ir/eval/conv/ways.h"

/* Reads the sizes from operands x_at and w_at and the attributes of the node. x, w and their
 * sources are set, y is not. TL_INVALID_MODEL when the shapes do not fit, TL_UNSUPPORTED for other
 * dtypes. */
tl_status tl_conv_open(tl_eval *ctx, uint32_t x_at, uint32_t w_at, bool channels_last,
                       tl_conv *c) TL_NODISCARD;
/* Gives the shape of the result, of operand x's rank. */
void tl_conv_dims(const tl_conv *c, int64_t *dims);
/* Computes y, whose shape tl_conv_dims gives. */
tl_status tl_conv_run(tl_eval *ctx, const tl_conv *c) TL_NODISCARD;
/* Sets each channel of y to its bias. */
void tl_conv_fill(const tl_eval *ctx, const tl_conv *c);

/* Computes Conv for the node with floats: operands X, W, B. *y: result 0. */
tl_status tl_conv_float(tl_eval *ctx, bool channels_last, tl_host **y) TL_NODISCARD;

#endif
