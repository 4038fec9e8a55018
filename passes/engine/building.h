/* SPDX-License-Identifier: Apache-2.0 */
/* State of building a replacement, shared by its three parts: new nodes (new_nodes.c), room for
 * them in the order of the graph (make_way.c), and the change of the graph (build.c). */
#ifndef TL_PASSES_ENGINE_BUILDING_H
#define TL_PASSES_ENGINE_BUILDING_H

#include "passes/engine/trace.h"

enum { TL_BUILD_CONSTANTS = 64 }; /* upper bound on new constants of one replacement */

/* State of one replacement. Until it is committed, the graph has only gained nodes and constants
 * that no old node uses, so that undoing is erasing them. */
typedef struct tl_building {
  tl_match *match;
  tl_built *out;
  tl_graph_id graph;
  tl_node_id before;                /* new nodes are inserted before it */
  tl_value_id made[TL_RULE_VALUES]; /* by value of the rule: its replacement */
  tl_value_id constants[TL_BUILD_CONSTANTS];
  uint32_t n_constants;
} tl_building;

/* Returns true if value v of the rule is an output of the match: the pattern produces it, and the
 * replacement gives it anew. */
static inline bool tl_build_is_output(const tl_rule *r, uint8_t v) {
  return r->values[v].node != TL_RULE_NODES && r->values[v].built != TL_RULE_NODES;
}

/* Records that the replacement does not fit, as a reason of the miss, and returns false. what: a
 * clause. */
bool tl_build_refuse(tl_building *b, const char *code, const char *what);
/* Reports that memory is out, and returns false. */
bool tl_build_no_memory(tl_building *b);

/* Makes the node of statement p with its constants and attributes, before b->before, and infers it.
 * Returns false if it does not fit or memory is out; the caller then undoes what was made. */
bool tl_build_node(tl_building *b, const tl_pattern_node *p);
/* Takes an existing value or a new constant as the result of statement p, which makes no node.
 * Returns false likewise. */
bool tl_build_forward(tl_building *b, const tl_pattern_node *p);

/* Moves the users of early outputs behind `last`, the last matched node, where the new nodes are.
 * Returns false, with the order as it was, if that would close a cycle or move a control edge. */
bool tl_build_make_way(tl_building *b, tl_node_id last);

#endif
