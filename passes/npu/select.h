/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses NPU candidates for nodes that passes behind select make. */
#ifndef TL_PASSES_NPU_SELECT_H
#define TL_PASSES_NPU_SELECT_H

#include "passes/edit/pass.h"

/* Chooses a candidate for each node that has none yet. Does nothing unless the pass select ran
 * before. TL_NO_MEMORY, reported. O(nodes). */
tl_status tl_select_made(tl_pass *p, tl_module *m) TL_NODISCARD;

#endif
