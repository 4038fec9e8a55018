/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the next state of a loss-scale manager after a step.
 * Pure functions in f32, as the graph computes them; the form of the rule as graph nodes is tested
 * against them. */
#ifndef TL_PASSES_TRAIN_SCALE_LOSS_SCALE_H
#define TL_PASSES_TRAIN_SCALE_LOSS_SCALE_H

#include "ir/options/loss_scale.h"

/* State that one step hands to the next. EXPONENTIAL uses good and bad, DYNAMIC uses step and
 * last. */
typedef struct tl_loss_scale_state {
  float scale;
  int32_t good; /* finite steps in a row */
  int32_t bad;  /* steps with overflow since the last change */
  int32_t step; /* number of the next step, from 1 */
  int32_t last; /* step of the last change */
} tl_loss_scale_state;

/* Returns the limit below which a scale can grow and stay finite in f32. */
float tl_loss_scale_limit(const tl_loss_scale_config *c);

/* Returns the state before the first step. */
tl_loss_scale_state tl_loss_scale_start(const tl_loss_scale_config *c);
/* Returns the state after a step; finite: no gradient overflowed. */
tl_loss_scale_state tl_loss_scale_next(const tl_loss_scale_config *c, tl_loss_scale_state s,
                                       bool finite);

#endif
