/* SPDX-License-Identifier: Apache-2.0 */
/* ub-fusion: gives nodes that the device compiler should run as one kernel the same fusion_scope.
 * What they hand to each other then stays in the unified buffer.
 *
 * Requires:  NPU form.   Keeps: the graph; groups are attributes of nodes.
 * After:     no two groups overlap, each hangs together, and the graph has no cycle when each is
 *            one node. A graph that has groups already is left alone.
 * Cost:      near-linear: a bounded number of tries a node, each with a bounded search.
 * Tests:     tests/golden/ub-fusion/, tests/ub/ */
#include <stdlib.h>

#include "passes/edit/passes.h"
#include "passes/ub/group.h"
#include "passes/ub/traffic.h"

typedef struct fusion {
  tl_pass *pass;
  tl_module *m;
  tl_ub_chain *chains;    /* by row */
  tl_fusion_order *order; /* what is on, in the order of running; position is the row, and behind
                             the rows the automatic fusion */
  uint32_t n_order;
  uint32_t n_rows;
  tl_ub_facts facts;
  uint64_t classes; /* bits of the classes in the module */
  bool *captured;   /* by graph id - 1: a body uses values of it */
  int64_t scope;    /* the last one given */
  tl_symbol scope_attr;
  tl_symbol pass_attr;
  bool split;
  bool stopped;
} fusion;

/* ---- what runs, and in which order ----------------------------------------------------------- */

/* Returns why a pass is off; NULL if it is on. */
static const char *why_off(const fusion *x, const char *pass) {
  const char *why;
  bool on = tl_fusion_is_on(x->pass->options->fusion, tl_sv_from(pass), TL_FUSION_UB, &why);
  return on ? NULL : why;
}

/* Lists rows of passes that are on, then the automatic fusion, sorted by priority; rows of one pass
 * stay in the order of the table. Under explain, chains that are off take part to tell what they
 * would have taken. */
static tl_status plan(fusion *x) {
  x->n_rows = tl_ub_n_chains();
  x->chains = tl_arena_calloc(x->pass->scratch, x->n_rows, sizeof *x->chains);
  x->order = tl_arena_calloc(x->pass->scratch, x->n_rows + 1U, sizeof *x->order);
  uint32_t *rows = tl_arena_calloc(x->pass->scratch, x->n_rows + 1U, sizeof *rows);
  if (!x->chains || !x->order || !rows)
    return tl_no_memory(x->m);
  for (uint32_t i = 0; i <= x->n_rows; i++) {
    bool chain = i < x->n_rows;
    if (chain && !tl_ub_chain_get(i, &x->chains[i]))
      return tl_fail(x->m->diag, TL_INTERNAL, TL_NOWHERE, "chain '%s' cannot be read",
                     x->chains[i].text);
    const char *pass = chain ? x->chains[i].pass : TL_UB_AUTOMATIC;
    const char *off = why_off(x, pass);
    if (off && !(chain && x->pass->explain))
      continue;
    if (chain)
      x->chains[i].off = off;
    rows[x->n_order] = i;
    x->order[x->n_order++] = (tl_fusion_order){
        .pass = tl_sv_from(pass), .configured = chain ? x->chains[i].order : TL_UB_AUTOMATIC_ORDER};
  }
  tl_fusion_sort(x->pass->options->fusion, TL_FUSION_UB, x->order, x->n_order);
  for (uint32_t i = 0; i < x->n_order; i++)
    x->order[i].position = rows[x->order[i].position];
  return TL_OK;
}

/* Finds graphs whose values bodies use, and graphs that have groups already; both are left
 * alone. */
static bool survey(fusion *x) {
  x->captured = tl_arena_calloc(x->pass->scratch, x->m->graphs.n, sizeof *x->captured);
  for (uint32_t i = 0; i < x->m->graphs.n && x->captured; i++) {
    const tl_graph *g = x->m->graphs.at[i];
    for (tl_node_id n = g->erased ? TL_NO_NODE : g->first; n; n = tl_node_get(x->m, n)->next) {
      int64_t scope = tl_ub_scope(x->m, n, x->scope_attr);
      x->scope = scope > x->scope ? scope : x->scope;
      x->captured[i] = x->captured[i] || scope > 0;
      for (uint32_t k = 0; k < tl_node_get(x->m, n)->n_operands && g->kind == TL_GRAPH_BODY; k++) {
        tl_value_id v = tl_operand(x->m, n, k);
        tl_graph_id home = v ? tl_value_graph(x->m, v) : g->id;
        x->captured[home - 1] = x->captured[home - 1] || home != g->id;
      }
    }
  }
  return x->captured != NULL;
}

/* ---- one graph ------------------------------------------------------------------------------- */

/* Returns true if the chain may fit in the graph, judged by the classes that occur. */
static bool is_possible(const tl_ub_chain *c, uint64_t classes) {
  for (uint8_t i = 0; i < c->n_steps; i++)
    if (c->steps[i].least && c->steps[i].n_types == 0 && !(c->steps[i].classes & classes))
      return false;
  return true;
}

static uint64_t classes_of(const tl_ub_graph *g) {
  uint64_t classes = 0;
  for (uint32_t i = 1; i <= g->n; i++)
    classes |= UINT64_C(1) << g->at[i].class;
  return classes & ~(UINT64_C(1) << TL_UB_NONE);
}

/* Counts how often each pass matched, and how many kernels are its own in the end; [n_rows + 1] by
 * row. A kernel of the automatic fusion counts as one match. */
static tl_status count_kernels(fusion *x, const tl_ub_graph *g, const uint32_t *matched,
                               uint32_t *kernels) {
  for (uint32_t i = 1; i <= g->n; i++)
    if (g->at[i].leader == i && g->at[i].size > 1)
      kernels[g->at[i].chain ? g->at[i].chain - 1 : x->n_rows]++;
  for (uint32_t i = 0; i < x->n_order; i++) {
    uint32_t row = x->order[i].position;
    uint32_t n = row == x->n_rows ? kernels[row] : matched[row];
    bool counts = row == x->n_rows || !x->chains[row].off;
    if (counts && n &&
        tl_fusion_stats_add(x->pass->fusions, &(tl_fusion_event){TL_FUSION_UB, x->order[i].pass, n,
                                                                 kernels[row], 0, 0}) != TL_OK)
      return tl_no_memory(x->m);
  }
  return TL_OK;
}

static tl_status run_passes(fusion *x, tl_ub_fuser *f) {
  uint64_t classes = classes_of(f->g);
  uint32_t *counts = tl_arena_calloc(x->pass->scratch, 2 * (x->n_rows + 1U), sizeof *counts);
  f->g->no_memory = f->g->no_memory || !counts;
  for (uint32_t i = 0; i < x->n_order && classes && !f->stopped && !f->g->no_memory; i++) {
    uint32_t row = x->order[i].position;
    f->matched = 0;
    if (row == x->n_rows)
      tl_ub_run_automatic(f);
    else if (is_possible(&x->chains[row], classes))
      tl_ub_run_chain(f, &x->chains[row], row);
    counts[row] += f->matched;
  }
  x->stopped = f->stopped;
  if (f->g->no_memory)
    return tl_no_memory(x->m);
  return x->pass->fusions ? count_kernels(x, f->g, counts, counts + x->n_rows + 1) : TL_OK;
}

static uint32_t list_group(const tl_ub_graph *g, uint32_t leader, tl_node_id *nodes) {
  uint32_t n = 0;
  for (uint32_t p = leader; p; p = g->at[p].next)
    nodes[n++] = g->at[p].id;
  return n;
}

static void remark_group(fusion *x, const char *pass, const tl_node_id *nodes, uint32_t n) {
  tl_sv names[TL_UB_MOST_AUTOMATIC];
  for (uint32_t i = 0; i < n && x->pass->remark; i++)
    names[i] = tl_node_where(x->m, nodes[i]).node;
  tl_fusion_remark r = {.fusion = tl_sv_from(pass),
                        .rule = tl_sv_from(pass),
                        .nodes = names,
                        .n_nodes = n,
                        .wanted = n,
                        .scope = x->scope,
                        .saved = tl_ub_saved(x->m, nodes, n)};
  tl_pass_fusion_remark(x->pass, x->m, nodes[0], &r);
}

/* Writes the groups as attributes; they are numbered in the order of their first nodes. */
static tl_status mark_groups(fusion *x, const tl_ub_graph *g) {
  for (uint32_t i = 1; i <= g->n; i++) {
    if (g->at[i].leader != i || g->at[i].size < 2)
      continue;
    tl_node_id nodes[TL_UB_MOST_AUTOMATIC];
    uint32_t n = list_group(g, i, nodes);
    const char *pass = g->at[i].chain ? x->chains[g->at[i].chain - 1].pass : TL_UB_AUTOMATIC;
    tl_symbol name = tl_module_intern(x->m, tl_sv_from(pass));
    if (name == TL_NO_SYMBOL)
      return tl_no_memory(x->m);
    x->scope++;
    for (uint32_t k = 0; k < n; k++) {
      TL_TRY(tl_node_set_attr(x->m, nodes[k], tl_attr_int(x->scope_attr, x->scope)));
      TL_TRY(tl_node_set_attr(x->m, nodes[k], tl_attr_string(x->pass_attr, name)));
    }
    if (x->pass->remark)
      remark_group(x, pass, nodes, n);
  }
  return TL_OK;
}

static int by_head(const void *a, const void *b) {
  const tl_ub_miss *x = a, *y = b;
  if (x->head != y->head)
    return x->head < y->head ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

/* Returns true if an earlier pass has reported the same for this head. */
static bool is_repeated(const tl_ub_miss_vec *v, uint32_t i) {
  for (uint32_t k = i; k-- > 0 && v->at[k].head == v->at[i].head;)
    if (strcmp(v->at[k].code, v->at[i].code) == 0)
      return true;
  return false;
}

/* Marks the nodes behind the head that a pass would have taken if it were on. covered: [n + 1]. */
static void cover(const tl_ub_miss *miss, bool *covered) {
  for (uint32_t k = 1; k < miss->n_nodes && strcmp(miss->code, "SWITCH_OFF") == 0; k++)
    covered[miss->nodes[k]] = true;
}

/* Remarks on misses. What a pass nearly did matters only if no other pass took the node; what
 * became of its own kernel matters to those who ask for the pass. */
static tl_status remark_misses(fusion *x, const tl_ub_fuser *f) {
  bool *covered = tl_arena_calloc(x->pass->scratch, f->g->n + 1U, sizeof *covered);
  if (!covered)
    return tl_no_memory(x->m);
  if (f->misses.n)
    qsort(f->misses.at, f->misses.n, sizeof *f->misses.at, by_head);
  for (uint32_t i = 0; i < f->misses.n; i++) {
    const tl_ub_miss *miss = &f->misses.at[i];
    tl_sv names[TL_UB_MOST_NODES + 1];
    if (tl_ub_is_grouped(f->g, miss->head) && !miss->joined)
      continue;
    for (uint32_t k = 0; k < miss->n_nodes; k++)
      names[k] = tl_node_where(x->m, f->g->at[miss->nodes[k]].id).node;
    tl_fusion_remark r = {.fusion = tl_sv_from(miss->pass),
                          .rule = tl_sv_from(miss->pass),
                          .code = miss->code,
                          .reason = miss->reason,
                          .nodes = names,
                          .n_nodes = miss->n_nodes,
                          .wanted = miss->wanted,
                          .repeats = miss->joined || covered[miss->head] ||
                                     is_repeated(&f->misses, i)};
    cover(miss, covered);
    tl_pass_fusion_remark(x->pass, x->m, f->g->at[miss->head].id, &r);
  }
  return TL_OK;
}

static tl_status fuse_graph(fusion *x, const tl_graph *graph) {
  tl_ub_graph g;
  tl_arena_mark mark = tl_arena_save(x->pass->scratch);
  tl_ub_fuser f = {.pass = x->pass, .m = x->m, .g = &g, .chains = x->chains, .split = x->split};
  tl_status status = tl_ub_graph_init(&g, &x->facts, x->m, graph, x->pass->scratch)
                         ? run_passes(x, &f)
                         : tl_no_memory(x->m);
  if (status == TL_OK)
    status = mark_groups(x, &g);
  if (status == TL_OK && x->pass->explain)
    status = remark_misses(x, &f);
  tl_ub_miss_vec_release(&f.misses);
  tl_ub_graph_release(&g);
  tl_arena_rewind(x->pass->scratch, mark);
  return status;
}

tl_status tl_pass_ub_fusion(tl_pass *p, tl_module *m) {
  fusion x = {.pass = p, .m = m};
  tl_soc_ub ub = tl_options_chip(p->options)->ub;
  if (ub == TL_SOC_UB_NONE || p->options->target == TL_TARGET_NONE || m->form != TL_FORM_NPU)
    return TL_OK;
  x.split = ub == TL_SOC_UB_SPLIT;
  x.scope_attr = tl_module_intern(m, TL_SV(TL_UB_SCOPE_ATTR));
  x.pass_attr = tl_module_intern(m, TL_SV(TL_UB_PASS_ATTR));
  if (x.scope_attr == TL_NO_SYMBOL || x.pass_attr == TL_NO_SYMBOL || !survey(&x) ||
      !tl_ub_facts_init(&x.facts, m, tl_options_op_info(p->options), p->scratch))
    return tl_no_memory(x.m);
  TL_TRY(plan(&x));
  if (x.scope > INT64_MAX - tl_module_node_end(m))
    return TL_OK; /* no numbers are left */
  for (uint32_t i = 0; i < m->graphs.n && x.n_order && !x.stopped; i++)
    if (!m->graphs.at[i]->erased && !x.captured[i])
      TL_TRY(fuse_graph(&x, m->graphs.at[i]));
  return TL_OK;
}
