/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces updates of lists by arithmetic, for passes that need single tensors. */
#ifndef TL_PASSES_TRAIN_UPDATE_PLAIN_UPDATES_H
#define TL_PASSES_TRAIN_UPDATE_PLAIN_UPDATES_H

#include "passes/edit/maker.h"
#include "passes/edit/pass.h"

/* Does what the pass plain-updates does, from within another pass. TL_NO_MEMORY, reported. */
tl_status tl_plain_updates(tl_pass *p, tl_module *m) TL_NODISCARD;

#endif
