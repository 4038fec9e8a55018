/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate_train_mode: training in low precision first and in the model's own afterwards. Filled
 * and checked by frontend/config. */
#ifndef TL_IR_OPTIONS_ACCELERATE_H
#define TL_IR_OPTIONS_ACCELERATE_H

#include "support/str.h"

typedef enum tl_accelerate_speed {
  TL_ACCELERATE_FAST, /* f16 */
  TL_ACCELERATE_FAST1 /* bf16 */
} tl_accelerate_speed;

typedef enum tl_accelerate_trigger {
  TL_ACCELERATE_STEP, /* switch at a share of all steps */
  TL_ACCELERATE_LOSS  /* switch when the loss is near its target */
} tl_accelerate_trigger;

typedef struct tl_accelerate {
  const char *text; /* as the user wrote it; NULL: the mode is off */
  tl_accelerate_speed speed;
  tl_accelerate_trigger trigger;
  float ratio;
  const char *observe;         /* tensor that tells the step or the loss; NULL until it is known */
  int64_t total_step;          /* STEP: at least 1 */
  float final_loss;            /* LOSS: above 0, finite */
  int64_t iterations_per_loop; /* steps between two looks at the tensor, at least 1 */
} tl_accelerate;

/* "fast", "fast1"; "step", "loss". */
static inline const char *tl_accelerate_speed_name(tl_accelerate_speed s) {
  return s == TL_ACCELERATE_FAST ? "fast" : "fast1";
}
static inline const char *tl_accelerate_trigger_name(tl_accelerate_trigger t) {
  return t == TL_ACCELERATE_STEP ? "step" : "loss";
}

#endif
