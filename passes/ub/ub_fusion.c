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
static const char *why_off(const fusion *ctx, const char *pass) {
  const char *why;
  bool on = tl_fusion_is_on(ctx->pass->options->fusion, tl_sv_from(pass), TL_FUSION_UB, &why);
  return on ? NULL : why;
}

/* Lists rows of passes that are on, then the automatic fusion, sorted by priority; rows of one pass
 * stay in the order of the table. Under explain, chains that are off take part to tell what they
 * would have taken. */
static tl_status plan(fusion *ctx) {
  ctx->n_rows = tl_ub_n_chains();
  ctx->chains = tl_arena_calloc(ctx->pass->scratch, ctx->n_rows, sizeof *ctx->chains);
  ctx->order = tl_arena_calloc(ctx->pass->scratch, ctx->n_rows + 1U, sizeof *ctx->order);
  uint32_t *rows = tl_arena_calloc(ctx->pass->scratch, ctx->n_rows + 1U, sizeof *rows);
  if (!ctx->chains || !ctx->order || !rows)
    return tl_no_memory(ctx->m);
  for (uint32_t i = 0; i <= ctx->n_rows; i++) {
    bool chain = i < ctx->n_rows;
    if (chain && !tl_ub_chain_get(i, &ctx->chains[i]))
      return tl_fail(ctx->m->diag, TL_INTERNAL, TL_NOWHERE, "chain '%s' cannot be read",
                     ctx->chains[i].text);
    const char *pass = chain ? ctx->chains[i].pass : TL_UB_AUTOMATIC;
    const char *off = why_off(ctx, pass);
    if (off && !(chain && ctx->pass->explain))
      continue;
    if (chain)
      ctx->chains[i].off = off;
    rows[ctx->n_order] = i;
    ctx->order[ctx->n_order++] =
        (tl_fusion_order){.pass = tl_sv_from(pass),
                          .configured = chain ? ctx->chains[i].order : TL_UB_AUTOMATIC_ORDER};
  }
  tl_fusion_sort(ctx->pass->options->fusion, TL_FUSION_UB, ctx->order, ctx->n_order);
  for (uint32_t i = 0; i < ctx->n_order; i++)
    ctx->order[i].position = rows[ctx->order[i].position];
  return TL_OK;
}

/* Finds graphs whose values bodies use, and graphs that have groups already; both are left
 * alone. */
static bool survey(fusion *ctx) {
  ctx->captured = tl_arena_calloc(ctx->pass->scratch, ctx->m->graphs.n, sizeof *ctx->captured);
  for (uint32_t i = 0; i < ctx->m->graphs.n && ctx->captured; i++) {
    const tl_graph *g = ctx->m->graphs.at[i];
    for (tl_node_id n = g->erased ? TL_NO_NODE : g->first; n; n = tl_node_get(ctx->m, n)->next) {
      int64_t scope = tl_ub_scope(ctx->m, n, ctx->scope_attr);
      ctx->scope = scope > ctx->scope ? scope : ctx->scope;
      ctx->captured[i] = ctx->captured[i] || scope > 0;
      for (uint32_t k = 0; k < tl_node_get(ctx->m, n)->n_operands && g->kind == TL_GRAPH_BODY;
           k++) {
        tl_value_id v = tl_operand(ctx->m, n, k);
        tl_graph_id home = v ? tl_value_graph(ctx->m, v) : g->id;
        ctx->captured[home - 1] = ctx->captured[home - 1] || home != g->id;
      }
    }
  }
  return ctx->captured != NULL;
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
static tl_status count_kernels(fusion *ctx, const tl_ub_graph *g, const uint32_t *matched,
                               uint32_t *kernels) {
  for (uint32_t i = 1; i <= g->n; i++)
    if (g->at[i].leader == i && g->at[i].size > 1)
      kernels[g->at[i].chain ? g->at[i].chain - 1 : ctx->n_rows]++;
  for (uint32_t i = 0; i < ctx->n_order; i++) {
    uint32_t row = ctx->order[i].position;
    uint32_t n = row == ctx->n_rows ? kernels[row] : matched[row];
    bool counts = row == ctx->n_rows || !ctx->chains[row].off;
    if (counts && n &&
        tl_fusion_stats_add(ctx->pass->fusions, &(tl_fusion_event){TL_FUSION_UB, ctx->order[i].pass,
                                                                   n, kernels[row], 0, 0}) != TL_OK)
      return tl_no_memory(ctx->m);
  }
  return TL_OK;
}

static tl_status run_passes(fusion *ctx, tl_ub_fuser *f) {
  uint64_t classes = classes_of(f->g);
  uint32_t *counts =
      tl_arena_calloc(ctx->pass->scratch, 2 * ((size_t)ctx->n_rows + 1), sizeof *counts);
  f->g->no_memory = f->g->no_memory || !counts;
  for (uint32_t i = 0; i < ctx->n_order && classes && !f->stopped && !f->g->no_memory; i++) {
    uint32_t row = ctx->order[i].position;
    f->matched = 0;
    if (row == ctx->n_rows)
      tl_ub_run_automatic(f);
    else if (is_possible(&ctx->chains[row], classes))
      tl_ub_run_chain(f, &ctx->chains[row], row);
    counts[row] += f->matched;
  }
  ctx->stopped = f->stopped;
  if (f->g->no_memory)
    return tl_no_memory(ctx->m);
  return ctx->pass->fusions ? count_kernels(ctx, f->g, counts, counts + ctx->n_rows + 1) : TL_OK;
}

static uint32_t list_group(const tl_ub_graph *g, uint32_t leader, tl_node_id *nodes) {
  uint32_t n = 0;
  for (uint32_t p = leader; p; p = g->at[p].next)
    nodes[n++] = g->at[p].id;
  return n;
}

static void remark_group(fusion *ctx, const char *pass, const tl_node_id *nodes, uint32_t n) {
  tl_sv names[TL_UB_MOST_AUTOMATIC];
  for (uint32_t i = 0; i < n && ctx->pass->remark; i++)
    names[i] = tl_node_where(ctx->m, nodes[i]).node;
  tl_fusion_remark r = {.fusion = tl_sv_from(pass),
                        .rule = tl_sv_from(pass),
                        .nodes = names,
                        .n_nodes = n,
                        .wanted = n,
                        .scope = ctx->scope,
                        .saved = tl_ub_saved(ctx->m, nodes, n)};
  tl_pass_fusion_remark(ctx->pass, ctx->m, nodes[0], &r);
}

/* Writes the groups as attributes; they are numbered in the order of their first nodes. */
static tl_status mark_groups(fusion *ctx, const tl_ub_graph *g) {
  for (uint32_t i = 1; i <= g->n; i++) {
    if (g->at[i].leader != i || g->at[i].size < 2)
      continue;
    tl_node_id nodes[TL_UB_MOST_AUTOMATIC];
    uint32_t n = list_group(g, i, nodes);
    const char *pass = g->at[i].chain ? ctx->chains[g->at[i].chain - 1].pass : TL_UB_AUTOMATIC;
    tl_symbol name = tl_module_intern(ctx->m, tl_sv_from(pass));
    if (name == TL_NO_SYMBOL)
      return tl_no_memory(ctx->m);
    ctx->scope++;
    for (uint32_t k = 0; k < n; k++) {
      TL_TRY(tl_node_set_attr(ctx->m, nodes[k], tl_attr_int(ctx->scope_attr, ctx->scope)));
      TL_TRY(tl_node_set_attr(ctx->m, nodes[k], tl_attr_string(ctx->pass_attr, name)));
    }
    if (ctx->pass->remark)
      remark_group(ctx, pass, nodes, n);
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
static tl_status remark_misses(fusion *ctx, const tl_ub_fuser *f) {
  bool *covered = tl_arena_calloc(ctx->pass->scratch, f->g->n + 1U, sizeof *covered);
  if (!covered)
    return tl_no_memory(ctx->m);
  if (f->misses.n)
    qsort(f->misses.at, f->misses.n, sizeof *f->misses.at, by_head);
  for (uint32_t i = 0; i < f->misses.n; i++) {
    const tl_ub_miss *miss = &f->misses.at[i];
    tl_sv names[TL_UB_MOST_NODES + 1];
    if (tl_ub_is_grouped(f->g, miss->head) && !miss->joined)
      continue;
    for (uint32_t k = 0; k < miss->n_nodes; k++)
      names[k] = tl_node_where(ctx->m, f->g->at[miss->nodes[k]].id).node;
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
    tl_pass_fusion_remark(ctx->pass, ctx->m, f->g->at[miss->head].id, &r);
  }
  return TL_OK;
}

static tl_status fuse_graph(fusion *ctx, const tl_graph *graph) {
  tl_ub_graph g;
  tl_arena_mark mark = tl_arena_save(ctx->pass->scratch);
  tl_ub_fuser f = {
      .pass = ctx->pass, .m = ctx->m, .g = &g, .chains = ctx->chains, .split = ctx->split};
  tl_status status = tl_ub_graph_init(&g, &ctx->facts, ctx->m, graph, ctx->pass->scratch)
                         ? run_passes(ctx, &f)
                         : tl_no_memory(ctx->m);
  if (status == TL_OK)
    status = mark_groups(ctx, &g);
  if (status == TL_OK && ctx->pass->explain)
    status = remark_misses(ctx, &f);
  tl_ub_miss_vec_release(&f.misses);
  tl_ub_graph_release(&g);
  tl_arena_rewind(ctx->pass->scratch, mark);
  return status;
}

tl_status tl_pass_ub_fusion(tl_pass *p, tl_module *m) {
  fusion ctx = {.pass = p, .m = m};
  tl_soc_ub ub = tl_options_chip(p->options)->ub;
  if (ub == TL_SOC_UB_NONE || p->options->target == TL_TARGET_NONE || m->form != TL_FORM_NPU)
    return TL_OK;
  ctx.split = ub == TL_SOC_UB_SPLIT;
  ctx.scope_attr = tl_module_intern(m, TL_SV(TL_UB_SCOPE_ATTR));
  ctx.pass_attr = tl_module_intern(m, TL_SV(TL_UB_PASS_ATTR));
  if (ctx.scope_attr == TL_NO_SYMBOL || ctx.pass_attr == TL_NO_SYMBOL || !survey(&ctx) ||
      !tl_ub_facts_init(&ctx.facts, m, tl_options_op_info(p->options), p->scratch))
    return tl_no_memory(ctx.m);
  TL_TRY(plan(&ctx));
  if (ctx.scope > INT64_MAX - tl_module_node_end(m))
    return TL_OK; /* no numbers are left */
  for (uint32_t i = 0; i < m->graphs.n && ctx.n_order && !ctx.stopped; i++)
    if (!m->graphs.at[i]->erased && !ctx.captured[i])
      TL_TRY(fuse_graph(&ctx, m->graphs.at[i]));
  return TL_OK;
}
