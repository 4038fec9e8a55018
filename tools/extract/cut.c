/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces a module to a part whose values and nodes are marked. All inputs are made anew, so that
 * they stand in the order of --from. */
#include "ir/graph.h"
#include "tools/extract/extract.h"

static tl_status no_memory(tl_part *p) { return tl_fail_memory(&p->cli->diag, TL_NOWHERE); }

void tl_part_release(tl_part *p) {
  free(p->value);
  free(p->node);
  free(p->input);
  tl_u32_vec_release(&p->from);
  tl_u32_vec_release(&p->heads);
  tl_u32_vec_release(&p->to);
  tl_u32_vec_release(&p->work);
  tl_buf_release(&p->notes);
}

/* ---- the border ------------------------------------------------------------------------------ */

/* Puts a new input in the place of a result or of an input, under its name. */
static tl_status renew(tl_part *p, tl_value_id v) {
  tl_module *m = p->m;
  const tl_value *old = tl_value_get(m, v);
  tl_tensor_id start = old->kind == TL_VALUE_INPUT ? old->tensor : TL_NO_TENSOR;
  tl_symbol name = old->name ? old->name : tl_module_fresh_name(m, TL_SV("input"));
  if (name == TL_NO_SYMBOL)
    return no_memory(p);
  tl_value_id input =
      tl_graph_add_input(m, tl_module_main(m)->id, name, tl_value_type(m, v), start);
  if (!input)
    return no_memory(p);
  tl_value_get(m, input)->extra = tl_value_get(m, v)->extra;
  tl_value_set_name(m, v, 0);
  tl_value_replace_uses(m, v, input);
  p->input[v] = input;
  return TL_OK;
}

/* Makes the inputs: those of --from in its order, then inputs of the model that are needed. */
static tl_status renew_inputs(tl_part *p) {
  const tl_graph *g = tl_module_main(p->m);
  uint32_t before = g->inputs.n;
  for (uint32_t i = 0; i < p->from.n; i++)
    TL_TRY(renew(p, p->from.at[i]));
  for (uint32_t i = 0; i < before; i++) {
    tl_value_id v = g->inputs.at[i];
    if (p->value[v] & TL_PART_NEEDED && !(p->value[v] & TL_PART_BORDER))
      TL_TRY(renew(p, v));
  }
  return TL_OK;
}

/* ---- training -------------------------------------------------------------------------------- */

/* Returns what a value of the whole is in the part, TL_NO_VALUE: nothing. */
static tl_value_id in_part(const tl_part *p, tl_value_id v) {
  if (p->input[v])
    return p->input[v];
  return p->value[v] & TL_PART_NEEDED ? v : TL_NO_VALUE;
}

/* A state stays if the part has its input and gives its output. Its initial value stays with it. */
static bool keep_state(tl_part *p, tl_state *s) {
  bool held = !s->initial || in_part(p, s->initial) ||
              (tl_value_get(p->m, s->initial)->kind == TL_VALUE_CONSTANT &&
               tl_value_graph(p->m, s->initial) == tl_module_main(p->m)->id);
  if (!held || !p->input[s->input] || !(p->value[s->output] & TL_PART_OUTPUT))
    return false;
  if (s->initial) {
    p->value[s->initial] |= TL_PART_NEEDED;
    s->initial = in_part(p, s->initial);
  }
  s->input = p->input[s->input];
  return true;
}

static bool keep_gradient(const tl_part *p, tl_gradient *g) {
  tl_value_id grad = in_part(p, g->grad);
  tl_value_id indices = g->indices ? in_part(p, g->indices) : TL_NO_VALUE;
  if (!p->input[g->param] || !grad || (g->indices && !indices))
    return false;
  *g = (tl_gradient){p->input[g->param], grad, indices};
  return true;
}

/* Keeps of the training step what lies within the part, and warns of states that do not. */
static void keep_training(tl_part *p) {
  tl_module *m = p->m;
  uint32_t states = 0, gradients = 0, before = m->states.n;
  for (uint32_t i = 0; i < m->states.n; i++)
    if (keep_state(p, &m->states.at[i]))
      m->states.at[states++] = m->states.at[i];
  for (uint32_t i = 0; i < m->gradients.n; i++)
    if (keep_gradient(p, &m->gradients.at[i]))
      m->gradients.at[gradients++] = m->gradients.at[i];
  m->states.n = states;
  m->gradients.n = gradients;
  m->loss = in_part(p, m->loss);
  m->seed = in_part(p, m->seed);
  if (states < before)
    tl_warn(&p->cli->diag, TL_AT_FILE(m->path),
            "training states are left out, since the part lacks their inputs or outputs: %u of %u",
            before - states, before);
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Forgets what inference found of values: in the part it may not follow any more. */
static void forget_contents(tl_part *p) {
  for (tl_value_id v = 1; v < tl_module_value_end(p->m); v++)
    if (tl_value_get(p->m, v)->kind == TL_VALUE_RESULT)
      tl_value_get(p->m, v)->tensor = TL_NO_TENSOR;
  p->m->substitutes.n = 0;
  p->m->sizes.n = 0;
}

/* Warns of orders that end at the border, and of graphs beside the main one. */
static void warn_of_losses(tl_part *p) {
  const tl_module *m = p->m;
  uint32_t lost = 0;
  TL_FOR_NODES(m, tl_module_main(m), n)
    for (tl_control_id c = tl_node_get(m, n)->control_in; c; c = tl_control_get(m, c)->next_in)
      lost += (p->node[n] & TL_PART_NEEDED) &&
              !(p->node[tl_control_get(m, c)->from] & TL_PART_NEEDED);
  if (lost)
    tl_warn(&p->cli->diag, TL_AT_FILE(m->path),
            "control edges from nodes outside the part are left out: %u", lost);
  uint32_t graphs = 0;
  for (uint32_t i = 1; i < m->graphs.n; i++)
    graphs += m->graphs.at[i]->kind == TL_GRAPH_ROOT && !m->graphs.at[i]->erased;
  if (graphs)
    tl_warn(&p->cli->diag, TL_AT_FILE(m->path), "graphs behind the first one are left out: %u",
            graphs);
}

/* Erases from the end, so that users go before what they use. */
static void erase(tl_part *p) {
  tl_module *m = p->m;
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 1; i < m->graphs.n; i++)
    if (m->graphs.at[i]->kind == TL_GRAPH_ROOT)
      tl_graph_erase(m, m->graphs.at[i]->id);
  for (tl_node_id n = g->last, before; n; n = before) {
    before = tl_node_get(m, n)->previous;
    if (!(p->node[n] & TL_PART_NEEDED))
      tl_node_erase(m, n);
  }
  for (uint32_t i = g->inputs.n; i-- > 0;)
    if (tl_value_get(m, g->inputs.at[i])->n_uses == 0)
      tl_graph_erase_input(m, g->inputs.at[i]);
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i] && !(p->value[g->constants.at[i]] & TL_PART_NEEDED))
      tl_graph_erase_constant(m, g->constants.at[i]);
}

tl_status tl_part_cut(tl_part *p) {
  tl_module *m = p->m;
  p->input = calloc(tl_module_value_end(m), sizeof *p->input);
  if (!p->input)
    return no_memory(p);
  warn_of_losses(p);
  TL_TRY(renew_inputs(p));
  keep_training(p);
  forget_contents(p);
  if (tl_graph_set_outputs(m, tl_module_main(m)->id, p->to.at, p->to.n) != TL_OK)
    return no_memory(p);
  erase(p);
  return TL_OK;
}
