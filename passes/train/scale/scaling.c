/* SPDX-License-Identifier: Apache-2.0 */
/* Makes nodes, names, outputs and states for the parts of the pass loss-scale (scaling.h). */
#include "passes/train/scale/scaling.h"

#include "ir/marks.h"
#include "ir/ops_gen.h"

/* Marks a node that was just made; see tl_ls_make. */
static tl_value_id marked(tl_maker *k, tl_value_id v) {
  if (v && !tl_node_put_mark(k->m, tl_value_producer(k->m, v), TL_MARK_KEEP_DTYPE))
    k->no_memory = true;
  return v;
}

tl_value_id tl_ls_make(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_value_id c) {
  return marked(k, tl_make(k, op, a, b, c));
}

tl_value_id tl_ls_make_list(tl_maker *k, tl_op_id op, const tl_value_id *at, uint32_t n,
                            tl_attr attr) {
  return marked(k, tl_make_list(k, op, at, n, attr));
}

tl_value_id tl_ls_cast(tl_maker *k, tl_value_id v, tl_dtype to) {
  if (!v || tl_type_dtype(k->m, tl_value_type(k->m, v)) == to)
    return v;
  return marked(k, tl_make_cast(k, v, to));
}

tl_maker tl_ls_before(const tl_loss_scaling *scaling, tl_node_id n) {
  tl_maker k = scaling->k;
  k.before = n;
  k.like = n ? n : k.like;
  return k;
}

void tl_ls_adopt(tl_loss_scaling *scaling, const tl_maker *k) {
  scaling->k.no_memory = scaling->k.no_memory || k->no_memory;
  scaling->k.clash = scaling->k.clash || k->clash;
}

void tl_ls_name(tl_loss_scaling *scaling, tl_value_id v, const char *name) {
  tl_symbol s = tl_module_intern(scaling->m, tl_sv_from(name));
  scaling->k.no_memory = scaling->k.no_memory || s == TL_NO_SYMBOL;
  if (v && s != TL_NO_SYMBOL)
    tl_value_set_name(scaling->m, v, s);
}

tl_train_region tl_ls_region_of_use(const tl_loss_scaling *scaling, tl_use_id u) {
  tl_node_id n = tl_use_get(scaling->m, u)->user;
  const tl_graph *g = tl_graph_get(scaling->m, tl_node_get(scaling->m, n)->graph);
  while (g->kind == TL_GRAPH_BODY) {
    n = g->owner;
    g = tl_graph_get(scaling->m, tl_node_get(scaling->m, n)->graph);
  }
  return tl_train_region_of(&scaling->info, n);
}

void tl_ls_set_use(tl_module *m, tl_use_id u, tl_value_id v) {
  tl_node_id n = tl_use_get(m, u)->user;
  tl_node_set_operand(m, n, u - tl_node_get(m, n)->operands, v);
}

void tl_ls_add_output(tl_loss_scaling *scaling, tl_value_id v) {
  const tl_graph *g = tl_module_main(scaling->m);
  uint32_t n = tl_graph_n_outputs(scaling->m, g);
  tl_value_id *all = tl_arena_calloc(scaling->p->scratch, n + 1U, sizeof *all);
  scaling->k.no_memory = scaling->k.no_memory || !all;
  if (!v || tl_maker_failed(&scaling->k))
    return;
  for (uint32_t i = 0; i < n; i++)
    all[i] = tl_graph_output(scaling->m, g, i);
  all[n] = v;
  scaling->k.no_memory = tl_graph_set_outputs(scaling->m, g->id, all, n + 1) != TL_OK;
}

void tl_ls_add_state(tl_loss_scaling *scaling, tl_value_id input, tl_value_id output) {
  tl_state s = {.input = input, .output = output};
  if (!tl_maker_failed(&scaling->k) && !tl_state_vec_push(&scaling->m->states, s))
    scaling->k.no_memory = true;
}
