/* SPDX-License-Identifier: Apache-2.0 */
/* Turns nodes on constants into computed tensors, as the lines `express` of the op table name. It
 * is for results that are too large to compute ahead. */
#ifndef TL_IR_EXPRESS_H
#define TL_IR_EXPRESS_H

#include "ir/module.h"
#include "ir/tensor_expr.h"

typedef struct tl_express tl_express;
/* Returns the result of a node on constants as a computed tensor, TL_NO_TENSOR when it cannot be
 * one. */
typedef tl_tensor_id (*tl_express_fn)(tl_express *ctx);

/* A row by op id, generated from the op table. fn NULL: results on constants must be evaluated. */
typedef struct tl_express_row {
  tl_express_fn fn;
  int64_t arg; /* fixed argument of the function, 0 if none */
} tl_express_row;
extern const tl_express_row tl_express_rows[];

/* The node at hand, as such a function sees it. */
struct tl_express {
  tl_module *m;
  tl_node_id node;
  const tl_tensor *const *in; /* [n_in]; NULL: absent */
  uint32_t n_in;
  tl_type_id type; /* of the result, static */
  int64_t arg;
};

/* Returns the result of a node whose operands are the given tensors; the result's type must be
 * static. TL_NO_TENSOR when it cannot be expressed or memory is out: the node then stays or is
 * evaluated. */
tl_tensor_id tl_node_express(tl_module *m, tl_node_id n, const tl_tensor *const *in);

/* Returns true when results of the op can be expressed at all. */
bool tl_op_is_expressible(tl_op_id op);

#endif
