/* SPDX-License-Identifier: Apache-2.0 */
/* How values pass into the bodies of a node and out of them: If, Loop, Scan, While. */
#ifndef TL_PASSES_PRECISION_BODY_LINKS_H
#define TL_PASSES_PRECISION_BODY_LINKS_H

#include "ir/module.h"

typedef enum tl_link_kind {
  TL_LINK_IN,  /* an operand is an input of a body */
  TL_LINK_TURN, /* what a turn of a loop leaves is what the next one takes */
  TL_LINK_OUT  /* an output of a body is a result */
} tl_link_kind;

typedef struct tl_body_link {
  tl_value_id from;
  tl_value_id to;
  tl_link_kind kind;
  bool again; /* `to` was the end of a link of this kind before */
} tl_body_link;

/* Calls fn for each link of node n, in the order of tl_link_kind for one body; values that are
 * absent are left out, and so are counts and conditions. Nothing for other nodes. Values that a
 * body captures are its own operands and need no link. */
void tl_body_links(const tl_module *m, tl_node_id n,
                   void (*fn)(void *user, const tl_body_link *l), void *user);

#endif
