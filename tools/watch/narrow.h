/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a module that --print-only asks for: one node, or the nodes of a scope. */
#ifndef TL_TOOLS_WATCH_NARROW_H
#define TL_TOOLS_WATCH_NARROW_H

#include "ir/text/print.h"

/* What is asked for. Zero-initialise it but for the name; tl_narrow_forget releases it. */
typedef struct tl_narrow {
  tl_sv name;         /* borrowed; of a node, of one of its results, or of a scope */
  bool found;         /* some module so far had it */
  bool node;          /* it is a node: the nodes beside it are printed, too */
  tl_u32_vec known;   /* nodes that it was at the last call, whatever their names are now ... */
  const tl_module *m; /* ... in this module */
} tl_narrow;

/* Adds the lines of the nodes asked for, in the order of the module: the node of that name, nodes
 * that were made of it, nodes whose names, or those of what they were made of, begin with NAME and
 * '/', and nodes that were among them at the last call. A node comes with those that make its
 * operands and use its results. Sets n->found. O(nodes and their names). TL_NO_MEMORY and TL_LIMIT,
 * unreported. */
tl_status tl_narrow_print(tl_narrow *n, const tl_module *m, const tl_print_options *o,
                          tl_buf *out) TL_NODISCARD;
/* Forgets the nodes: another module follows. */
void tl_narrow_forget(tl_narrow *n);

#endif
