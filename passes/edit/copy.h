/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of nodes of a body, into another graph or many times within one. Values of graphs around
 * the body are used as they are, unless the map `values` names a substitute. The original is never
 * changed. */
#ifndef TL_PASSES_EDIT_COPY_H
#define TL_PASSES_EDIT_COPY_H

#include "passes/edit/maker.h"
#include "support/map.h"

/* State of a copy; the caller sets the target and the options. */
typedef struct tl_copier {
  tl_maker *k;   /* where copies are made; borrowed */
  tl_map values; /* owned; value -> its substitute: set by the caller for inputs, by the copier for
                  * the rest */
  tl_map nodes;  /* owned; node -> its copy; filled only if `whole` */
  bool whole;    /* also copies documentation, metadata and control edges */
  bool anew;     /* types are inferred from the new operands; false: taken from the body */
  void (*made)(void *user, tl_node_id copy); /* called after each copied node of the body itself;
                                              * NULL: no callback */
  void *user;
} tl_copier;

/* Returns the substitute of v, or v if it has none. O(1). */
static inline tl_value_id tl_copy_of(const tl_copier *c, tl_value_id v) {
  tl_map_find(&c->values, v, &v);
  return v;
}
/* Makes `to` the substitute of v. Out of memory is noted in the maker. */
void tl_copy_set(tl_copier *c, tl_value_id v, tl_value_id to);
/* Copies one constant into the target graph under a fresh name; its tensor is shared. */
void tl_copy_constant(tl_copier *c, tl_value_id v);
/* Copies all constants of graph g. */
void tl_copy_constants(tl_copier *c, const tl_graph *g);
/* Copies one node with its bodies. Returns the copy, or TL_NO_NODE on failure, which the maker
 * keeps (tl_maker_status). */
tl_node_id tl_copy_node(tl_copier *c, tl_node_id n);
/* Copies all nodes of graph g but its RETURN, in order; with `whole` the control edges between them
 * as well. */
void tl_copy_nodes(tl_copier *c, const tl_graph *g);
/* Gives node `to` the documentation and metadata of node `from`. Returns false if memory is out. */
bool tl_copy_notes(tl_module *m, tl_node_id from, tl_node_id to);
/* Releases the maps of the copier. */
void tl_copier_release(tl_copier *c);

/* Returns the number of nodes of a graph and of all bodies inside it. */
uint64_t tl_graph_count_all(const tl_module *m, const tl_graph *g);

/* Appends the values from outside that g and the bodies inside it use, constants included, each
 * once, in order of first use. Returns false if memory is out. */
bool tl_graph_captures(const tl_module *m, const tl_graph *g, tl_u32_vec *out);

#endif
