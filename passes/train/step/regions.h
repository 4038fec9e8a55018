/* SPDX-License-Identifier: Apache-2.0 */
/* Tells forward, backward and update nodes apart, and orders nodes by what they compute.
 * The order depends neither on the order in which nodes are stored nor on their names. Parts of
 * tl_train_detect. */
#ifndef TL_PASSES_TRAIN_STEP_REGIONS_H
#define TL_PASSES_TRAIN_STEP_REGIONS_H

#include "passes/train/step/info.h"

/* Sets `bit` in marks[v] for every value that value `of` depends on, itself left out. marks: [value
 * ids]. O(nodes + edges). TL_NO_MEMORY, unreported. */
tl_status tl_train_mark_sources(const tl_module *m, tl_value_id of, uint8_t *marks,
                                uint8_t bit) TL_NODISCARD;

/* The same for n values in one sweep. */
tl_status tl_train_mark_all_sources(const tl_module *m, const tl_value_id *of, uint32_t n,
                                    uint8_t *marks, uint8_t bit) TL_NODISCARD;

/* Spreads marks forward: every result gets the marks of all values that its node reads. marks:
 * [value ids]. O(nodes + edges). TL_NO_MEMORY, unreported. */
tl_status tl_train_spread(const tl_module *m, uint8_t *marks) TL_NODISCARD;

/* Lists the values of the step's graph that one of its nodes reads, captures of its bodies
 * included. *out is overwritten. Returns false if memory is out. */
bool tl_train_node_values(const tl_module *m, tl_node_id n, tl_u32_vec *out);

/* The same for a node of any graph, with everything that its bodies capture. */
bool tl_train_reads(const tl_module *m, tl_node_id n, tl_u32_vec *out);

/* Returns true for the use of a running mean or variance by a BatchNormalization in training mode,
 * which normalizes by the statistics of the batch. */
bool tl_is_running_statistic(const tl_module *m, tl_use_id u);

/* Fills t->region and t->owner from the known gradients, loss and seed. forward: by value id, with
 * `bit` set where the loss depends on the value; NULL: computed here. TL_NO_MEMORY, unreported.
 * O(nodes + edges). */
tl_status tl_train_find_regions(const tl_module *m, tl_arena *arena, tl_train_info *t,
                                const uint8_t *forward, uint8_t bit) TL_NODISCARD;

/* Returns the nodes of the step's graph in a topological order that depends on the graph alone: by
 * distance from the inputs, then by the input they lead back to, then by a hash of what they
 * compute. *n: their number. In `arena`; NULL if memory is out. O(n log n). */
tl_node_id *tl_train_canonical_order(const tl_module *m, tl_arena *arena, uint32_t *n);

#endif
