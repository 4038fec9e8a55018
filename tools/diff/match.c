/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs graphs, inputs, constants and nodes by names; what names leave is paired by structure. */
#include "ir/graph.h"
#include "ir/trace.h"
#include "tools/diff/diff.h"

/* Kinds of names of a node, and of constants: one map has them all. */
enum { BY_NAME = 1, BY_RESULT, BY_TRACE, BY_CONSTANT };

/* State of pairing two graphs. */
typedef struct matcher {
  tl_pairs *p;
  const tl_graph *g[2];
  tl_map names[2]; /* (kind, symbol of that side) -> node or value; 0: several have it */
} matcher;

void tl_pairs_values(tl_pairs *p, tl_value_id a, tl_value_id b) {
  if (!a || !b || p->value[0][a] || p->value[1][b])
    return;
  p->value[0][a] = b;
  p->value[1][b] = a;
}

void tl_pairs_nodes(tl_pairs *p, tl_node_id a, tl_node_id b) {
  p->node[0][a] = b;
  p->node[1][b] = a;
  for (uint32_t i = 0; tl_result(p->m[0], a, i) && tl_result(p->m[1], b, i); i++)
    tl_pairs_values(p, tl_result(p->m[0], a, i), tl_result(p->m[1], b, i));
}

/* Returns a node's name of a kind in the module of its side, 0 without one. */
static tl_symbol name_of(const matcher *ctx, int side, tl_node_id n, int kind) {
  const tl_module *m = ctx->p->m[side];
  if (kind == BY_NAME)
    return tl_node_get(m, n)->name;
  if (kind == BY_RESULT)
    return tl_result(m, n, 0) ? tl_value_get(m, tl_result(m, n, 0))->name : 0;
  tl_sv text = tl_trace_get(m, n, TL_TRACE_NAMES);
  tl_symbol s = text.n > 2 ? tl_symbol_find(&m->symbols, text) : 0;
  return s == TL_NO_SYMBOL ? 0 : s;
}

static void index_name(matcher *ctx, int side, int kind, tl_symbol name, uint32_t id) {
  uint64_t key = tl_map_pair((uint32_t)kind, name);
  if (name &&
      !tl_map_set(&ctx->names[side], key, tl_map_find(&ctx->names[side], key, NULL) ? 0 : id))
    ctx->p->failed = true;
}

static void index_graph(matcher *ctx, int side) {
  const tl_module *m = ctx->p->m[side];
  TL_FOR_NODES(m, ctx->g[side], n)
    for (int kind = BY_NAME; kind <= BY_TRACE; kind++)
      index_name(ctx, side, kind, name_of(ctx, side, n, kind), n);
  for (uint32_t i = 0; i < ctx->g[side]->constants.n; i++) {
    tl_value_id v = ctx->g[side]->constants.at[i];
    if (v)
      index_name(ctx, side, BY_CONSTANT, tl_value_get(m, v)->name, v);
  }
}

/* Returns what has a name of the other side, or 0. */
static uint32_t find_text(const matcher *ctx, int side, int kind, tl_sv text) {
  tl_symbol s = tl_symbol_find(&ctx->p->m[side]->symbols, text);
  uint32_t id = 0;
  if (s != TL_NO_SYMBOL && s != 0)
    tl_map_find(&ctx->names[side], tl_map_pair((uint32_t)kind, s), &id);
  return id;
}

/* ---- what graphs have beside nodes ----------------------------------------------------------- */

/* Root graphs: by name, then in order. Names of inputs of bodies mean nothing outside. */
static void match_inputs(matcher *ctx) {
  tl_pairs *p = ctx->p;
  const tl_u32_vec *a = &ctx->g[0]->inputs, *b = &ctx->g[1]->inputs;
  tl_map names = {0};
  uint32_t k = 0;
  for (uint32_t i = 0; i < b->n && ctx->g[1]->kind == TL_GRAPH_ROOT; i++)
    if (!tl_map_set(&names, tl_value_get(p->m[1], b->at[i])->name, b->at[i]))
      p->failed = true;
  for (uint32_t i = 0; i < a->n && ctx->g[0]->kind == TL_GRAPH_ROOT; i++) {
    tl_symbol s = tl_symbol_find(&p->m[1]->symbols, tl_value_name(p->m[0], a->at[i]));
    uint32_t v = 0;
    if (s != TL_NO_SYMBOL && tl_map_find(&names, s, &v))
      tl_pairs_values(p, a->at[i], v);
  }
  for (uint32_t i = 0; i < a->n; i++) {
    if (p->value[0][a->at[i]])
      continue;
    while (k < b->n && p->value[1][b->at[k]])
      k++;
    if (k < b->n)
      tl_pairs_values(p, a->at[i], b->at[k]);
  }
  tl_map_release(&names);
}

static void match_constants(matcher *ctx) {
  const tl_u32_vec *b = &ctx->g[1]->constants;
  for (uint32_t i = 0; i < b->n; i++)
    if (b->at[i])
      tl_pairs_values(ctx->p, find_text(ctx, 0, BY_CONSTANT, tl_value_name(ctx->p->m[1], b->at[i])),
                      b->at[i]);
}

/* ---- nodes by names -------------------------------------------------------------------------- */

/* any_op: also nodes of different ops. */
static void match_kind(matcher *ctx, int kind, bool any_op) {
  tl_pairs *p = ctx->p;
  TL_FOR_NODES(p->m[1], ctx->g[1], n) {
    tl_symbol s = p->node[1][n] ? 0 : name_of(ctx, 1, n, kind);
    tl_node_id a = s ? find_text(ctx, 0, kind, tl_sym(p->m[1], s)) : 0;
    if (a && !p->node[0][a] && (any_op || tl_same_op(p, a, n)))
      tl_pairs_nodes(p, a, n);
  }
}

/* Returns the node that an origin names: by its name, or as TYPE->RESULT. */
static tl_node_id find_origin(const matcher *ctx, int side, tl_sv origin) {
  tl_node_id n = find_text(ctx, side, BY_NAME, origin);
  const char *arrow = n ? NULL : memmem(origin.p, origin.n, "->", 2);
  if (!arrow)
    return n;
  tl_sv result = {arrow + 2, (size_t)(origin.p + origin.n - arrow - 2)};
  return find_text(ctx, side, BY_RESULT, result);
}

/* A node says what it was fused of: the last of these without a partner, whose results it most
 * likely has, becomes its partner. side: of the fused node. */
static void match_origins(matcher *ctx, int side) {
  tl_pairs *p = ctx->p;
  tl_buf room;
  tl_buf_init(&room);
  TL_FOR_NODES(p->m[side], ctx->g[side], n) {
    tl_trace_items at = tl_trace_start(tl_trace_get(p->m[side], n, TL_TRACE_NAMES));
    tl_node_id last = 0;
    tl_sv item;
    while (tl_trace_next(&at, &room, &item)) {
      tl_node_id other = find_origin(ctx, !side, item);
      if (!other)
        continue;
      p->into[!side][other] = n;
      last = p->node[!side][other] ? last : other;
    }
    if (last && !p->node[side][n])
      tl_pairs_nodes(p, side ? last : n, side ? n : last);
  }
  p->failed |= room.failed;
  tl_buf_release(&room);
}

/* Constants that have the same place at two partners. same: and the same contents. */
static void match_used_constants(matcher *ctx, bool same) {
  tl_pairs *p = ctx->p;
  TL_FOR_NODES(p->m[0], ctx->g[0], a) {
    tl_node_id b = p->node[0][a];
    for (uint32_t i = 0; b && i < tl_node_get(p->m[0], a)->n_operands; i++) {
      tl_value_id v = tl_operand(p->m[0], a, i), w = tl_operand(p->m[1], b, i);
      if (v && w && tl_value_constant(p->m[0], v) && tl_value_constant(p->m[1], w) &&
          (!same || p->hashes[0][v] == p->hashes[1][w]))
        tl_pairs_values(p, v, w);
    }
  }
}

static bool has_lonely_constant(const matcher *ctx, int side) {
  const tl_u32_vec *v = &ctx->g[side]->constants;
  for (uint32_t i = 0; i < v->n; i++)
    if (v->at[i] && !ctx->p->value[side][v->at[i]])
      return true;
  return false;
}

/* Pairs constants whose names say nothing: of the same contents first, there by name, by place, and
 * as they come; then of other contents, by place and by name. */
static void settle_constants(matcher *ctx) {
  if (!has_lonely_constant(ctx, 0) || !has_lonely_constant(ctx, 1))
    return;
  if (!tl_pairs_constants(ctx->p, ctx->g[0], ctx->g[1], true))
    return;
  match_used_constants(ctx, true);
  if (!tl_pairs_constants(ctx->p, ctx->g[0], ctx->g[1], false))
    return;
  match_used_constants(ctx, false);
  match_constants(ctx);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void match_graphs(tl_pairs *p, tl_graph_id a, tl_graph_id b);

/* Pairs the bodies of two attributes. */
static void match_attr_bodies(tl_pairs *p, const tl_attr *a, const tl_attr *b) {
  if (a->kind == TL_ATTR_GRAPH && b->kind == TL_ATTR_GRAPH)
    match_graphs(p, a->u.g, b->u.g);
  if (a->kind == TL_ATTR_GRAPHS && b->kind == TL_ATTR_GRAPHS)
    for (uint32_t i = 0; i < a->count && i < b->count; i++)
      match_graphs(p, a->u.ids[i], b->u.ids[i]);
}

static void match_bodies(tl_pairs *p, tl_node_id a, tl_node_id b) {
  const tl_node *x = tl_node_get(p->m[0], a), *y = tl_node_get(p->m[1], b);
  for (uint32_t i = 0; i < x->n_attrs; i++) {
    if (x->attrs[i].kind != TL_ATTR_GRAPH && x->attrs[i].kind != TL_ATTR_GRAPHS)
      continue;
    for (uint32_t k = 0; k < y->n_attrs; k++)
      if (tl_sv_eq(tl_sym(p->m[0], x->attrs[i].name), tl_sym(p->m[1], y->attrs[k].name)))
        match_attr_bodies(p, &x->attrs[i], &y->attrs[k]);
  }
}

static void match_names(matcher *ctx) {
  for (int kind = BY_NAME; kind <= BY_TRACE; kind++)
    match_kind(ctx, kind, false);
}

static bool is_used_inside(const tl_module *m, const tl_graph *g, tl_value_id v) {
  TL_FOR_USES(m, v, u)
    if (tl_node_get(m, tl_use_get(m, u)->user)->graph != g->id)
      return true;
  return false;
}

/* Bodies have no partners yet, so their constants are compared by contents. */
static bool inner_constants_agree(const matcher *ctx) {
  const tl_pairs *p = ctx->p;
  const tl_u32_vec *all = &ctx->g[0]->constants;
  for (uint32_t i = 0; i < all->n; i++) {
    tl_value_id a = all->at[i], b = a ? p->value[0][a] : 0;
    if (b && is_used_inside(p->m[0], ctx->g[0], a) &&
        !tl_same_tensor(p, tl_value_get(p->m[0], a)->tensor, tl_value_get(p->m[1], b)->tensor))
      return false;
  }
  return true;
}

/* Returns true if all nodes have partners that use partners. Names that a tool counts up may have
 * moved to others. */
static bool names_agree(const matcher *ctx) {
  const tl_pairs *p = ctx->p;
  if (tl_pairs_has_lonely(p, 0, ctx->g[0]) || tl_pairs_has_lonely(p, 1, ctx->g[1]))
    return false;
  TL_FOR_NODES(p->m[0], ctx->g[0], a)
    if (p->node[0][a] && !tl_same_operands(p, a, p->node[0][a]))
      return false;
  return inner_constants_agree(ctx);
}

static void part_value(tl_pairs *p, tl_value_id a) {
  p->value[1][p->value[0][a]] = 0;
  p->value[0][a] = 0;
}

/* Forgets the partners of nodes and constants of two graphs. */
static void part(matcher *ctx) {
  tl_pairs *p = ctx->p;
  TL_FOR_NODES(p->m[0], ctx->g[0], a) {
    const tl_node *node = tl_node_get(p->m[0], a);
    p->node[1][p->node[0][a]] = 0;
    p->node[0][a] = 0;
    for (uint32_t i = 0; i < node->n_results; i++)
      part_value(p, node->results + i);
  }
  for (uint32_t i = 0; i < ctx->g[0]->constants.n; i++)
    if (ctx->g[0]->constants.at[i])
      part_value(p, ctx->g[0]->constants.at[i]);
}

/* Nodes that are alike in all that is below and above them are the same whatever their names,
 * unless the names alone pair all nodes without contradiction. */
static void match_nodes(matcher *ctx) {
  match_constants(ctx);
  match_names(ctx);
  if (names_agree(ctx))
    return;
  part(ctx);
  if (!tl_pairs_alike(ctx->p, ctx->g[0], ctx->g[1]))
    return;
  match_used_constants(ctx, true);
  match_names(ctx);
}

/* Bodies nest at most TL_MAX_BODY_DEPTH deep, which readers check. */
static void match_graphs(tl_pairs *p, tl_graph_id a, tl_graph_id b) {
  matcher ctx = {p, {tl_graph_get(p->m[0], a), tl_graph_get(p->m[1], b)}, {{0}}};
  p->graph[0][a] = b;
  p->graph[1][b] = a;
  index_graph(&ctx, 0);
  index_graph(&ctx, 1);
  match_inputs(&ctx);
  match_nodes(&ctx);
  tl_pairs_structure(p, ctx.g[0], ctx.g[1]);
  match_kind(&ctx, BY_NAME, true);
  match_kind(&ctx, BY_RESULT, true);
  match_origins(&ctx, 1);
  match_origins(&ctx, 0);
  settle_constants(&ctx);
  tl_map_release(&ctx.names[0]);
  tl_map_release(&ctx.names[1]);
  TL_FOR_NODES(p->m[0], ctx.g[0], n)
    if (p->node[0][n])
      match_bodies(p, n, p->node[0][n]);
}

/* Returns the next root graph behind an index, 0 without one. */
static tl_graph_id next_root(const tl_module *m, uint32_t *i) {
  while (*i < m->graphs.n) {
    const tl_graph *g = m->graphs.at[(*i)++];
    if (g->kind == TL_GRAPH_ROOT && !g->erased)
      return g->id;
  }
  return TL_NO_GRAPH;
}

tl_status tl_pairs_make(tl_pairs *p, tl_module *a, tl_module *b) {
  *p = (tl_pairs){.m = {a, b}};
  for (int s = 0; s < 2; s++) {
    p->node[s] = calloc(tl_module_node_end(p->m[s]) + 1u, sizeof(uint32_t));
    p->into[s] = calloc(tl_module_node_end(p->m[s]) + 1u, sizeof(uint32_t));
    p->value[s] = calloc(tl_module_value_end(p->m[s]) + 1u, sizeof(uint32_t));
    p->graph[s] = calloc(p->m[s]->graphs.n + 1u, sizeof(uint32_t));
    if (!p->node[s] || !p->into[s] || !p->value[s] || !p->graph[s])
      return TL_NO_MEMORY;
  }
  for (uint32_t i = 0, k = 0;;) {
    tl_graph_id g = next_root(a, &i), h = next_root(b, &k);
    if (!g || !h)
      return p->failed ? TL_NO_MEMORY : TL_OK;
    match_graphs(p, g, h);
  }
}

void tl_pairs_release(tl_pairs *p) {
  for (int s = 0; s < 2; s++) {
    free(p->node[s]);
    free(p->into[s]);
    free(p->value[s]);
    free(p->graph[s]);
    free(p->hashes[s]);
    free(p->above[s]);
    free(p->class[s]);
  }
}
