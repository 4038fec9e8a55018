/* SPDX-License-Identifier: Apache-2.0 */
/* Describes how a walk reached a value, for messages about what could not be recognised. */
#ifndef TL_PASSES_TRAIN_STEP_PATH_H
#define TL_PASSES_TRAIN_STEP_PATH_H

#include "ir/module.h"

/* Appends the names of the values from the start of the walk to v, with dots for the middle of a
 * long one. from: by value id, the value before it; TL_NO_VALUE at the start. */
void tl_train_add_path(const tl_module *m, const tl_value_id *from, tl_value_id v, tl_buf *out);

/* Returns the value on the way to v, but not v itself, that is nearest to v, belongs to the main
 * graph, has as many elements as `param`, and satisfies `is`; TL_NO_VALUE if there is none. */
tl_value_id tl_train_nearest(const tl_module *m, const tl_value_id *from, tl_value_id v,
                             tl_value_id param, bool (*is)(const void *user, tl_value_id v),
                             const void *user);

/* Appends the line of --train-spec that declares a state: {"state": ...}. */
void tl_train_add_state(const tl_module *m, tl_value_id state, tl_value_id next, tl_buf *out);

/* Appends the line of --train-spec that declares a gradient: {"state": ..., "grads": ...}. grad:
 * TL_NO_VALUE prints the placeholder GRADIENT. */
void tl_train_add_spec(const tl_module *m, tl_value_id param, tl_value_id next, tl_value_id grad,
                       tl_buf *out);

#endif
