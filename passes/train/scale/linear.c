/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the rows of linear_ops.tbl. */
#include "passes/train/scale/linear.h"

#include "ir/ops_gen.h"

static const tl_linear rows[] = {
#define LINEAR(name, how, port) {TL_OP_##name, TL_LINEAR_##how, port},
#include "passes/train/scale/linear_ops.tbl"
};

const tl_linear *tl_linear_find(tl_op_id op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op)
      return &rows[i];
  return NULL;
}
