/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers ops that the NPU splits into several but ONNX output keeps whole, such as fused
 * attention. */
#include "passes/precision/walk.h"

/* Returns true in force_fp16 for an op with several NPU parts, unless something keeps it wide. */
static bool may_lower(const tl_precision_walk *w, tl_node_id n) {
  bool wide = w->op.kept || w->op.held || (w->why && w->why[n]) || w->custom;
  return w->d->nodes[n].form->part && w->op.mode == TL_PRECISION_FORCE_FP16 && !wide &&
         tl_op_row(tl_node_get(w->m, n)->op);
}

/* Returns true if the op allows f16 at this port, or the tensor is no float. With 8-bit tensors the
 * answer is false: scales of quantized numbers keep their dtypes. */
static bool takes_half(const tl_op_port *p, const tl_op *op, tl_dtype original) {
  if (original == TL_DTYPE_I8 || original == TL_DTYPE_U8)
    return false;
  return !tl_dtype_is_ranked(original) ||
         (p && p->var >= 0 && (op->vars[p->var].dtypes & TL_DTYPE_BIT(TL_DTYPE_F16)));
}

/* Gives a float tensor f16. */
static void lower(tl_precision_slot *s) {
  if (!tl_dtype_is_ranked((tl_dtype)s->original))
    return;
  s->chosen = TL_DTYPE_F16;
  s->rule = TL_BY_MODE;
}

bool tl_precision_lower_whole(tl_precision_walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  const tl_op *op = tl_op_row(node->op);
  tl_precision_slot *uses = &w->d->uses[node->operands];
  tl_precision_slot *values = &w->d->values[node->results];
  if (!may_lower(w, n))
    return false;
  for (uint32_t i = 0; i < node->n_operands; i++)
    if (!takes_half(tl_op_operand_port(op, i), op, (tl_dtype)uses[i].original))
      return false;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (!takes_half(tl_op_result_port(op, i), op, (tl_dtype)values[i].original))
      return false;
  for (uint32_t i = 0; i < node->n_operands; i++)
    lower(&uses[i]);
  for (uint32_t i = 0; i < node->n_results; i++)
    lower(&values[i]);
  w->d->nodes[n].flags |= TL_CHOICE_CHANGED;
  return true;
}
