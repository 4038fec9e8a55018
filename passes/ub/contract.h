/* SPDX-License-Identifier: Apache-2.0 */
/* Joins nodes into groups without making a cycle.
 *
 * Ranks are a topological order of the graph in which each group is one node. A search for a cycle
 * visits only what lies between the ranks of the nodes to be joined, and a successful join moves
 * only those: the order is maintained as in the algorithm of Pearce and Kelly, without a
 * reachability matrix. */
#ifndef TL_PASSES_UB_CONTRACT_H
#define TL_PASSES_UB_CONTRACT_H

#include "passes/ub/nodes.h"

typedef enum tl_ub_joined {
  TL_UB_JOINED,
  TL_UB_CYCLE,  /* a way leaves the nodes and comes back to them */
  TL_UB_BUDGET, /* the search was given up: it met more than TL_UB_MOST_EDGES edges */
  TL_UB_NO_MEMORY
} tl_ub_joined;

/* Upper bound on edges that one search visits, which keeps the pass near-linear. */
enum { TL_UB_MOST_EDGES = 4096 };

/* Joins the groups, or single nodes, at some positions into one group. Nothing changes unless it
 * returns TL_UB_JOINED. The member with the lowest position becomes the leader; members stay in the
 * order of their positions. O(edges between the ranks), at most TL_UB_MOST_EDGES. */
tl_ub_joined tl_ub_join(tl_ub_graph *g, const uint32_t *positions, uint32_t n);

#endif
