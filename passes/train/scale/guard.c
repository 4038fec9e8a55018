/* SPDX-License-Identifier: Apache-2.0 */
/* Guards states: a step that overflowed leaves parameters, moments and counters as they were.
 * States of forward, such as running statistics, are updated all the same. */
#include "ir/ops_gen.h"
#include "passes/train/scale/branch.h"

/* ---- which ----------------------------------------------------------------------------------- */

/* Marks nodes that depend on forward or backward and are not part of the update. */
static void mark_forward(tl_guarding *g) {
  tl_module *m = g->x->m;
  TL_FOR_NODES(m, tl_module_main(m), n) {
    tl_train_region r = tl_train_region_of(&g->x->info, n);
    bool hit = r == TL_REGION_FORWARD || r == TL_REGION_BACKWARD;
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands && !hit; i++) {
      tl_value_id v = tl_operand(m, n, i);
      tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
      hit = p && g->of_forward[p];
    }
    g->of_forward[n] = hit && r != TL_REGION_UPDATE && n < g->x->info.n_nodes;
  }
}

/* Returns true if forward or backward reads v. Such a state is forward's own if no gradient takes
 * part in its next value. */
static bool is_read_by_forward(const tl_guarding *g, tl_value_id v) {
  TL_FOR_USES(g->x->m, v, u) {
    tl_train_region r = tl_ls_region_of_use(g->x, u);
    if (r == TL_REGION_FORWARD || r == TL_REGION_BACKWARD)
      return true;
  }
  return false;
}

static bool belongs_to_update(const tl_guarding *g, tl_value_id input, tl_value_id output) {
  tl_node_id p = tl_value_producer(g->x->m, output);
  if (!p || tl_node_get(g->x->m, p)->graph != tl_module_main(g->x->m)->id)
    return false;
  if (tl_train_region_of(&g->x->info, p) == TL_REGION_UPDATE || output >= g->x->n_touched ||
      g->x->touched[output])
    return true;
  return !g->of_forward[p] && !is_read_by_forward(g, input);
}

/* Lists a state once, unless its update is told to skip or it is not part of the update. */
static void add(tl_guarding *g, tl_value_id input, tl_value_id output) {
  tl_module *m = g->x->m;
  tl_node_id p = output ? tl_value_producer(m, output) : TL_NO_NODE;
  if (p && g->signalled[p])
    return;
  if (!input || !output || input == output || g->taken[output] ||
      tl_type_get(m, tl_value_type(m, output))->kind != TL_KIND_TENSOR ||
      !belongs_to_update(g, input, output))
    return;
  g->taken[output] = true;
  if (!tl_guarded_vec_push(&g->all, (tl_guarded){input, output}))
    g->x->k.no_memory = true;
}

static void collect(tl_guarding *g) {
  const tl_train_info *t = &g->x->info;
  for (uint32_t i = 0; i < t->n; i++) {
    add(g, t->grads[i].param, t->grads[i].param_out);
    for (uint32_t k = 0; k < t->grads[i].n_states; k++)
      add(g, t->grads[i].state_in[k], t->grads[i].state_out[k]);
  }
  for (uint32_t i = 0; i < g->x->m->states.n; i++)
    add(g, g->x->m->states.at[i].input, g->x->m->states.at[i].output);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Makes update_form=where: Where(finite, next, old) for each guarded state. */
static void choose(tl_guarding *g) {
  tl_loss_scaling *scaling = g->x;
  for (uint32_t i = 0; i < g->all.n && !tl_maker_failed(&scaling->k); i++) {
    const tl_guarded *s = &g->all.at[i];
    tl_maker k = scaling->k;
    k.base = tl_value_get(scaling->m, s->output)->name;
    tl_value_id made = tl_ls_make(&k, TL_OP_Where, scaling->finite, s->output, s->input);
    tl_ls_adopt(scaling, &k);
    if (made)
      tl_ls_take_over(g, s->output, made);
  }
  tl_ls_put_in_place(g);
}

/* ---- optimizers of ONNX Runtime -------------------------------------------------------------- */

/* Returns the index of an op's operand `update_signal`; UINT32_MAX if it has none. */
static uint32_t signal_port(const tl_module *m, tl_node_id n) {
  const tl_op *row = n ? tl_op_row(tl_node_get(m, n)->op) : NULL;
  for (uint32_t i = 0; row && i < row->n_operand_ports; i++)
    if (strcmp(row->operands[i].name, "update_signal") == 0)
      return i;
  return UINT32_MAX;
}

/* Connects `finite` to an update signal. Such an op updates sequences of tensors, on which Where
 * does not work. */
static void connect_signal(tl_guarding *g, tl_node_id n, uint32_t port) {
  tl_loss_scaling *scaling = g->x;
  tl_module *m = scaling->m;
  uint32_t count = tl_node_get(m, n)->n_operands;
  uint32_t most = count > port ? count : port + 1;
  tl_value_id *operands = tl_arena_calloc(scaling->p->scratch, most, sizeof *operands);
  scaling->k.no_memory = scaling->k.no_memory || !operands;
  if (tl_maker_failed(&scaling->k))
    return;
  for (uint32_t i = 0; i < count; i++)
    operands[i] = tl_operand(m, n, i);
  tl_value_id old = operands[port];
  tl_maker k = tl_ls_before(scaling, n);
  operands[port] = old ? tl_ls_make(&k, TL_OP_And, old, scaling->finite, TL_NO_VALUE)
                       : scaling->finite;
  tl_ls_adopt(scaling, &k);
  if (!tl_maker_failed(&scaling->k) && tl_node_set_operands(m, n, operands, most) != TL_OK)
    scaling->k.no_memory = true;
}

static bool connect_signals(tl_guarding *g) {
  const tl_train_info *t = &g->x->info;
  bool any = false;
  for (uint32_t i = 0; i < t->n && !tl_maker_failed(&g->x->k); i++) {
    tl_node_id n = t->grads[i].update;
    uint32_t port = signal_port(g->x->m, n);
    if (port == UINT32_MAX || g->signalled[n])
      continue;
    connect_signal(g, n, port);
    g->signalled[n] = any = true;
  }
  return any;
}

static bool is_used(const tl_module *m, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
    if (tl_value_get(m, tl_result(m, n, i))->n_uses)
      return true;
  return false;
}

/* Refuses updates that write to their operands and give no result: there is nothing to choose
 * from. */
static tl_status check_in_place(const tl_guarding *g) {
  tl_module *m = g->x->m;
  TL_FOR_NODES(m, tl_module_main(m), n) {
    tl_op_id op = tl_node_get(m, n)->op;
    bool acts = !tl_op_row(op) || tl_op_has_trait(op, TL_TRAIT_EFFECT);
    if (acts && tl_train_region_of(&g->x->info, n) == TL_REGION_UPDATE && !g->signalled[n] &&
        !is_used(m, n))
      return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                     "the update is only in place, so an overflow cannot skip it\v"
                     "make the next value of the parameter an output of the graph");
  }
  return TL_OK;
}

static tl_status guard(tl_guarding *g) {
  mark_forward(g);
  bool moved = connect_signals(g);
  TL_TRY(check_in_place(g));
  collect(g);
  if (g->x->c->update_form == TL_UPDATE_IF)
    tl_ls_branch(g);
  else
    choose(g);
  TL_TRY(tl_maker_status(&g->x->k));
  return moved ? tl_graph_sort(g->x->m, tl_module_main(g->x->m)->id) : TL_OK;
}

tl_status tl_ls_guard_updates(tl_loss_scaling *scaling) {
  tl_guarding g = {.x = scaling};
  uint32_t nodes = tl_module_node_end(scaling->m);
  g.of_forward = tl_arena_calloc(scaling->p->scratch, nodes, 1);
  g.signalled = tl_arena_calloc(scaling->p->scratch, nodes, sizeof *g.signalled);
  g.n_values = tl_module_value_end(scaling->m);
  g.taken = tl_arena_calloc(scaling->p->scratch, g.n_values, sizeof *g.taken);
  g.made = tl_arena_calloc(scaling->p->scratch, g.n_values, sizeof *g.made);
  scaling->k.no_memory = scaling->k.no_memory || !g.of_forward || !g.signalled || !g.taken ||
                         !g.made;
  TL_TRY(tl_maker_status(&scaling->k));
  tl_status status = guard(&g);
  tl_guarded_vec_release(&g.all);
  return status;
}
