/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of linear ops with constant weights. The bound uses the sum of the weights of each
 * output, not the largest weight times their number. */
#ifndef TL_PASSES_PRECISION_PRODUCTS_H
#define TL_PASSES_PRECISION_PRODUCTS_H

#include "ir/module.h"
#include "passes/precision/intervals.h"
#include "support/vec.h"

TL_VEC(tl_weight_sums, double);

/* Returns the interval over all outputs of sum(w * x), x anywhere in `x`, for a product of kind
 * MATMUL, GEMM, CONV or DECONV whose operand `constant` (0 or 1) is a constant; without alpha, beta
 * and bias. Reads the weights once, unless x is unbounded. room: scratch, reused between calls.
 * Unknown if nothing can be said. O(weights). */
tl_interval tl_range_weighted(tl_module *m, tl_node_id n, tl_range_kind kind, uint32_t constant,
                              tl_interval x, tl_weight_sums *room);

/* Returns the interval of BatchNormalization over all channels; unknown in training mode or if a
 * parameter is not constant. O(channels). */
tl_interval tl_range_batch_norm(tl_module *m, tl_node_id n, tl_interval x);

#endif
