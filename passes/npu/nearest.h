/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether a Resize picks the elements that ResizeNearestNeighborV2 picks. */
#ifndef TL_PASSES_NPU_NEAREST_H
#define TL_PASSES_NPU_NEAREST_H

#include "passes/expr/expr.h"

/* Returns true if both ops pick the same elements at x->node, for the guard tf_nearest. False if a
 * size or a scale is not known. O(places of the result's axes). */
bool tl_npu_tf_nearest(tl_site *site);

#endif
