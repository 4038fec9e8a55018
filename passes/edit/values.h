/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about values that several passes ask, and the one way to merge two of them. */
#ifndef TL_PASSES_EDIT_VALUES_H
#define TL_PASSES_EDIT_VALUES_H

#include "passes/edit/pass.h"
#include "support/map.h"

/* Values that take part in a training state, or are gradients, and must therefore keep their
 * identity. */
typedef struct tl_pinned {
  const bool *at; /* by value id, scratch; NULL: none */
  uint32_t n;
} tl_pinned;

/* Collects them. TL_NO_MEMORY. O(states), plus clearing one byte a value when there are any. */
tl_status tl_pinned_find(tl_pass *p, const tl_module *m, tl_pinned *out) TL_NODISCARD;
static inline bool tl_is_pinned(const tl_pinned *pinned, tl_value_id v) {
  return v < pinned->n && pinned->at[v];
}

/* What the module says of `from` it says of `to` from now on: that it is the next value of a state,
 * a gradient, the loss. O(states + gradients). */
void tl_value_move_roles(tl_module *m, tl_value_id from, tl_value_id to);

/* Does a control edge lead from n to a node that does not stand behind `place`? Then n cannot move
 * there. O(edges). */
bool tl_node_leads_before(const tl_module *m, tl_node_id n, tl_node_id place);

/* True when v is an output of the graph it belongs to. O(uses). */
bool tl_value_leaves_graph(const tl_module *m, tl_value_id v);

/* Facts about a module that decide whether two of its values may be merged. */
typedef struct tl_merge_facts {
  tl_pinned pinned;
  tl_map body_names; /* owned; (owner, name) of the values of bodies, and (TL_NO_NODE, name) to the
                        only owner of bodies with such a value, TL_NO_NODE for several. Merging
                        does not change it: a name moves within its graph */
} tl_merge_facts;

/* Collects them. TL_NO_MEMORY, then there is nothing to release. O(states + values of bodies). */
tl_status tl_merge_facts_find(tl_pass *p, const tl_module *m, tl_merge_facts *out) TL_NODISCARD;
void tl_merge_facts_release(tl_merge_facts *facts);

/* True when `from` may be replaced by `to` without a graph output losing its name: at most one of
 * them leaves its graph, and if it is `from`, `to` is in the same graph and can take the name over
 * (an input cannot), and neither is pinned; and names still resolve (ir/names.h): no node with
 * bodies around a user of `from` has a value of the name of `to` in them, and no other node at all
 * has one where `to` changes its name. */
bool tl_value_can_merge(const tl_module *m, const tl_merge_facts *facts, tl_value_id from,
                        tl_value_id to);
/* Replaces `from` by `to`, which takes over the name of an output, the name of a value of its graph
 * where it has none, and a type where it has none. */
void tl_value_merge(tl_module *m, tl_value_id from, tl_value_id to);

/* The old type with what the new one knows better; false when they contradict each other, or there
 * is no memory. */
bool tl_type_refine(tl_module *m, tl_type_id old, tl_type_id new, tl_type_id *out);

/* Value of a graph with that name (inputs, constants, results), TL_NO_VALUE if there is none. */
tl_value_id tl_graph_find_value(const tl_module *m, const tl_graph *g, tl_sv name);

/* Remembers the candidate that is nearest to what a user wrote, for hints. */
typedef struct tl_nearest {
  tl_sv wanted;
  tl_sv found; /* n == 0: nothing is near */
  size_t distance;
} tl_nearest;

enum { TL_NEAREST_LIMIT = 3 };

static inline tl_nearest tl_nearest_start(tl_sv wanted) {
  return (tl_nearest){.wanted = wanted, .distance = TL_NEAREST_LIMIT + 1};
}
void tl_nearest_try(tl_nearest *near, tl_sv candidate);

#endif
