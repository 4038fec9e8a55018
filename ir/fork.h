/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a second module to try something on. */
#ifndef TL_IR_FORK_H
#define TL_IR_FORK_H

#include "ir/module.h"

/* Makes a module with the same graphs, ids and names, which reports to `diag` (borrowed). Names and
 * contents of tensors are those of `m`, which must outlive it. Definitions of functions and what
 * passes keep (`step`) are left out. NULL when memory is out. O(size of the graphs); contents of
 * tensors cost nothing. */
tl_module *tl_module_fork(const tl_module *m, tl_diag *diag);

#endif
