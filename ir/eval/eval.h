/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: gives a graph meaning on the host. The table of kernels is the op table (lines
 * `eval`), with a folder for each family of them.
 *
 * Two modes. Exact: every kernel computes in a fixed order with our own elementary functions, so
 * that the bytes of a result depend on nothing but the inputs; folding uses it. Fast: matrix
 * products may be reordered, vectorised or handed to a BLAS. Threads divide results, never sums, so
 * the number of threads changes nothing in either mode. docs/evaluator.md says what is exact, what
 * is fast and what emulation does. */
#ifndef TL_IR_EVAL_EVAL_H
#define TL_IR_EVAL_EVAL_H

#include "ir/eval/kernel/run.h"

/* Reports every op of the graph and its bodies that has no kernel, in one error with the nodes;
 * TL_UNSUPPORTED. Nothing is run. */
tl_status tl_eval_check(tl_module *m, tl_graph_id g) TL_NODISCARD;

/* Runs a root graph. inputs: one per graph input, NULL: its default value is used. outputs: one
 * per graph output, the caller's to release. On failure no output is set. Values die after their
 * last use. */
tl_status tl_eval_graph(tl_module *m, tl_graph_id g, const tl_eval_options *o, tl_host_heap *heap,
                        tl_host *const *inputs, tl_host **outputs) TL_NODISCARD;

/* Runs one node on given operands (NULL: absent); bodies may use constants only. results: one per
 * result, the caller's to release. For folding. */
tl_status tl_eval_one(tl_module *m, tl_node_id n, const tl_eval_options *o, tl_host_heap *heap,
                      tl_host *const *operands, tl_host **results) TL_NODISCARD;

/* True when the op of the node has a kernel (its bodies are not looked into). */
bool tl_eval_can(const tl_module *m, tl_node_id n);
bool tl_eval_has_kernel(tl_op_id op);

#endif
