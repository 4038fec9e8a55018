/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the decision automaton with a node (automaton.h). */
#include "passes/engine/automaton.h"

#include <math.h>

#include "support/hash.h"

uint32_t tl_automaton_step(const tl_automaton *a, uint32_t from, tl_way_test test) {
  uint32_t at = (uint32_t)tl_hash_mix(from, test) & a->mask;
  while (a->edges[at].to && (a->edges[at].from != from || a->edges[at].test != test))
    at = (at + 1) & a->mask;
  return a->edges[at].to;
}

bool tl_automaton_has(const tl_automaton *a, uint8_t kind, const tl_rule_way *way,
                      uint32_t number) {
  uint32_t state = kind + 1u;
  for (uint8_t i = 0; i < way->n && state; i++)
    state = tl_automaton_step(a, state, way->tests[i]);
  const tl_automaton_state *s = &a->states[state];
  for (uint32_t i = 0; i < s->n_plain + s->n_ranked; i++)
    if (a->leaves[s->first + i].rule == number)
      return true;
  return false;
}

/* A walk, and what it has seen of the places around its node. */
typedef struct walk {
  const tl_automaton *a;
  const tl_module *m;
  tl_node_id root;
  tl_leaf_visit fn;
  void *user;
  uint64_t seen;                /* set of places */
  uint64_t constants;           /* set of places */
  tl_node_id made[TL_N_PLACES]; /* the node at a place, TL_NO_NODE: none produces it */
  bool number_known, numbered;
  double number; /* the first element of the only constant operand of the root, if numbered */
} walk;

/* Looks at a place. The place below it was seen: its test comes earlier on every way. */
static void look(walk *w, uint8_t place) {
  uint32_t i;
  tl_node_id user = w->made[tl_place_below(place, &i)];
  w->seen |= UINT64_C(1) << place;
  w->made[place] = TL_NO_NODE;
  if (!user || i >= tl_node_get(w->m, user)->n_operands)
    return;
  tl_value_id v = tl_operand(w->m, user, i);
  if (!v)
    return;
  w->made[place] = tl_value_producer(w->m, v);
  if (tl_value_constant(w->m, v))
    w->constants |= UINT64_C(1) << place;
}

/* Reads the first element of the only constant operand of the root. */
static void look_at_number(walk *w) {
  const tl_tensor *only = NULL;
  uint32_t constants = 0;
  w->number_known = true;
  for (uint32_t i = 0; i < tl_node_get(w->m, w->root)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, w->root, i);
    const tl_tensor *t = v ? tl_value_constant(w->m, v) : NULL;
    constants += t != NULL;
    only = t ? t : only;
  }
  int64_t integer;
  if (constants != 1 || only->kind == TL_SOURCE_STRINGS || tl_tensor_elements(w->m, only) == 0)
    return;
  w->numbered = true;
  if (tl_tensor_int_at(w->m, only, 0, &integer))
    w->number = (double)integer;
  else
    w->numbered = tl_tensor_float_at(w->m, only, 0, &w->number);
}

/* Binary search: returns the first leaf whose number is not below. */
static const tl_automaton_leaf *at_least(const tl_automaton_leaf *at, const tl_automaton_leaf *end,
                                         double number) {
  while (at < end) {
    const tl_automaton_leaf *middle = at + (end - at) / 2;
    if (middle->number < number)
      at = middle + 1;
    else
      end = middle;
  }
  return at;
}

/* Visits the leaves of a state; those with a number only near the node's number. */
static void visit_leaves(walk *w, const tl_automaton_state *s) {
  const tl_automaton_leaf *at = w->a->leaves + s->first, *ranked = at + s->n_plain;
  const tl_automaton_leaf *end = ranked + s->n_ranked;
  for (; at < ranked; at++)
    w->fn(w->user, at);
  if (at == end)
    return;
  if (!w->number_known)
    look_at_number(w);
  bool known = w->numbered && isfinite(w->number);
  double reach = 11 * TL_RULE_TOLERANCE * fabs(w->number); /* wider than the matcher's margin */
  for (at = known ? at_least(at, end, w->number - reach) : at; at < end; at++) {
    if (known && at->number > w->number + reach)
      break;
    if (!w->numbered || known)
      w->fn(w->user, at);
  }
}

static void go_on(walk *w, uint32_t state);

static void follow_attr(walk *w, uint32_t state, uint8_t place, const tl_attr *a) {
  uint32_t key;
  uint32_t next = tl_way_attr_key(w->m, a, &key)
                      ? tl_automaton_step(w->a, state, tl_way_test_of(place, key))
                      : 0;
  if (next)
    go_on(w, next);
}

/* Follows the edges for attributes of the node at a place, with those that its op has by
 * default. */
static void follow_attrs(walk *w, uint32_t state, uint8_t place) {
  tl_node_id n = w->made[place - TL_PLACE_ATTRS];
  const tl_node *node = tl_node_get(w->m, n);
  const tl_op *row = tl_op_row(node->op);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    follow_attr(w, state, place, &node->attrs[i]);
  for (uint32_t i = 0; row && i < row->n_attrs; i++)
    if (row->attrs[i].has_default && !tl_node_attr(w->m, n, row->attrs[i].value.name))
      follow_attr(w, state, place, &row->attrs[i].value);
}

/* Follows the edges of a state that the node passes; as deep as a way has tests. */
static void go_on(walk *w, uint32_t state) {
  const tl_automaton_state *s = &w->a->states[state];
  if (s->n_plain + s->n_ranked)
    visit_leaves(w, s);
  for (uint64_t left = s->places; left; left &= left - 1) {
    uint8_t place = (uint8_t)__builtin_ctzll(left);
    uint64_t bit = UINT64_C(1) << place;
    uint32_t next = 0;
    if (place >= TL_PLACE_ATTRS) {
      follow_attrs(w, state, place);
      continue;
    }
    if (!(w->seen & bit))
      look(w, place);
    if (w->made[place])
      next = tl_automaton_step(w->a, state,
                               tl_way_test_of(place, tl_node_get(w->m, w->made[place])->op));
    if (next)
      go_on(w, next);
    if (w->constants & bit &&
        (next = tl_automaton_step(w->a, state, tl_way_test_of(place, TL_WAY_CONSTANT))) != 0)
      go_on(w, next);
  }
}

void tl_automaton_walk(const tl_automaton *a, uint8_t kind, const tl_module *m, tl_node_id n,
                       tl_leaf_visit fn, void *user) {
  uint32_t state =
      tl_automaton_step(a, kind + 1u, tl_way_test_of(TL_PLACE_ROOT, tl_node_get(m, n)->op));
  if (!state)
    return;
  walk w;
  w.a = a;
  w.m = m;
  w.root = n;
  w.fn = fn;
  w.user = user;
  w.seen = w.constants = 0;
  w.number_known = w.numbered = false;
  w.number = 0;
  w.made[TL_PLACE_ROOT] = n;
  go_on(&w, state);
}
