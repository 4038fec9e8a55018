/* SPDX-License-Identifier: Apache-2.0 */
/* Returns rows of range_ops.tbl by op, and follows masks and epsilons through the graph
 * (range_rows.h). */
#include "passes/precision/range_rows.h"

#include <string.h>

#include "ir/ops_gen.h"

enum {
  GUARDED = TL_RANGE_GUARDED,
  SHIFTS = TL_RANGE_SHIFTS,
  DEEP = TL_RANGE_DEEP,
  RISKY = TL_RANGE_RISKY,
  WEIGHS = TL_RANGE_WEIGHS,
  MASKED = TL_RANGE_SEES_MASK,
  BLIND = TL_RANGE_BLIND,
  SQUARED = TL_RANGE_SQUARED,
  TURNS = TL_RANGE_TURNS,
  LOGS = TL_RANGE_LOGS,
  DIVIDES = TL_RANGE_DIVIDES,
  COUNTS = TL_RANGE_COUNTS,
  PLACES = TL_RANGE_PLACES,
  STEPS = TL_RANGE_STEPS,
  PLAIN = TL_RANGE_PLAIN,
  PRODUCT = TL_RANGE_PRODUCT,
  PART = TL_RANGE_PART,
  WEIGHTED = TL_RANGE_WEIGHTED,
  STATS = TL_RANGE_STATS,
  WHOLE = TL_RANGE_WHOLE
};

/* Short names above are those of the flags in the table. */
static const tl_range_op rows[] = {
#define RANGE(op, kind, low, high, flags) [TL_OP_##op] = {TL_RANGE_##kind, flags, true, low, high},
#include "passes/precision/range_ops.tbl"
};

const tl_range_op *tl_range_op_at(tl_op_id op) {
  static const tl_range_op none = {.kind = TL_RANGE_NONE};
  return op < sizeof rows / sizeof *rows ? &rows[op] : &none;
}

const tl_range_op *tl_range_op_of(const tl_module *m, tl_node_id n) {
  return tl_range_op_at(tl_node_get(m, n)->op);
}

bool tl_range_is_product(const tl_range_op *row) {
  return row->kind >= TL_RANGE_MATMUL || (row->flags & PRODUCT);
}

/* Kinds before NORM are elementwise, movement or sums, except those with a fixed or bent range. */
bool tl_range_carries(const tl_range_op *row) {
  tl_range_kind kind = (tl_range_kind)row->kind;
  if (kind == TL_RANGE_NONE)
    return (row->flags & PLAIN) != 0;
  bool bends = kind == TL_RANGE_FIXED || kind == TL_RANGE_GATE || kind == TL_RANGE_GATED ||
               kind == TL_RANGE_AFFINE || kind == TL_RANGE_ATTEND;
  return !bends && kind < TL_RANGE_NORM;
}

/* Softmax takes masked data, attention the mask itself, in the operand of one of these names. */
bool tl_range_takes_mask(const tl_module *m, tl_node_id n, uint32_t operand) {
  static const char *const names[] = {"attn_mask", "attention_bias"};
  const tl_range_op *row = tl_range_op_of(m, n);
  const tl_op *op = tl_op_row(tl_node_get(m, n)->op);
  const tl_op_port *port = op ? tl_op_operand_port(op, operand) : NULL;
  if (!(row->flags & TL_RANGE_SEES_MASK) || !port || tl_node_get(m, n)->n_operands == 1)
    return (row->flags & TL_RANGE_SEES_MASK) != 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(port->name, names[i]) == 0)
      return true;
  return false;
}

/* Depth-first and bounded: `left` ops deep, TL_RANGE_FAR carrying uses per value. */
bool tl_range_reaches(const tl_module *m, tl_value_id v, unsigned flags, unsigned through,
                      unsigned left) {
  unsigned uses = 0;
  TL_FOR_USES(m, v, u) {
    tl_node_id n = tl_use_get(m, u)->user;
    const tl_range_op *row = tl_range_op_of(m, n);
    const tl_node *node = tl_node_get(m, n);
    if (row->flags & flags)
      return true;
    bool carries = (row->flags & through) || row->kind == TL_RANGE_SAME;
    if (left && carries && node->n_results && ++uses <= TL_RANGE_FAR &&
        tl_range_reaches(m, node->results, flags, through, left - 1))
      return true;
  }
  return false;
}

bool tl_range_needs_operands(const tl_module *m, tl_node_id n, bool *itself) {
  const tl_range_op *row = tl_range_op_of(m, n);
  *itself = (row->flags & GUARDED) != 0;
  return *itself || ((row->flags & SHIFTS) && tl_range_reaches(m, tl_node_get(m, n)->results,
                                                               GUARDED, SHIFTS, TL_RANGE_FAR));
}

enum { MANY = 4096 }; /* upper bound on uses visited: one mask may serve every layer of a network */

/* Returns false at the first use that needs the numbers; *found: some use was a mask. */
static bool only_masks(const tl_module *m, tl_value_id v, unsigned left, unsigned *budget,
                       bool *found) {
  TL_FOR_USES(m, v, u) {
    tl_node_id n = tl_use_get(m, u)->user;
    const tl_range_op *row = tl_range_op_of(m, n);
    const tl_node *node = tl_node_get(m, n);
    bool masks = tl_range_takes_mask(m, n, u - node->operands);
    if (*budget == 0)
      return false;
    --*budget;
    *found = *found || masks;
    if (masks || (row->flags & BLIND))
      continue;
    if (!left || !((row->flags & WEIGHS) || row->kind == TL_RANGE_SAME))
      return false;
    for (uint32_t i = 0; i < node->n_results; i++)
      if (!only_masks(m, node->results + i, left - 1, budget, found))
        return false;
  }
  return true;
}

/* Both conditions matter: a value without uses is no mask. */
bool tl_range_only_masks(const tl_module *m, tl_value_id v) {
  unsigned budget = MANY;
  bool found = false;
  return only_masks(m, v, TL_RANGE_FAR, &budget, &found) && found;
}

bool tl_range_masks_softmax(const tl_module *m, tl_node_id n, uint32_t operand) {
  if (tl_range_takes_mask(m, n, operand))
    return true;
  return (tl_range_op_of(m, n)->flags & WEIGHS) &&
         tl_range_only_masks(m, tl_node_get(m, n)->results);
}
