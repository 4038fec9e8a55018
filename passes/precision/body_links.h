/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates how values enter and leave the bodies of If, Loop, Scan and While. */
#ifndef TL_PASSES_PRECISION_BODY_LINKS_H
#define TL_PASSES_PRECISION_BODY_LINKS_H

#include "ir/module.h"

/* Kinds of links, in the order in which they are enumerated. */
typedef enum tl_link_kind {
  TL_LINK_IN,   /* from an operand to an input of a body */
  TL_LINK_TURN, /* from an output of a loop body to the input of the next iteration */
  TL_LINK_OUT   /* from an output of a body to a result of the node */
} tl_link_kind;

/* One link: the value `from` becomes the value `to`. */
typedef struct tl_body_link {
  tl_value_id from;
  tl_value_id to;
  tl_link_kind kind;
  bool again; /* an earlier link of this kind had the same `to` */
} tl_body_link;

/* Calls fn for each link of node n, in the order of tl_link_kind within one body. Absent values,
 * counts and conditions have no link. Other nodes have none. A value that a body captures is an
 * ordinary operand there and needs no link. */
void tl_body_links(const tl_module *m, tl_node_id n, void (*fn)(void *user, const tl_body_link *l),
                   void *user);

#endif
