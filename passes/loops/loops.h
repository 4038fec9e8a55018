/* SPDX-License-Identifier: Apache-2.0 */
/* Answers what passes that rewrite Loop nodes ask of them. */
#ifndef TL_PASSES_LOOPS_LOOPS_H
#define TL_PASSES_LOOPS_LOOPS_H

#include "passes/edit/values.h"

/* A Loop in parts. Operands: trip count (optional), condition (optional), carried values. Inputs of
 * the body: iteration, condition, carried values; outputs: condition, carried values, values to be
 * stacked. Results: carried values, stacked values. */
typedef struct tl_loop_form {
  tl_node_id node;
  const tl_graph *body;
  uint32_t n_carried;
  uint32_t n_stacked;
} tl_loop_form;

/* Reads a Loop into *out. Returns false unless operands, body and results fit together, the body
 * gives a bool as its condition, and the node may vanish: it has no control edges, and no result
 * takes part in a training state. O(operands + results). */
bool tl_loop_read(const tl_module *m, const tl_pinned *pinned, tl_node_id n, tl_loop_form *out);

/* Returns true if the condition never ends the loop once it runs: the body hands on its own
 * condition, or gives a constant true. */
bool tl_loop_counts_only(const tl_module *m, const tl_loop_form *l);

/* Returns true if the main graph is a loop around a training step (pass iterations-per-loop). The
 * loop then produces the first state. */
bool tl_is_loop_of_steps(const tl_module *m);

#endif
