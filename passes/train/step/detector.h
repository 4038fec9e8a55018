/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the parts of tl_train_detect that run when the gradients are known: order, other states,
 * rest. */
#ifndef TL_PASSES_TRAIN_STEP_DETECTOR_H
#define TL_PASSES_TRAIN_STEP_DETECTOR_H

#include "passes/train/step/update_cone.h"

/* Why something is not taken for a parameter. */
typedef enum tl_train_refusal {
  TL_NOT_REFUSED,
  TL_REFUSED_UNLISTED, /* by declaration it is none */
  TL_REFUSED_AMBIGUOUS /* W-TRN-AMBIG was said of it */
} tl_train_refusal;

/* What the search for gradients found; all borrowed. */
typedef struct tl_train_found {
  const tl_train_grad *grads; /* [n] as they were found */
  uint32_t n;
  bool ordered; /* they are declared, and so is their order */
  tl_cone_facts *facts;
  uint8_t *marks;         /* [values] */
  const uint8_t *refused; /* [values] tl_train_refusal */
  const uint32_t *known;  /* [values] 1 + index of the gradient of this parameter */
} tl_train_found;

/* Sorts the gradients and fills grads, n and opaque of *t. Errors of declared orders and
 * TL_NO_MEMORY, both reported. */
tl_status tl_train_order(tl_module *m, tl_arena *arena, const tl_train_found *found,
                         tl_train_info *t) TL_NODISCARD;
/* Fills other_in and other_out of *t: states of no parameter. TL_NO_MEMORY, unreported. */
tl_status tl_train_find_others(tl_module *m, tl_arena *arena, const tl_train_found *found,
                               tl_train_info *t) TL_NODISCARD;
/* Fills frozen and untold of *t: parameters that no gradient reaches, parameters whose gradient is
 * not known, and outputs that may be the next value of an input. Needs the regions. TL_NO_MEMORY,
 * unreported. O(nodes + edges). */
tl_status tl_train_find_untold(tl_module *m, tl_arena *arena, const tl_train_found *found,
                               tl_train_info *t) TL_NODISCARD;

#endif
