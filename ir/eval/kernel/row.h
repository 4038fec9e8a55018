/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernels: for each op of the op table the function that computes it. */
#ifndef TL_IR_EVAL_KERNEL_ROW_H
#define TL_IR_EVAL_KERNEL_ROW_H

#include "ir/module.h"

typedef struct tl_eval tl_eval; /* what a kernel sees (kernel.h) */
/* A kernel: computes the results of one node. */
typedef tl_status (*tl_eval_fn)(tl_eval *ctx);

/* A row of the table of kernels: TL_N_OPS rows by op id, generated from the op table. */
typedef struct tl_eval_row {
  tl_eval_fn fn; /* NULL: the evaluator cannot run the op */
  int64_t arg;   /* fixed argument of the kernel, 0 if none */
  bool wide;     /* narrow floats reach the kernel as f32 */
  uint8_t
      unaligned; /* bit i: operand i may be a constant at an address that does not suit its dtype */
} tl_eval_row;

#endif
