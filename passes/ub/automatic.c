/* SPDX-License-Identifier: Apache-2.0 */
/* Joins elementwise nodes with their producers, from the end of the graph on (automatic fusion).
 * Two plain chains that meet, or one that goes on beyond six nodes, become one kernel; the kernels
 * of closed chains are left alone. */
#include "passes/ub/group.h"

enum { MOST_OPERANDS = 6 }; /* of AddN */

/* Returns true if the kernel of a leader contains quant, with which a chain ends. */
static bool ends_with_quant(const tl_ub_graph *g, uint32_t leader) {
  for (uint32_t at = leader; at; at = g->at[at].next)
    if (g->at[at].class == TL_UB_QUANT)
      return true;
  return false;
}

/* Returns true if the kernel may grow: kernels of chains are closed unless the chain is
 * elementwise. */
static bool is_open(const tl_ub_fuser *f, uint32_t leader) {
  const tl_ub_node *node = &f->g->at[leader];
  return node->size == 1 || node->chain == 0 || f->chains[node->chain - 1].open;
}

static bool is_fusible(const tl_ub_fuser *f, uint32_t at) {
  const tl_ub_node *x = &f->g->at[at];
  const char *reason;
  if ((x->class != TL_UB_ELEMWISE && x->class != TL_UB_BROADCAST) || x->dynamic ||
      tl_ub_refused(f, at, &reason) || !is_open(f, x->leader))
    return false;
  const tl_node *node = tl_node_get(f->m, x->id);
  return node->n_operands <= MOST_OPERANDS || !tl_sv_is(tl_op_name(f->m, node->op), "AddN");
}

static void miss(tl_ub_fuser *f, uint32_t producer, uint32_t consumer, const char *code,
                 const char *reason) {
  if (!f->pass->explain)
    return;
  tl_ub_miss m = {.pass = TL_UB_AUTOMATIC,
                  .code = code,
                  .reason = reason,
                  .head = producer,
                  .nodes = {producer, consumer},
                  .n_nodes = 2,
                  .wanted = 2};
  tl_ub_note(f, &m);
}

/* Returns true if a node has more users than allowed. */
static bool has_many_users(const tl_ub_graph *g, uint32_t at) {
  uint32_t users[TL_UB_MOST_BRANCHES], others;
  return tl_ub_users(g, at, users, TL_UB_MOST_BRANCHES, &others) > TL_UB_MOST_BRANCHES;
}

/* Returns true if a node has more users than allowed and at least one of them is in group a or
 * b. */
static bool branches_inside(const tl_ub_graph *g, uint32_t at, uint32_t a, uint32_t b) {
  if (!has_many_users(g, at))
    return false;
  const tl_node *node = tl_node_get(g->m, g->at[at].id);
  for (uint32_t r = 0; r < node->n_results; r++)
    TL_FOR_USES(g->m, node->results + r, u) {
      uint32_t user = tl_ub_user(g, u);
      if (user && (g->at[user].leader == a || g->at[user].leader == b))
        return true;
    }
  return false;
}

/* The same for any node of either group: the groups may be joined at a node other than the one with
 * many users. The producer comes first: the consumer is one of its users, none is looked for. */
static bool has_branches(const tl_ub_graph *g, uint32_t producer, uint32_t consumer) {
  uint32_t leaders[] = {g->at[producer].leader, g->at[consumer].leader};
  if (has_many_users(g, producer))
    return true;
  for (uint32_t i = 0; i < 2; i++)
    for (uint32_t at = leaders[i]; at; at = g->at[at].next)
      if (branches_inside(g, at, leaders[0], leaders[1]))
        return true;
  return false;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Returns the type that the nodes of a group compute, except those that are broadcast within it. */
static tl_type_id shape_of(const tl_ub_graph *g, uint32_t leader) {
  const tl_node *node = tl_node_get(g->m, g->at[g->at[leader].shape].id);
  return tl_value_type(g->m, node->results);
}

/* Returns true if type a broadcasts to type b: its static dims are the last ones of b, each equal
 * or 1. */
static bool broadcasts(const tl_module *m, tl_type_id a, tl_type_id b) {
  const tl_type *x = tl_type_get(m, a), *y = tl_type_get(m, b);
  for (int i = 1; i <= x->rank; i++)
    if (i > y->rank || (x->dims[x->rank - i] != 1 && x->dims[x->rank - i] != y->dims[y->rank - i]))
      return false;
  return true;
}

/* Returns true if only two groups use what the nodes of the first compute. */
static bool stays_inside(const tl_ub_graph *g, uint32_t first, uint32_t second) {
  for (uint32_t at = first; at; at = g->at[at].next) {
    const tl_node *node = tl_node_get(g->m, g->at[at].id);
    for (uint32_t r = 0; r < node->n_results; r++)
      TL_FOR_USES(g->m, node->results + r, u) {
        uint32_t user = tl_ub_user(g, u);
        if (!user || (g->at[user].leader != first && g->at[user].leader != second))
          return false;
      }
  }
  return true;
}

/* Returns true if a group may be computed in the kernel of a larger one. Operands that are
 * broadcast may; what has one shape throughout, or is written to memory, needs the shape of the
 * kernel. */
static bool may_be_broadcast(const tl_ub_graph *g, uint32_t small, uint32_t large) {
  for (uint32_t at = small; at; at = g->at[at].next)
    if (g->at[at].class != TL_UB_BROADCAST)
      return false;
  return broadcasts(g->m, shape_of(g, small), shape_of(g, large)) && stays_inside(g, small, large);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Returns the code of what keeps a consumer from taking in a fusible producer; NULL if nothing
 * does. */
static const char *hindrance(const tl_ub_fuser *f, uint32_t producer, uint32_t consumer,
                             const char **reason) {
  const tl_ub_graph *g = f->g;
  uint32_t from = g->at[producer].leader, to = g->at[consumer].leader;
  if (!tl_type_same_dims(g->m, shape_of(g, from), shape_of(g, to)) &&
      !may_be_broadcast(g, from, to)) {
    *reason = "the result has another shape than the operand";
    return "SHAPE";
  }
  const char *code = tl_ub_differ(f, producer, consumer, reason);
  if (code)
    return code;
  if (has_branches(g, producer, consumer)) {
    *reason = "more than 6 nodes use a result";
    return "MULTI_CONSUMER";
  }
  if (ends_with_quant(g, from) || (ends_with_quant(g, to) && !stays_inside(g, from, to))) {
    *reason = "others use a result, and the kernel ends with quant";
    return "MULTI_CONSUMER";
  }
  if (g->at[from].size + g->at[to].size > TL_UB_MOST_AUTOMATIC) {
    *reason = "the kernel would have more than 28 nodes";
    return "SIZE";
  }
  return NULL;
}

/* Notes that the kernel of a chain is part of a larger one, which has another name. */
static void note_joined(tl_ub_fuser *f, uint32_t leader) {
  const tl_ub_node *node = &f->g->at[leader];
  if (!f->pass->explain || node->chain == 0 || node->size > TL_UB_MOST_NODES)
    return;
  tl_ub_miss m = {.pass = f->chains[node->chain - 1].pass,
                  .code = "OVERLAP",
                  .reason = "its kernel is part of a larger one",
                  .head = leader,
                  .wanted = node->size,
                  .joined = true};
  for (uint32_t at = leader; at; at = f->g->at[at].next)
    m.nodes[m.n_nodes++] = at;
  tl_ub_note(f, &m);
}

/* Names the joined kernel: a chain that ends with quant keeps its name, others belong to the
 * automatic fusion. */
static void name_kernel(tl_ub_graph *g, uint32_t leader, uint32_t chain, uint32_t shape) {
  g->at[leader].chain = ends_with_quant(g, leader) ? chain : 0;
  g->at[leader].shape = shape;
}

/* Takes a producer into the group of a consumer. This counts as a rewrite unless one of them
 * belongs to the automatic fusion already. */
static void take(tl_ub_fuser *f, uint32_t producer, uint32_t consumer) {
  const char *reason;
  const char *code = hindrance(f, producer, consumer, &reason);
  if (code) {
    miss(f, producer, consumer, code, reason);
    return;
  }
  const tl_ub_node *from = &f->g->at[f->g->at[producer].leader];
  const tl_ub_node *to = &f->g->at[f->g->at[consumer].leader];
  bool first = (from->size == 1 || from->chain) && (to->size == 1 || to->chain);
  if (first && !tl_pass_may_rewrite(f->pass)) {
    f->stopped = true;
    return;
  }
  uint32_t chain = to->chain, shape = to->shape, told = f->misses.n;
  note_joined(f, f->g->at[producer].leader);
  if (!ends_with_quant(f->g, f->g->at[consumer].leader))
    note_joined(f, f->g->at[consumer].leader);
  tl_ub_joined joined = tl_ub_join(f->g, (uint32_t[]){producer, consumer}, 2);
  if (joined == TL_UB_JOINED) {
    name_kernel(f->g, f->g->at[consumer].leader, chain, shape);
    return;
  }
  f->misses.n = told;
  if (first) {
    --*f->pass->rewrites;
    f->pass->changed--;
  }
  f->g->no_memory = f->g->no_memory || joined == TL_UB_NO_MEMORY;
  miss(f, producer, consumer, joined == TL_UB_CYCLE ? "CYCLE" : "BUDGET",
       joined == TL_UB_CYCLE ? "a path leaves the kernel and comes back to it"
                             : "there are too many nodes in between to rule out a cycle");
}

void tl_ub_run_automatic(tl_ub_fuser *f) {
  for (uint32_t at = f->g->n; at > 0 && !f->stopped && !f->g->no_memory; at--) {
    if (!is_fusible(f, at))
      continue;
    const tl_node *node = tl_node_get(f->m, f->g->at[at].id);
    for (uint32_t i = 0; i < node->n_operands && !f->stopped; i++) {
      uint32_t producer = tl_ub_producer(f->g, tl_operand(f->m, f->g->at[at].id, i));
      if (producer && f->g->at[producer].leader != f->g->at[at].leader && is_fusible(f, producer))
        take(f, producer, at);
    }
  }
}
