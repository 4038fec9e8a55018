/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the decision automaton (automaton.h). */
#include <math.h>
#include <stdlib.h>

#include "passes/engine/automaton.h"
#include "support/hash.h"

enum { FEWEST_SLOTS = 64 };

/* A leaf before the leaves of a state are neighbours. */
typedef struct loose_leaf {
  uint32_t state;
  bool ranked;
  tl_automaton_leaf leaf;
} loose_leaf;

TL_VEC(state_vec, tl_automaton_state);
TL_VEC(loose_vec, loose_leaf);

struct tl_automaton_builder {
  state_vec states;
  tl_automaton_edge *edges; /* [mask + 1] */
  uint32_t mask;
  uint32_t n_edges;
  loose_vec loose;
  tl_automaton_leaf *leaves;
  tl_rule_way_vec ways; /* of the rule at hand */
  bool finished;        /* leaves are in order */
};

tl_automaton_builder *tl_automaton_begin(void) {
  tl_automaton_builder *b = calloc(1, sizeof *b);
  bool ok = b && (b->edges = calloc(FEWEST_SLOTS, sizeof *b->edges)) != NULL;
  for (uint32_t i = 0; ok && i <= TL_N_RULE_KINDS; i++)
    ok = state_vec_push(&b->states, (tl_automaton_state){0});
  if (ok) {
    b->mask = FEWEST_SLOTS - 1;
    return b;
  }
  tl_automaton_end(b);
  return NULL;
}

/* Finds the slot of an edge, or the free one for it. */
static tl_automaton_edge *slot_of(tl_automaton_edge *edges, uint32_t mask, uint32_t from,
                                  tl_way_test test) {
  uint32_t at = (uint32_t)tl_hash_mix(from, test) & mask;
  while (edges[at].to && (edges[at].from != from || edges[at].test != test))
    at = (at + 1) & mask;
  return &edges[at];
}

/* Keeps the table at most half full, so that a search for an edge that is not there ends soon. */
static bool grow(tl_automaton_builder *b) {
  uint32_t mask = b->mask * 2 + 1;
  tl_automaton_edge *edges = calloc((size_t)mask + 1, sizeof *edges);
  if (!edges)
    return false;
  for (uint32_t i = 0; i <= b->mask; i++)
    if (b->edges[i].to)
      *slot_of(edges, mask, b->edges[i].from, b->edges[i].test) = b->edges[i];
  free(b->edges);
  b->edges = edges;
  b->mask = mask;
  return true;
}

/* Returns the state behind an edge, which is made if it is new; 0 without memory. */
static uint32_t follow(tl_automaton_builder *b, uint32_t from, tl_way_test test) {
  if (b->n_edges * 2 > b->mask && !grow(b))
    return 0;
  tl_automaton_edge *e = slot_of(b->edges, b->mask, from, test);
  if (e->to)
    return e->to;
  if (!state_vec_push(&b->states, (tl_automaton_state){0}))
    return 0;
  *e = (tl_automaton_edge){from, test, b->states.n - 1};
  b->states.at[from].places |= UINT64_C(1) << (test >> 24);
  b->n_edges++;
  return e->to;
}

/* NaN and infinities have no margin around them, by which numbers are searched. */
static bool is_ranked(const tl_rule *r, double *number) {
  *number = 0;
  return tl_rule_needs_number(r, number) && isfinite(*number);
}

bool tl_automaton_add(tl_automaton_builder *b, const tl_module *m, const tl_rule *r,
                      uint32_t number) {
  loose_leaf l = {.leaf = {.rule = number}};
  b->ways.n = 0;
  b->finished = false;
  bool ok = tl_rule_ways(m, r, &b->ways);
  l.ranked = is_ranked(r, &l.leaf.number);
  l.leaf.ways = b->ways.n;
  for (uint32_t i = 0; i < b->ways.n && ok; i++) {
    const tl_rule_way *way = &b->ways.at[i];
    l.state = r->kind + 1u;
    for (uint8_t k = 0; k < way->n && l.state; k++)
      l.state = follow(b, l.state, way->tests[k]);
    ok = l.state && loose_vec_push(&b->loose, l);
  }
  return ok;
}

/* By state, the plain ones before the ranked ones, these by number, then in the order in which
 * rules came. */
static int by_place(const void *a, const void *b) {
  const loose_leaf *x = a, *y = b;
  if (x->state != y->state)
    return x->state < y->state ? -1 : 1;
  if (x->ranked != y->ranked)
    return x->ranked ? 1 : -1;
  if (x->ranked && x->leaf.number != y->leaf.number)
    return x->leaf.number < y->leaf.number ? -1 : 1;
  return (x->leaf.rule > y->leaf.rule) - (x->leaf.rule < y->leaf.rule);
}

bool tl_automaton_finish(tl_automaton_builder *b) {
  if (b->finished)
    return true;
  free(b->leaves);
  b->leaves = malloc((b->loose.n + 1u) * sizeof *b->leaves);
  if (!b->leaves)
    return false;
  for (uint32_t i = 0; i < b->states.n; i++)
    b->states.at[i].n_plain = b->states.at[i].n_ranked = 0;
  if (b->loose.n)
    qsort(b->loose.at, b->loose.n, sizeof *b->loose.at, by_place);
  for (uint32_t i = 0; i < b->loose.n; i++) {
    tl_automaton_state *s = &b->states.at[b->loose.at[i].state];
    if (s->n_plain + s->n_ranked == 0)
      s->first = i;
    s->n_plain += !b->loose.at[i].ranked;
    s->n_ranked += b->loose.at[i].ranked;
    b->leaves[i] = b->loose.at[i].leaf;
  }
  b->finished = true;
  return true;
}

tl_automaton tl_automaton_tables(const tl_automaton_builder *b) {
  return (tl_automaton){b->states.at, b->edges, b->leaves, b->mask};
}

void tl_automaton_sizes(const tl_automaton_builder *b, uint32_t *n_states, uint32_t *n_leaves) {
  *n_states = b->states.n;
  *n_leaves = b->loose.n;
}

void tl_automaton_end(tl_automaton_builder *b) {
  if (!b)
    return;
  state_vec_release(&b->states);
  loose_vec_release(&b->loose);
  tl_rule_way_vec_release(&b->ways);
  free(b->edges);
  free(b->leaves);
  free(b);
}
