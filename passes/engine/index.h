/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rules that can have their root at a node, by a table. The key is the op of the root and
 * the op of one of its producers, so that the cost per node does not grow with the number of rules.
 * A visit may include rules that do not match, never leave out one that does. */
#ifndef TL_PASSES_ENGINE_INDEX_H
#define TL_PASSES_ENGINE_INDEX_H

#include "passes/engine/rule.h"

/* Neighbourhood of a node as sets of ops (a Bloom filter, two bits per op), or what a rule needs
 * there. */
typedef struct tl_rule_signature {
  uint64_t near; /* ops that produce operands of the node */
  uint64_t far;  /* ops that produce operands of those */
  bool constant; /* an operand is a constant ... */
  bool numbered; /* ... the only one, which begins with `number` */
  double number;
} tl_rule_signature;

/* One rule under one key. */
typedef struct tl_rule_entry {
  uint64_t key; /* op of the root << 32 | op of a producer, or ANY_... */
  tl_rule *rule;
  uint32_t n;     /* alternative producers, each in an entry of its own ... */
  uint32_t which; /* ... of which this is number `which` */
  tl_rule_signature wants;
} tl_rule_entry;

/* Hash slot: the range of entries with one key. */
typedef struct tl_rule_slot {
  uint64_t key;
  uint32_t first;   /* entry */
  uint32_t n;       /* number of entries; 0: free slot */
  uint32_t n_plain; /* entries in front that need no number; the others are sorted by number */
} tl_rule_slot;

TL_VEC(tl_rule_entry_vec, tl_rule_entry);

/* The table of the rules of one kind. */
typedef struct tl_rule_index {
  tl_rule_entry_vec entries; /* owned, sorted by key, number, then order of rules */
  tl_rule_slot *slots;       /* owned */
  uint8_t *roots;            /* owned, by op id: some rule has a root of this op */
  uint32_t mask;
  uint32_t n_ops;
  uint8_t depth; /* depth of the deepest rule */
} tl_rule_index;

/* Appends the entries of one rule: one for each alternative of the root and each op of the deciding
 * producer. A compiled rule has them in a table. False when memory is out. */
bool tl_rule_index_entries(tl_rule *r, tl_rule_entry_vec *out);

/* Builds the index of the rules of a kind that are on, or with `all` of every rule. TL_NO_MEMORY,
 * reported. O(rules log rules). */
tl_status tl_rule_index_build(tl_rule_index *index, const tl_ruleset *set, tl_rule_kind kind,
                              bool all) TL_NODISCARD;
/* Releases the tables of the index. */
void tl_rule_index_release(tl_rule_index *index);

/* Calls fn once for each rule that may have its root at n, in no particular order. */
typedef void (*tl_rule_visit)(void *user, tl_node_id n, tl_rule *rule);
void tl_rule_index_visit(const tl_rule_index *index, const tl_module *m, tl_node_id n,
                         tl_rule_visit fn, void *user);
/* Calls fn for every rule whose root has the op of n, for explanations. O(rules). */
void tl_rule_index_visit_all(const tl_rule_index *index, const tl_module *m, tl_node_id n,
                             tl_rule_visit fn, void *user);

#endif
