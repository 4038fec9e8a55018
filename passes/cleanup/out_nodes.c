/* SPDX-License-Identifier: Apache-2.0 */
/* out-nodes: makes the values of --out-nodes the outputs of the main graph, in the order given.
 *
 * Requires:  nothing; dead-nodes then removes what only fed the old outputs.
 * Keeps:     nodes, edges, types, names.
 * After:     the outputs are exactly those of the option, each named.
 * Cost:      O(options + values).
 * Tests:     tests/golden/out-nodes/ */
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "support/map.h"

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

/* Looks up nodes, or values, by the symbols of their names. */
typedef struct finder {
  tl_module *m;
  const tl_graph *g;
  tl_map index; /* symbol: node, or value */
  tl_map found; /* values that are outputs already */
} finder;

/* Adds a name; the first of equal names counts. */
static bool add_name(finder *f, tl_symbol name, uint32_t what) {
  return !name || tl_map_find(&f->index, name, NULL) || tl_map_set(&f->index, name, what);
}

static bool add_values(finder *f) {
  bool ok = true;
  for (uint32_t i = 0; i < f->g->inputs.n && ok; i++)
    ok = add_name(f, tl_value_get(f->m, f->g->inputs.at[i])->name, f->g->inputs.at[i]);
  for (uint32_t i = 0; i < f->g->constants.n && ok; i++)
    ok = add_name(f, tl_value_get(f->m, f->g->constants.at[i])->name, f->g->constants.at[i]);
  TL_FOR_NODES(f->m, f->g, n) {
    const tl_node *node = tl_node_get(f->m, n);
    for (uint32_t i = 0; i < node->n_results && ok; i++)
      ok = add_name(f, tl_value_get(f->m, node->results + i)->name, node->results + i);
  }
  return ok;
}

static bool add_nodes(finder *f) {
  bool ok = true;
  TL_FOR_NODES(f->m, f->g, n)
    ok = ok && add_name(f, tl_node_get(f->m, n)->name, n);
  return ok;
}

static tl_status fail_value(const finder *f, const tl_out_node *o) {
  tl_nearest near = tl_nearest_start(o->name);
  TL_FOR_NODES(f->m, f->g, n)
    for (uint32_t i = 0; i < tl_node_get(f->m, n)->n_results; i++)
      tl_nearest_try(&near, tl_value_name(f->m, tl_result(f->m, n, i)));
  return fail_unknown(f->m, "value", near);
}

static tl_status fail_node(const finder *f, const tl_out_node *o) {
  tl_nearest near = tl_nearest_start(o->name);
  TL_FOR_NODES(f->m, f->g, n)
    tl_nearest_try(&near, tl_sym(f->m, tl_node_get(f->m, n)->name));
  return fail_unknown(f->m, "node", near);
}

static tl_status find(const finder *f, const tl_out_node *o, tl_value_id *out) {
  tl_symbol name = tl_symbol_find(&f->m->symbols, o->name);
  uint32_t what;
  if (name == TL_NO_SYMBOL || !tl_map_find(&f->index, name, &what))
    return o->by_node ? fail_node(f, o) : fail_value(f, o);
  *out = o->by_node ? tl_result(f->m, what, o->index) : what;
  if (*out)
    return TL_OK;
  return tl_fail_code(f->m->diag, TL_INVALID_ARGUMENT, "E10016", at_option(f->m, o->name),
                      "node '%.*s' has %u results, there is no result %u", TL_SV_ARG(o->name),
                      tl_node_get(f->m, what)->n_results, o->index);
}

static tl_status name_output(tl_module *m, tl_value_id v, tl_sv base) {
  if (tl_value_get(m, v)->name)
    return TL_OK;
  tl_symbol name = tl_module_fresh_name(m, base);
  if (name == TL_NO_SYMBOL)
    return tl_no_memory(m);
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

/* Finds every value before anything changes; a value that is asked for twice is one output. */
static tl_status find_outputs(const tl_pass *p, finder *f, tl_value_id *v, uint32_t *n) {
  bool ok = p->options->out_nodes[0].by_node ? add_nodes(f) : add_values(f);
  for (uint32_t i = 0; ok && i < p->options->n_out_nodes; i++) {
    const tl_out_node *o = &p->options->out_nodes[i];
    tl_value_id found = TL_NO_VALUE;
    TL_TRY(find(f, o, &found));
    TL_TRY(name_output(f->m, found, o->name));
    if (tl_map_find(&f->found, found, NULL))
      continue;
    ok = tl_map_set(&f->found, found, 1);
    v[(*n)++] = found;
  }
  return ok ? TL_OK : tl_no_memory(f->m);
}

tl_status tl_pass_out_nodes(tl_pass *p, tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  uint32_t n = 0;
  if (p->options->n_out_nodes == 0)
    return TL_OK;
  tl_value_id *v = tl_arena_calloc(p->scratch, p->options->n_out_nodes, sizeof *v);
  if (!v)
    return tl_no_memory(m);
  finder f = {.m = m, .g = g};
  tl_status status = find_outputs(p, &f, v, &n);
  tl_map_release(&f.index);
  tl_map_release(&f.found);
  TL_TRY(status);
  if (!outputs_differ(m, g, v, n) || !tl_pass_may_rewrite(p))
    return TL_OK;
  return tl_graph_set_outputs(m, g->id, v, n);
}
