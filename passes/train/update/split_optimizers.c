/* SPDX-License-Identifier: Apache-2.0 */
/* split-optimizers: gives each tensor of Adagrad, Adam and Momentum a node of its own.
 * These ops of ai.onnx.preview.training update several tensors, with operands grouped by kind:
 * rate, count, all weights, all gradients, all of each state. Expand rules handle one tensor.
 *
 * Requires:  types inferred.     Keeps: names of results; everything else of the model.
 * After:     such a node steps one tensor, or has control edges, states that are pinned, or
 *            operands that do not fit its results.
 * Cost:      O(nodes + operands of what is split).
 * Tests:     tests/golden/split-optimizers/ */
#include "passes/edit/maker.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/train/update/math.h"

enum { SHARED = 2, MAX_KINDS = 4 }; /* rate and count; weights, gradients, at most two states */

/* Returns the number of tensors of a node that can be split, else 0. */
static uint32_t tensors_of(const tl_module *m, tl_node_id n, const tl_pinned *pinned) {
  const tl_node *node = tl_node_get(m, n);
  uint32_t kinds = tl_update_kinds(node->op);
  if (!kinds || node->n_operands < SHARED + 2 * kinds || node->control_in || node->control_out ||
      (node->n_operands - SHARED) % kinds)
    return 0;
  uint32_t tensors = (node->n_operands - SHARED) / kinds;
  if (node->n_results != tensors * (kinds - 1))
    return 0;
  for (uint32_t i = 0; i < node->n_operands; i++)
    if (!tl_operand(m, n, i))
      return 0;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(pinned, node->results + i))
      return 0;
  return tensors;
}

static void move_result(tl_module *m, tl_value_id old, tl_value_id made) {
  tl_value *v = tl_value_get(m, old);
  tl_value_get(m, made)->name = v->name;
  tl_value_set_type(m, made, v->type);
  v->name = 0;
  tl_value_replace_uses(m, old, made);
}

/* Makes the node of tensor i. Only the first keeps the name, since runtimes refuse two nodes of one
 * name. */
static void make_step(tl_maker *k, uint32_t i, uint32_t tensors) {
  tl_module *m = k->m;
  tl_node_id n = k->like;
  const tl_node *node = tl_node_get(m, n);
  uint32_t kinds = tl_update_kinds(node->op), old = node->results;
  tl_value_id operands[SHARED + MAX_KINDS] = {tl_operand(m, n, 0), tl_operand(m, n, 1)};
  tl_node_spec spec = {.op = node->op,
                       .name = node->name,
                       .operands = operands,
                       .n_operands = SHARED + kinds,
                       .n_results = kinds - 1,
                       .attrs = node->attrs,
                       .n_attrs = node->n_attrs};
  for (uint32_t kind = 0; kind < kinds; kind++)
    operands[SHARED + kind] = tl_operand(m, n, SHARED + kind * tensors + i);
  if (i && spec.name)
    spec.name = tl_module_fresh_name(m, tl_sym(m, spec.name));
  k->no_memory = k->no_memory || spec.name == TL_NO_SYMBOL;
  tl_value_id made = tl_make_node(k, &spec);
  for (uint32_t kind = 0; made && kind < kinds - 1; kind++)
    move_result(m, old + kind * tensors + i, made + kind);
}

static tl_status split(tl_pass *p, tl_module *m, tl_node_id n, uint32_t tensors) {
  tl_maker k = tl_maker_before(m, n);
  for (uint32_t i = 0; i < tensors; i++)
    make_step(&k, i, tensors);
  TL_TRY(tl_maker_status(&k));
  tl_pass_remark(p, m, n, true, "one node a tensor");
  tl_node_erase(m, n);
  return TL_OK;
}

static tl_status sweep(tl_pass *p, tl_module *m, const tl_graph *g, const tl_pinned *pinned) {
  TL_FOR_NODES(m, g, n) {
    uint32_t tensors = tensors_of(m, n, pinned);
    if (tensors && tl_pass_may_rewrite(p))
      TL_TRY(split(p, m, n, tensors));
  }
  return TL_OK;
}

tl_status tl_pass_split_optimizers(tl_pass *p, tl_module *m) {
  tl_pinned pinned;
  TL_TRY(tl_pinned_find(p, m, &pinned));
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      TL_TRY(sweep(p, m, m->graphs.at[i], &pinned));
  return TL_OK;
}
