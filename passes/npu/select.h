/* SPDX-License-Identifier: Apache-2.0 */
/* NPU candidates for nodes that a pass behind select makes. */
#ifndef TL_PASSES_NPU_SELECT_H
#define TL_PASSES_NPU_SELECT_H

#include "passes/edit/pass.h"

/* Chooses as the pass select does, for the nodes that it has not seen; nothing in a module that it
 * has not run over. One sweep. TL_NO_MEMORY, reported. */
tl_status tl_select_made(tl_pass *p, tl_module *m) TL_NODISCARD;

#endif
