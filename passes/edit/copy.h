/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the nodes of a body, into another graph or many times. Values of graphs around the body
 * are used as they are, unless `values` says what stands for them. */
#ifndef TL_PASSES_EDIT_COPY_H
#define TL_PASSES_EDIT_COPY_H

#include "passes/edit/maker.h"
#include "support/map.h"

typedef struct tl_copier {
  tl_maker *k;   /* where copies go */
  tl_map values; /* owned; what stands for a value: inputs by the caller, the rest as it is made */
  tl_map nodes;  /* owned; whole: the copy of a node */
  bool whole;    /* documentation, metadata and control edges of nodes are copied, too */
  bool anew;     /* types are inferred from the operands at hand; false: as in the body */
  void (*made)(void *user, tl_node_id copy); /* after each node of the body; NULL: nobody listens */
  void *user;
} tl_copier;

/* What stands for v; v itself when nothing does. */
static inline tl_value_id tl_copy_of(const tl_copier *c, tl_value_id v) {
  tl_map_find(&c->values, v, &v);
  return v;
}
/* Says that `to` stands for v from now on. */
void tl_copy_set(tl_copier *c, tl_value_id v, tl_value_id to);
/* Copies a constant into the graph where copies go; all constants of a body. */
void tl_copy_constant(tl_copier *c, tl_value_id v);
void tl_copy_constants(tl_copier *c, const tl_graph *g);
/* Copies one node, with its bodies; the nodes of a graph. Failures are those of the maker.
 * tl_copy_node: the copy, TL_NO_NODE on failure. */
tl_node_id tl_copy_node(tl_copier *c, tl_node_id n);
void tl_copy_nodes(tl_copier *c, const tl_graph *g);
/* Gives a copy the documentation and metadata of the original; false when memory is out. */
bool tl_copy_notes(tl_module *m, tl_node_id from, tl_node_id to);
void tl_copier_release(tl_copier *c);

/* Nodes of a graph and of the bodies inside it. */
uint64_t tl_graph_count_all(const tl_module *m, const tl_graph *g);

/* Values of graphs around g that its nodes, or bodies inside, use: constants too, each once, in the
 * order of their first use. False when memory is out. */
bool tl_graph_captures(const tl_module *m, const tl_graph *g, tl_u32_vec *out);

#endif
