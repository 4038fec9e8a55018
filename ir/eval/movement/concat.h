/* SPDX-License-Identifier: Apache-2.0 */
/* Concatenates tensors of any type, for kernels. */
#ifndef TL_IR_EVAL_MOVEMENT_CONCAT_H
#define TL_IR_EVAL_MOVEMENT_CONCAT_H

#include "ir/eval/kernel/move.h"

/* Makes result 0: n tensors side by side along an axis, which may be negative. One tensor passes as
 * it is. TL_INVALID_MODEL when the parts do not fit together. */
tl_status tl_eval_concat_parts(tl_eval *ctx, const tl_host *const *parts, uint32_t n,
                               int64_t axis) TL_NODISCARD;

#endif
