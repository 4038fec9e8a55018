/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/train/scale/loss_scale.h"

/* Scales stop growing here, below the largest f32 (of the reference implementation). */
static const float ceiling = 3.4e38f;

tl_loss_scale_state tl_loss_scale_start(const tl_loss_scale_config *c) {
  return (tl_loss_scale_state){.scale = c->init, .step = 1};
}

static float at_least_one(float v) { return v < 1 ? 1 : v; }

float tl_loss_scale_limit(const tl_loss_scale_config *c) { return ceiling / c->up; }

static float grown(const tl_loss_scale_config *c, float scale) {
  return scale < tl_loss_scale_limit(c) ? scale * c->up : scale;
}

/* Grows after `grow` finite steps in a row; shrinks after `shrink` overflows, not necessarily in a
 * row. */
static tl_loss_scale_state exponential(const tl_loss_scale_config *c, tl_loss_scale_state s,
                                       bool finite) {
  tl_loss_scale_state next = s;
  if (finite && s.good + 1 >= c->grow) {
    next.scale = grown(c, s.scale);
    next.good = next.bad = 0;
  } else if (finite) {
    next.good = s.good + 1;
  } else if (s.bad + 1 >= c->shrink) {
    next.scale = c->sinks ? s.scale * c->down : at_least_one(s.scale * c->down);
    next.good = next.bad = 0;
  } else {
    next.bad = s.bad + 1;
    next.good = 0;
  }
  return next;
}

/* Shrinks at every overflow; grows `grow` steps after the last change. */
static tl_loss_scale_state dynamic(const tl_loss_scale_config *c, tl_loss_scale_state s,
                                   bool finite) {
  tl_loss_scale_state next = s;
  bool due = s.step - s.last >= c->grow;
  if (!finite)
    next.scale = at_least_one(s.scale * (1 / c->up));
  else if (due)
    next.scale = grown(c, s.scale);
  if (!finite || due)
    next.last = s.step;
  next.step = s.step + 1;
  return next;
}

tl_loss_scale_state tl_loss_scale_next(const tl_loss_scale_config *c, tl_loss_scale_state s,
                                       bool finite) {
  switch (c->kind) {
  case TL_LOSS_SCALE_EXPONENTIAL: return exponential(c, s, finite);
  case TL_LOSS_SCALE_DYNAMIC: return dynamic(c, s, finite);
  default: return s;
  }
}
