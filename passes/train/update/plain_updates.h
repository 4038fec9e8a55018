/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces updates of lists by arithmetic, for passes that need single tensors. */
#ifndef TL_PASSES_TRAIN_UPDATE_PLAIN_UPDATES_H
#define TL_PASSES_TRAIN_UPDATE_PLAIN_UPDATES_H

#include "passes/edit/maker.h"
#include "passes/edit/pass.h"

/* Does what the pass plain-updates does, from within another pass. TL_NO_MEMORY, reported. */
tl_status tl_plain_updates(tl_pass *p, tl_module *m) TL_NODISCARD;

/* Replace an AdamOptimizer, an SGDOptimizer of one tensor by arithmetic. A node whose operands
 * leave a doubt is left alone, with a remark. TL_NO_MEMORY, reported. */
tl_status tl_plain_adam(tl_pass *p, tl_module *m, tl_node_id n) TL_NODISCARD;
tl_status tl_plain_sgd(tl_pass *p, tl_module *m, tl_node_id n) TL_NODISCARD;

/* Replaces `old` by `made`. A value with an id from `first` on is new and takes the name of `old`;
 * any other value goes through a node where the name leaves the graph. */
void tl_plain_take_place(tl_maker *k, tl_value_id old, tl_value_id made, tl_value_id first);

#endif
