/* SPDX-License-Identifier: Apache-2.0 */
/* ar-bucket: joins AllReduces of gradients to buckets, in the order the gradients become ready.
 *
 * Requires:  types inferred.     Keeps: values, names of results; the order on all ranks alike.
 * After:     every AllReduce that may be fused is marked; buckets of one key follow each other by
 *            control edges, unless each tensor is a bucket of its own; the collectives of a group
 *            stand in an order that depends on the content of the graph alone.
 * Cost:      that of recognition and of the strategy, and O(nodes + edges); where buckets are
 *            chosen for a machine, that of the passes that follow, at most four times, in a step of
 *            at most 10,000 nodes.
 * Tests:     tests/golden/ar-bucket/, tests/train/ */
#include <math.h>

#include "ir/fork.h"
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/train/comm/bucket_fuse.h"
#include "passes/train/comm/bucket_plan.h"
#include "passes/train/comm/buckets.h"
#include "passes/train/comm/comm_order.h"
#include "passes/train/step/find_step.h"
#include "passes/train/time/record.h"

typedef struct bucketing {
  tl_pass *p;
  tl_module *m;
  bool concat;
  tl_bucket_set set;
  tl_node_id *nodes;     /* of one bucket */
  tl_comm_place *places; /* of all collectives */
  uint32_t n_places;
} bucketing;

/* Joins n members to one AllReduce and returns it; TL_NO_NODE after a failure, which is
 * reported. */
static tl_node_id make_bucket(bucketing *buckets, uint32_t first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    buckets->nodes[i] = buckets->set.at[first + i].node;
  if (n == 1)
    return buckets->nodes[0];
  tl_node_id made = tl_bucket_fuse(buckets->m, buckets->nodes, n, buckets->concat);
  if (made)
    tl_pass_remark(buckets->p, buckets->m, made, true, "%u AllReduces are one", n);
  return made;
}

/* Records the place of a collective among those of its group, for tl_comm_line_up. */
static void note_place(bucketing *buckets, tl_node_id n, double ready, uint64_t order) {
  const tl_attr *group = tl_node_attr(buckets->m, n, TL_SYM_group);
  buckets->places[buckets->n_places++] =
      (tl_comm_place){.node = n,
                      .group = group && group->kind == TL_ATTR_STRING ? group->u.s : TL_NO_SYMBOL,
                      .ready = ready,
                      .order = order};
}

/* Makes the buckets of one key with n members. If every tensor is a bucket of its own, no control
 * edges are needed: the stream of the group keeps the order. */
static tl_status make_key(bucketing *buckets, uint32_t first, uint32_t n) {
  bool joins = false;
  double ready = 0;
  tl_node_id last = TL_NO_NODE;
  for (uint32_t i = first, size; i < first + n; i += size) {
    size = tl_bucket_length(&buckets->set, i);
    joins = joins || size > 1;
  }
  for (uint32_t i = first, size; i < first + n; i += size) {
    size = tl_bucket_length(&buckets->set, i);
    tl_node_id made = make_bucket(buckets, i, size);
    if (!made)
      return TL_NO_MEMORY;                  /* reported */
    for (uint32_t k = i; k < i + size; k++) /* what is sent later counts as ready later */
      ready = buckets->set.at[k].ready > ready ? buckets->set.at[k].ready : ready;
    note_place(buckets, made, ready, buckets->set.at[i + size - 1].order);
    if (!tl_node_put_mark(buckets->m, made, TL_MARK_FUSED) ||
        (last && joins && !tl_control_add(buckets->m, last, made, TL_CONTROL_COMM_ORDER)))
      return tl_no_memory(buckets->m);
    last = made;
  }
  return TL_OK;
}

/* Makes the buckets of all keys, then puts all collectives of the graph in order. */
static tl_status make_all(bucketing *buckets) {
  buckets->nodes =
      tl_arena_calloc(buckets->p->scratch, (size_t)buckets->set.n + 1, sizeof *buckets->nodes);
  buckets->places = tl_arena_calloc(buckets->p->scratch,
                                    (size_t)buckets->set.n + buckets->set.n_others + 1,
                                    sizeof *buckets->places);
  if (!buckets->nodes || !buckets->places)
    return tl_no_memory(buckets->m);
  for (uint32_t i = 0, n; i < buckets->set.n; i += n) {
    for (n = 1; i + n < buckets->set.n && buckets->set.at[i + n].key == buckets->set.at[i].key;)
      n++;
    TL_TRY(make_key(buckets, i, n));
  }
  for (uint32_t i = 0; i < buckets->set.n_others; i++)
    note_place(buckets, buckets->set.others[i].node, buckets->set.others[i].ready,
               buckets->set.others[i].order);
  TL_TRY(tl_graph_sort(buckets->m, tl_module_main(buckets->m)->id));
  return tl_comm_line_up(buckets->m, buckets->places, buckets->n_places);
}

/* ---- what a step takes with other buckets ---------------------------------------------------- */

/* A candidate for the buckets. Buckets are cut before updates are fused and checks are split, so
 * only running the remaining passes on a fork tells how long the step takes in the end. */
typedef struct trial {
  tl_bucket_set set;
  double us; /* of the step; INFINITY: it cannot be told */
} trial;

static bool same_buckets(const tl_bucket_set *a, const tl_bucket_set *b) {
  for (uint32_t i = 0; i < a->n; i++)
    if (a->at[i].bucket != b->at[i].bucket)
      return false;
  return true;
}

/* Returns true if `auto` may choose these buckets: none exceeds the byte limit, and GE has room for
 * their number. */
static bool is_allowed(const tl_train_config *c, const tl_bucket_set *s) {
  for (uint32_t i = 0, n, buckets = 0; i < s->n; i += n) {
    uint64_t bytes = 0;
    n = tl_bucket_length(s, i);
    buckets = i && s->at[i].key == s->at[i - 1].key ? buckets + 1 : 1;
    for (uint32_t k = i; k < i + n; k++)
      bytes += s->at[k].bytes;
    if ((n > 1 && bytes > (uint64_t)c->bucket_max_bytes) ||
        (c->bucket_compat_ge && buckets > TL_BUCKETS_MOST))
      return false;
  }
  return true;
}

/* Makes the buckets of t in a fork of the module, runs the passes that follow, and sets t->us. */
static tl_status run_trial(const bucketing *buckets, tl_module *fork, trial *t) {
  tl_pass quiet = *buckets->p;
  bucketing y = {.p = &quiet, .m = fork, .concat = buckets->concat, .set = t->set};
  tl_step_record steps;
  quiet.remark = NULL;
  tl_step_record_init(&steps);
  tl_status status = make_all(&y);
  if (status == TL_OK)
    status = buckets->p->rest(buckets->p, fork, &steps);
  t->us = status == TL_OK && steps.n ? steps.stages[steps.n - 1].report.step : INFINITY;
  tl_step_record_release(&steps);
  return status == TL_NO_MEMORY ? status : TL_OK;
}

/* Tries the buckets of one strategy and keeps the shorter step in *best, which holds the planned
 * buckets or the best so far. TL_BUCKETS_AUTO tries the planned buckets themselves. A gain below
 * 1e-9 is rounding and does not count. */
static tl_status try_strategy(const bucketing *buckets, tl_train_info *info, tl_bucket_strategy how,
                              trial *best) {
  tl_diag silent = {.lacks = buckets->m->diag->lacks};
  trial t = {.set = best->set, .us = INFINITY};
  tl_module *fork = tl_module_fork(buckets->m, &silent);
  tl_status status = fork ? tl_step_state_copy(fork, buckets->m) : TL_NO_MEMORY;
  if (status == TL_OK && how != TL_BUCKETS_AUTO)
    status = tl_bucket_plan_make(buckets->p, fork, info, how, &t.set);
  bool other = status == TL_OK && (how == TL_BUCKETS_AUTO ||
                                   (t.set.n == best->set.n && !same_buckets(&t.set, &best->set) &&
                                    is_allowed(buckets->p->options->train, &t.set)));
  if (other)
    status = run_trial(buckets, fork, &t);
  if (other && status == TL_OK && (how == TL_BUCKETS_AUTO || t.us < best->us * (1 - 1e-9)))
    *best = t;
  tl_module_destroy(fork);
  return status == TL_NO_MEMORY ? tl_no_memory(buckets->m) : TL_OK;
}

/* Replaces the planned buckets by those of a simpler strategy if the step takes less time with
 * them. The plan relies on the cost of nodes as they are now, before later passes change them. */
static tl_status choose(bucketing *buckets, tl_train_info *info) {
  static const tl_bucket_strategy others[] = {TL_BUCKETS_SINGLE, TL_BUCKETS_DEFAULT,
                                              TL_BUCKETS_NONE};
  trial best = {.set = buckets->set};
  TL_TRY(try_strategy(buckets, info, TL_BUCKETS_AUTO, &best));
  for (size_t i = 0; best.us < INFINITY && i < sizeof others / sizeof *others; i++)
    TL_TRY(try_strategy(buckets, info, others[i], &best));
  buckets->set = best.set;
  return TL_OK;
}

/* Returns true if the search is worth its time: in a large step launches cost little beside
 * transfer, and each trial runs all remaining passes. */
static bool may_choose(const bucketing *buckets) {
  enum { MOST_NODES = 10000 };
  const tl_train_config *c = buckets->p->options->train;
  return c->buckets == TL_BUCKETS_AUTO && c->hw_preset && buckets->set.n > 1 && buckets->p->rest &&
         tl_module_count_nodes(buckets->m) <= MOST_NODES;
}

tl_status tl_pass_ar_bucket(tl_pass *p, tl_module *m) {
  const tl_train_config *c = p->options->train;
  bucketing buckets = {.p = p, .m = m};
  tl_train_info t;
  if (!tl_train_is_on(p->options))
    return TL_OK;
  buckets.concat = c->bucket_lowering == TL_BUCKET_CONCAT;
  TL_TRY(tl_train_detect(m, p->scratch, &t));
  TL_TRY(tl_bucket_plan_make(p, m, &t, c->buckets, &buckets.set));
  if ((!buckets.set.n && (!buckets.set.n_others || buckets.set.fused)) || !tl_pass_may_rewrite(p))
    return TL_OK; /* what has been through here is in order */
  TL_TRY(may_choose(&buckets) ? choose(&buckets, &t) : TL_OK);
  return make_all(&buckets);
}
