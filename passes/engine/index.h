/* SPDX-License-Identifier: Apache-2.0 */
/* Which rules can have their root at a node: a table keyed by the op of the root and the op of one
 * of its producers, so that the cost of a node does not grow with the number of rules. */
#ifndef TL_PASSES_ENGINE_INDEX_H
#define TL_PASSES_ENGINE_INDEX_H

#include "passes/engine/rule.h"

/* What surrounds a node, two bits an op, and what a rule needs there. */
typedef struct tl_rule_signature {
  uint64_t near; /* ops that make operands of the node */
  uint64_t far;  /* ops that make theirs */
  bool constant; /* an operand is a constant ... */
  bool numbered; /* ... the only one, which begins with `number` */
  double number;
} tl_rule_signature;

typedef struct tl_rule_entry {
  uint64_t key; /* op of the root << 32 | op of a producer, or any */
  tl_rule *rule;
  uint32_t n;     /* producers of which one has to be there, each in an entry of its own ... */
  uint32_t which; /* ... of which this is one */
  tl_rule_signature wants;
} tl_rule_entry;

typedef struct tl_rule_slot {
  uint64_t key;
  uint32_t first;   /* entry */
  uint32_t n;       /* 0: free */
  uint32_t n_plain; /* of them, in front, ask for no number; the others are sorted by it */
} tl_rule_slot;

TL_VEC(tl_rule_entry_vec, tl_rule_entry);

typedef struct tl_rule_index {
  tl_rule_entry_vec entries; /* owned, sorted by key, number, then order of rules */
  tl_rule_slot *slots;       /* owned */
  uint8_t *roots;            /* owned, by op id: some rule has this root */
  uint32_t mask;
  uint32_t n_ops;
  uint8_t depth; /* of the deepest rule */
} tl_rule_index;

/* Indexes the rules of a kind that are on, or all of them. */
tl_status tl_rule_index_build(tl_rule_index *x, const tl_ruleset *set, tl_rule_kind kind,
                              bool all) TL_NODISCARD;
void tl_rule_index_release(tl_rule_index *x);

/* Calls fn for each rule that may have its root at n, each once, in no particular order. */
typedef void (*tl_rule_visit)(void *user, tl_node_id n, tl_rule *rule);
void tl_rule_index_visit(const tl_rule_index *x, const tl_module *m, tl_node_id n, tl_rule_visit fn,
                         void *user);
/* The same by the op of the root alone, for explanations. */
void tl_rule_index_visit_all(const tl_rule_index *x, const tl_module *m, tl_node_id n,
                             tl_rule_visit fn, void *user);

#endif
