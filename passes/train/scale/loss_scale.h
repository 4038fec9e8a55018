/* SPDX-License-Identifier: Apache-2.0 */
/* Loss-scale managers as state machines: what a scale becomes after a step. Pure functions, in f32
 * as the graph computes them; the graph form is checked against them.
 */
#ifndef TL_PASSES_TRAIN_SCALE_LOSS_SCALE_H
#define TL_PASSES_TRAIN_SCALE_LOSS_SCALE_H

#include "ir/options/loss_scale.h"

/* What steps carry on. EXPONENTIAL uses good and bad, DYNAMIC uses step and last. */
typedef struct tl_loss_scale_state {
  float scale;
  int32_t good; /* finite steps in a row */
  int32_t bad;  /* steps with overflow since the last change */
  int32_t step; /* number of the next step, from 1 */
  int32_t last; /* step of the last change */
} tl_loss_scale_state;

/* A scale below it can grow and stays finite. */
float tl_loss_scale_limit(const tl_loss_scale_config *c);

tl_loss_scale_state tl_loss_scale_start(const tl_loss_scale_config *c);
/* The state after a step whose gradients were finite, or not. */
tl_loss_scale_state tl_loss_scale_next(const tl_loss_scale_config *c, tl_loss_scale_state s,
                                       bool finite);

#endif
