/* SPDX-License-Identifier: Apache-2.0 */
/* --op-block-list, --node-block-list, --op-include-list, --node-include-list for the nodes of one
 * module. Expressions are compiled once; a node is held against all of them. */
#ifndef TL_PASSES_EDIT_LISTED_H
#define TL_PASSES_EDIT_LISTED_H

#include "ir/module.h"
#include "ir/options/precision_config.h"

typedef struct tl_precision_listed tl_precision_listed;

/* *out: NULL when there is no entry; the caller releases it, after a failure too. Memory but for
 * that of the C library's expressions is the arena's. TL_NO_MEMORY, not reported. */
tl_status tl_precision_listed_create(const tl_precision_config *c, tl_arena *arena,
                                     tl_precision_listed **out) TL_NODISCARD;
void tl_precision_listed_release(tl_precision_listed *l);

/* Index in config->listed of the entry that decides about node n, whose judged type is `judged`;
 * -1: none. One that includes goes before one that blocks. l may be NULL. */
int32_t tl_precision_listed_find(tl_precision_listed *l, const tl_module *m, tl_node_id n,
                                 tl_sv judged);
/* "--op-block-list has 'Exp'", in the arena; NULL without memory. */
const char *tl_precision_listed_reason(tl_precision_listed *l, int32_t entry);
/* True when some call above was short of memory. */
bool tl_precision_listed_ran_out(const tl_precision_listed *l);
/* Did the entry fit some node? *option: where it was given. */
bool tl_precision_listed_was_used(const tl_precision_listed *l, uint32_t entry,
                                  const char **option);

#endif
