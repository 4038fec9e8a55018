/* SPDX-License-Identifier: Apache-2.0 */
/* Results of any number type: for kernels whose dtype is an attribute. */
#ifndef TL_IR_EVAL_KERNEL_NUMBER_H
#define TL_IR_EVAL_KERNEL_NUMBER_H

#include "ir/eval/kernel/kernel.h"

/* Result i of dtype, or f32 for the narrow floats (the kernel is `wide`). */
tl_status tl_eval_number_result(tl_eval *x, uint32_t i, tl_dtype dtype, int rank,
                                const int64_t *dims, tl_host **out) TL_NODISCARD;
/* Stores v in element i: integers are truncated and saturate, NaN gives 0; bool: v is not 0. */
void tl_store_number(tl_host *t, uint64_t i, double v);

/* The dtype of an integer attribute, `fallback` when it is absent; must be a number or bool. */
tl_status tl_eval_dtype_attr(tl_eval *x, tl_symbol name, tl_dtype fallback, tl_dtype *out)
    TL_NODISCARD;

#endif
