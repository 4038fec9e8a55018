/* SPDX-License-Identifier: Apache-2.0 */
/* out-nodes: make the values of --out-nodes the outputs of the main graph, in the order given.
 *
 * Requires:  nothing; dead-nodes then removes what only fed the old outputs.
 * Keeps:     nodes, edges, types, names.
 * After:     the outputs are exactly those of the option, each named.
 * Cost:      O(options * values).
 * Tests:     tests/golden/out-nodes/ */
#include "passes/passes.h"
#include "passes/values.h"

static tl_location at_option(const tl_module *m, tl_sv name) {
  return (tl_location){.file = m->path, .node = name, .attr = TL_SV("--out-nodes")};
}

static tl_status fail_unknown(tl_module *m, const char *what, tl_nearest near) {
  tl_location where = at_option(m, near.wanted);
  if (near.found.n)
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10016", where,
                        "the model has no %s named '%.*s'\vdid you mean '%.*s'?", what,
                        TL_SV_ARG(near.wanted), TL_SV_ARG(near.found));
  return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10016", where,
                      "the model has no %s named '%.*s'", what, TL_SV_ARG(near.wanted));
}

static tl_status find_by_value(tl_module *m, const tl_graph *g, const tl_out_node *o,
                               tl_value_id *out) {
  *out = tl_graph_find_value(m, g, o->name);
  if (*out)
    return TL_OK;
  tl_nearest near = tl_nearest_start(o->name);
  TL_FOR_NODES(m, g, n)
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
      tl_nearest_try(&near, tl_value_name(m, tl_result(m, n, i)));
  return fail_unknown(m, "value", near);
}

static tl_status find_by_node(tl_module *m, const tl_graph *g, const tl_out_node *o,
                              tl_value_id *out) {
  tl_nearest near = tl_nearest_start(o->name);
  TL_FOR_NODES(m, g, n) {
    const tl_node *node = tl_node_get(m, n);
    if (!node->name || !tl_sv_eq(tl_sym(m, node->name), o->name)) {
      tl_nearest_try(&near, tl_sym(m, node->name));
      continue;
    }
    *out = tl_result(m, n, o->index);
    if (*out)
      return TL_OK;
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10016", at_option(m, o->name),
                        "node '%.*s' has %u results, there is no result %u", TL_SV_ARG(o->name),
                        node->n_results, o->index);
  }
  return fail_unknown(m, "node", near);
}

static tl_status name_output(tl_module *m, tl_value_id v, tl_sv base) {
  if (tl_value_get(m, v)->name)
    return TL_OK;
  tl_symbol name = tl_module_fresh_name(m, base);
  if (name == TL_NO_SYMBOL)
    return tl_fail(m->diag, TL_NO_MEMORY, TL_AT_FILE(m->path), "out of memory");
  tl_value_set_name(m, v, name);
  return TL_OK;
}

static bool outputs_differ(const tl_module *m, const tl_graph *g, const tl_value_id *v,
                           uint32_t n) {
  bool differ = tl_graph_n_outputs(m, g) != n;
  for (uint32_t i = 0; i < n && !differ; i++)
    differ = tl_graph_output(m, g, i) != v[i];
  return differ;
}

/* Finds every value before anything changes; a value asked for twice is one output. */
static tl_status find_outputs(tl_pass *p, tl_module *m, const tl_graph *g, tl_value_id *v,
                              uint32_t *n) {
  for (uint32_t i = 0; i < p->options->n_out_nodes; i++) {
    const tl_out_node *o = &p->options->out_nodes[i];
    tl_value_id found = TL_NO_VALUE;
    TL_TRY(o->by_node ? find_by_node(m, g, o, &found) : find_by_value(m, g, o, &found));
    TL_TRY(name_output(m, found, o->name));
    bool again = false;
    for (uint32_t k = 0; k < *n; k++)
      again = again || v[k] == found;
    if (!again)
      v[(*n)++] = found;
  }
  return TL_OK;
}

tl_status tl_pass_out_nodes(tl_pass *p, tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  uint32_t n = 0;
  if (p->options->n_out_nodes == 0)
    return TL_OK;
  tl_value_id *v = tl_arena_calloc(p->scratch, p->options->n_out_nodes, sizeof *v);
  if (!v)
    return tl_fail(m->diag, TL_NO_MEMORY, TL_AT_FILE(m->path), "out of memory");
  TL_TRY(find_outputs(p, m, g, v, &n));
  if (!outputs_differ(m, g, v, n) || !tl_pass_may_rewrite(p))
    return TL_OK;
  return tl_graph_set_outputs(m, g->id, v, n);
}
