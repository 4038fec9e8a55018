/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about values that several passes ask, and the only way to merge two values. Merging
 * keeps graph outputs, training roles and the resolution of names intact. */
#ifndef TL_PASSES_EDIT_VALUES_H
#define TL_PASSES_EDIT_VALUES_H

#include "passes/edit/pass.h"
#include "support/map.h"

/* Values with a role in training (states, gradients, loss, seed), which must keep their
 * identity. */
typedef struct tl_pinned {
  const bool *at; /* [n] by value id, scratch; NULL: no value is pinned */
  uint32_t n;
  tl_map *newer; /* values from n on to which a role was moved since; NULL: nobody moves roles */
} tl_pinned;

/* Collects the pinned values of a module. Returns TL_NO_MEMORY, reported. O(states + gradients),
 * plus clearing one byte per value if there are any. */
tl_status tl_pinned_find(tl_pass *p, const tl_module *m, tl_pinned *out) TL_NODISCARD;
/* Returns true if v must keep its identity. O(1). */
static inline bool tl_is_pinned(const tl_pinned *pinned, tl_value_id v) {
  if (v < pinned->n)
    return pinned->at[v];
  return pinned->newer && tl_map_find(pinned->newer, v, NULL);
}
/* Pins v, a value that is newer than what was collected and is to get the role of a pinned one.
 * `pinned` is that of tl_merge_facts. False if memory is out. O(1). */
bool tl_pin_newer(const tl_pinned *pinned, tl_value_id v) TL_NODISCARD;

/* Handles one node; may erase it, and may make nodes and graphs. */
typedef tl_status (*tl_node_visit)(tl_pass *p, tl_module *m, tl_node_id n, const tl_pinned *pinned);
/* Calls `visit` for every node, outer graphs before the bodies in them; bodies that are made
 * meanwhile follow. Stops at the first failure. O(nodes). */
tl_status tl_visit_nodes(tl_pass *p, tl_module *m, tl_node_visit visit) TL_NODISCARD;

/* Returns true if v is the next or the first value of a state, a gradient or its indices, the loss
 * or the seed. For one question; tl_pinned_find is for many. O(states + gradients). */
bool tl_value_has_role(const tl_module *m, tl_value_id v);
/* Moves the training roles of `from` to `to`: next value of a state, gradient or its indices, loss.
 * O(states + gradients). */
void tl_value_move_roles(tl_module *m, tl_value_id from, tl_value_id to);

/* Returns true if a control edge leads from n to a node that is not behind `place`; n must then not
 * move to `place`. O(control edges of n). */
bool tl_node_leads_before(const tl_module *m, tl_node_id n, tl_node_id place);

/* Returns the node whose operands are the elements of list v, a SequenceConstruct; TL_NO_NODE if
 * something else made it. v may be TL_NO_VALUE. O(1). */
tl_node_id tl_list_maker(const tl_module *m, tl_value_id v);

/* Returns true if v is an output of the graph that defines it. O(uses). */
bool tl_value_leaves_graph(const tl_module *m, tl_value_id v);

/* Facts about a module that decide whether two of its values may be merged. */
typedef struct tl_merge_facts {
  tl_pinned pinned;
  tl_map newer;      /* owned; that of `pinned`: the facts must stay where they are */
  tl_map body_names; /* owned; holds (owner, name) for each named value of a body of `owner`, and
                      * (TL_NO_NODE, name) -> the only such owner, or TL_NO_NODE if there are
                      * several. Merging does not change it: a name moves within its graph */
} tl_merge_facts;

/* Collects these facts. Returns TL_NO_MEMORY, reported, with nothing to release. O(states + values
 * of bodies). */
tl_status tl_merge_facts_find(tl_pass *p, const tl_module *m, tl_merge_facts *out) TL_NODISCARD;
/* Releases the maps. */
void tl_merge_facts_release(tl_merge_facts *facts);

/* Returns true if `from` may be replaced by `to`. The conditions:
 * (1) neither value is pinned;
 * (2) no graph output loses its name: at most one of them leaves its graph, and if that is `from`,
 *     then `to` is no input, is in the same graph and takes over the name;
 * (3) names still resolve (ir/names.h): no node with bodies around a user of `from` has a value in
 *     them that is named like `to`, and no other node at all has one if `to` changes its name. */
bool tl_value_can_merge(const tl_module *m, const tl_merge_facts *facts, tl_value_id from,
                        tl_value_id to);
/* Replaces all uses of `from` by `to`. `to` takes over the name if `from` is an output or `to` has
 * none, both in one graph, and the type if its own is missing or not static. Requires
 * tl_value_can_merge. */
void tl_value_merge(tl_module *m, tl_value_id from, tl_value_id to);

/* Intersects two types: *out is `old` with the facts that only `new` states. Returns false if they
 * contradict each other or memory is out. */
bool tl_type_refine(tl_module *m, tl_type_id old, tl_type_id new, tl_type_id *out);

/* Returns the value of graph g with that name (inputs, constants, results), or TL_NO_VALUE.
 * O(values). */
tl_value_id tl_graph_find_value(const tl_module *m, const tl_graph *g, tl_sv name);

/* The candidate nearest to what a user wrote, by edit distance, for hints in messages. */
typedef struct tl_nearest {
  tl_sv wanted;
  tl_sv found; /* n == 0: no candidate within TL_NEAREST_LIMIT */
  size_t distance;
} tl_nearest;

enum { TL_NEAREST_LIMIT = 3 };

/* Returns an empty search for `wanted`; only distances up to TL_NEAREST_LIMIT count. */
static inline tl_nearest tl_nearest_start(tl_sv wanted) {
  return (tl_nearest){.wanted = wanted, .distance = TL_NEAREST_LIMIT + 1};
}
/* Keeps the candidate if it is nearer than all before. A distance of 1 ends the search. */
void tl_nearest_try(tl_nearest *near, tl_sv candidate);

#endif
