/* SPDX-License-Identifier: Apache-2.0 */
/* Makes nodes that nobody would write: one node of any op of the table, on constants, with shapes,
 * element types, values and attributes drawn from a stream of pseudo-random numbers. The same seed
 * gives the same node. */
#ifndef TL_TESTS_HOSTILE_CASE_H
#define TL_TESTS_HOSTILE_CASE_H

#include "ir/host.h"
#include "ir/module.h"

enum { HOSTILE_MAX_OPERANDS = 24 };

typedef struct hostile_case {
  tl_module *m;
  tl_diag diag;
  char message[1024]; /* the last error */
  tl_host_heap heap;
  tl_node_id node;
  tl_host *operands[HOSTILE_MAX_OPERANDS]; /* NULL: absent */
  uint32_t n_operands;
} hostile_case;

/* Operands and attributes that an op accepts. Operands are separated by blanks: dims, "." for rank
 * 0, "-" for none, each with "=V" when all elements are V, "s" before a sequence of two, "|" before
 * another shape that does as well. Attributes: name=1,2 or name=#text. */
typedef struct hostile_hint {
  const char *op;
  const char *operands;
  const char *attrs;
} hostile_hint;

/* One of those of an op; NULL when there is none. */
const hostile_hint *hostile_hint_for(const char *op, uint32_t pick);

/* False when the row cannot be tried (it needs a body). */
bool hostile_can(const tl_op *row);
void hostile_open(hostile_case *c, uint32_t row, uint64_t seed, uint64_t memory_limit);
/* Releases everything; false when values were left alive. */
bool hostile_close(hostile_case *c);

#endif
