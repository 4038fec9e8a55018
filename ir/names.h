/* SPDX-License-Identifier: Apache-2.0 */
/* How names resolve. Texts and ONNX files refer to values by name. A name means the value of the
 * innermost graph around the reader that has one of that name, wherever in that graph it is made.
 *
 * An input or constant of a body may therefore have the name of a value around it, unless something
 * inside the body, or inside another body of the same node, uses the outer one (ONNX Runtime passes
 * what one body uses to all of them, by name). A result may not. ONNX forbids it only if the outer
 * value is made before the node that owns the body; here neither may follow, so that passes can
 * move nodes and names. */
#ifndef TL_IR_NAMES_H
#define TL_IR_NAMES_H

#include "ir/module.h"

/* What a walk calls when a name is wrong. */
typedef struct tl_name_visitor {
  /* v has the name of another value of its graph; NULL: nobody wants to know. */
  void (*duplicate)(void *user, tl_value_id v);
  /* v, a result in a body, has the name of a value around it. seen: of one that is made before, so
   * that the body can use it. The visitor may rename v. */
  tl_status (*shadows)(void *user, tl_value_id v, bool seen);
  /* Operand i of node n is hidden by `hider`, a value of the same name further in. The visitor may
   * rename the hider; the walk then looks for the next one. */
  tl_status (*hidden)(void *user, tl_node_id n, uint32_t i, tl_value_id hider);
  void *user;
} tl_name_visitor;

/* Walks all graphs and calls the visitor for what is wrong with their names. The first failure of
 * the visitor ends the walk. TL_NO_MEMORY; TL_LIMIT when bodies nest more than TL_MAX_BODY_DEPTH
 * deep. Reports nothing to the diagnostics. O(values + operands). */
tl_status tl_names_walk(const tl_module *m, const tl_name_visitor *visitor) TL_NODISCARD;

/* Gives each node that has the name of an earlier node of its graph a name of its own. may_rename
 * is asked before each (NULL: always yes); false ends the walk. Equal names in different graphs
 * stay, since the model's author may have given them. TL_NO_MEMORY, not reported. O(nodes). */
typedef bool (*tl_may_rename)(void *user, tl_node_id n);
tl_status tl_names_part_nodes(tl_module *m, tl_may_rename may_rename, void *user) TL_NODISCARD;

#endif
