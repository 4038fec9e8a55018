/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the thresholds of accelerate_train_mode and the one-way switch. */
#include "passes/train/time/accelerate.h"

int64_t tl_accelerate_step(int64_t total, float ratio) {
  float steps = (float)total;
  float at = steps * ratio; /* ratio is below 1: what fits before fits after */
  return (int64_t)at;
}

float tl_accelerate_loss(float target, float ratio) { return target * ratio; }

/* The last loop of a run is the last chance to switch, since a loop cannot be interrupted. */
static bool step_is_due(const tl_accelerate *a, double now, bool *exact) {
  double at = (double)tl_accelerate_step(a->total_step, a->ratio);
  *exact = now == at;
  return now >= at || now >= (double)a->total_step - (double)a->iterations_per_loop;
}

static bool loss_is_due(const tl_accelerate *a, double now, bool *exact) {
  float at = tl_accelerate_loss(a->final_loss, a->ratio);
  float loss = (float)now;
  *exact = !(loss < at) && !(loss > at);
  return now != 0 && loss <= at;
}

bool tl_accelerate_should_switch(const tl_accelerate *a, double now, tl_accelerate_latch *latch) {
  bool exact;
  if (latch->switched)
    return true;
  latch->switched = a->trigger == TL_ACCELERATE_STEP ? step_is_due(a, now, &exact)
                                                     : loss_is_due(a, now, &exact);
  latch->off_target = latch->switched && !exact;
  return latch->switched;
}
