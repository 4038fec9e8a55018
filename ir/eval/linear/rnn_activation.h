/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions of the gates of recurrent layers: RNN, GRU and LSTM. */
#ifndef TL_IR_EVAL_LINEAR_RNN_ACTIVATION_H
#define TL_IR_EVAL_LINEAR_RNN_ACTIVATION_H

#include "ir/eval/kernel/kernel.h"

enum { TL_RNN_MAX_GATES = 4, TL_RNN_MAX_ACTIVATIONS = 3 };

typedef enum tl_rnn_function {
  TL_RNN_RELU,
  TL_RNN_TANH,
  TL_RNN_SIGMOID,
  TL_RNN_AFFINE,
  TL_RNN_LEAKY_RELU,
  TL_RNN_THRESHOLDED_RELU,
  TL_RNN_SCALED_TANH,
  TL_RNN_HARD_SIGMOID,
  TL_RNN_ELU,
  TL_RNN_SOFTSIGN,
  TL_RNN_SOFTPLUS,
  TL_RNN_N_FUNCTIONS
} tl_rnn_function;

/* A function with its parameters. */
typedef struct tl_rnn_activation {
  tl_rnn_function function;
  double alpha;
  double beta;
  double clip; /* inputs are limited to [-clip, clip]; 0: not */
} tl_rnn_activation;

/* Returns the function of v, which is clipped first. */
double tl_rnn_apply(const tl_rnn_activation *a, double v);

/* Reads `activations`, activation_alpha, activation_beta and clip: `each` functions for each of
 * `directions`, the defaults where the attribute is absent. out: [directions * each].
 * TL_INVALID_MODEL, TL_UNSUPPORTED for a name that is not known. */
tl_status tl_rnn_read_activations(tl_eval *ctx, uint32_t directions, uint32_t each,
                                  const tl_rnn_function *defaults,
                                  tl_rnn_activation *out) TL_NODISCARD;

#endif
