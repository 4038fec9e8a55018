/* SPDX-License-Identifier: Apache-2.0 */
/* Which module of the network a node belongs to: the groups of the page. */
#ifndef TL_TOOLS_PAGE_SCOPE_H
#define TL_TOOLS_PAGE_SCOPE_H

#include "tools/page/record.h"

/* Returns the path of the module of a node as a text, levels with '/' between; 0: none is known.
 * Sources are those of passes/edit/scopes.h, in their order: metadata, calls that the node was
 * inlined from, its name; then those of the first node of the model that it comes from. */
uint32_t tl_view_scope(tl_view_record *r, tl_node_id n);

#endif
