/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of evaluator kernels share. A case is the body of a graph in the textual IR, made of
 * constants and nodes; it defines %z, and %want when a value is expected:
 *
 *   eval_same("const %x = f32[2] [-1.0, 2.0]  %z = Abs(%x)  const %want = f32[2] [1.0, 2.0]");
 *
 * Several results: name them in pairs, eval_same_pairs(body, 2) compares %z0 with %want0 and %z1
 * with %want1. Types are inferred before the graph runs, and tl:: and npu:: ops are replaced by
 * what they mean. Failures are printed with the case. */
#ifndef TL_TESTS_EVAL_CHECK_H
#define TL_TESTS_EVAL_CHECK_H

#include "ir/eval/eval.h"
#include "tests/unit/unit.h"

/* The same dtype, shape and bytes; with one thread and with two, exact and fast. */
void eval_same(const char *body);
void eval_same_pairs(const char *body, unsigned n);
/* The same dtype and shape, |z - want| <= atol + rtol * |want|; NaN equals NaN. Both modes. */
void eval_near(const char *body, double rtol, double atol);
/* The evaluator refuses, with one error that holds `part`; types are not inferred, so that the
 * kernel sees whatever the text says. */
void eval_refused(const char *body, const char *part);

/* For everything else: a module from a whole text and one run of its main graph. */
typedef struct eval_run {
  tl_module *m;
  tl_diag diag;
  tl_host_heap heap;
  tl_host **outputs; /* [n_outputs], NULL after a failure */
  uint32_t n_outputs;
  tl_status status;
  char message[1024]; /* the last error */
} eval_run;

/* `o` NULL: exact, one thread. inputs may be NULL when the graph has none. A text that does not
 * parse fails the test. A memory limit of 1 GiB holds, so that huge shapes are refused. */
void eval_run_open(eval_run *r, const char *text, bool infer, const tl_eval_options *o,
                   tl_host *const *inputs);
void eval_run_close(eval_run *r);

#endif
