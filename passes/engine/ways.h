/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule needs around its root before it can match, as tests that an automaton makes
 * (automaton.h): which op the root has, which ops produce its operands, and which operands are
 * constants. A rule has a way for each choice that it leaves: alternative ops, operands in either
 * order, nodes that may be absent. */
#ifndef TL_PASSES_ENGINE_WAYS_H
#define TL_PASSES_ENGINE_WAYS_H

#include "passes/engine/rule.h"

/* A place is the root (0) or an operand at most three steps above it: four operands of the root,
 * three of each of these, two of each of those. Places nearer to the root have smaller numbers. */
enum {
  TL_PLACE_ROOT = 0,
  TL_N_PLACES = 1 + 4 + 4 * 3 + 4 * 3 * 2,
  TL_NO_PLACE = TL_N_PLACES,
  TL_PLACES_WITH_ATTRS = 1 + 4, /* the root and its operands ... */
  TL_PLACE_ATTRS = TL_N_PLACES, /* ... whose attributes are at this place and the next ones */
  TL_N_TESTED = TL_PLACE_ATTRS + TL_PLACES_WITH_ATTRS,
  TL_WAY_TESTS = 16,         /* of one way; further ones, which are the farthest, are left out */
  TL_WAY_CONSTANT = 0xffffff /* stands for an op: the operand is a constant */
};

/* A test: the place, and the op that produces it, or TL_WAY_CONSTANT. At the places of attributes:
 * a key of an attribute and its value, which the node has or its op has by default. */
typedef uint32_t tl_way_test;

static inline tl_way_test tl_way_test_of(uint32_t place, uint32_t op) { return place << 24 | op; }

/* Returns the key of an attribute that is an integer or a list of them; false for others, and for a
 * float that is no integer. */
bool tl_way_attr_key(const tl_module *m, const tl_attr *a, uint32_t *key);

/* Returns the place of operand i of a place; TL_NO_PLACE if it has none. */
uint8_t tl_place_above(uint8_t place, uint32_t i);
/* Returns the place that a place other than the root is an operand of, and which one it is. */
uint8_t tl_place_below(uint8_t place, uint32_t *i);

/* One way: tests in ascending order of places, the first one of the root. */
typedef struct tl_rule_way {
  tl_way_test tests[TL_WAY_TESTS];
  uint8_t n;
} tl_rule_way;

TL_VEC(tl_rule_way_vec, tl_rule_way);

/* Appends the ways of a rule of module m whose parts are made: at a node that passes all tests of
 * none of them it cannot match. False when memory is out, or an op has no place in a test. */
bool tl_rule_ways(const tl_module *m, const tl_rule *r, tl_rule_way_vec *out);
/* Returns true if the root of a rule has an operand that must be this number, the only one that is
 * a constant in the pattern. */
bool tl_rule_needs_number(const tl_rule *r, double *number);

#endif
