/* SPDX-License-Identifier: Apache-2.0 */
/* Stores numbers in quantized types, for kernels that end in one. */
#ifndef TL_IR_EVAL_QUANTIZED_QUANTIZE_H
#define TL_IR_EVAL_QUANTIZED_QUANTIZE_H

#include "ir/eval/kernel/kernel.h"

/* How to quantize to a type. */
typedef struct tl_quantizer {
  tl_dtype to;
  bool saturate; /* fp8 */
  float low;     /* integers */
  float high;
} tl_quantizer;

/* Sets the quantizer of a dtype; false when values cannot be quantized to it. saturate: of fp8
 * types. */
bool tl_quantizer_for(tl_dtype to, bool saturate, tl_quantizer *q);
/* Zero points along a run of elements. */
typedef struct tl_zero_points {
  const float *at; /* NULL: 0 */
  size_t step;     /* from one element to the next; 0: one for all */
} tl_zero_points;

/* Stores round(v) + zero, saturated, as elements first to first + n of data; for float types v is
 * cast. v is used up. */
void tl_quantizer_store(const tl_quantizer *q, float *v, tl_zero_points zero, void *data,
                        uint64_t first, uint64_t n);

#endif
