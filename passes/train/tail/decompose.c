/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces update ops that wait for L by arithmetic.
 * What needs no gradient, such as beta * m, the decay of a weight and the corrections of bias, may
 * then run while L is reduced. */
#include "ir/ops_gen.h"
#include "passes/train/tail/groups.h"
#include "passes/train/update/math.h"

static double attr(const tl_update_math *u, tl_symbol name) {
  return (double)tl_node_attr_float(u->k.m, u->n, name, 0);
}

/* Returns true if some part of the update needs no gradient, and nothing refers to the node but its
 * tensors. */
static bool may_go(const tl_update_math *u) {
  const tl_module *m = u->k.m;
  const tl_node *node = tl_node_get(m, u->n);
  if (u->f->all_needs_gradient ||
      (node->op == TL_OP_ai_onnx_preview_training_Adagrad &&
       attr(u, TL_SYM_norm_coefficient) == 0 && attr(u, TL_SYM_decay_factor) == 0))
    return false;
  if (node->control_in || node->control_out)
    return false;
  return !u->f->sequences || (node->n_results && !tl_value_get(m, node->results)->n_uses);
}

/* ---- in the graph ---------------------------------------------------------------------------- */

/* Makes lists of new tensors in place of those that the op gave. */
static void make_sequences(tl_update_math *u, tl_value_id *made) {
  for (uint32_t r = 0; r + 1 < u->f->kinds && !tl_maker_failed(&u->k); r++)
    made[r] = tl_make_sequence(&u->k, u->out[r], u->count);
}

static void take_place(tl_tail *t, tl_update_math *u, const tl_value_id *sequences) {
  bool lists = u->f->sequences;
  for (uint32_t r = 0; r + 1 < u->f->kinds; r++) {
    if (lists && r + 1 < tl_node_get(u->k.m, u->n)->n_results)
      tl_tail_replace(t, tl_result(u->k.m, u->n, r + 1), sequences[r]);
    for (uint32_t i = 0; !lists && i < u->count; i++)
      tl_tail_replace(t, tl_result(u->k.m, u->n, r * u->count + i), u->out[r][i]);
  }
  for (uint32_t i = 0; lists && i < u->f->kinds; i++)
    tl_tail_retire_unused(t, u->constructs[i]);
  tl_tail_retire(t, u->n); /* erased from the last retired on */
}

static bool decompose(tl_tail *t, tl_node_id n) {
  tl_update_math u;
  tl_value_id sequences[TL_UPDATE_KINDS] = {TL_NO_VALUE};
  bool open = tl_update_math_open(&u, t->p, t->m, n);
  t->no_memory = t->no_memory || u.k.no_memory;
  if (!open || !may_go(&u))
    return false;
  tl_maker_mark mark = tl_maker_save(&u.k);
  tl_update_math_make(&u);
  if (u.f->sequences)
    make_sequences(&u, sequences);
  if (!tl_tail_adopt_made(t, &u.k, mark))
    return false;
  take_place(t, &u, sequences);
  return true;
}

uint32_t tl_tail_decompose_updates(tl_tail *t) {
  uint32_t n = 0;
  if (!t->c->decompose_updates)
    return 0;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), k)
    if (tl_update_formula_of(tl_node_get(t->m, k)->op) && t->below_data[k] && !t->no_memory)
      n += decompose(t, k);
  return n;
}
