/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that the user of the library describes. The op table does not list them, so they are carried
 * along; a shape function and a kernel of theirs run where those of the table would. */
#ifndef TL_IR_USER_OPS_H
#define TL_IR_USER_OPS_H

#include "ir/module.h"

struct tl_infer;
struct tl_eval;
typedef struct tl_user_op tl_user_op;

/* One op. All is borrowed. */
struct tl_user_op {
  const char *domain; /* "" is ai.onnx */
  const char *name;
  /* States types of results (ir/infer/infer.h); NULL: they stay as the model declares them. */
  tl_status (*infer)(struct tl_infer *ctx, const tl_user_op *op);
  /* Computes the results of a node (ir/eval/kernel/kernel.h); NULL: it cannot be evaluated. */
  tl_status (*evaluate)(struct tl_eval *ctx, const tl_user_op *op);
  void *user;
};

/* The ops of one module. */
struct tl_user_ops {
  const tl_user_op *at;
  uint32_t n;
};

/* Returns what the user says of the op of a node; NULL for ops of the table and for those that
 * nobody describes. O(ops that the user describes). */
const tl_user_op *tl_user_op_of(const tl_module *m, tl_node_id n);

#endif
