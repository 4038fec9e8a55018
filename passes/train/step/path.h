/* SPDX-License-Identifier: Apache-2.0 */
/* The way by which something reached a value, for messages. */
#ifndef TL_PASSES_TRAIN_STEP_PATH_H
#define TL_PASSES_TRAIN_STEP_PATH_H

#include "ir/module.h"

/* Adds the names of the values from the start of the way to v, with dots for the middle of a long
 * one. from: by value, the one before it; TL_NO_VALUE at the start. */
void tl_train_add_path(const tl_module *m, const tl_value_id *from, tl_value_id v, tl_buf *out);

/* The value of the main graph with as many elements as `param` that is nearest to v on the way, but
 * not v itself, and for which `is` holds; TL_NO_VALUE: none. */
tl_value_id tl_train_nearest(const tl_module *m, const tl_value_id *from, tl_value_id v,
                             tl_value_id param, bool (*is)(const void *user, tl_value_id v),
                             const void *user);

/* Adds the line of --train-spec that names a state: {"state": ...}. */
void tl_train_add_state(const tl_module *m, tl_value_id state, tl_value_id next, tl_buf *out);

/* Adds the line of --train-spec that names a gradient: {"state": ..., "grads": ...}. grad: NO_VALUE
 * where nothing is known of it. */
void tl_train_add_spec(const tl_module *m, tl_value_id param, tl_value_id next, tl_value_id grad,
                       tl_buf *out);

#endif
