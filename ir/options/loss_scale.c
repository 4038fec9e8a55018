/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/options/loss_scale.h"

#include <float.h>

typedef struct manager {
  const char *name;
  tl_loss_scale_config config;
} manager;

static const manager managers[] = {
    {"FixedLossScaleManager", {TL_LOSS_SCALE_FIXED, 128, 0, 0, 0, 0, false}},
    {"ExponentialUpdateLossScaleManager", {TL_LOSS_SCALE_EXPONENTIAL, 0, 2, 0.8f, 0, 2, false}},
    {"DynamicLossScaleManager", {TL_LOSS_SCALE_DYNAMIC, 16777216, 2, 0, 2000, 0, false}},
    {"torch_amp", {TL_LOSS_SCALE_EXPONENTIAL, 65536, 2, 0.5f, 2000, 1, true}},
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
                 "a loss scale of %g that grows by %g: were the parameters given without names and "
                 "in the wrong order?",
                 (double)c->init, (double)c->up);
  return TL_OK;
}
