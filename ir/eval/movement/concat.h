/* SPDX-License-Identifier: Apache-2.0 */
/* Concatenation of any tensors, for kernels. */
#ifndef TL_IR_EVAL_MOVEMENT_CONCAT_H
#define TL_IR_EVAL_MOVEMENT_CONCAT_H

#include "ir/eval/kernel/move.h"

/* Result 0: n tensors side by side along an axis, which may be negative. Checks that they fit. */
tl_status tl_eval_concat_parts(tl_eval *x, const tl_host *const *parts, uint32_t n, int64_t axis)
    TL_NODISCARD;

#endif
