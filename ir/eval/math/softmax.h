/* SPDX-License-Identifier: Apache-2.0 */
/* The row function that Softmax kernels share with losses. */
#ifndef TL_IR_EVAL_MATH_SOFTMAX_H
#define TL_IR_EVAL_MATH_SOFTMAX_H

#include "ir/eval/kernel/lines.h"

/* Replaces n cells by the logarithms of their softmax; a tl_line_fn. spare: n cells. */
void tl_log_softmax_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare);

#endif
