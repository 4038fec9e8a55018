/* SPDX-License-Identifier: Apache-2.0 */
/* Values of sequences as the NPU has them: stacked in one tensor (passes plain-inputs and
 * plain-outputs). */
#ifndef TL_TOOLS_RUN_STACKED_H
#define TL_TOOLS_RUN_STACKED_H

#include "tools/run/evaluation.h"

/* Returns the elements of a sequence, stacked along a new first dim, in the heap of the evaluation;
 * the caller owns a reference. NULL if an element is no tensor, if they differ in shape or dtype,
 * if there are none, or if memory is out. */
tl_host *tl_stack_values(tl_evaluation *e, const tl_host *sequence);

#endif
