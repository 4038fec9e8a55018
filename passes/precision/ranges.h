/* SPDX-License-Identifier: Apache-2.0 */
/* --precision-policy=range: which nodes would overflow, or lose an epsilon, in the low dtype of the
 * mode. One sweep in the order of the graph keeps an interval for each value. */
#ifndef TL_PASSES_PRECISION_RANGES_H
#define TL_PASSES_PRECISION_RANGES_H

#include "ir/module.h"
#include "ir/options/precision_config.h"
#include "passes/precision/intervals.h"

/* All NULL when the mode lowers nothing. */
typedef struct tl_range_findings {
  const char *const *why;    /* by node id: what speaks against lowering it, as a clause, or NULL */
  const tl_interval *values; /* by value id: where its numbers lie */
  const uint8_t *wants;      /* by node id: tl_range_want (range_wants.h) */
} tl_range_findings;

/* Whether the policy is on or not. Memory is the arena's. TL_NO_MEMORY, reported. O(nodes + edges),
 * and every constant is read. */
tl_status tl_precision_ranges_find(tl_module *m, const tl_precision_config *c, tl_arena *arena,
                                   tl_range_findings *out) TL_NODISCARD;

#endif
