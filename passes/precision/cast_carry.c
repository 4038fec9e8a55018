/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which nodes only move data and can do so in another dtype (cast_carry.h). */
#include "passes/precision/cast_carry.h"

#include "ir/ops_gen.h"

bool tl_motion_moves(const tl_op *op, uint32_t i) {
  const tl_op_port *in = tl_op_operand_port(op, i);
  const tl_op_port *out = tl_op_result_port(op, 0);
  return in && out && in->var >= 0 && in->var == out->var;
}

/* Returns true if some slot has both dtype `to` and f32, or there are no slots. */
static bool slot_has(const tl_precision_port *ports, uint32_t n, tl_dtype to) {
  for (uint32_t i = 0; i < n; i++)
    if ((ports[i].dtypes & TL_DTYPE_BIT(to)) && (ports[i].dtypes & TL_DTYPE_BIT(TL_DTYPE_F32)))
      return true;
  return n == 0;
}

/* Returns the prototype of the NPU op that the node's candidate becomes, or NULL. */
static const tl_op *prototype_of(const tl_module *m, const tl_node *node, const tl_op *op) {
  if (node->candidate < 0)
    return NULL;
  tl_sv name = tl_sv_from(op->npu[node->candidate].npu_type);
  tl_symbol type = tl_symbol_find(&m->symbols, name);
  return type == TL_NO_SYMBOL ? NULL : tl_op_row(tl_op_find(TL_SYM_npu, type));
}

bool tl_motion_chip_has(tl_motion *motion, tl_node_id n, tl_dtype to) {
  const tl_precision_form *form;
  const tl_node *node = tl_node_get(motion->m, n);
  const tl_op *op = tl_op_row(node->op);
  if (!node->selected)
    return true;
  if (!motion->forms || tl_precision_form_of(motion->forms, n, &form) != TL_OK)
    return false;
  if (form->n_columns)
    return form->colour != TL_COLOUR_BLACK && slot_has(form->inputs, form->n_inputs, to) &&
           slot_has(form->outputs, form->n_outputs, to);
  const tl_op *npu = prototype_of(motion->m, node, op);
  const tl_op_port *port = npu ? tl_op_result_port(npu, 0) : NULL;
  return port && port->var >= 0 && (npu->vars[port->var].dtypes & TL_DTYPE_BIT(to));
}

bool tl_motion_can_carry(tl_motion *motion, tl_node_id n, tl_dtype to) {
  const tl_node *node = tl_node_get(motion->m, n);
  const tl_op *op = tl_op_row(node->op);
  const tl_op_port *out = op ? tl_op_result_port(op, 0) : NULL;
  return out && out->var >= 0 && (op->traits & TL_TRAIT_LAYOUT) && !node->mixed &&
         (op->vars[out->var].dtypes & TL_DTYPE_BIT(to)) && tl_motion_chip_has(motion, n, to);
}
