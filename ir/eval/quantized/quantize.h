/* SPDX-License-Identifier: Apache-2.0 */
/* For kernels that end in a quantized type. */
#ifndef TL_IR_EVAL_QUANTIZED_QUANTIZE_H
#define TL_IR_EVAL_QUANTIZED_QUANTIZE_H

#include "ir/eval/kernel/kernel.h"

typedef struct tl_quantizer {
  tl_dtype to;
  bool saturate; /* fp8 */
  float low;     /* integers */
  float high;
} tl_quantizer;

/* False when values cannot be quantized to the dtype. */
bool tl_quantizer_for(tl_dtype to, bool saturate, tl_quantizer *q);
typedef struct tl_zero_points {
  const float *at; /* NULL: 0 */
  size_t step;     /* from one element to the next; 0: one for all */
} tl_zero_points;

/* Elements first .. first + n of data are round(v) + zero, saturated; floats are cast. v is used
 * up. */
void tl_quantizer_store(const tl_quantizer *q, float *v, tl_zero_points zero, void *data,
                        uint64_t first, uint64_t n);

#endif
