/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of lists in arithmetic, for passes that have to look at single tensors. */
#ifndef TL_PASSES_TRAIN_UPDATE_PLAIN_UPDATES_H
#define TL_PASSES_TRAIN_UPDATE_PLAIN_UPDATES_H

#include "passes/edit/maker.h"
#include "passes/edit/pass.h"

/* What the pass plain-updates does, in another one. */
tl_status tl_plain_updates(tl_pass *p, tl_module *m) TL_NODISCARD;

/* Updates of one tensor, AdamOptimizer and SGDOptimizer. What is not certain is left alone, with a
 * remark that says why. */
tl_status tl_plain_adam(tl_pass *p, tl_module *m, tl_node_id n) TL_NODISCARD;
tl_status tl_plain_sgd(tl_pass *p, tl_module *m, tl_node_id n) TL_NODISCARD;

/* `made` is `old` from now on. What is new, from value `first` on, takes its name; anything else
 * needs a node where the name leaves the graph. */
void tl_plain_take_place(tl_maker *k, tl_value_id old, tl_value_id made, tl_value_id first);

#endif
