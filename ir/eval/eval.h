/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator computes graphs on the host. The table of kernels is the op table (lines `eval`),
 * with a folder for each family of kernels. It is no runtime: speed matters less than the same
 * bytes everywhere.
 *
 * Two modes. Exact: every kernel computes in a fixed order with our own elementary functions, so
 * that the bytes of a result depend on nothing but the inputs; folding uses it. Fast: matrix
 * products may be reordered, vectorised or handed to a BLAS. Threads divide results, never sums, so
 * the number of threads changes nothing in either mode. docs/evaluator.md says what is exact, what
 * is fast and what emulation does. */
#ifndef TL_IR_EVAL_EVAL_H
#define TL_IR_EVAL_EVAL_H

#include "ir/eval/kernel/run.h"

/* Reports, in one error, every op of the graph and its bodies that has no kernel, with the names of
 * its nodes; or an input or constant of a dtype that only devices know. Runs nothing.
 * TL_UNSUPPORTED. */
tl_status tl_eval_check(tl_module *m, tl_graph_id g) TL_NODISCARD;

/* Runs a root graph. inputs: one per graph input, borrowed; NULL means the input's default value.
 * outputs: one per graph output, the caller's to release; on failure none is set. Values are
 * released after their last use. TL_INVALID_ARGUMENT for an input without a value; the errors of
 * kernels. */
tl_status tl_eval_graph(tl_module *m, tl_graph_id g, const tl_eval_options *o, tl_host_heap *heap,
                        tl_host *const *inputs, tl_host **outputs) TL_NODISCARD;

/* Runs one node on given operands (NULL: absent), for folding. Its bodies may use constants only,
 * since no other value exists. results: one per result, the caller's to release. */
tl_status tl_eval_one(tl_module *m, tl_node_id n, const tl_eval_options *o, tl_host_heap *heap,
                      tl_host *const *operands, tl_host **results) TL_NODISCARD;

/* Returns true when the op of the node has a kernel of the table: those of the user's own ops
 * (ir/user_ops.h) are for runs, and passes compute nothing with them. Bodies are not looked
 * into. */
bool tl_eval_can(const tl_module *m, tl_node_id n);
/* Returns true when the op has a kernel. */
bool tl_eval_has_kernel(tl_op_id op);

#endif
