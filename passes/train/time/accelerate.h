/* SPDX-License-Identifier: Apache-2.0 */
/* When training leaves the low precision of accelerate_train_mode: pure functions, in f32 as the
 * frameworks compute them. */
#ifndef TL_PASSES_TRAIN_TIME_ACCELERATE_H
#define TL_PASSES_TRAIN_TIME_ACCELERATE_H

#include <stdbool.h>

#include "ir/options/accelerate.h"

/* The step at which a run of `total` steps switches: trunc(f32(total) * ratio). */
int64_t tl_accelerate_step(int64_t total, float ratio);
/* The loss at or below which training switches: f32(target) * ratio. */
float tl_accelerate_loss(float target, float ratio);

/* What is remembered between two looks. Zero-initialise it. */
typedef struct tl_accelerate_latch {
  bool switched;   /* there is no way back */
  bool off_target; /* the look that switched did not see the threshold itself, but a value beyond */
} tl_accelerate_latch;

/* Whether the step that follows is to run in high precision. now: the observed step, or loss; a
 * loss of 0 has not been measured yet. Once true, true for ever. */
bool tl_accelerate_should_switch(const tl_accelerate *a, double now, tl_accelerate_latch *latch);

#endif
