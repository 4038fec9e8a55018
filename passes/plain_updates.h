/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of lists in arithmetic, for passes that have to look at single tensors. */
#ifndef TL_PASSES_PLAIN_UPDATES_H
#define TL_PASSES_PLAIN_UPDATES_H

#include "passes/pass.h"

/* What the pass plain-updates does, in another one. */
tl_status tl_plain_updates(tl_pass *p, tl_module *m) TL_NODISCARD;

#endif
