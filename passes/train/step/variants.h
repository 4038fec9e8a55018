/* SPDX-License-Identifier: Apache-2.0 */
/* What the two variants of a training graph must have in common, so that a run can go from one to
 * the other with its states as they are. */
#ifndef TL_PASSES_TRAIN_STEP_VARIANTS_H
#define TL_PASSES_TRAIN_STEP_VARIANTS_H

#include "ir/module.h"
#include "ir/options/accelerate.h"

/* Compares the main graphs: inputs and outputs with their names, dtypes and shapes, states, and the
 * order of nodes with effects, communication among them. E-ACC-STATE for the first difference. */
tl_status tl_variants_same_interface(tl_diag *d, const tl_module *low,
                                     const tl_module *high) TL_NODISCARD;

/* Whether the tensor that the switch looks at is an input or output of the main graph and one
 * number of the right kind: an integer for the step, a float for the loss. E-ACC-HOOK. */
tl_status tl_variants_observable(tl_diag *d, tl_location where, const tl_module *m,
                                 const tl_accelerate *a) TL_NODISCARD;

#endif
