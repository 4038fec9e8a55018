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
/* Elements first .. first + n of data are round(v) + zero, saturated; floats are cast. zero NULL:
 * 0, else it advances by zero_step. v is used up. */
void tl_quantizer_store(const tl_quantizer *q, float *v, const float *zero, size_t zero_step,
                        void *data, uint64_t first, uint64_t n);

#endif
