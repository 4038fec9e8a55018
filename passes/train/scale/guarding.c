/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the values that guarded states keep in the place of their candidates (guarding.h). */
#include "passes/train/scale/guarding.h"

void tl_ls_take_over(tl_guarding *g, tl_value_id candidate, tl_value_id made) {
  tl_loss_scaling *scaling = g->x;
  tl_symbol name = tl_value_get(scaling->m, candidate)->name;
  tl_maker k = scaling->k;
  k.base = name;
  tl_symbol other = tl_maker_name(&k, TL_SV("candidate"));
  g->made[candidate] = made;
  scaling->k.no_memory = scaling->k.no_memory || other == TL_NO_SYMBOL;
  if (other != TL_NO_SYMBOL) {
    tl_value_set_name(scaling->m, candidate, other);
    tl_value_set_name(scaling->m, made, name);
  }
}

static tl_value_id successor(const tl_guarding *g, tl_value_id v) {
  return g->made[v] ? g->made[v] : v;
}

void tl_ls_put_in_place(tl_guarding *g) {
  tl_module *m = g->x->m;
  tl_node_id ret = tl_module_main(m)->ret;
  for (uint32_t i = 0; i < tl_node_get(m, ret)->n_operands; i++) {
    tl_value_id v = tl_operand(m, ret, i);
    if (successor(g, v) != v)
      tl_node_set_operand(m, ret, i, successor(g, v));
  }
  for (uint32_t i = 0; i < m->states.n; i++)
    m->states.at[i].output = successor(g, m->states.at[i].output);
}
