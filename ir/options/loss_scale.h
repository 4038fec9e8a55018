/* SPDX-License-Identifier: Apache-2.0 */
/* Loss-scale managers as users name and parametrize them. What a scale
 * becomes after a step is in passes/train/scale/loss_scale.h. */
#ifndef TL_IR_OPTIONS_LOSS_SCALE_H
#define TL_IR_OPTIONS_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/diag.h"

typedef enum tl_loss_scale_kind {
  TL_LOSS_SCALE_FIXED,       /* the scale never changes; steps that overflow are skipped */
  TL_LOSS_SCALE_FIXED_BLIND, /* nor is overflow looked for (MindSpore, drop_overflow_update=False)
                              */
  TL_LOSS_SCALE_EXPONENTIAL, /* ExponentialUpdateLossScaleManager */
  TL_LOSS_SCALE_DYNAMIC      /* MindSpore's DynamicLossScaleManager */
} tl_loss_scale_kind;

typedef struct tl_loss_scale_config {
  tl_loss_scale_kind kind;
  float init;     /* FIXED: the scale */
  float up;       /* incr_ratio, or scale_factor */
  float down;     /* EXPONENTIAL: decr_ratio */
  int32_t grow;   /* incr_every_n_steps, or scale_window */
  int32_t shrink; /* EXPONENTIAL: decr_every_n_nan_or_inf */
  bool sinks;     /* EXPONENTIAL: below 1 too, as torch_amp does */
} tl_loss_scale_config;

/* A manager by the name users give and its defaults: "FixedLossScaleManager",
 * "ExponentialUpdateLossScaleManager", "DynamicLossScaleManager", "torch_amp". False: unknown. */
bool tl_loss_scale_default(tl_sv manager, tl_loss_scale_config *out);

/* Ranges of the parameters; E-LS-RANGE. Warns (W-LS-SWAP) about values that look interchanged. */
tl_status tl_loss_scale_check(tl_diag *d, tl_location where,
                              const tl_loss_scale_config *c) TL_NODISCARD;

#endif
