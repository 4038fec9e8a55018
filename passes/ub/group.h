/* SPDX-License-Identifier: Apache-2.0 */
/* Finds groups: chains of the table, and the automatic fusion of elementwise nodes. */
#ifndef TL_PASSES_UB_GROUP_H
#define TL_PASSES_UB_GROUP_H

#include "passes/ub/chain.h"
#include "passes/ub/contract.h"

enum { TL_UB_AUTOMATIC_ORDER = 5999, TL_UB_MOST_AUTOMATIC = 28, TL_UB_MOST_BRANCHES = 6 };

/* Why nodes that a pass would have taken are in no kernel together. */
typedef struct tl_ub_miss {
  const char *pass;
  const char *code;   /* of docs/ub-fusion.md */
  const char *reason; /* scratch */
  uint32_t order;     /* of arrival */
  uint32_t head;      /* position of what the group would start with */
  uint32_t nodes[TL_UB_MOST_NODES + 1];
  uint32_t n_nodes;
  uint32_t wanted; /* nodes that the chain has at least */
  bool joined;     /* it was in a kernel of the pass, which is part of a larger one now */
} tl_ub_miss;

TL_VEC(tl_ub_miss_vec, tl_ub_miss);

/* State of fusing one graph. */
typedef struct tl_ub_fuser {
  tl_pass *pass;
  tl_module *m;
  tl_ub_graph *g;
  const tl_ub_chain *chains; /* by row */
  bool split;                /* cores for cubes and for vectors are separate */
  bool stopped;              /* the rewrite limit is reached */
  tl_ub_miss_vec misses;     /* only under explain */
  uint32_t matched;          /* of the pass that runs */
} tl_ub_fuser;

/* Tries a chain at each free node, in the order of the graph. row: of chains.tbl. Failures are kept
 * in f->g. */
void tl_ub_run_chain(tl_ub_fuser *f, const tl_ub_chain *c, uint32_t row);
/* Joins free elementwise nodes with each other and with the kernels of open chains. Failures are
 * kept in f->g. */
void tl_ub_run_automatic(tl_ub_fuser *f);

/* Returns why two nodes, the second a free one, cannot be in one kernel, whatever the pass, as a
 * code of docs/ub-fusion.md; NULL if they can. *reason is then a static text. */
const char *tl_ub_differ(const tl_ub_fuser *f, uint32_t a, uint32_t b, const char **reason);
/* The same for one node: results to be dumped, on the host, or with an event. */
const char *tl_ub_refused(const tl_ub_fuser *f, uint32_t at, const char **reason);
/* Returns true if free node b has the shape of the value that the group gives to it. */
bool tl_ub_fits_shape(const tl_ub_graph *g, uint32_t b, tl_value_id given);

/* Lists the users of all results of a node, each once: those in the graph go to users[], the others
 * (end of the graph, bodies) are counted in *others. Returns their number; most + 1 if there are
 * more than `most`. */
uint32_t tl_ub_users(const tl_ub_graph *g, uint32_t at, uint32_t *users, uint32_t most,
                     uint32_t *others);

/* Keeps a miss for explain; the text is copied to the scratch arena. */
void tl_ub_note(tl_ub_fuser *f, const tl_ub_miss *miss);

#endif
