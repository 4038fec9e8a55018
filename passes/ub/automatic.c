/* SPDX-License-Identifier: Apache-2.0 */
/* The automatic fusion: elementwise nodes that no chain took are joined with what feeds them, from
 * the end of the graph on (spec fusion.md 4.5). */
#include "passes/ub/group.h"

enum { MOST_OPERANDS = 6 }; /* of AddN */

static bool is_fusible(const tl_ub_fuser *f, uint32_t at) {
  const tl_ub_node *x = &f->g->at[at];
  const char *reason;
  if ((x->class != TL_UB_ELEMWISE && x->class != TL_UB_BROADCAST) || x->dynamic ||
      tl_ub_refused(f, at, &reason))
    return false;
  const tl_ub_node *leader = &f->g->at[x->leader];
  if (leader->size > 1 && leader->chain != 0)
    return false; /* a chain has it */
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

/* Do more nodes use the results of one than may, some of them in the groups of two leaders? */
static bool branches_inside(const tl_ub_graph *g, uint32_t at, uint32_t a, uint32_t b) {
  uint32_t users[TL_UB_MOST_BRANCHES], others;
  if (tl_ub_users(g, at, users, TL_UB_MOST_BRANCHES, &others) <= TL_UB_MOST_BRANCHES)
    return false;
  const tl_node *node = tl_node_get(g->m, g->at[at].id);
  for (uint32_t r = 0; r < node->n_results; r++)
    TL_FOR_USES (g->m, node->results + r, u) {
      uint32_t user = tl_ub_user(g, u);
      if (user && (g->at[user].leader == a || g->at[user].leader == b))
        return true;
    }
  return false;
}

/* The same of any node of either group: two groups may be joined by others than the node that many
 * use. */
static bool has_branches(const tl_ub_graph *g, uint32_t producer, uint32_t consumer) {
  uint32_t leaders[] = {g->at[producer].leader, g->at[consumer].leader};
  for (uint32_t i = 0; i < 2; i++)
    for (uint32_t at = leaders[i]; at; at = g->at[at].next)
      if (branches_inside(g, at, leaders[0], leaders[1]))
        return true;
  return false;
}

/* What keeps a consumer from taking in one of its producers, both fusible; NULL: nothing does. */
static const char *hindrance(const tl_ub_fuser *f, uint32_t producer, uint32_t consumer,
                             tl_value_id v, const char **reason) {
  const tl_ub_graph *g = f->g;
  if (!tl_ub_fits_shape(g, consumer, v)) {
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
  if (g->at[g->at[producer].leader].size + g->at[g->at[consumer].leader].size >
      TL_UB_MOST_AUTOMATIC) {
    *reason = "the kernel would have more than 28 nodes";
    return "SIZE";
  }
  return NULL;
}

/* Takes a producer into the group of a consumer. */
static void take(tl_ub_fuser *f, uint32_t producer, uint32_t consumer, tl_value_id v) {
  const char *reason;
  const char *code = hindrance(f, producer, consumer, v, &reason);
  if (code) {
    miss(f, producer, consumer, code, reason);
    return;
  }
  bool first = !tl_ub_is_grouped(f->g, consumer) && !tl_ub_is_grouped(f->g, producer);
  bool both = tl_ub_is_grouped(f->g, consumer) && tl_ub_is_grouped(f->g, producer);
  if (first && !tl_pass_may_rewrite(f->pass)) {
    f->stopped = true;
    return;
  }
  tl_ub_joined joined = tl_ub_join(f->g, (uint32_t[]){producer, consumer}, 2);
  if (joined == TL_UB_JOINED) {
    f->matched += first;
    f->matched -= both;
    return;
  }
  if (first) {
    --*f->pass->rewrites;
    f->pass->changed--;
  }
  f->g->no_memory = f->g->no_memory || joined == TL_UB_NO_MEMORY;
  miss(f, producer, consumer, joined == TL_UB_CYCLE ? "CYCLE" : "BUDGET",
       joined == TL_UB_CYCLE ? "a path leaves the kernel and comes back to it"
                             : "too much lies between the nodes to rule out a cycle");
}

void tl_ub_run_automatic(tl_ub_fuser *f) {
  for (uint32_t at = f->g->n; at > 0 && !f->stopped && !f->g->no_memory; at--) {
    if (!is_fusible(f, at))
      continue;
    const tl_node *node = tl_node_get(f->m, f->g->at[at].id);
    for (uint32_t i = 0; i < node->n_operands && !f->stopped; i++) {
      tl_value_id v = tl_operand(f->m, f->g->at[at].id, i);
      uint32_t producer = tl_ub_producer(f->g, v);
      if (producer && f->g->at[producer].leader != f->g->at[at].leader && is_fusible(f, producer))
        take(f, producer, at, v);
    }
  }
  f->effective = f->matched; /* each kernel counts once, joined ones as one */
}
