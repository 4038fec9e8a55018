/* SPDX-License-Identifier: Apache-2.0 */
/* What casting a constant would do to its numbers, found in one pass over its bytes. */
#ifndef TL_IR_TENSOR_COUNT_H
#define TL_IR_TENSOR_COUNT_H

#include "ir/half.h"
#include "ir/tensor.h"

/* Counts over the elements of a tensor of f32, f16, bf16 or f64 (any source) as if each were
 * rounded to `to`, F16 or BF16; an f64 is rounded to f32 first. Without finite elements the range
 * is empty: least is INFINITY and greatest -INFINITY. False, with nothing counted, for other
 * dtypes. */
bool tl_tensor_count(const tl_tensor *t, tl_dtype to, tl_float_counts *out);

#endif
