/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are forward, backward and update, and an order of nodes that does not depend on how
 * they are stored or called. Parts of tl_train_detect. */
#ifndef TL_PASSES_TRAIN_STEP_REGIONS_H
#define TL_PASSES_TRAIN_STEP_REGIONS_H

#include "passes/train/step/info.h"

/* Marks the values that a value depends on, by value id (with `bit`), itself left out. O(nodes +
 * edges). TL_NO_MEMORY, unreported. */
tl_status tl_train_mark_sources(const tl_module *m, tl_value_id of, uint8_t *marks,
                                uint8_t bit) TL_NODISCARD;

/* The same of several values in one sweep. */
tl_status tl_train_mark_all_sources(const tl_module *m, const tl_value_id *of, uint32_t n,
                                    uint8_t *marks, uint8_t bit) TL_NODISCARD;

/* Gives marks on to all that is computed from what has them. O(nodes + edges). TL_NO_MEMORY,
 * unreported. */
tl_status tl_train_spread(const tl_module *m, uint8_t *marks) TL_NODISCARD;

/* Values that a node of the main graph reads, those that its bodies take from that graph included;
 * *out is overwritten. False when memory is out. */
bool tl_train_node_values(const tl_module *m, tl_node_id n, tl_u32_vec *out);

/* The same of a node of any graph, with all that its bodies take from around them. */
bool tl_train_reads(const tl_module *m, tl_node_id n, tl_u32_vec *out);

/* Is it the use of a running statistic by a normalization of forward, which computes with those of
 * the batch? */
bool tl_is_running_statistic(const tl_module *m, tl_use_id u);

/* Fills t->region and t->owner for gradients, loss and seed that are known. forward: by value id,
 * `bit` is set of what the loss depends on; NULL: it is found out here. */
tl_status tl_train_find_regions(const tl_module *m, tl_arena *arena, tl_train_info *t,
                                const uint8_t *forward, uint8_t bit) TL_NODISCARD;

/* The nodes of the main graph in an order of execution that the graph alone decides: by distance
 * from its inputs, then by what they compute. *n: their number. NULL when memory is out. */
tl_node_id *tl_train_canonical_order(const tl_module *m, tl_arena *arena, uint32_t *n);

#endif
