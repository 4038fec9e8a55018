/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rules that can have their root at a node, by a decision automaton: built-in rules have
 * one that was made when the program was built, rules of files get one of their own. The cost per
 * node does not grow with the number of rules. A visit may include rules that do not match, never
 * leave out one that does. */
#ifndef TL_PASSES_ENGINE_INDEX_H
#define TL_PASSES_ENGINE_INDEX_H

#include "passes/engine/automaton.h"

/* The rules of one kind. Leaf numbers: 1 and following for compiled rules, then for parsed ones. */
typedef struct tl_rule_index {
  tl_ruleset *set;
  uint8_t kind;        /* tl_rule_kind */
  bool all;            /* also rules that are off */
  uint8_t depth;       /* depth of the deepest rule */
  bool has_parsed;     /* some of its rules are in `parsed` */
  tl_automaton parsed; /* of the set; compiled rules have a constant one */
  uint32_t *places;    /* owned; by leaf number: place in the set + 1 of rules that take part and
                        * are not lazy; NULL: there are none */
  uint32_t n_leaves;
} tl_rule_index;

/* Builds the index of the rules of a kind that are on, or with `all` of every rule. The set keeps
 * its part for the next index, and stays as it is until this one is released. TL_NO_MEMORY,
 * reported. O(rules). */
tl_status tl_rule_index_build(tl_rule_index *index, tl_ruleset *set, tl_rule_kind kind,
                              bool all) TL_NODISCARD;
/* Releases the tables of the index. */
void tl_rule_index_release(tl_rule_index *index);

/* Calls fn once for each rule that may have its root at n, in no particular order. */
typedef void (*tl_rule_visit)(void *user, tl_node_id n, tl_rule *rule);
void tl_rule_index_visit(tl_rule_index *index, const tl_module *m, tl_node_id n, tl_rule_visit fn,
                         void *user);
/* Calls fn for every rule whose root has the op of n, for explanations, in the order of their
 * definition. O(rules). */
void tl_rule_index_visit_all(const tl_rule_index *index, const tl_module *m, tl_node_id n,
                             tl_rule_visit fn, void *user);

#endif
