/* SPDX-License-Identifier: Apache-2.0 */
/* What a user declares of a training step, by names: metadata tailor.train.* of a model, or a
 * file. Read by frontend/config, looked up in the graph by the passes. Every pointer is borrowed
 * from whoever filled the struct. */
#ifndef TL_IR_OPTIONS_TRAIN_SPEC_H
#define TL_IR_OPTIONS_TRAIN_SPEC_H

#include "support/str.h"

/* A parameter and its gradient; rows of a sparse one have indices. */
typedef struct tl_declared_grad {
  tl_sv param;
  tl_sv grad;
  tl_sv indices; /* n == 0: dense */
} tl_declared_grad;

/* Input and next value: by names, or, where a name is empty, by positions among the inputs and
 * outputs of the graph, from 0. */
typedef struct tl_declared_state {
  tl_sv input;
  tl_sv output;
  uint32_t input_at;
  uint32_t output_at;
} tl_declared_state;

enum { TL_DECLARED_STATES = 4 };

/* An op that updates one parameter; indices of operands and results. */
typedef struct tl_declared_update {
  tl_sv type; /* "Op" or "domain::Op" */
  uint32_t param;
  uint32_t grad;
  uint32_t states[TL_DECLARED_STATES];
  uint32_t n_states;
  uint32_t out[TL_DECLARED_STATES + 1]; /* of the parameter, then of its states */
  uint32_t n_out;
} tl_declared_update;

typedef struct tl_train_spec {
  const tl_sv *params; /* the only ones that are trained; n_params == 0: all that are found */
  uint32_t n_params;
  const tl_declared_grad *grads;
  uint32_t n_grads;
  const tl_declared_state *states;
  uint32_t n_states;
  const tl_declared_update *updates;
  uint32_t n_updates;
  const tl_sv *order; /* parameters or gradients, ready first; n_order == 0: as found */
  uint32_t n_order;
  tl_sv loss; /* n == 0: not said */
  tl_sv seed;
} tl_train_spec;

#endif
