/* SPDX-License-Identifier: Apache-2.0 */
/* The decision automaton of rules: all their ways (ways.h) in one tree, in which equal beginnings
 * are tested once. A node of the graph walks from the start along the tests that it passes; what it
 * reaches are the rules that it may match. The cost of a walk follows from what the node passes,
 * not from how many rules there are. */
#ifndef TL_PASSES_ENGINE_AUTOMATON_H
#define TL_PASSES_ENGINE_AUTOMATON_H

#include "passes/engine/ways.h"

/* A state: which places its edges test, and its leaves: those that need no number, then the others
 * by number. State 0 is none; the rules of a kind start at state kind + 1. */
typedef struct tl_automaton_state {
  uint64_t places;
  uint32_t first; /* leaf */
  uint32_t n_plain;
  uint32_t n_ranked;
} tl_automaton_state;

/* A slot of the hash table of edges; to 0: it is free. */
typedef struct tl_automaton_edge {
  uint32_t from;
  tl_way_test test;
  uint32_t to;
} tl_automaton_edge;

/* A rule at the end of one of its ways. */
typedef struct tl_automaton_leaf {
  double number; /* that an operand of the root has to be, if the leaf is among the ranked ones */
  uint32_t rule; /* whatever number the builder gave it */
  uint32_t ways; /* that the rule has */
} tl_automaton_leaf;

/* Tables without pointers between them, so that they can be constant. */
typedef struct tl_automaton {
  const tl_automaton_state *states;
  const tl_automaton_edge *edges;
  const tl_automaton_leaf *leaves;
  uint32_t mask; /* slots of edges - 1 */
} tl_automaton;

/* An automaton that is being built. Zero-initialise; released by tl_automaton_release. */
typedef struct tl_automaton_builder tl_automaton_builder;

/* Starts an empty automaton; NULL without memory. */
tl_automaton_builder *tl_automaton_begin(void);
/* Adds a rule of module m, whose parts are made, under a number. False when memory is out. */
bool tl_automaton_add(tl_automaton_builder *b, const tl_module *m, const tl_rule *r,
                      uint32_t number);
/* Puts the leaves in order, if rules were added since the last time. False when memory is out.
 * O(rules log rules). */
bool tl_automaton_finish(tl_automaton_builder *b);
/* Returns a view of the finished tables, valid until a rule is added or the builder ends. */
tl_automaton tl_automaton_tables(const tl_automaton_builder *b);
/* Returns the numbers of states and leaves, for who writes the tables. */
void tl_automaton_sizes(const tl_automaton_builder *b, uint32_t *n_states, uint32_t *n_leaves);
/* Frees the builder and its tables. NULL is allowed. */
void tl_automaton_end(tl_automaton_builder *b);

/* Returns the state behind an edge; 0 if there is none. */
uint32_t tl_automaton_step(const tl_automaton *a, uint32_t from, tl_way_test test);
/* Returns true if the way of a rule of this kind leads to a leaf with this number. */
bool tl_automaton_has(const tl_automaton *a, uint8_t kind, const tl_rule_way *way, uint32_t number);

/* Called for each leaf that a node reaches, in no particular order: a rule with several ways may
 * come several times. */
typedef void (*tl_leaf_visit)(void *user, const tl_automaton_leaf *leaf);
/* Walks from the start of a kind with node n as the root. */
void tl_automaton_walk(const tl_automaton *a, uint8_t kind, const tl_module *m, tl_node_id n,
                       tl_leaf_visit fn, void *user);

#endif
