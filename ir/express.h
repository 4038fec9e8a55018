/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes on constants as computed tensors: what the lines `express` of the op table name. Used for
 * results that are too large to compute ahead. */
#ifndef TL_IR_EXPRESS_H
#define TL_IR_EXPRESS_H

#include "ir/module.h"
#include "ir/tensor_expr.h"

typedef struct tl_express tl_express;
/* Says the result of a node on constants as a computed tensor; TL_NO_TENSOR when it cannot. */
typedef tl_tensor_id (*tl_express_fn)(tl_express *x);

/* By op id, generated from the op table; fn NULL: results on constants have to be evaluated. */
typedef struct tl_express_row {
  tl_express_fn fn;
  int64_t arg; /* fixed argument of the function, 0 if none */
} tl_express_row;
extern const tl_express_row tl_express_rows[];

struct tl_express {
  tl_module *m;
  tl_node_id node;
  const tl_tensor *const *in; /* [n_in]; NULL: absent */
  uint32_t n_in;
  tl_type_id type; /* of the result, static */
  int64_t arg;
};

/* The result of a node whose operands are these tensors; its type must be static. TL_NO_TENSOR when
 * it cannot be said, or memory is out: the node then stays or is evaluated. */
tl_tensor_id tl_node_express(tl_module *m, tl_node_id n, const tl_tensor *const *in);

/* Whether results of the op may be said so. */
bool tl_op_is_expressible(tl_op_id op);

#endif
