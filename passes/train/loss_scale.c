/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/train/loss_scale.h"

#include <float.h>

/* Scales stop growing here, below the largest f32 (of the reference implementation). */
static const float ceiling = 3.4e38f;

typedef struct manager {
  const char *name;
  tl_loss_scale_config config;
} manager;

static const manager managers[] = {
    {"FixedLossScaleManager", {TL_LOSS_SCALE_FIXED, 128, 0, 0, 0, 0}},
    {"ExponentialUpdateLossScaleManager", {TL_LOSS_SCALE_EXPONENTIAL, 0, 2, 0.8f, 0, 2}},
    {"DynamicLossScaleManager", {TL_LOSS_SCALE_DYNAMIC, 16777216, 2, 0, 2000, 0}},
    {"torch_amp", {TL_LOSS_SCALE_EXPONENTIAL, 65536, 2, 0.5f, 2000, 1}},
};

bool tl_loss_scale_default(tl_sv name, tl_loss_scale_config *out) {
  for (unsigned i = 0; i < sizeof managers / sizeof *managers; i++) {
    if (tl_sv_is(name, managers[i].name)) {
      *out = managers[i].config;
      return true;
    }
  }
  return false;
}

static tl_status refuse(tl_diag *d, tl_location where, const char *what) {
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-LS-RANGE", where, "%s", what);
}

tl_status tl_loss_scale_check(tl_diag *d, tl_location where, const tl_loss_scale_config *c) {
  if (!(c->init >= 1) || c->init > FLT_MAX)
    return refuse(d, where, "the loss scale must be at least 1");
  if (c->kind == TL_LOSS_SCALE_FIXED || c->kind == TL_LOSS_SCALE_FIXED_BLIND)
    return TL_OK;
  if (!(c->up > 1) || c->up > FLT_MAX)
    return refuse(d, where, "the factor by which a loss scale grows must be greater than 1");
  if (c->grow < 1)
    return refuse(d, where,
                  "the number of finite steps before a loss scale grows must be positive");
  if (c->kind == TL_LOSS_SCALE_EXPONENTIAL && !(c->down > 0 && c->down < 1))
    return refuse(d, where, "the factor by which a loss scale shrinks must lie between 0 and 1");
  if (c->kind == TL_LOSS_SCALE_EXPONENTIAL && c->shrink < 1)
    return refuse(d, where, "the number of overflows before a loss scale shrinks must be positive");
  if (c->init < 16 && c->up > 100)
    tl_warn_code(d, "W-LS-SWAP", where,
                 "a loss scale of %g that grows by %g: were the parameters given without their "
                 "names, in another order?",
                 (double)c->init, (double)c->up);
  return TL_OK;
}

tl_loss_scale_state tl_loss_scale_start(const tl_loss_scale_config *c) {
  return (tl_loss_scale_state){.scale = c->init, .step = 1};
}

static float at_least_one(float v) { return v < 1 ? 1 : v; }

static float grown(const tl_loss_scale_config *c, float scale) {
  return scale < ceiling / c->up ? scale * c->up : scale;
}

/* Grows after `grow` finite steps in a row; shrinks after `shrink` overflows, in a row or not. */
static tl_loss_scale_state exponential(const tl_loss_scale_config *c, tl_loss_scale_state s,
                                       bool finite) {
  tl_loss_scale_state next = s;
  if (finite && s.good + 1 >= c->grow) {
    next.scale = grown(c, s.scale);
    next.good = next.bad = 0;
  } else if (finite) {
    next.good = s.good + 1;
  } else if (s.bad + 1 >= c->shrink) {
    next.scale = at_least_one(s.scale * c->down);
    next.good = next.bad = 0;
  } else {
    next.bad = s.bad + 1;
    next.good = 0;
  }
  return next;
}

/* Shrinks with every overflow; grows `grow` steps after the last change. */
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
