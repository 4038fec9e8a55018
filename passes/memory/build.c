/* SPDX-License-Identifier: Apache-2.0 */
/* Reads graphs into flows. */
#include "passes/memory/flow.h"

#include "ir/ops_gen.h"
#include "passes/ub/nodes.h"

/* What an op does with the memory of its operands. */
typedef enum share { SHARE_UNKNOWN, SHARE_NONE, SHARE_VIEW, SHARE_IN_PLACE } share;

static const char *const views[] = {
#define VIEW(type) type,
#include "passes/memory/views.tbl"
};

/* Side tables of the module, which graphs and their bodies use together: their ids differ. */
typedef struct maps {
  const tl_module *m;
  const tl_op_info_set *info;
  tl_arena *arena;
  uint8_t *share;      /* by op id */
  uint32_t *origin;    /* by value id: the value that a view shows; 0: it is no view */
  uint32_t *buffer;    /* by value id: 1 + its buffer */
  bool *held;          /* by value id: an output of its graph */
  uint32_t *positions; /* by node id: 1 + its position */
} maps;

/* One graph that is being read. */
typedef struct reader {
  maps *maps;
  const tl_graph *g;
  tl_flow *f;
  tl_u32_vec uses;
  tl_u32_vec gives; /* beside uses */
  tl_u32_vec before;
  tl_value_id in_place; /* the result that the node may compute in place of an operand */
  uint32_t *stamp;      /* by buffer: 1 + the node that was last seen to read it */
  bool failed;
} reader;

static bool build(maps *ctx, tl_graph_id g, tl_flow *f);

static bool is_view(tl_sv type) {
  for (size_t i = 0; i < sizeof views / sizeof *views; i++)
    if (tl_sv_is(type, views[i]))
      return true;
  return false;
}

static share share_of(maps *ctx, tl_op_id op) {
  const tl_module *m = ctx->m;
  if (ctx->share[op])
    return (share)ctx->share[op];
  tl_sv type = tl_op_name(m, op);
  tl_symbol domain = tl_op_domain_symbol(m, op);
  bool listed = tl_op_domain(m, op).n == 0 || domain == TL_SYM_npu;
  bool elementwise = domain == TL_SYM_npu ? tl_ub_class_of(ctx->info, type) == TL_UB_ELEMWISE
                                          : tl_op_has_trait(op, TL_TRAIT_ELEMENTWISE);
  ctx->share[op] = listed && is_view(type) ? SHARE_VIEW : elementwise ? SHARE_IN_PLACE : SHARE_NONE;
  return (share)ctx->share[op];
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Bytes of a value; false if they are not known. */
static bool bytes_of(const tl_module *m, tl_value_id v, uint64_t *bytes) {
  uint64_t n;
  tl_type_id type = tl_value_type(m, v);
  if (!tl_type_elements(m, type, &n) || !tl_dtype_bytes(tl_type_dtype(m, type), n, bytes))
    return false;
  if (*bytes > TL_FLOW_MOST_BYTES)
    *bytes = TL_FLOW_MOST_BYTES;
  return true;
}

/* Bytes of a value; one without a fixed size is noted and has none. */
static uint64_t measure(tl_flow *f, tl_value_id v) {
  uint64_t bytes;
  if (bytes_of(f->m, v, &bytes))
    return bytes;
  f->n_unsized++;
  if (!f->first_unsized)
    f->first_unsized = v;
  return 0;
}

static tl_value_id origin_of(const maps *ctx, tl_value_id v) {
  return ctx->origin[v] ? ctx->origin[v] : v;
}

/* Notes that the result of a view is its operand, unless their sizes say otherwise. */
static void link_view(maps *ctx, const tl_node *node) {
  tl_value_id from = node->n_operands ? tl_use_get(ctx->m, node->operands)->value : TL_NO_VALUE;
  uint64_t a = 0, b = 0;
  if (share_of(ctx, node->op) != SHARE_VIEW || !from || node->n_results == 0)
    return;
  bool sized = bytes_of(ctx->m, from, &a);
  if (sized == bytes_of(ctx->m, node->results, &b) && a == b)
    ctx->origin[node->results] = origin_of(ctx, from);
}

/* A result that the node does compute. */
static bool exists(const tl_module *m, tl_value_id v) {
  const tl_value *value = tl_value_get(m, v);
  return value->name || value->n_uses;
}

/* ---- one node -------------------------------------------------------------------------------- */

static void push(reader *r, tl_u32_vec *v, uint32_t item) {
  r->failed = r->failed || !tl_u32_vec_push(v, item);
}

/* An elementwise op may write where it reads if elements correspond: as many of the same size. */
static bool may_give(const reader *r, tl_value_id v) {
  const tl_module *m = r->maps->m;
  uint64_t a, b, n_a, n_b;
  return r->in_place && bytes_of(m, v, &a) && bytes_of(m, r->in_place, &b) && a == b &&
         tl_type_elements(m, tl_value_type(m, v), &n_a) &&
         tl_type_elements(m, tl_value_type(m, r->in_place), &n_b) && n_a == n_b;
}

/* Node `at` reads v: it waits for the producer, and the buffer waits for it. */
static void read_operand(reader *r, uint32_t at, tl_value_id v) {
  maps *ctx = r->maps;
  if (!v || tl_value_get(ctx->m, v)->kind != TL_VALUE_RESULT ||
      tl_value_graph(ctx->m, v) != r->g->id)
    return;
  push(r, &r->before, ctx->positions[tl_value_producer(ctx->m, v)] - 1);
  uint32_t buffer = ctx->buffer[origin_of(ctx, v)];
  if (buffer == 0 || r->stamp[buffer - 1] == at + 1)
    return;
  r->stamp[buffer - 1] = at + 1;
  push(r, &r->uses, buffer - 1);
  push(r, &r->gives, may_give(r, v));
}

static void read_operands(reader *r, uint32_t at, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++)
    read_operand(r, at, tl_use_get(r->maps->m, node->operands + i)->value);
}

static void read_bodies(reader *r, uint32_t at, const tl_node *node);

/* Values of this graph that a body reads are read by the node that owns it. */
static void read_body(reader *r, uint32_t at, tl_graph_id id) {
  const tl_module *m = r->maps->m;
  const tl_graph *body = tl_graph_get(m, id);
  TL_FOR_NODES(m, body, n) {
    const tl_node *node = tl_node_get(m, n);
    read_operands(r, at, node);
    read_bodies(r, at, node);
  }
  read_operands(r, at, tl_node_get(m, body->ret));
}

static void read_bodies(reader *r, uint32_t at, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      read_body(r, at, a->u.g);
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      read_body(r, at, a->u.ids[k]);
  }
}

/* What a body needs while it runs: its inputs and its buffers. Its outputs are the node's. */
static void add_work(reader *r, tl_graph_id body, uint64_t *work) {
  tl_flow f = {0};
  tl_arena_mark mark = tl_arena_save(r->maps->arena);
  uint32_t *left = NULL;
  if (build(r->maps, body, &f))
    left = tl_arena_calloc(r->maps->arena, f.n_buffers, sizeof *left);
  uint64_t bytes = left ? f.inputs + tl_flow_peak(&f, NULL, left, NULL) : 0;
  r->failed = r->failed || !left;
  r->f->n_unsized += f.n_unsized;
  if (!r->f->first_unsized)
    r->f->first_unsized = f.first_unsized;
  *work = bytes > *work ? bytes : *work;
  tl_arena_rewind(r->maps->arena, mark);
}

static uint64_t work_of(reader *r, const tl_node *node) {
  uint64_t work = 0;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      add_work(r, a->u.g, &work);
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      add_work(r, a->u.ids[k], &work);
  }
  return work;
}

static void read_node(reader *r, uint32_t at, const tl_node *node) {
  const tl_module *m = r->maps->m;
  tl_flow_node *out = &r->f->nodes[at];
  out->first_use = r->uses.n;
  out->first_before = r->before.n;
  bool first = node->n_results && r->maps->buffer[node->results];
  r->in_place = first && share_of(r->maps, node->op) == SHARE_IN_PLACE ? node->results
                                                                       : TL_NO_VALUE;
  read_operands(r, at, node);
  r->in_place = TL_NO_VALUE;
  if (tl_op_has_trait(node->op, TL_TRAIT_BODY)) {
    read_bodies(r, at, node);
    out->work = work_of(r, node);
  }
  for (tl_control_id c = node->control_in; c; c = tl_control_get(m, c)->next_in)
    push(r, &r->before, r->maps->positions[tl_control_get(m, c)->from] - 1);
  out->n_uses = r->uses.n - out->first_use;
  out->n_before = r->before.n - out->first_before;
}

/* ---- a graph --------------------------------------------------------------------------------- */

/* Numbers the nodes and finds what is a view of what, and which of it the graph gives away. */
static void survey(reader *r) {
  maps *ctx = r->maps;
  uint32_t at = 0;
  TL_FOR_NODES(ctx->m, r->g, n) {
    ctx->positions[n] = at + 1;
    r->f->nodes[at++].id = n;
    link_view(ctx, tl_node_get(ctx->m, n));
  }
  for (uint32_t i = 0; i < r->g->inputs.n; i++)
    r->f->inputs += measure(r->f, r->g->inputs.at[i]);
  for (uint32_t i = 0; i < tl_graph_n_outputs(ctx->m, r->g); i++) {
    tl_value_id v = tl_graph_output(ctx->m, r->g, i);
    if (!v)
      continue;
    r->f->outputs += measure(r->f, v);
    ctx->held[origin_of(ctx, v)] = true;
  }
}

static bool make_buffers(reader *r, tl_arena *a) {
  maps *ctx = r->maps;
  tl_flow *f = r->f;
  uint32_t most = 0;
  for (uint32_t i = 0; i < f->n_nodes; i++)
    most += tl_node_get(ctx->m, f->nodes[i].id)->n_results;
  f->buffers = tl_arena_calloc(a, most, sizeof *f->buffers);
  r->stamp = tl_arena_calloc(a, most, sizeof *r->stamp);
  if (!f->buffers || !r->stamp)
    return false;
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    const tl_node *node = tl_node_get(ctx->m, f->nodes[i].id);
    f->nodes[i].first_result = f->n_buffers;
    for (uint32_t k = 0; k < node->n_results; k++) {
      tl_value_id v = node->results + k;
      uint64_t bytes = ctx->origin[v] || ctx->held[v] || !exists(ctx->m, v) ? 0 : measure(f, v);
      if (bytes == 0)
        continue;
      f->buffers[f->n_buffers] = (tl_flow_buffer){.bytes = bytes, .producer = i};
      ctx->buffer[v] = ++f->n_buffers;
    }
    f->nodes[i].n_results = f->n_buffers - f->nodes[i].first_result;
  }
  return true;
}

/* Turns "node uses buffer" and "node waits for node" around. */
static bool turn_around(tl_flow *f, tl_arena *a, uint32_t n_uses, uint32_t n_before) {
  f->users = tl_arena_calloc(a, n_uses, sizeof *f->users);
  f->after = tl_arena_calloc(a, n_before, sizeof *f->after);
  if (!f->users || !f->after)
    return false;
  for (uint32_t i = 0; i < n_uses; i++)
    f->buffers[f->uses[i]].n_users++;
  for (uint32_t i = 0; i < n_before; i++)
    f->nodes[f->before[i]].n_after++;
  for (uint32_t b = 0, sum = 0; b < f->n_buffers; b++) {
    f->buffers[b].first_user = sum;
    sum += f->buffers[b].n_users;
    f->buffers[b].n_users = 0;
  }
  for (uint32_t i = 0, sum = 0; i < f->n_nodes; i++) {
    f->nodes[i].first_after = sum;
    sum += f->nodes[i].n_after;
    f->nodes[i].n_after = 0;
  }
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    const tl_flow_node *node = &f->nodes[i];
    for (uint32_t k = 0; k < node->n_uses; k++) {
      tl_flow_buffer *b = &f->buffers[f->uses[node->first_use + k]];
      f->users[b->first_user + b->n_users++] = i;
    }
    for (uint32_t k = 0; k < node->n_before; k++) {
      tl_flow_node *before = &f->nodes[f->before[node->first_before + k]];
      f->after[before->first_after + before->n_after++] = i;
    }
  }
  return true;
}

static bool *keep_flags(tl_arena *a, const tl_u32_vec *v) {
  bool *at = tl_arena_calloc(a, v->n, sizeof *at);
  for (uint32_t i = 0; at && i < v->n; i++)
    at[i] = v->at[i] != 0;
  return at;
}

static uint32_t *keep(tl_arena *a, const tl_u32_vec *v) {
  uint32_t *at = tl_arena_calloc(a, v->n, sizeof *at);
  if (at && v->n)
    memcpy(at, v->at, v->n * sizeof *at);
  return at;
}

/* Nodes that may have an effect, a state or random numbers, if only in a body, keep their order
 * among themselves. */
static bool keeps_order(const tl_node *node) {
  enum { ACTS = TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_RANDOM | TL_TRAIT_BODY };
  return !tl_op_row(node->op) || tl_op_has_trait(node->op, ACTS) || node->n_results == 0;
}

static void read_nodes(reader *r) {
  uint32_t last = UINT32_MAX;
  for (uint32_t i = 0; i < r->f->n_nodes; i++) {
    const tl_node *node = tl_node_get(r->maps->m, r->f->nodes[i].id);
    read_node(r, i, node);
    if (!keeps_order(node))
      continue;
    if (last != UINT32_MAX) {
      push(r, &r->before, last);
      r->f->nodes[i].n_before++;
    }
    last = i;
  }
}

static bool build(maps *ctx, tl_graph_id g, tl_flow *f) {
  reader r = {.maps = ctx, .g = tl_graph_get(ctx->m, g), .f = f};
  *f = (tl_flow){.m = ctx->m, .n_nodes = r.g->n_nodes};
  f->nodes = tl_arena_calloc(ctx->arena, f->n_nodes, sizeof *f->nodes);
  if (!f->nodes)
    return false;
  survey(&r);
  bool ok = make_buffers(&r, ctx->arena);
  if (ok) {
    read_nodes(&r);
    f->uses = keep(ctx->arena, &r.uses);
    f->gives = keep_flags(ctx->arena, &r.gives);
    f->before = keep(ctx->arena, &r.before);
    ok = !r.failed && f->uses && f->gives && f->before &&
         turn_around(f, ctx->arena, r.uses.n, r.before.n);
  }
  tl_u32_vec_release(&r.uses);
  tl_u32_vec_release(&r.gives);
  tl_u32_vec_release(&r.before);
  return ok;
}

bool tl_flow_build(tl_flow *f, const tl_module *m, tl_graph_id g, const tl_op_info_set *info,
                   tl_arena *a) {
  maps ctx = {.m = m, .info = info, .arena = a};
  uint32_t n_values = tl_module_value_end(m);
  ctx.share = tl_arena_calloc(a, tl_n_op_rows + m->opaque_ops.n, sizeof *ctx.share);
  ctx.origin = tl_arena_calloc(a, n_values, sizeof *ctx.origin);
  ctx.buffer = tl_arena_calloc(a, n_values, sizeof *ctx.buffer);
  ctx.held = tl_arena_calloc(a, n_values, sizeof *ctx.held);
  ctx.positions = tl_arena_calloc(a, tl_module_node_end(m), sizeof *ctx.positions);
  return ctx.share && ctx.origin && ctx.buffer && ctx.held && ctx.positions && build(&ctx, g, f);
}
