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

static bool note_names(tl_linking *linking, tl_map *values, tl_map *nodes) {
  bool ok = true;
  for (tl_value_id v = 1; ok && v < tl_module_value_end(linking->m); v++) {
    const tl_value *value = tl_value_get(linking->m, v);
    if (value->kind != TL_VALUE_NONE && value->name &&
        root_of(linking->m, tl_value_graph(linking->m, v)) == linking->train->id)
      ok = tl_map_set(values, value->name, 1);
  }
  for (tl_node_id n = 1; ok && n < tl_module_node_end(linking->m); n++) {
    const tl_node *node = tl_node_get(linking->m, n);
    if (node->op != TL_OP_ERASED && node->op != TL_OP_RETURN && node->name &&
        root_of(linking->m, node->graph) == linking->train->id)
      ok = tl_map_set(nodes, node->name, 1);
  }
  return ok;
}

static bool rename_if_taken(tl_linking *linking, const tl_map *taken, tl_symbol *name) {
  if (!*name || !tl_map_find(taken, *name, NULL))
    return true;
  tl_symbol s = tl_module_fresh_name(linking->m, tl_sym(linking->m, *name));
  *name = s == TL_NO_SYMBOL ? *name : s;
  return s != TL_NO_SYMBOL;
}

static bool rename_others(tl_linking *linking, const tl_map *values, const tl_map *nodes) {
  bool ok = true;
  for (tl_value_id v = 1; ok && v < tl_module_value_end(linking->m); v++) {
    tl_value *value = tl_value_get(linking->m, v);
    if (value->kind != TL_VALUE_NONE &&
        root_of(linking->m, tl_value_graph(linking->m, v)) == linking->optim->id)
      ok = rename_if_taken(linking, values, &value->name);
  }
  for (tl_node_id n = 1; ok && n < tl_module_node_end(linking->m); n++) {
    tl_node *node = tl_node_get(linking->m, n);
    if (node->op != TL_OP_ERASED && node->op != TL_OP_RETURN &&
        root_of(linking->m, node->graph) == linking->optim->id)
      ok = rename_if_taken(linking, nodes, &node->name);
  }
  return ok;
}

/* Renames values and nodes of the optimizer whose names the training model uses. Its inputs have
 * been replaced by now, so that its remaining names mean nothing outside. */
static tl_status keep_names_apart(tl_linking *linking) {
  tl_map values = {0}, nodes = {0};
  bool ok = note_names(linking, &values, &nodes) && rename_others(linking, &values, &nodes);
  tl_map_release(&values);
  tl_map_release(&nodes);
  return ok ? TL_OK : tl_no_memory(linking->m);
}

/* ---- one graph ------------------------------------------------------------------------------- */

static tl_status find_updates(tl_linking *linking) {
  TL_FOR_NODES(linking->m, linking->optim, n) {
    tl_update_row room;
    if (tl_train_update_row(linking->m, n, &room) && !tl_u32_vec_push(&linking->updates, n))
      return tl_no_memory(linking->m);
  }
  if (linking->updates.n)
    return TL_OK;
  return tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-LINK", TL_AT_FILE(linking->path),
                      "the optimizer model has no node that updates parameters, such as "
                      "AdamWOptimizer or SGDOptimizerV2"
                      "\vname others by update_ops of --train-spec");
}

/* Collects the outputs of the joined step: those of the training model, those of the optimizer
 * except sequences, then next values of states; each once. */
static tl_status collect_outputs(tl_linking *linking, tl_u32_vec *out, tl_graph *optim) {
  tl_module *m = linking->m;
  tl_map seen = {0};
  bool ok = true;
  for (uint32_t i = 0; ok && i < tl_graph_n_outputs(m, linking->train); i++)
    ok = tl_u32_vec_push(out, tl_graph_output(m, linking->train, i));
  for (uint32_t i = 0; ok && optim && i < tl_graph_n_outputs(m, optim); i++) {
    tl_value_id v = tl_graph_output(m, optim, i);
    if (tl_type_get(m, tl_value_type(m, v))->kind != TL_KIND_SEQUENCE)
      ok = tl_u32_vec_push(out, v);
  }
  for (uint32_t i = 0; ok && i < linking->outputs.n; i++)
    ok = tl_u32_vec_push(out, linking->outputs.at[i]);
  uint32_t n = 0;
  for (uint32_t i = 0; ok && i < out->n; i++) {
    if (tl_map_find(&seen, out->at[i], NULL))
      continue;
    ok = tl_map_set(&seen, out->at[i], 1);
    out->at[n++] = out->at[i];
  }
  out->n = n;
  tl_map_release(&seen);
  return ok ? TL_OK : tl_no_memory(linking->m);
}

/* Moves the optimizer's nodes behind those of the training model, then adds next values and
 * outputs. */
static tl_status join(tl_linking *linking) {
  tl_module *m = linking->m;
  tl_u32_vec outputs = {0};
  if (tl_graph_join(m, linking->optim->id, linking->train->id) != TL_OK)
    return tl_no_memory(linking->m);
  tl_status status = tl_link_updates(linking);
  if (status == TL_OK)
    status = collect_outputs(linking, &outputs, linking->optim);
  if (status == TL_OK &&
      tl_graph_set_outputs(m, linking->train->id, outputs.at, outputs.n) != TL_OK)
    status = tl_no_memory(linking->m);
  tl_u32_vec_release(&outputs);
  if (status == TL_OK)
    tl_graph_erase(m, linking->optim->id);
  return status;
}

static tl_status link(tl_linking *linking) {
  TL_TRY(find_updates(linking));
  TL_TRY(tl_link_find_params(linking));
  TL_TRY(tl_link_inputs(linking));
  TL_TRY(keep_names_apart(linking));
  return join(linking);
}

static void release(tl_linking *linking) {
  tl_map_release(&linking->given);
  tl_map_release(&linking->named);
  tl_map_release(&linking->of_param);
  tl_map_release(&linking->of_grad);
  tl_u32_vec_release(&linking->updates);
  tl_u32_vec_release(&linking->outputs);
}

tl_status tl_pass_link_models(tl_pass *p, tl_module *m) {
  tl_graph_id second;
  const char *path = p->options->optim_model;
  tl_linking linking = {.p = p, .m = m, .path = path ? path : m->path};
  TL_TRY(find_graphs(m, &second));
  if (!second || !tl_pass_may_rewrite(p))
    return TL_OK;
  linking.train = tl_module_main(m);
  linking.optim = tl_graph_get(m, second);
  tl_status status = link(&linking);
  release(&linking);
  return status;
}
