/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TL_PASSES_PRECISION_CASTS_H
#define TL_PASSES_PRECISION_CASTS_H

#include "passes/edit/casts.h"
#include "passes/precision/precision.h"

/* Makes a decision so: types of values, casts on operands, casts of constants. *n_casts counts new
 * nodes. */
tl_status tl_precision_apply(tl_pass *p, tl_module *m, const tl_precision *d,
                             uint32_t *n_casts) TL_NODISCARD;

#endif
