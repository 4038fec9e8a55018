/* SPDX-License-Identifier: Apache-2.0 */
/* The training step in the body of a loop that pass iterations-per-loop has made: what is declared
 * of it is about the main graph, so that gradients are told by their collectives. */
#ifndef TL_PASSES_TRAIN_TIME_LOOP_STEP_H
#define TL_PASSES_TRAIN_TIME_LOOP_STEP_H

#include "passes/train/step/info.h"

/* Makes the body the step (tl_step_graph) and tells what of it is forward, backward and update, if
 * it has collectives of gradients; else form is TL_TRAIN_NONE and nothing is changed. Of *out
 * regions, owners, the raw gradients and the loss are filled, in `arena`. The caller sets the step
 * back.
 * O(nodes + edges). TL_NO_MEMORY, reported. */
tl_status tl_train_detect_in_loop(tl_module *m, tl_arena *arena, tl_train_info *out) TL_NODISCARD;

/* Values that state i of the module is of in the step: before and after. TL_NO_VALUE: none. */
void tl_train_state_in_step(const tl_module *m, uint32_t i, tl_value_id *before,
                            tl_value_id *after);

#endif
