/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the recognition of a training step (info.h): what comes behind the gradients. */
#ifndef TL_PASSES_TRAIN_STEP_DETECTOR_H
#define TL_PASSES_TRAIN_STEP_DETECTOR_H

#include "passes/train/step/update_cone.h"

/* Why something is not taken for a parameter. */
typedef enum tl_train_refusal {
  TL_NOT_REFUSED,
  TL_REFUSED_UNLISTED, /* by declaration it is none */
  TL_REFUSED_AMBIGUOUS /* W-TRN-AMBIG was said of it */
} tl_train_refusal;

/* What was found when all gradients were looked for. */
typedef struct tl_train_found {
  const tl_train_grad *grads; /* [n] as they were found */
  uint32_t n;
  bool ordered; /* they are declared, and so is their order */
  tl_cone_facts *facts;
  uint8_t *marks;         /* [values] */
  const uint8_t *refused; /* [values] tl_train_refusal */
  const uint32_t *known;  /* [values] 1 + index of the gradient of this parameter */
} tl_train_found;

/* Fills grads, n and opaque of *t. Errors of declared orders, TL_NO_MEMORY, both reported. */
tl_status tl_train_order(tl_module *m, tl_arena *arena, const tl_train_found *found,
                         tl_train_info *t) TL_NODISCARD;
/* States of no parameter. TL_NO_MEMORY, unreported. */
tl_status tl_train_find_others(tl_module *m, tl_arena *arena, const tl_train_found *found,
                               tl_train_info *t) TL_NODISCARD;
/* Parameters without a gradient: those that no gradient reaches, and those whose gradient is not
 * told; and outputs that may be the next value of an input. Needs the regions. TL_NO_MEMORY,
 * unreported. O(nodes + edges). */
tl_status tl_train_find_untold(tl_module *m, tl_arena *arena, const tl_train_found *found,
                               tl_train_info *t) TL_NODISCARD;

#endif
