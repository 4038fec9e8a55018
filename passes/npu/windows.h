/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether rounding up adds windows to a pool's result that ONNX does not count. */
#ifndef TL_PASSES_NPU_WINDOWS_H
#define TL_PASSES_NPU_WINDOWS_H

#include "passes/expr/expr.h"

/* Returns true if the last window of the pool at site->node may begin in the padding when the size
 * of the result is rounded up, for the guard ends_in_padding. Sizes do not matter. */
bool tl_npu_ends_in_padding(tl_site *site);

#endif
