/* SPDX-License-Identifier: Apache-2.0 */
/* Casts a tensor to another element type, for Cast and for kernels that end in a cast. One rule of
 * rounding for all of them: each element is rounded once. */
#ifndef TL_IR_EVAL_KERNEL_CAST_H
#define TL_IR_EVAL_KERNEL_CAST_H

#include "ir/eval/kernel/kernel.h"

/* Makes result 0: the elements of `from` as type `to`, by the rules of ONNX Cast. Reads the node's
 * attributes saturate and round_mode where it has them. Errors: TL_UNSUPPORTED for complex types,
 * TL_INVALID_MODEL for a string that is not a number, TL_NO_MEMORY, TL_LIMIT. */
tl_status tl_cast_to(tl_eval *ctx, const tl_host *from, tl_dtype to);
/* Appends a number in numpy's layout. text: the number as printf's "%.*e" prints it. */
void tl_cast_layout(tl_buf *out, const char *text);

#endif
