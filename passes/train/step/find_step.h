/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the training step of the main graph. */
#ifndef TL_PASSES_TRAIN_STEP_FIND_STEP_H
#define TL_PASSES_TRAIN_STEP_FIND_STEP_H

#include "passes/train/step/info.h"

/* Recognises the training step of the main graph. Types must be inferred. Everything in *out lives
 * in `arena`. Three sources tell of a parameter, and the first one that does counts: what the
 * module declares, known update ops, the structure of the parameter's update. A parameter whose
 * gradient is ambiguous is left out with warning W-TRN-AMBIG. If nothing is recognised, form is
 * TL_TRAIN_NONE and the status is TL_OK.
 * Errors: E-TRN-NOTENSOR, E-TRN-SHAPE, E-TRN-DTYPE, E-TRN-DUP about declarations; TL_NO_MEMORY; all
 * reported.
 * The order of grads depends on the graph alone, not on names or on the order of its nodes. O(nodes
 * + edges). */
tl_status tl_train_detect(tl_module *m, tl_arena *arena, tl_train_info *out) TL_NODISCARD;

#endif
