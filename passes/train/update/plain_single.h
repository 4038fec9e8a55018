/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces optimizers of one tensor by arithmetic. */
#ifndef TL_PASSES_TRAIN_UPDATE_PLAIN_SINGLE_H
#define TL_PASSES_TRAIN_UPDATE_PLAIN_SINGLE_H

#include "passes/edit/pass.h"

/* Replace an AdamOptimizer, an SGDOptimizer of one tensor by arithmetic. A node whose operands
 * leave a doubt is left alone, with a remark. TL_NO_MEMORY, reported. */
tl_status tl_plain_adam(tl_pass *p, tl_module *m, tl_node_id n) TL_NODISCARD;
tl_status tl_plain_sgd(tl_pass *p, tl_module *m, tl_node_id n) TL_NODISCARD;

#endif
