/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the set of nodes that are kept small. First prefixes of the nodes in the order of what they
 * add, found by bisection; then delta debugging: halves of what is left, quarters and so on go if
 * the tolerance is met without them, at last single nodes, or groups if there are too many nodes
 * for the evaluations that are left. */
#include "tools/search/search.h"

/* Evaluations that are kept for the files. */
enum { RESERVE = 2 };

/* A node with what decides its place. */
typedef struct ranked {
  uint32_t place;
  double adds;
} ranked;

/* State of one search. */
typedef struct minimizer {
  tl_search *s;
  bool *best;     /* meets the tolerance */
  bool *next;     /* the set that is tried */
  tl_trial trial; /* of best */
} minimizer;

static uint32_t left(const minimizer *z) {
  uint32_t n = tl_search_left(z->s);
  return n > RESERVE ? n - RESERVE : 0;
}

static uint32_t n_nodes(const minimizer *z) { return z->s->nodes.n; }

/* Of two sets the one that takes less memory traffic is cheaper, then the one of fewer nodes. */
static bool is_cheaper(const tl_trial *a, const tl_trial *b) {
  return a->bytes < b->bytes || (!(a->bytes > b->bytes) && a->n_kept < b->n_kept);
}

/* Tries z->next and makes it the best if it meets the tolerance and is cheaper. */
static tl_status try_next(minimizer *z, const char *what, bool *equal) {
  tl_trial t;
  TL_TRY(tl_search_try(z->s, z->next, what, &t));
  *equal = t.equal;
  if (t.equal && is_cheaper(&t, &z->trial)) {
    memcpy(z->best, z->next, n_nodes(z));
    z->trial = t;
  }
  return TL_OK;
}

/* ---- the most sensitive nodes ---------------------------------------------------------------- */

static int by_adds(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->adds < y->adds || x->adds > y->adds)
    return x->adds > y->adds ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

/* Lists the nodes of a set, the most sensitive first; NULL if memory is out. */
static ranked *rank(minimizer *z, const bool *set, uint32_t *n) {
  ranked *list = tl_arena_calloc(&z->s->arena, n_nodes(z) + 1U, sizeof *list);
  *n = 0;
  for (uint32_t i = 0; list && i < n_nodes(z); i++)
    if (set[i])
      list[(*n)++] = (ranked){i, z->s->nodes.at[i].adds};
  if (list)
    qsort(list, *n, sizeof *list, by_adds);
  return list;
}

/* Sets z->next to the first k of a list, and what is always kept. */
static void take_prefix(minimizer *z, const ranked *list, uint32_t k, const bool *always) {
  for (uint32_t i = 0; i < n_nodes(z); i++)
    z->next[i] = always && always[i];
  for (uint32_t i = 0; i < k; i++)
    z->next[list[i].place] = true;
}

/* Bisects the length of the prefix: lo is too short, hi long enough. */
static tl_status bisect_prefix(minimizer *z, const ranked *list, const bool *always, uint32_t lo,
                               uint32_t hi) {
  while (hi - lo > 1 && left(z)) {
    uint32_t middle = lo + (hi - lo) / 2;
    bool equal;
    take_prefix(z, list, middle, always);
    TL_TRY(try_next(z, "most sensitive", &equal));
    *(equal ? &hi : &lo) = middle;
  }
  return TL_OK;
}

/* Tries prefixes of doubled length as long as they are cheaper than the best set, then bisects. */
static tl_status grow_prefix(minimizer *z, const bool *set, const bool *always) {
  uint32_t n, lo = 0;
  ranked *list = rank(z, set, &n);
  if (!list)
    return tl_fail_memory(&z->s->cli->diag, TL_NOWHERE);
  for (uint32_t k = 1; k <= n && left(z); k = k * 2 > n && k < n ? n : k * 2) {
    bool equal;
    tl_trial cost;
    take_prefix(z, list, k, always);
    tl_search_cost(z->s, z->next, &cost);
    if (!is_cheaper(&cost, &z->trial))
      return TL_OK;
    TL_TRY(try_next(z, "most sensitive", &equal));
    if (equal)
      return bisect_prefix(z, list, always, lo, k);
    lo = k;
  }
  return TL_OK;
}

/* Finds a short prefix within the best set. */
static tl_status shorten(minimizer *z) {
  uint32_t n;
  ranked *list = rank(z, z->best, &n);
  if (!list)
    return tl_fail_memory(&z->s->cli->diag, TL_NOWHERE);
  return bisect_prefix(z, list, NULL, 0, n);
}

/* ---- what can go ----------------------------------------------------------------------------- */

/* Tries the best set without some groups; *gone: they can go. */
static tl_status try_without(minimizer *z, const tl_search_group *g, uint32_t n, bool *gone) {
  memcpy(z->next, z->best, n_nodes(z));
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < g[i].n; k++)
      z->next[g[i].nodes[k]] = false;
  return try_next(z, "without some", gone);
}

static void erase(tl_search_groups *v, uint32_t at, uint32_t n) {
  memmove(v->at + at, v->at + at + n, (v->n - at - n) * sizeof *v->at);
  v->n -= n;
}

/* Removes runs of `length` groups that can go. */
static tl_status drop_runs(minimizer *z, tl_search_groups *v, uint32_t length) {
  for (uint32_t i = 0; i < v->n && left(z);) {
    uint32_t n = v->n - i < length ? v->n - i : length;
    bool gone;
    TL_TRY(try_without(z, v->at + i, n, &gone));
    if (gone)
      erase(v, i, n);
    else
      i += n;
  }
  return TL_OK;
}

/* Removes single groups until none can go; *minimal: that was shown of each. */
static tl_status drop_single(minimizer *z, tl_search_groups *v, bool *minimal) {
  uint32_t stayed = 0;
  for (uint32_t i = 0; stayed < v->n && left(z);) {
    bool gone;
    i = i < v->n ? i : 0;
    TL_TRY(try_without(z, v->at + i, 1, &gone));
    stayed = gone ? 0 : stayed + 1;
    if (gone)
      erase(v, i, 1);
    else
      i++;
  }
  *minimal = stayed >= v->n;
  return TL_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef enum grouping { BY_NODE, BY_SCOPE, BY_OP, BY_PART, N_GROUPINGS } grouping;

static const char *const grouping_names[N_GROUPINGS] = {"node", "scope", "op", "part"};

/* Returns what the nodes of a group have in common. */
static tl_sv label(const tl_search_node *node, grouping by) {
  return by == BY_NODE ? node->name : by == BY_SCOPE ? node->scope : node->op;
}

/* Adds a node to the group with its label, or to a new one. group_of: [nodes]. */
static bool put(const minimizer *z, tl_search_groups *v, uint32_t *group_of, uint32_t i,
                grouping by) {
  const tl_search_node *node = &z->s->nodes.at[i];
  for (uint32_t k = 0; by != BY_NODE && k < v->n; k++)
    if (tl_sv_eq(v->at[k].name, label(node, by))) {
      group_of[i] = k;
      v->at[k].n++;
      return true;
    }
  group_of[i] = v->n;
  return tl_search_groups_push(
      v, (tl_search_group){.by = grouping_names[by], .name = label(node, by), .n = 1});
}

/* Cuts the kept nodes into so many runs in the order of execution. */
static bool cut(const minimizer *z, tl_search_groups *v, uint32_t *group_of, uint32_t parts) {
  uint32_t kept = z->trial.n_kept, seen = 0;
  for (uint32_t i = 0; i < n_nodes(z); i++) {
    if (!z->best[i])
      continue;
    uint32_t part = (uint32_t)((uint64_t)seen++ * parts / kept);
    if (part == v->n &&
        !tl_search_groups_push(
            v, (tl_search_group){.by = grouping_names[BY_PART], .name = z->s->nodes.at[i].name}))
      return false;
    group_of[i] = part;
    v->at[part].n++;
  }
  return true;
}

/* Gives each group the list of its nodes, and what the most sensitive of them adds. */
static bool fill(const minimizer *z, tl_search_groups *v, const uint32_t *group_of) {
  for (uint32_t k = 0; k < v->n; k++) {
    v->at[k].nodes = tl_arena_calloc(&z->s->arena, v->at[k].n + 1U, sizeof *v->at[k].nodes);
    v->at[k].n = 0;
    if (!v->at[k].nodes)
      return false;
  }
  for (uint32_t i = 0; i < n_nodes(z); i++) {
    tl_search_group *g = z->best[i] ? &v->at[group_of[i]] : NULL;
    if (!g)
      continue;
    g->nodes[g->n++] = i;
    g->adds = z->s->nodes.at[i].adds > g->adds ? z->s->nodes.at[i].adds : g->adds;
  }
  return true;
}

/* Orders groups, the least sensitive first. */
static int by_sensitivity(const void *a, const void *b) {
  const tl_search_group *x = a, *y = b;
  if (x->adds < y->adds || x->adds > y->adds)
    return x->adds < y->adds ? -1 : 1;
  return (x->nodes[0] > y->nodes[0]) - (x->nodes[0] < y->nodes[0]);
}

/* Groups the kept nodes, the least sensitive group first. most: groups of BY_PART. */
static tl_status make_groups(minimizer *z, grouping by, uint32_t most, tl_search_groups *v) {
  uint32_t *group_of = tl_arena_calloc(&z->s->arena, n_nodes(z) + 1U, sizeof *group_of);
  bool ok = group_of != NULL;
  v->n = 0;
  for (uint32_t i = 0; ok && by != BY_PART && i < n_nodes(z); i++)
    ok = !z->best[i] || put(z, v, group_of, i, by);
  if (ok && by == BY_PART)
    ok = cut(z, v, group_of, most);
  ok = ok && fill(z, v, group_of);
  if (!ok)
    return tl_fail_memory(&z->s->cli->diag, TL_NOWHERE);
  if (v->n)
    qsort(v->at, v->n, sizeof *v->at, by_sensitivity);
  return TL_OK;
}

/* Chooses the finest groups that are few enough to try each of them. */
static tl_status choose_groups(minimizer *z, tl_search_groups *v) {
  uint32_t most = left(z) > 2 ? left(z) / 2 + 1 : 1;
  for (grouping by = BY_NODE; by < BY_PART; by++) {
    TL_TRY(make_groups(z, by, 0, v));
    if (v->n <= most)
      return TL_OK;
  }
  return make_groups(z, BY_PART, most, v);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Delta debugging by runs of single nodes, as long as a round is cheap. */
static tl_status drop_halves(minimizer *z, tl_search_groups *v) {
  TL_TRY(make_groups(z, BY_NODE, 0, v));
  for (uint32_t length = v->n / 2; length > 1 && v->n / length * 3 < left(z); length /= 2)
    TL_TRY(drop_runs(z, v, length));
  return TL_OK;
}

static tl_status minimize(minimizer *z, const tl_search_start *start, const bool *range,
                          const bool *all, tl_search_result *out) {
  if (start->range.equal)
    TL_TRY(shorten(z));
  else
    TL_TRY(grow_prefix(z, all, range));
  TL_TRY(grow_prefix(z, all, NULL));
  TL_TRY(drop_halves(z, &out->groups));
  TL_TRY(choose_groups(z, &out->groups));
  TL_TRY(drop_single(z, &out->groups, &out->minimal));
  bool coarse = out->groups.n && out->groups.at[0].n < z->trial.n_kept &&
                z->trial.n_kept > out->groups.n && z->trial.n_kept <= left(z);
  if (!coarse)
    return TL_OK;
  TL_TRY(make_groups(z, BY_NODE, 0, &out->groups));
  return drop_single(z, &out->groups, &out->minimal);
}

tl_status tl_search_minimize(tl_search *s, const tl_search_start *start, tl_search_result *out) {
  size_t n = s->nodes.n + 1U;
  minimizer z = {.s = s,
                 .best = tl_arena_calloc(&s->arena, n, 1),
                 .next = tl_arena_calloc(&s->arena, n, 1),
                 .trial = start->wide};
  bool *range = tl_arena_calloc(&s->arena, n, 1), *all = tl_arena_calloc(&s->arena, n, 1);
  *out = (tl_search_result){0};
  if (!z.best || !z.next || !range || !all)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  memset(all, 1, s->nodes.n);
  for (uint32_t i = 0; i < s->nodes.n; i++)
    range[i] = s->nodes.at[i].by_range;
  bool ranged = start->range.equal && is_cheaper(&start->range, &start->wide);
  memcpy(z.best, ranged ? range : all, n);
  z.trial = ranged ? start->range : start->wide;
  tl_status status = minimize(&z, start, range, all, out);
  out->kept = z.best;
  out->trial = z.trial;
  return status;
}
