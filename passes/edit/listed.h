/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of blocked and included nodes and op types, checked against the nodes of one module. Serves
 * --op-block-list, --node-block-list, --op-include-list and --node-include-list. Regular
 * expressions are compiled once. What an entry means for the dtype of a node is decided by the
 * caller. */
#ifndef TL_PASSES_EDIT_LISTED_H
#define TL_PASSES_EDIT_LISTED_H

#include "ir/module.h"
#include "ir/options/precision_config.h"

typedef struct tl_precision_listed tl_precision_listed;

/* Compiles the entries of the configuration. *out is NULL if there is none. The caller releases
 * *out, after a failure too. The arena holds all memory but that of the C library's regular
 * expressions. Returns TL_NO_MEMORY (unreported), or the error of a pattern that does not
 * compile. */
tl_status tl_precision_listed_create(const tl_precision_config *c, tl_arena *arena,
                                     tl_precision_listed **out) TL_NODISCARD;
/* Releases the compiled expressions; l may be NULL. */
void tl_precision_listed_release(tl_precision_listed *l);

/* Returns the index in config->listed of the entry that decides about node n; -1 if none does.
 * judged: the NPU type of the node. An entry that includes takes precedence over one that blocks.
 * Marks every entry that fits as used. l may be NULL. O(entries * length of names). */
int32_t tl_precision_listed_find(tl_precision_listed *l, const tl_module *m, tl_node_id n,
                                 tl_sv judged);
/* Returns a reason such as "--op-block-list has 'Exp'", in the arena; NULL if memory is out. */
const char *tl_precision_listed_reason(tl_precision_listed *l, int32_t entry);
/* Returns true if a call above ran out of memory. */
bool tl_precision_listed_ran_out(const tl_precision_listed *l);
/* Returns true if the entry fitted some node. *option: name of the command-line option that gave
 * it. */
bool tl_precision_listed_was_used(const tl_precision_listed *l, uint32_t entry,
                                  const char **option);

#endif
