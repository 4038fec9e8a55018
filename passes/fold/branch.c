/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces an If with a known condition: the nodes of the branch taken move into the graph around
 * it. A value keeps its name unless another value of the module has the same name. */
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/fold/fold.h"

static bool count_name(tl_fold *f, tl_value_id v) {
  tl_symbol name = v ? tl_value_get(f->m, v)->name : 0;
  uint32_t n = 0;
  if (!name)
    return true;
  tl_map_find(&f->names, name, &n);
  return tl_map_set(&f->names, name, n + 1);
}

static bool count_graph(tl_fold *f, const tl_graph *g) {
  bool ok = true;
  for (uint32_t i = 0; i < g->inputs.n && ok; i++)
    ok = count_name(f, g->inputs.at[i]);
  for (uint32_t i = 0; i < g->constants.n && ok; i++)
    ok = count_name(f, g->constants.at[i]);
  TL_FOR_NODES(f->m, g, n)
    for (uint32_t i = 0; i < tl_node_get(f->m, n)->n_results && ok; i++)
      ok = count_name(f, tl_node_get(f->m, n)->results + i);
  return ok;
}

/* Counts names once. Later changes only remove names, so that the counts stay upper bounds. */
static bool count_names(tl_fold *f) {
  bool ok = true;
  for (uint32_t i = 0; i < f->m->graphs.n && ok && !f->named; i++)
    ok = f->m->graphs.at[i]->erased || count_graph(f, f->m->graphs.at[i]);
  f->named = ok;
  return ok;
}

/* Gives a value that moves into another graph a fresh name if another value has its name. */
static bool rename_value(tl_fold *f, tl_value_id v) {
  tl_value *value = tl_value_get(f->m, v);
  uint32_t n = 0;
  if (!value->name || !tl_map_find(&f->names, value->name, &n) || n < 2)
    return true;
  tl_symbol name = tl_module_fresh_name(f->m, tl_sym(f->m, value->name));
  if (name == TL_NO_SYMBOL)
    return false;
  value->name = name;
  return true;
}

static bool rename_all(tl_fold *f, const tl_graph *g) {
  bool ok = true;
  for (uint32_t i = 0; i < g->constants.n && ok; i++)
    ok = !g->constants.at[i] || rename_value(f, g->constants.at[i]);
  TL_FOR_NODES(f->m, g, n)
    for (uint32_t i = 0; i < tl_node_get(f->m, n)->n_results && ok; i++)
      ok = rename_value(f, tl_node_get(f->m, n)->results + i);
  return ok;
}

static const tl_graph *branch_taken(const tl_fold *f, tl_node_id n) {
  tl_value_id v = tl_operand(f->m, n, 0);
  int64_t condition = 0;
  if (!v || tl_node_get(f->m, n)->n_operands != 1 || !tl_fold_is_known(f, v))
    return NULL;
  tl_fold_contents c = tl_fold_contents_of(f, v);
  if (c.host ? c.host->dtype != TL_DTYPE_BOOL || c.host->n != 1
             : tl_tensor_elements(f->m, c.tensor) != 1 ||
                   !tl_tensor_int_at(f->m, c.tensor, 0, &condition))
    return NULL;
  if (c.host)
    condition = tl_host_int_at(c.host, 0);
  const tl_attr *a = tl_node_attr(f->m, n, condition ? TL_SYM_then_branch : TL_SYM_else_branch);
  const tl_graph *g = a && a->kind == TL_ATTR_GRAPH ? tl_graph_get(f->m, a->u.g) : NULL;
  bool fits = g && g->inputs.n == 0 &&
              tl_graph_n_outputs(f->m, g) >= tl_node_get(f->m, n)->n_results;
  return fits ? g : NULL;
}

/* Returns true if nothing refers to the node or its results except ordinary uses. */
static bool may_vanish(const tl_fold *f, tl_node_id n) {
  const tl_node *node = tl_node_get(f->m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(&f->pinned, node->results + i))
      return false;
  return !node->control_in && !node->control_out;
}

/* Identities give the results that leave the graph, or stand for values from elsewhere, a value of
 * their own name. All are made before anything moves. */
static bool stand_in(tl_fold *f, tl_node_id n, uint32_t i, tl_value_id output) {
  tl_value_id result = tl_result(f->m, n, i);
  tl_symbol name = tl_value_get(f->m, result)->name;
  tl_node_spec spec = {
      .op = TL_OP_Identity, .operands = &output, .n_operands = 1, .results = &name, .n_results = 1};
  tl_node_id made = tl_graph_insert(f->m, n, &spec);
  if (!made || !tl_trace_derive(f->m, made, &n, 1, false))
    return false;
  tl_value_id v = tl_result(f->m, made, 0);
  tl_value_set_type(f->m, v, tl_value_type(f->m, result));
  tl_value_set_name(f->m, result, 0);
  tl_value_replace_uses(f->m, result, v);
  return true;
}

static bool replace_result(tl_fold *f, tl_node_id n, uint32_t i, tl_value_id output, bool moved) {
  tl_value_id result = tl_result(f->m, n, i);
  tl_value *old = tl_value_get(f->m, result);
  tl_value *kept = tl_value_get(f->m, output);
  bool leaves = tl_value_leaves_graph(f->m, result);
  if (!old->n_uses)
    return true;
  if (!moved || (leaves && (kept->kind != TL_VALUE_RESULT || tl_value_leaves_graph(f->m, output))))
    return stand_in(f, n, i, output);
  if (leaves || !kept->name) {
    kept->name = old->name;
    old->name = 0;
  }
  if (!tl_type_is_static(f->m, kept->type) && tl_type_is_static(f->m, old->type) &&
      kept->kind == TL_VALUE_RESULT)
    kept->type = old->type;
  tl_value_replace_uses(f->m, result, output);
  return true;
}

/* Outputs of the branch take the place of the results. */
static bool replace_results(tl_fold *f, tl_node_id n, const tl_value_id *outputs,
                            const bool *moved) {
  bool ok = true;
  for (uint32_t i = 0; i < tl_node_get(f->m, n)->n_results && ok; i++)
    ok = replace_result(f, n, i, outputs[i], moved[i]);
  return ok;
}

static bool move_branch(tl_fold *f, tl_node_id n, const tl_graph *g) {
  uint32_t n_outputs = tl_graph_n_outputs(f->m, g);
  tl_value_id *outputs = tl_arena_calloc(f->p->scratch, n_outputs, sizeof *outputs);
  bool *moved = tl_arena_calloc(f->p->scratch, n_outputs, sizeof *moved);
  if (!outputs || !moved)
    return false;
  for (uint32_t i = 0; i < n_outputs; i++) {
    outputs[i] = tl_graph_output(f->m, g, i);
    moved[i] = outputs[i] && tl_value_graph(f->m, outputs[i]) == g->id;
    if (!outputs[i])
      return false;
  }
  if (!count_names(f) || !rename_all(f, g) || tl_graph_splice(f->m, g->id, n) != TL_OK ||
      tl_graph_set_outputs(f->m, g->id, NULL, 0) != TL_OK)
    return false;
  return replace_results(f, n, outputs, moved);
}

tl_node_id tl_fold_take_branch(tl_fold *f, tl_node_id n) {
  const tl_graph *g = branch_taken(f, n);
  if (!g || !may_vanish(f, n))
    return TL_NO_NODE;
  f->stopped = f->stopped || !tl_pass_may_rewrite(f->p);
  if (f->stopped)
    return TL_NO_NODE;
  tl_pass_remark(f->p, f->m, n, true, "replaced by the branch that its condition always takes");
  tl_node_id before = tl_node_get(f->m, n)->previous;
  tl_graph *around = tl_graph_get(f->m, tl_node_get(f->m, n)->graph);
  if (!move_branch(f, n, g)) {
    f->failed = true;
    return TL_NO_NODE;
  }
  tl_fold_erase(f, n);
  f->again = true;
  tl_node_id first = before ? tl_node_get(f->m, before)->next : around->first;
  return first ? first : around->ret;
}
