/* SPDX-License-Identifier: Apache-2.0 */
/* --precision-policy=range: which nodes would overflow, or lose an epsilon, in the low dtype of the
 * mode. One sweep in the order of the graph keeps an interval for each value. */
#ifndef TL_PASSES_PRECISION_RANGES_H
#define TL_PASSES_PRECISION_RANGES_H

#include "ir/module.h"
#include "ir/precision_config.h"
#include "passes/precision_intervals.h"

/* *why: by node id, what speaks against lowering it, as a clause, or NULL; NULL as a whole when the
 * policy is off or the mode lowers nothing. *values: by value id, the intervals, or likewise NULL.
 * Memory is the arena's. TL_NO_MEMORY, reported. O(nodes + edges), and every constant is read. */
tl_status tl_precision_ranges_find(tl_module *m, const tl_precision_config *c, tl_arena *arena,
                                   const char *const **why,
                                   const tl_interval **values) TL_NODISCARD;

#endif
