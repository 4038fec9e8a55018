/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: gives a graph meaning on the host. The table of kernels is the op table (lines
 * `eval`), families by file in ir/eval_*.c.
 *
 * Two modes. Exact: every kernel computes in a fixed order with our own elementary functions, so
 * that the bytes of a result depend on nothing but the inputs (design D10); folding uses it. Fast:
 * matrix products may be reordered, vectorised or handed to a BLAS. Threads divide results, never
 * sums, so the number of threads changes nothing in either mode. docs/evaluator.md says what is
 * exact, what is fast and what emulation does. */
#ifndef TL_IR_EVAL_H
#define TL_IR_EVAL_H

#include "ir/host.h"
#include "support/pool.h"

/* Sees every value right after its node ran (and every input of the main graph before the first);
 * a status other than OK stops the run. Bodies: called at each iteration. */
typedef tl_status (*tl_eval_watch)(void *user, const tl_module *m, tl_value_id v,
                                   const tl_host *value);

typedef struct tl_eval_options {
  bool exact;
  tl_dtype emulate;    /* F16 or BF16: every f32 and f64 value is rounded to that type when it is
                          made; NONE: no */
  tl_pool *pool;       /* NULL: one thread */
  const volatile int *cancel; /* non-zero stops the run with TL_IO; NULL: never */
  uint64_t seed;       /* of random ops without a seed of their own */
  tl_eval_watch watch; /* NULL: nobody */
  void *watch_user;
} tl_eval_options;

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

#endif
