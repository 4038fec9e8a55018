/* SPDX-License-Identifier: Apache-2.0 */
/* Joins groups without closing a cycle (contract.h). Ranks are a topological order of the groups,
 * so that only groups ranked between the joined ones need a visit. */
#include "passes/ub/contract.h"

enum { MOST_JOINED = 32, MOST_MEMBERS = 64 }; /* groups of one attempt; nodes of one group */

/* One attempt to join. Stamps mark the groups to be joined (inside), those that can be reached from
 * them (after), and those from which they can be reached (ahead). */
typedef struct attempt {
  tl_ub_graph *g;
  uint32_t joined[MOST_JOINED]; /* leaders */
  uint32_t n;
  uint32_t last;  /* greatest rank of them */
  uint32_t least; /* of what can be reached: least rank */
  uint32_t inside;
  uint32_t after;
  uint32_t ahead;
  uint32_t edges;
  bool cycle;
} attempt;

/* Visits a group behind; ranks beyond the last joined group cannot lead back. */
static void visit_after(attempt *a, uint32_t position) {
  tl_ub_graph *g = a->g;
  tl_ub_node *node = position ? &g->at[g->at[position].leader] : NULL;
  if (!node || node->rank > a->last || node->stamp == a->after || node->stamp == a->inside)
    return;
  node->stamp = a->after;
  a->least = node->rank < a->least ? node->rank : a->least;
  g->no_memory = g->no_memory || !tl_u32_vec_push(&g->seen, g->at[position].leader);
}

/* Visits a group in front; ranks below `least` are in front of everything that moves. */
static void visit_ahead(attempt *a, uint32_t position) {
  tl_ub_graph *g = a->g;
  tl_ub_node *node = position ? &g->at[g->at[position].leader] : NULL;
  if (!node || node->rank < a->least || node->stamp == a->ahead || node->stamp == a->inside)
    return;
  node->stamp = a->ahead;
  g->no_memory = g->no_memory || !tl_u32_vec_push(&g->before, g->at[position].leader);
}

/* Visits what runs behind the nodes of a group. If the group is not to be joined (outside), an edge
 * into the groups to be joined closes a cycle. */
static void step_after(attempt *a, uint32_t leader, bool outside) {
  tl_ub_graph *g = a->g;
  for (uint32_t p = leader; p && !a->cycle; p = g->at[p].next) {
    const tl_node *node = tl_node_get(g->m, g->at[p].id);
    for (uint32_t r = 0; r < node->n_results; r++)
      TL_FOR_USES(g->m, node->results + r, u) {
        uint32_t user = tl_ub_user(g, u);
        a->cycle = a->cycle || (outside && user && g->at[g->at[user].leader].stamp == a->inside);
        visit_after(a, user);
        if (++a->edges > TL_UB_MOST_EDGES)
          return;
      }
    for (tl_control_id c = node->control_out; c; c = tl_control_get(g->m, c)->next_out) {
      uint32_t to = g->position[tl_control_get(g->m, c)->to];
      a->cycle = a->cycle || (outside && g->at[g->at[to].leader].stamp == a->inside);
      visit_after(a, to);
      if (++a->edges > TL_UB_MOST_EDGES)
        return;
    }
  }
}

/* Visits what runs before the nodes of a group. */
static void step_ahead(attempt *a, uint32_t leader) {
  tl_ub_graph *g = a->g;
  for (uint32_t p = leader; p; p = g->at[p].next) {
    const tl_node *node = tl_node_get(g->m, g->at[p].id);
    for (uint32_t i = 0; i < node->n_operands && a->edges <= TL_UB_MOST_EDGES; i++, a->edges++)
      visit_ahead(a, tl_ub_producer(g, tl_operand(g->m, g->at[p].id, i)));
    for (tl_control_id c = node->control_in; c; c = tl_control_get(g->m, c)->next_in, a->edges++)
      visit_ahead(a, g->position[tl_control_get(g->m, c)->from]);
  }
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Marks the groups to be joined, each once, and returns their number. */
static uint32_t gather(tl_ub_graph *g, const uint32_t *positions, uint32_t n, attempt *a) {
  for (uint32_t i = 0; i < n && a->n < MOST_JOINED; i++) {
    tl_ub_node *node = &g->at[g->at[positions[i]].leader];
    if (node->stamp == a->inside)
      continue;
    node->stamp = a->inside;
    a->joined[a->n++] = g->at[positions[i]].leader;
    a->last = node->rank > a->last ? node->rank : a->last;
  }
  return a->n;
}

/* Sorts leaders by rank; insertion sort, since there are few. */
static void sort_by_rank(const tl_ub_graph *g, tl_u32_vec *v) {
  for (uint32_t i = 1; i < v->n; i++)
    for (uint32_t k = i; k > 0 && g->at[v->at[k]].rank < g->at[v->at[k - 1]].rank; k--) {
      uint32_t t = v->at[k];
      v->at[k] = v->at[k - 1];
      v->at[k - 1] = t;
    }
}

/* Assigns ranks anew within the ranks that the visited groups had: what is ahead, then the new
 * group, then what comes behind. Ranks of joined groups below `least` are left unused, since
 * nothing must move before them. Returns the rank of the group, 0 if memory is out. */
static uint32_t reorder(attempt *a) {
  tl_ub_graph *g = a->g;
  tl_u32_vec ranks = {0};
  bool ok = true;
  for (uint32_t i = 0; i < g->seen.n && ok; i++)
    ok = tl_u32_vec_push(&ranks, g->at[g->seen.at[i]].rank);
  for (uint32_t i = 0; i < g->before.n && ok; i++)
    ok = tl_u32_vec_push(&ranks, g->at[g->before.at[i]].rank);
  for (uint32_t i = 0; i < a->n && ok; i++)
    if (g->at[a->joined[i]].rank > a->least)
      ok = tl_u32_vec_push(&ranks, g->at[a->joined[i]].rank);
  if (ok) {
    qsort(ranks.at, ranks.n, sizeof *ranks.at, by_number);
    sort_by_rank(g, &g->seen);
    sort_by_rank(g, &g->before);
    for (uint32_t i = 0; i < g->before.n; i++)
      g->at[g->before.at[i]].rank = ranks.at[i];
    for (uint32_t i = 0; i < g->seen.n; i++)
      g->at[g->seen.at[i]].rank = ranks.at[ranks.n - g->seen.n + i];
  }
  uint32_t rank = ok ? ranks.at[g->before.n] : 0;
  tl_u32_vec_release(&ranks);
  return rank;
}

/* Links all members in the order of their positions. */
static void unite(attempt *a, uint32_t rank) {
  tl_ub_graph *g = a->g;
  uint32_t members[MOST_MEMBERS];
  uint32_t n = 0;
  uint32_t chain = g->at[a->joined[0]].chain;
  for (uint32_t i = 0; i < a->n; i++)
    for (uint32_t p = a->joined[i]; p; p = g->at[p].next)
      members[n++] = p;
  qsort(members, n, sizeof *members, by_number);
  for (uint32_t i = 0; i < n; i++) {
    g->at[members[i]].leader = members[0];
    g->at[members[i]].next = i + 1 < n ? members[i + 1] : 0;
    g->at[members[i]].size = 1;
  }
  g->at[members[0]].size = n;
  g->at[members[0]].rank = rank;
  g->at[members[0]].chain = chain;
}

/* Returns true if the attempt has failed: a cycle, too many edges, or no memory. */
static bool is_over(const attempt *a) {
  return a->cycle || a->edges > TL_UB_MOST_EDGES || a->g->no_memory;
}

/* Returns why it failed; lack of memory first, since what was found is then incomplete. */
static tl_ub_joined verdict(const attempt *a) {
  return a->g->no_memory ? TL_UB_NO_MEMORY : a->cycle ? TL_UB_CYCLE : TL_UB_BUDGET;
}

/* Looks behind the joined groups, then ahead of them, then assigns ranks. Stamps grow by three in
 * each attempt, so that none has to be cleared. */
tl_ub_joined tl_ub_join(tl_ub_graph *g, const uint32_t *positions, uint32_t n) {
  attempt a = {.g = g,
               .inside = g->stamp + 1,
               .after = g->stamp + 2,
               .ahead = g->stamp + 3,
               .least = UINT32_MAX};
  g->stamp += 3;
  g->seen.n = 0;
  g->before.n = 0;
  if (gather(g, positions, n, &a) < 2)
    return TL_UB_JOINED;
  for (uint32_t i = 0; i < a.n && !is_over(&a); i++)
    if (g->at[a.joined[i]].rank != a.last) /* behind the last one, ranks are greater */
      step_after(&a, a.joined[i], false);
  for (uint32_t i = 0; i < g->seen.n && !is_over(&a); i++)
    step_after(&a, g->seen.at[i], true);
  for (uint32_t i = 0; i < a.n && g->seen.n && !is_over(&a); i++)
    step_ahead(&a, a.joined[i]);
  for (uint32_t i = 0; i < g->before.n && !is_over(&a); i++)
    step_ahead(&a, g->before.at[i]);
  if (is_over(&a))
    return verdict(&a);
  uint32_t rank = g->seen.n ? reorder(&a) : a.last;
  if (rank == 0)
    return TL_UB_NO_MEMORY;
  unite(&a, rank);
  return TL_UB_JOINED;
}
