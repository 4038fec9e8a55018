/* SPDX-License-Identifier: Apache-2.0 */
/* For kernels that end in a cast. */
#ifndef TL_IR_EVAL_KERNEL_CAST_H
#define TL_IR_EVAL_KERNEL_CAST_H

#include "ir/eval/kernel/kernel.h"

/* Result 0 is `from` as another element type, by the rules of Cast (attributes saturate and
 * round_mode of the node, where it has them). */
tl_status tl_cast_to(tl_eval *x, const tl_host *from, tl_dtype to);
/* Adds a number printed as "%.*e" in numpy's layout. */
void tl_cast_layout(tl_buf *out, const char *text);

#endif
