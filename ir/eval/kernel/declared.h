/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the shapes that a run makes with those that the model says. */
#ifndef TL_IR_EVAL_KERNEL_DECLARED_H
#define TL_IR_EVAL_KERNEL_DECLARED_H

#include "ir/host.h"

/* Returns true if a value has the rank and the sizes of the type of v, as far as that has any. */
bool tl_eval_is_as_declared(const tl_module *m, tl_value_id v, const tl_host *value);
/* Warns that result v of node n is not as declared. The declared shapes of a model and the inputs
 * of a run can contradict each other, and conversions rely on what is declared. */
void tl_eval_warn_of_shape(tl_module *m, tl_node_id n, tl_value_id v, const tl_host *value);

#endif
