/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when training leaves the low precision of accelerate_train_mode; pure functions in f32.
 * The training frameworks compute the thresholds in f32, too. */
#ifndef TL_PASSES_TRAIN_TIME_ACCELERATE_H
#define TL_PASSES_TRAIN_TIME_ACCELERATE_H

#include <stdbool.h>

#include "ir/options/accelerate.h"

/* Returns the step at which a run of `total` steps switches: trunc(f32(total) * ratio). */
int64_t tl_accelerate_step(int64_t total, float ratio);
/* Returns the loss at or below which training switches: f32(target) * ratio. */
float tl_accelerate_loss(float target, float ratio);

/* State between two calls; zero-initialise it. */
typedef struct tl_accelerate_latch {
  bool switched;   /* there is no way back */
  bool off_target; /* the look that switched did not see the threshold itself, but a value beyond */
} tl_accelerate_latch;

/* Returns true if the next step must run in high precision. now: the observed step or loss; a loss
 * of 0 has not been measured yet. Once true, it stays true. */
bool tl_accelerate_should_switch(const tl_accelerate *a, double now, tl_accelerate_latch *latch);

#endif
