/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a precision decision to the graph. */
#ifndef TL_PASSES_PRECISION_CASTS_H
#define TL_PASSES_PRECISION_CASTS_H

#include "passes/edit/casts.h"
#include "passes/precision/decision.h"

/* Applies decision d: sets the types of values, inserts casts on operands and casts constants.
 * *n_casts is the number of new nodes. TL_NO_MEMORY, reported. O(nodes + edges). */
tl_status tl_precision_apply(tl_pass *p, tl_module *m, const tl_precision *d,
                             uint32_t *n_casts) TL_NODISCARD;

#endif
