/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the NPU candidate of a node, for the passes select and expand: the first row whose guard
 * holds. */
#include "passes/edit/half.h"
#include "passes/npu/eval.h"
#include "passes/npu/lower_index.h"

/* Rows are tried in the order of the table, so that its order is part of its meaning. */
tl_status tl_npu_choose(tl_npu_forms *forms, tl_site *site, int16_t *candidate,
                        const tl_npu_form **out) {
  tl_op_id op = tl_node_get(site->m, site->node)->op;
  const tl_op *row = tl_op_row(op);
  const tl_npu_form *form = NULL;
  *candidate = -1;
  *out = NULL;
  if (!row || row->n_npu == 0)
    return TL_OK;
  TL_TRY(tl_npu_forms_get(forms, op, &form));
  for (int16_t i = 0; i < row->n_npu && *candidate < 0; i++)
    if (tl_npu_guard_holds(site, form[i].guard))
      *candidate = i;
  if (*candidate >= 0)
    *out = &form[*candidate];
  return TL_OK;
}

/* What is not known does not stand against a port: absent values, unknown kinds and dtypes. */
bool tl_npu_takes(const tl_module *m, const tl_op *npu, const tl_op_port *p, tl_value_id v) {
  if (!v || !p || p->var < 0)
    return true;
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  const tl_type_var *var = &npu->vars[p->var];
  if (t->kind != TL_KIND_UNKNOWN && !(var->kinds & TL_KIND_BIT(t->kind)))
    return false;
  return t->kind != TL_KIND_TENSOR || t->dtype == TL_DTYPE_NONE ||
         (var->dtypes & TL_DTYPE_BIT(t->dtype)) != 0 || tl_index_narrows(m, npu, p, v);
}

/* Like tl_npu_takes, but f32 also passes if precision will make it 16 bits wide and the port has a
 * 16-bit float. */
static bool takes_half(const tl_site *site, const tl_op *npu, const tl_op_port *p, tl_value_id v) {
  const uint64_t low = TL_DTYPE_BIT(TL_DTYPE_F16) | TL_DTYPE_BIT(TL_DTYPE_BF16);
  return tl_npu_takes(site->m, npu, p, v) ||
         (tl_type_dtype(site->m, tl_value_type(site->m, v)) == TL_DTYPE_F32 &&
          (npu->vars[p->var].dtypes & low) != 0 &&
          tl_precision_halves(site->m, site->options, site->node));
}

bool tl_npu_takes_dtypes(const tl_site *site, const tl_npu_form *form) {
  const tl_node *node = tl_node_get(site->m, site->node);
  for (uint32_t i = 0; form->npu && i < form->n_operands; i++) {
    const tl_npu_binding *b = &form->operands[i];
    bool is_port = b->index < form->npu->n_operand_ports;
    const tl_op_port *p = is_port ? &form->npu->operands[b->index] : NULL;
    if (!takes_half(site, form->npu, p, tl_expr_value(site, b->value)))
      return false;
  }
  for (uint32_t i = 0; form->npu && i < node->n_results && i < form->npu->max_results; i++)
    if (!takes_half(site, form->npu, tl_op_result_port(form->npu, i), node->results + i))
      return false;
  return true;
}
