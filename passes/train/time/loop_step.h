/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the training step in the body of a loop that pass iterations-per-loop has made.
 * What the module declares is about the main graph, so gradients are found by their collectives. */
#ifndef TL_PASSES_TRAIN_TIME_LOOP_STEP_H
#define TL_PASSES_TRAIN_TIME_LOOP_STEP_H

#include "passes/train/step/info.h"

/* Makes the body the step (tl_step_graph) and finds its forward, backward and update nodes, if it
 * has collectives of gradients; otherwise form is TL_TRAIN_NONE and nothing changes. Of *out,
 * regions, owners, raw gradients and the loss are filled, in `arena`. The caller resets the step's
 * graph. O(nodes + edges). TL_NO_MEMORY, reported. */
tl_status tl_train_detect_in_loop(tl_module *m, tl_arena *arena, tl_train_info *out) TL_NODISCARD;

/* Finds the values that state i of the module has in the step, before and after it; TL_NO_VALUE:
 * none. */
void tl_train_state_in_step(const tl_module *m, uint32_t i, tl_value_id *before,
                            tl_value_id *after);

#endif
