/* SPDX-License-Identifier: Apache-2.0 */
/* Finds nodes that would overflow or lose an epsilon in the low dtype (--precision-policy=range).
 * One forward sweep keeps an interval and a growth per value. Nothing is changed. */
#ifndef TL_PASSES_PRECISION_RANGES_H
#define TL_PASSES_PRECISION_RANGES_H

#include "ir/module.h"
#include "ir/options/precision_config.h"
#include "passes/precision/intervals.h"

/* Results, in the arena. All NULL if the mode lowers nothing. */
typedef struct tl_range_findings {
  const char *const *why;    /* by node id: the reason against lowering, as a clause; or NULL */
  const tl_interval *values; /* by value id: interval of its numbers */
  const uint8_t *wants;      /* by node id: tl_range_want (range_wants.h) */
} tl_range_findings;

/* Analyses the module, whether the policy is on or not. The arena holds the results. TL_NO_MEMORY,
 * reported. O(nodes + edges); reads every f32 constant that a node takes. */
tl_status tl_precision_ranges_find(tl_module *m, const tl_precision_config *c, tl_arena *arena,
                                   tl_range_findings *out) TL_NODISCARD;

#endif
