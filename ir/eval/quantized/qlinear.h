/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of com.microsoft's QLinear ops share: bytes with a scalar scale and zero point. */
#ifndef TL_IR_EVAL_QUANTIZED_QLINEAR_H
#define TL_IR_EVAL_QUANTIZED_QLINEAR_H

#include "ir/eval/quantized/quantize.h"

/* Scale and zero point of a tensor. */
typedef struct tl_scaled {
  float scale;
  float zero;
} tl_scaled;

/* Reads a scale, operand i, and the optional zero point behind it. TL_INVALID_MODEL without a
 * scale. */
tl_status tl_qlinear_scale(tl_eval *ctx, uint32_t i, tl_scaled *out) TL_NODISCARD;
/* Checks that operand i holds i8 or u8, and gives that type and its quantizer. */
tl_status tl_qlinear_bytes(tl_eval *ctx, uint32_t i, tl_dtype *d, tl_quantizer *q) TL_NODISCARD;

/* Returns the number that a byte of dtype i8 or u8 stands for. */
static inline float tl_qlinear_value(const tl_scaled *s, tl_dtype d, uint8_t byte) {
  float v = d == TL_DTYPE_I8 ? (float)(byte > 127 ? byte - 256 : byte) : (float)byte;
  return (v - s->zero) * s->scale;
}

#endif
