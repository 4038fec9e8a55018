/* SPDX-License-Identifier: Apache-2.0 */
/* Searches orders of a short part of a graph, between nodes whose place is the same in all orders:
 * dynamic programming over the sets of nodes that have run (as Ahn et al. schedule irregular
 * networks, 2020). */
#ifndef TL_PASSES_MEMORY_SEARCH_H
#define TL_PASSES_MEMORY_SEARCH_H

#include "passes/memory/flow.h"

enum { TL_SEARCH_MOST_NODES = 64 };

/* A part of the given order: positions from `from` to `to`, without `to`. */
typedef struct tl_part {
  uint32_t from, to;
  uint64_t live; /* bytes in use before its first node that a node of it or behind it reads */
} tl_part;

/* What a search keeps between parts. Zero-initialise it; lives in an arena. */
typedef struct tl_search {
  const tl_flow *f;
  uint64_t *seen;  /* sets that were tried: hash table */
  uint32_t budget; /* sets that may still be tried in all parts together */
} tl_search;

/* Prepares a search. False when memory is out. */
bool tl_search_init(tl_search *s, const tl_flow *f, tl_arena *a);

/* Finds an order of the part whose peak is at most `limit`, and its peak. order: [to - from].
 * Returns false if there is none, the part is too long, or too many sets would have to be tried. */
bool tl_search_run(tl_search *s, const tl_part *part, uint64_t limit, uint32_t *order,
                   uint64_t *peak);

#endif
