/* SPDX-License-Identifier: Apache-2.0 */
/* Reads activations that fused ops name in a string attribute, and applies them to a result in
 * place. */
#ifndef TL_IR_EVAL_MATH_FUSED_ACTIVATION_H
#define TL_IR_EVAL_MATH_FUSED_ACTIVATION_H

#include "ir/eval/kernel/kernel.h"

typedef enum tl_activation_kind {
  TL_ACT_NONE,
  TL_ACT_RELU,
  TL_ACT_TANH,
  TL_ACT_SIGMOID,
  TL_ACT_LEAKY_RELU,
  TL_ACT_CLIP,
  TL_ACT_HARD_SIGMOID,
  TL_ACT_SILU,
  TL_ACT_GELU,
  TL_ACT_FAST_GELU
} tl_activation_kind;

/* An activation and its parameters: alpha and beta, or the bounds of Clip. */
typedef struct tl_activation {
  tl_activation_kind kind;
  float p[2];
} tl_activation;

/* Reads the attribute `activation`, and its parameters from activation_params or from
 * activation_alpha and activation_beta. TL_ACT_NONE when the attribute is absent; TL_UNSUPPORTED
 * for a name that is not known. */
tl_status tl_activation_read(tl_eval *ctx, tl_activation *out) TL_NODISCARD;
/* Applies the activation to every element of t, a tensor of f32 or f64 that the kernel has just
 * made. */
tl_status tl_activation_apply(tl_eval *ctx, const tl_activation *a, tl_host *t) TL_NODISCARD;

#endif
