/* SPDX-License-Identifier: Apache-2.0 */
/* Makes results of any number type, for kernels whose dtype is an attribute. */
#ifndef TL_IR_EVAL_KERNEL_NUMBER_H
#define TL_IR_EVAL_KERNEL_NUMBER_H

#include "ir/eval/kernel/kernel.h"

/* Makes result i of type dtype, or f32 for narrow floats (the kernel is `wide`, the driver rounds).
 * TL_UNSUPPORTED for types below a byte. */
tl_status tl_eval_number_result(tl_eval *ctx, uint32_t i, tl_dtype dtype, int rank,
                                const int64_t *dims, tl_host **out) TL_NODISCARD;
/* Stores v in element i. Integers are truncated and saturate, NaN gives 0; a bool is v != 0. */
void tl_store_number(tl_host *t, uint64_t i, double v);

/* Reads an attribute that holds an ONNX type number; `fallback` when it is absent. TL_INVALID_MODEL
 * unless the type is a number or bool. */
tl_status tl_eval_dtype_attr(tl_eval *ctx, tl_symbol name, tl_dtype fallback,
                             tl_dtype *out) TL_NODISCARD;

#endif
