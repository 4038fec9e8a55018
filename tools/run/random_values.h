/* SPDX-License-Identifier: Apache-2.0 */
/* Makes values for inputs that nobody gave. */
#ifndef TL_TOOLS_RUN_RANDOM_VALUES_H
#define TL_TOOLS_RUN_RANDOM_VALUES_H

#include "tools/run/evaluation.h"

/* Makes a tensor of the input's type. Floats are uniform in [-1, 1). Integers are 0 or 1, since
 * they are often indices. bool alternates from true. A dim that is a symbol has the size that --dim
 * gives, else 1. Elements depend only on the seed, the name of the input and their position.
 * *assumed: a dim was taken to be 1; it is not cleared. The caller releases *out. Errors: the input
 * is no tensor, or has no known rank or element type; TL_LIMIT. */
tl_status tl_random_value(tl_evaluation *e, const tl_module *m, tl_value_id input, uint64_t seed,
                          tl_host **out, bool *assumed) TL_NODISCARD;

/* Checks every --dim against the symbols in the inputs of the model. */
tl_status tl_check_dims(tl_evaluation *e, const tl_module *m) TL_NODISCARD;

#endif
