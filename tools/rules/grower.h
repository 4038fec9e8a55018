/* SPDX-License-Identifier: Apache-2.0 */
/* State of making one graph for a rule, shared by its two parts: sample.c makes nodes, stock.c the
 * values and attributes that they need. For no other files. */
#ifndef TL_TOOLS_RULES_GROWER_H
#define TL_TOOLS_RULES_GROWER_H

#include "tools/rules/sample.h"

enum { TL_MOST_OPERANDS = 24, TL_MOST_REST = 3, TL_POOL = 4 };

typedef struct tl_grower {
  const tl_soil *soil;
  const tl_rule *rule;
  const tl_genes *genes;
  tl_module *m;
  uint64_t key; /* of the numbers that tl_roll gives ... */
  uint64_t at;  /* ... and how many were given */
  /* chosen by the gene of the world: */
  tl_dim pool[TL_POOL]; /* most sizes are of these */
  uint32_t n_pool;
  int rank;       /* of most operands */
  tl_dtype dtype; /* of most values */
  /* made so far: */
  tl_value_id values[TL_RULE_VALUES];
  uint64_t bound;
  uint64_t skipped; /* bits of `maybe` nodes that are absent */
  tl_node_id nodes[TL_RULE_NODES];
  tl_attr names[TL_RULE_NAMES];
  uint32_t named;
  uint32_t n_rest[TL_RULE_VALUES];
  bool no_memory;
} tl_grower;

/* The operands of a node while they are chosen. */
typedef struct tl_slots {
  const tl_op *row; /* NULL: an op that the table lacks */
  tl_value_id at[TL_MOST_OPERANDS];
  uint32_t n;
} tl_slots;

/* Where a value stands, and what it must be. */
typedef struct tl_want {
  uint32_t slot;
  uint8_t value; /* of the rule; TL_RULE_VALUES: a number */
  bool constant; /* must be one */
  bool splat;    /* all elements are `number` */
  double number;
  const char *name; /* of the value in the graph */
} tl_want;

/* Begins a sequence of random numbers: those of a gene, of an attempt. */
void tl_roll_begin(tl_grower *k, uint32_t gene, uint32_t attempt);
/* Returns a number below n; 0 for n == 0. */
uint64_t tl_roll(tl_grower *k, uint64_t n);
/* Returns true `percent` times in a hundred. */
bool tl_chance(tl_grower *k, unsigned percent);

/* Returns a name that no value of the graph has: base itself, else base_1, base_2 ... */
tl_symbol tl_grower_name(tl_grower *k, tl_sv base);
/* Returns a random hint of a kind about a value or about names; NULL: there is none. */
const tl_hint *tl_pick_hint(tl_grower *k, tl_hint_kind kind, uint8_t value, uint32_t names);
/* Chooses what all parts have in common. */
void tl_choose_world(tl_grower *k);
/* Makes an input or a constant for an operand. TL_NO_VALUE: nothing suits, or memory is out. */
tl_value_id tl_choose_operand(tl_grower *k, const tl_slots *slots, const tl_want *want);
/* Chooses an attribute. names: bits of names that it is captured as. Kind NONE: not set. */
tl_attr tl_choose_attr(tl_grower *k, const tl_slots *slots, const tl_op_attr *a, uint32_t names);

#endif
