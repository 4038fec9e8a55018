/* SPDX-License-Identifier: Apache-2.0 */
/* What passes that rewrite Loop nodes ask of them. */
#ifndef TL_PASSES_LOOPS_LOOPS_H
#define TL_PASSES_LOOPS_LOOPS_H

#include "passes/edit/values.h"

/* Operands: trip count?, condition?, carried values. Inputs of the body: iteration, condition,
 * carried values; outputs: condition, carried values, values to be stacked. Results: carried
 * values, stacked ones. */
typedef struct tl_loop_form {
  tl_node_id node;
  const tl_graph *body;
  uint32_t n_carried;
  uint32_t n_stacked;
} tl_loop_form;

/* Reads a Loop; false unless operands, body and results fit together, the body gives a bool as its
 * condition, and the node may vanish: no control edges, and no result takes part in a training
 * state. */
bool tl_loop_read(const tl_module *m, const tl_pinned *pinned, tl_node_id n, tl_loop_form *out);

/* True when the condition never ends the loop once it runs: the body hands on its own, or gives a
 * constant. */
bool tl_loop_counts_only(const tl_module *m, const tl_loop_form *l);

/* Is the main graph a loop around a training step (pass iterations-per-loop)? Its first state is
 * then what the loop ends with. */
bool tl_is_loop_of_steps(const tl_module *m);

#endif
