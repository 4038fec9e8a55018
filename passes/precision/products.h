/* SPDX-License-Identifier: Apache-2.0 */
/* Where results of linear ops lie when their weights are constants: not by the largest weight and
 * how many there are, but by what the weights of each output add up to. */
#ifndef TL_PASSES_PRECISION_PRODUCTS_H
#define TL_PASSES_PRECISION_PRODUCTS_H

#include "ir/module.h"
#include "passes/precision/intervals.h"
#include "support/vec.h"

TL_VEC(tl_weight_sums, double);

/* A product of kind MATMUL, GEMM, CONV or DECONV, without alpha, beta and bias, whose operand
 * `constant` (0 or 1) is one: the interval over all outputs of sum(w * x) for x anywhere in `x`.
 * Reads the weights once, unless x is not bounded. room: scratch, kept between calls. Unknown when
 * nothing can be said. O(weights). */
tl_interval tl_range_weighted(tl_module *m, tl_node_id n, tl_range_kind kind, uint32_t constant,
                              tl_interval x, tl_weight_sums *room);

/* BatchNormalization with constant parameters, not in training: over all channels. */
tl_interval tl_range_batch_norm(tl_module *m, tl_node_id n, tl_interval x);

#endif
