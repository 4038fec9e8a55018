/* SPDX-License-Identifier: Apache-2.0 */
/* link-models: joins the training model and the optimizer model of ONNX Runtime's artifacts to one
 * step. The gradient sums of the first become the gradients that the second updates by.
 *
 * Requires:  canonical form; the training model is the main graph, the optimizer the only other
 *            root graph.
 * After:     one root graph. Lists are spelled out, every parameter, moment and buffer is a state.
 * Errors:    E-TRN-LINK, E-TRN-LENGTH, E-TRN-NOTENSOR, E-TRN-SHAPE, E-TRN-DTYPE, E-TRN-DUP.
 * Cost:      O(nodes + edges of both).
 * Tests:     tests/golden/link-models/, tests/cli/link.t, tests/train/artifacts.py */
#include "passes/edit/passes.h"
#include "passes/train/step/declare.h"
#include "passes/train/step/link.h"

/* Returns the root graph around a graph. */
static tl_graph_id root_of(const tl_module *m, tl_graph_id g) {
  while (tl_graph_get(m, g)->owner)
    g = tl_node_get(m, tl_graph_get(m, g)->owner)->graph;
  return g;
}

/* Finds the other root graph; TL_NO_GRAPH if there is one alone. */
static tl_status find_graphs(const tl_module *m, tl_graph_id *second) {
  *second = TL_NO_GRAPH;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased || g->kind != TL_GRAPH_ROOT || g == tl_module_main(m))
      continue;
    if (*second)
      return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-LINK", TL_AT_FILE(m->path),
                          "there are more than two models to link");
    *second = g->id;
  }
  return TL_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool note_names(tl_linking *x, tl_map *values, tl_map *nodes) {
  bool ok = true;
  for (tl_value_id v = 1; ok && v < tl_module_value_end(x->m); v++) {
    const tl_value *value = tl_value_get(x->m, v);
    if (value->kind != TL_VALUE_NONE && value->name &&
        root_of(x->m, tl_value_graph(x->m, v)) == x->train->id)
      ok = tl_map_set(values, value->name, 1);
  }
  for (tl_node_id n = 1; ok && n < tl_module_node_end(x->m); n++) {
    const tl_node *node = tl_node_get(x->m, n);
    if (node->op != TL_OP_ERASED && node->op != TL_OP_RETURN && node->name &&
        root_of(x->m, node->graph) == x->train->id)
      ok = tl_map_set(nodes, node->name, 1);
  }
  return ok;
}

static bool rename_if_taken(tl_linking *x, const tl_map *taken, tl_symbol *name) {
  if (!*name || !tl_map_find(taken, *name, NULL))
    return true;
  tl_symbol s = tl_module_fresh_name(x->m, tl_sym(x->m, *name));
  *name = s == TL_NO_SYMBOL ? *name : s;
  return s != TL_NO_SYMBOL;
}

static bool rename_others(tl_linking *x, const tl_map *values, const tl_map *nodes) {
  bool ok = true;
  for (tl_value_id v = 1; ok && v < tl_module_value_end(x->m); v++) {
    tl_value *value = tl_value_get(x->m, v);
    if (value->kind != TL_VALUE_NONE && root_of(x->m, tl_value_graph(x->m, v)) == x->optim->id)
      ok = rename_if_taken(x, values, &value->name);
  }
  for (tl_node_id n = 1; ok && n < tl_module_node_end(x->m); n++) {
    tl_node *node = tl_node_get(x->m, n);
    if (node->op != TL_OP_ERASED && node->op != TL_OP_RETURN &&
        root_of(x->m, node->graph) == x->optim->id)
      ok = rename_if_taken(x, nodes, &node->name);
  }
  return ok;
}

/* Renames values and nodes of the optimizer whose names the training model uses. Its inputs have
 * been replaced by now, so that its remaining names mean nothing outside. */
static tl_status keep_names_apart(tl_linking *x) {
  tl_map values = {0}, nodes = {0};
  bool ok = note_names(x, &values, &nodes) && rename_others(x, &values, &nodes);
  tl_map_release(&values);
  tl_map_release(&nodes);
  return ok ? TL_OK : tl_no_memory(x->m);
}

/* ---- one graph ------------------------------------------------------------------------------- */

static tl_status find_updates(tl_linking *x) {
  TL_FOR_NODES(x->m, x->optim, n) {
    tl_update_row room;
    if (tl_train_update_row(x->m, n, &room) && !tl_u32_vec_push(&x->updates, n))
      return tl_no_memory(x->m);
  }
  if (x->updates.n)
    return TL_OK;
  return tl_fail_code(x->m->diag, TL_INVALID_MODEL, "E-TRN-LINK", TL_AT_FILE(x->path),
                      "the optimizer model has no node that updates parameters, such as "
                      "AdamWOptimizer or SGDOptimizerV2"
                      "\vname others by update_ops of --train-spec");
}

/* Collects the outputs of the joined step: those of the training model, those of the optimizer
 * except sequences, then next values of states; each once. */
static tl_status collect_outputs(tl_linking *x, tl_u32_vec *out, tl_graph *optim) {
  tl_module *m = x->m;
  tl_map seen = {0};
  bool ok = true;
  for (uint32_t i = 0; ok && i < tl_graph_n_outputs(m, x->train); i++)
    ok = tl_u32_vec_push(out, tl_graph_output(m, x->train, i));
  for (uint32_t i = 0; ok && optim && i < tl_graph_n_outputs(m, optim); i++) {
    tl_value_id v = tl_graph_output(m, optim, i);
    if (tl_type_get(m, tl_value_type(m, v))->kind != TL_KIND_SEQUENCE)
      ok = tl_u32_vec_push(out, v);
  }
  for (uint32_t i = 0; ok && i < x->outputs.n; i++)
    ok = tl_u32_vec_push(out, x->outputs.at[i]);
  uint32_t n = 0;
  for (uint32_t i = 0; ok && i < out->n; i++) {
    if (tl_map_find(&seen, out->at[i], NULL))
      continue;
    ok = tl_map_set(&seen, out->at[i], 1);
    out->at[n++] = out->at[i];
  }
  out->n = n;
  tl_map_release(&seen);
  return ok ? TL_OK : tl_no_memory(x->m);
}

/* Moves the optimizer's nodes behind those of the training model, then adds next values and
 * outputs. */
static tl_status join(tl_linking *x) {
  tl_module *m = x->m;
  tl_u32_vec outputs = {0};
  if (tl_graph_join(m, x->optim->id, x->train->id) != TL_OK)
    return tl_no_memory(x->m);
  tl_status status = tl_link_updates(x);
  if (status == TL_OK)
    status = collect_outputs(x, &outputs, x->optim);
  if (status == TL_OK && tl_graph_set_outputs(m, x->train->id, outputs.at, outputs.n) != TL_OK)
    status = tl_no_memory(x->m);
  tl_u32_vec_release(&outputs);
  if (status == TL_OK)
    tl_graph_erase(m, x->optim->id);
  return status;
}

static tl_status link(tl_linking *x) {
  TL_TRY(find_updates(x));
  TL_TRY(tl_link_find_params(x));
  TL_TRY(tl_link_inputs(x));
  TL_TRY(keep_names_apart(x));
  return join(x);
}

static void release(tl_linking *x) {
  tl_map_release(&x->given);
  tl_map_release(&x->named);
  tl_map_release(&x->of_param);
  tl_map_release(&x->of_grad);
  tl_u32_vec_release(&x->updates);
  tl_u32_vec_release(&x->outputs);
}

tl_status tl_pass_link_models(tl_pass *p, tl_module *m) {
  tl_graph_id second;
  const char *path = p->options->optim_model;
  tl_linking x = {.p = p, .m = m, .path = path ? path : m->path};
  TL_TRY(find_graphs(m, &second));
  if (!second || !tl_pass_may_rewrite(p))
    return TL_OK;
  x.train = tl_module_main(m);
  x.optim = tl_graph_get(m, second);
  tl_status status = link(&x);
  release(&x);
  return status;
}
