/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest cut of a network between a first and a last node: which nodes are on the side of the
 * first one. */
#ifndef TL_PASSES_LAYOUT_CUT_H
#define TL_PASSES_LAYOUT_CUT_H

#include "support/vec.h"

/* Capacity of an edge that no cut may take. */
#define TL_CUT_NEVER (INT64_MAX / 4)

enum { TL_CUT_FIRST = 0, TL_CUT_LAST = 1 };

typedef struct tl_cut_edge {
  uint32_t to;
  uint32_t next; /* of the same node; edges 2i and 2i + 1 are the two directions of one */
  int64_t left;  /* what may still flow */
} tl_cut_edge;

TL_VEC(tl_cut_edge_vec, tl_cut_edge);

/* A network. Zero-initialise it, then tl_cut_start. */
typedef struct tl_cut {
  tl_cut_edge_vec edges;
  tl_u32_vec head;  /* by node: its first edge + 1 */
  tl_u32_vec level; /* by node: 1 + distance from the first node; 0: out of reach */
  tl_u32_vec at;    /* by node: the edge that is tried next */
  tl_u32_vec path;  /* edges from the first node to where the search is */
  int64_t flow;     /* what the cheapest cut costs */
  bool no_memory;
} tl_cut;

/* Empties the network but for its first and last node. */
void tl_cut_start(tl_cut *c);
/* Adds a node; returns its number. */
uint32_t tl_cut_node(tl_cut *c);
/* Adds an edge. A cut with `from` on the side of the first node and `to` on the other costs it.
 * capacity <= 0: no effect. */
void tl_cut_edge_add(tl_cut *c, uint32_t from, uint32_t to, int64_t capacity);
/* Finds the cheapest cut by blocking flows. Returns false if memory is out, or the work is beyond
 * what a pass may spend: that is counted in steps, so that it is the same in every run. */
bool tl_cut_solve(tl_cut *c);
/* After tl_cut_solve: returns true for a node on the side of the first one. */
bool tl_cut_is_first(const tl_cut *c, uint32_t node);
/* Frees the network. */
void tl_cut_release(tl_cut *c);

#endif
