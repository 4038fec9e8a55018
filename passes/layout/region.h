/* SPDX-License-Identifier: Apache-2.0 */
/* Which order each node of a graph gets. A source is a value that no Transpose makes; what
 * Transposes make of it are views. It takes a Transpose for each order in which a source is read
 * and not made. A region is what would follow if one node had another order: nodes that read or
 * make the same sources. The cheapest cut through it decides which of them do. */
#ifndef TL_PASSES_LAYOUT_REGION_H
#define TL_PASSES_LAYOUT_REGION_H

#include "passes/edit/values.h"
#include "passes/layout/cut.h"
#include "passes/layout/law.h"

/* A node that reads a source, in what order. */
typedef struct tl_reader {
  tl_use_id use;
  tl_node_id user;
  uint32_t operand;
  tl_order view;    /* what the Transposes between do together */
  tl_law *law;      /* of the user, if its order concerns the operand; else NULL */
  tl_law_port port; /* the operand, if there is a law */
  tl_order now;     /* the order that it wants, as decided so far */
  tl_order then;    /* in the region */
} tl_reader;

/* A source of a region. */
typedef struct tl_source {
  tl_value_id value;
  tl_order then;  /* the order in which nodes of the region are to have it */
  uint32_t first; /* of its readers, in tl_layout.readers */
  uint32_t n_readers;
} tl_source;

TL_VEC(tl_reader_vec, tl_reader);
TL_VEC(tl_source_vec, tl_source);

/* What is known of one graph. */
typedef struct tl_layout {
  tl_pass *p;
  tl_module *m;
  const tl_graph *g;
  tl_pinned pinned;
  bool exact;       /* numbers are added up in the order of the model */
  bool bytes_alone; /* fewer bytes are reason enough, with as many nodes */
  tl_law **laws;    /* by node, scratch; NULL: not asked yet */
  uint32_t n_laws;
  tl_law none;    /* stands for "no law" there */
  uint32_t *met;  /* by value, scratch: the last region that it was a source of */
  uint8_t *looks; /* by value, scratch: how often it was looked at as a source */
  uint32_t n_values;
  uint32_t region;  /* number of the present region */
  tl_u32_vec nodes; /* of the region */
  tl_source_vec sources;
  tl_reader_vec readers; /* of the sources of the region, or of the one that was looked at last */
  tl_u32_vec open;       /* values and views still to be followed */
  tl_cut cut;
  bool no_memory;
} tl_layout;

/* Prepares an analysis of module m; the caller releases it in any case. False if memory is out. */
bool tl_layout_init(tl_layout *l, tl_pass *p, tl_module *m) TL_NODISCARD;
void tl_layout_release(tl_layout *l);
/* Turns to another graph of the module, also after graphs around it have changed. False if memory
 * is out. */
bool tl_layout_enter(tl_layout *l, const tl_graph *g) TL_NODISCARD;

/* Returns the law of a node of the graph, or NULL. */
tl_law *tl_layout_law(tl_layout *l, tl_node_id n);
/* Returns true for a Transpose that is a view; *order is what it does. */
bool tl_layout_view(tl_layout *l, tl_node_id n, tl_order *order);
/* Returns the source behind a value, and the view that the value is of it. */
tl_value_id tl_layout_source(tl_layout *l, tl_value_id v, tl_order *view);
/* Collects the readers of a source in l->readers, with the order that each wants, as decided so
 * far. */
void tl_layout_read(tl_layout *l, tl_value_id source);
/* Returns the order in which a source is made, as decided so far. */
tl_order tl_layout_made(tl_layout *l, tl_value_id source);
/* Returns true if a Transpose of a source, from one order to another one, moves nothing and keeps
 * the shape. */
bool tl_layout_is_void(const tl_module *m, tl_value_id source, tl_order made, tl_order asked);

/* Tries to give node n the order o, with the region that follows from it. Returns true if some
 * nodes got other orders, because that takes fewer nodes; l->sources are then the sources that may
 * be concerned. */
bool tl_region_try(tl_layout *l, tl_node_id n, tl_order o);

#endif
