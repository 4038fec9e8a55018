/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rows of chains.tbl: patterns of nodes that one kernel can compute. Read once per run of
 * the pass. */
#ifndef TL_PASSES_UB_CHAIN_H
#define TL_PASSES_UB_CHAIN_H

#include "passes/ub/nodes.h"

/* The pass that has no chain: any elementwise nodes, from the end of the graph on. */
#define TL_UB_AUTOMATIC "AutomaticUbFusion"

/* Limits of a chain, and special values of tl_ub_step.outside and tl_ub_step.args. */
enum {
  TL_UB_MOST_STEPS = 8,
  TL_UB_MOST_TYPES = 24, /* of one step */
  TL_UB_MOST_NODES = 6,  /* of a group that a chain makes */
  TL_UB_AT_WILL = 255,   /* outside: any number, also none */
  TL_UB_SOME = 254,      /* outside: any number but none */
  TL_UB_PREVIOUS = 255   /* argument: the node before */
};

/* A word of a chain's text, which is shorter than 64 kB. */
typedef struct tl_ub_word {
  uint16_t at;
  uint16_t n; /* bytes */
} tl_ub_word;

/* One step of a chain: which nodes fit, how many in a row, and who may use their results. */
typedef struct tl_ub_step {
  uint64_t classes; /* bits of tl_ub_class */
  tl_ub_word types[TL_UB_MOST_TYPES];
  uint8_t n_types;
  uint8_t operands; /* that the node has to have; 0: any number */
  uint8_t least;    /* how often in a row */
  uint8_t most;
  uint8_t outside; /* users beyond the chain: that many, or one of the names above */
  uint8_t n_args;
  uint8_t args[2]; /* steps whose results it takes */
} tl_ub_step;

/* One row of chains.tbl. */
typedef struct tl_ub_chain {
  const char *pass;
  const char *text;
  const char *off; /* why the pass does not run, NULL: it does */
  int order;
  bool mixed;   /* cube and vector nodes together, on chips with separate cores too */
  bool dynamic; /* takes nodes of unknown sizes, and no others */
  bool open;    /* the automatic fusion may join its groups with others */
  uint8_t n_steps;
  uint8_t n_heads; /* steps that may be the first: those that may be missing, and the one after */
  bool shared[TL_UB_MOST_STEPS]; /* a later step takes its results by name */
  tl_ub_step steps[TL_UB_MOST_STEPS];
} tl_ub_chain;

/* Returns the number of rows. */
uint32_t tl_ub_n_chains(void);
/* Reads row i into *c, which is all zero. Returns false if it is not in the notation of the
 * table. */
bool tl_ub_chain_get(uint32_t i, tl_ub_chain *c);
/* Reads c->text, which need not be a row of the table. Returns false if it is not in the
 * notation. */
bool tl_ub_chain_parse(tl_ub_chain *c);

/* Returns type i of a step; a view of c->text. */
static inline tl_sv tl_ub_chain_type(const tl_ub_chain *c, const tl_ub_step *step, uint8_t i) {
  return (tl_sv){c->text + step->types[i].at, step->types[i].n};
}

/* Returns the number of rows of a pass; the automatic fusion counts as one. */
uint32_t tl_ub_count_chains(tl_sv pass);

#endif
