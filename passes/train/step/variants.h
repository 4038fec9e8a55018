/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what both variants of a training graph must share, so that a run can switch with its
 * states as they are. */
#ifndef TL_PASSES_TRAIN_STEP_VARIANTS_H
#define TL_PASSES_TRAIN_STEP_VARIANTS_H

#include "ir/module.h"
#include "ir/options/accelerate.h"

/* Compares the main graphs: inputs and outputs (names, dtypes, shapes), states, and the order of
 * nodes with effects, which includes communication. E-ACC-STATE for the first difference;
 * TL_NO_MEMORY; both reported to d. */
tl_status tl_variants_same_interface(tl_diag *d, const tl_module *low,
                                     const tl_module *high) TL_NODISCARD;

/* Checks that the tensor that the switch observes is an input or output of the main graph and one
 * number of the right kind: an integer for the step, a float for the loss. E-ACC-HOOK, reported to
 * d. */
tl_status tl_variants_observable(tl_diag *d, tl_location where, const tl_module *m,
                                 const tl_accelerate *a) TL_NODISCARD;

#endif
