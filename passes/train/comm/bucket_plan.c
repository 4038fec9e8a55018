/* SPDX-License-Identifier: Apache-2.0 */
/* Plans buckets: collects members, times their gradients, and cuts them by a strategy
 * (bucket_plan.h). */
#include "passes/train/comm/bucket_plan.h"

#include <stdlib.h>

#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/train/comm/buckets.h"
#include "passes/train/comm/collective.h"
#include "passes/train/step/regions.h"
#include "passes/train/time/setting.h"

typedef struct planner {
  tl_pass *p;
  tl_module *m;
  const tl_train_config *c;
  tl_bucket_strategy how;
  tl_train_info *t;
  tl_costs costs;
  tl_file *profile;
  uint32_t *rank;        /* by node: 1 + place of the gradient it reduces */
  double *finish;        /* by node: end of forward and backward work up to it */
  uint64_t *place;       /* by node: in the canonical order */
  double *work;          /* by gradient: us of what depends on it alone */
  double backward;       /* end of forward and backward work */
  tl_bucket_price price; /* of an AllReduce */
  tl_bucket_set *set;
} planner;

static void *table(planner *plan, size_t size) {
  return tl_arena_calloc(plan->p->scratch, tl_module_node_end(plan->m), size);
}

/* ---- when gradients are ready ---------------------------------------------------------------- */

/* Adds the time of an update node to the gradient that it depends on alone. */
static void add_work(planner *plan, tl_node_id n) {
  uint32_t owner = n < plan->t->n_nodes ? plan->t->owner[n] : TL_TRAIN_SHARED;
  tl_node_cost cost = owner < plan->t->n ? tl_cost_node(&plan->costs, plan->m, n)
                                         : (tl_node_cost){0};
  if (owner < plan->t->n && !cost.comm)
    plan->work[owner] += cost.us;
}

/* Runs forward and backward on one compute engine in canonical order to find when gradients are
 * ready. */
static tl_status time_nodes(planner *plan) {
  uint32_t n;
  double now = 0;
  tl_node_id *order = tl_train_canonical_order(plan->m, plan->p->scratch, &n);
  plan->rank = table(plan, sizeof *plan->rank);
  plan->finish = table(plan, sizeof *plan->finish);
  plan->place = table(plan, sizeof *plan->place);
  plan->work = tl_arena_calloc(plan->p->scratch, plan->t->n + 1u, sizeof *plan->work);
  if (!order || !plan->rank || !plan->finish || !plan->place || !plan->work)
    return tl_no_memory(plan->m);
  for (uint32_t i = 0; i < n; i++) {
    tl_train_region r = tl_train_region_of(plan->t, order[i]);
    if (r == TL_REGION_FORWARD || r == TL_REGION_BACKWARD)
      now += tl_cost_node(&plan->costs, plan->m, order[i]).us;
    else if (r == TL_REGION_UPDATE)
      add_work(plan, order[i]);
    plan->finish[order[i]] = now;
    plan->place[order[i]] = i;
  }
  plan->backward = now;
  for (uint32_t i = 0; i < plan->t->n; i++)
    if (plan->t->grads[i].comm)
      plan->rank[plan->t->grads[i].comm] = i + 1;
  return TL_OK;
}

static double ready_of(const planner *plan, tl_node_id n) {
  const tl_train_grad *g = plan->rank[n] ? &plan->t->grads[plan->rank[n] - 1] : NULL;
  if (g)
    return g->producer ? plan->finish[g->producer] : 0;
  return plan->finish[n];
}

/* Returns the sort key of a collective: by readiness of gradients; a collective that reduces none
 * of them follows all that do. */
static uint64_t order_of(const planner *plan, tl_node_id n) {
  if (plan->c->grad_order == TL_GRAD_ORDER_TOPO)
    return tl_node_get(plan->m, n)->order;
  return plan->rank[n] ? plan->rank[n] : UINT32_MAX + plan->place[n];
}

/* ---- members --------------------------------------------------------------------------------- */

/* Returns false for a value of unknown size, which cannot be planned. */
static bool static_bytes(const tl_module *m, tl_value_id v, uint64_t *bytes) {
  uint64_t n;
  return v && tl_type_elements(m, tl_value_type(m, v), &n) &&
         tl_dtype_bytes(tl_type_dtype(m, tl_value_type(m, v)), n, bytes);
}

static bool is_reduction(const tl_module *m, tl_node_id n) {
  return tl_node_get(m, n)->op == TL_OP_npu_hcom_HcomAllReduce;
}

static tl_status check(const planner *plan, tl_node_id n) {
  return tl_comm_check_fusion(plan->m->diag, tl_node_where(plan->m, n),
                              tl_node_attr_int(plan->m, n, TL_SYM_fusion, 1),
                              tl_node_attr_int(plan->m, n, TL_SYM_fusion_id, -1));
}

/* Returns true for an overflow flag that travels with gradients although its fusion attribute is
 * 0. */
static bool is_flag(const planner *plan, tl_node_id n) {
  return plan->c->flag_in_bucket && tl_node_has_mark(plan->m, n, TL_MARK_FLAG);
}

/* Returns true if the AllReduce may be joined with others: one operand of static size, a sum, not
 * handled yet. */
static bool takes_part(const planner *plan, tl_node_id n) {
  uint64_t bytes;
  const tl_module *m = plan->m;
  return tl_node_get(m, n)->n_operands == 1 && !tl_node_has_mark(m, n, TL_MARK_FUSED) &&
         (tl_node_attr_int(m, n, TL_SYM_fusion, 1) != 0 || is_flag(plan, n)) &&
         tl_sv_is(tl_node_attr_string(m, n, TL_SYM_reduction), "sum") &&
         static_bytes(m, tl_operand(m, n, 0), &bytes);
}

static bool same_key(const tl_module *m, tl_node_id a, tl_node_id b) {
  return tl_sv_eq(tl_node_attr_string(m, a, TL_SYM_group),
                  tl_node_attr_string(m, b, TL_SYM_group)) &&
         tl_node_attr_int(m, a, TL_SYM_fusion_id, -1) ==
             tl_node_attr_int(m, b, TL_SYM_fusion_id, -1) &&
         tl_type_dtype(m, tl_value_type(m, tl_operand(m, a, 0))) ==
             tl_type_dtype(m, tl_value_type(m, tl_operand(m, b, 0)));
}

/* Numbers keys in the order of appearance; the first member of each key stands for it. */
static tl_status key_of(planner *plan, tl_u32_vec *keys, tl_node_id n, uint32_t *key) {
  for (*key = 0; *key < keys->n; (*key)++)
    if (same_key(plan->m, keys->at[*key], n))
      return TL_OK;
  return tl_u32_vec_push(keys, n) ? TL_OK : tl_no_memory(plan->m);
}

/* Compares keys by group, fusion id and dtype. */
static bool key_is_before(const tl_module *m, tl_node_id a, tl_node_id b) {
  int groups = tl_sv_compare(tl_node_attr_string(m, a, TL_SYM_group),
                             tl_node_attr_string(m, b, TL_SYM_group));
  int64_t x = tl_node_attr_int(m, a, TL_SYM_fusion_id, -1);
  int64_t y = tl_node_attr_int(m, b, TL_SYM_fusion_id, -1);
  if (groups || x != y)
    return groups ? groups < 0 : x < y;
  return tl_type_dtype(m, tl_value_type(m, tl_operand(m, a, 0))) <
         tl_type_dtype(m, tl_value_type(m, tl_operand(m, b, 0)));
}

/* Renumbers keys by their content, so that the numbers do not depend on the order of the file. */
static tl_status number_keys(planner *plan, const tl_u32_vec *keys) {
  uint32_t *number = tl_arena_calloc(plan->p->scratch, keys->n + 1u, sizeof *number);
  if (!number)
    return tl_no_memory(plan->m);
  for (uint32_t i = 0; i < keys->n; i++)
    for (uint32_t k = 0; k < keys->n; k++)
      number[i] += key_is_before(plan->m, keys->at[k], keys->at[i]);
  for (uint32_t i = 0; i < plan->set->n; i++)
    plan->set->at[i].key = number[plan->set->at[i].key];
  return TL_OK;
}

static int by_order(const void *a, const void *b) {
  const tl_bucket_member *x = a;
  const tl_bucket_member *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  if (x->order != y->order)
    return x->order < y->order ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

/* Checks all collectives, counts the members, and lists the collectives that take no part. */
static tl_status gather_others(planner *plan, uint32_t *n_found) {
  const tl_graph *g = tl_module_main(plan->m);
  tl_bucket_set *s = plan->set;
  uint32_t n_all = 0;
  *n_found = 0;
  TL_FOR_NODES(plan->m, g, n) {
    if (is_reduction(plan->m, n))
      TL_TRY(check(plan, n));
    if (tl_node_is_collective(plan->m, n))
      TL_TRY(tl_comm_check_group(plan->m, n));
    n_all += tl_node_is_collective(plan->m, n);
    *n_found += is_reduction(plan->m, n) && takes_part(plan, n);
  }
  s->others = tl_arena_calloc(plan->p->scratch, (size_t)(n_all - *n_found) + 1, sizeof *s->others);
  if (!s->others)
    return tl_no_memory(plan->m);
  TL_FOR_NODES(plan->m, g, n) {
    if (!tl_node_is_collective(plan->m, n) || (is_reduction(plan->m, n) && takes_part(plan, n)))
      continue;
    s->others[s->n_others++] =
        (tl_bucket_member){.node = n, .order = order_of(plan, n), .ready = ready_of(plan, n)};
    s->fused = s->fused || tl_node_has_mark(plan->m, n, TL_MARK_FUSED);
  }
  return TL_OK;
}

/* Collects and sorts the members: by key, then by order. */
static tl_status gather(planner *plan, tl_u32_vec *keys) {
  const tl_graph *g = tl_module_main(plan->m);
  uint32_t n_found;
  TL_TRY(gather_others(plan, &n_found));
  plan->set->at = tl_arena_calloc(plan->p->scratch, (size_t)n_found + 1, sizeof *plan->set->at);
  if (!plan->set->at)
    return tl_no_memory(plan->m);
  TL_FOR_NODES(plan->m, g, n) {
    if (!is_reduction(plan->m, n) || !takes_part(plan, n))
      continue;
    tl_bucket_member *b = &plan->set->at[plan->set->n++];
    *b = (tl_bucket_member){.node = n, .order = order_of(plan, n), .ready = ready_of(plan, n)};
    static_bytes(plan->m, tl_operand(plan->m, n, 0), &b->bytes);
    TL_TRY(key_of(plan, keys, n, &b->key));
  }
  TL_TRY(number_keys(plan, keys));
  if (plan->set->n)
    qsort(plan->set->at, plan->set->n, sizeof *plan->set->at, by_order);
  return TL_OK;
}

/* ---- strategies ------------------------------------------------------------------------------ */

typedef struct run {
  const tl_bucket_member *at; /* [n] of one key */
  uint32_t n;
  uint32_t all;    /* with flags */
  int64_t *bytes;  /* [n] bare */
  int64_t *padded; /* as the strategies of GE count, if asked */
  int64_t most;    /* bytes of a bucket of several */
  double *ready;
  double backward; /* end of forward and backward work */
  double *work;    /* of what depends on each alone */
  uint32_t *ends;
  uint32_t m;
  tl_bucket_plan plan; /* of `auto` */
} run;

static uint32_t cut_each(uint32_t n, uint32_t *ends) {
  for (uint32_t i = 0; i < n; i++)
    ends[i] = i;
  return n;
}

enum { N_RIVALS = 14 }; /* partitions that `auto` is compared with */

/* Cuts partition i of the rivals: each tensor by itself, GE's default with bare and padded sizes,
 * those of DDP and XLA, all in one, and equal parts of 4 to 32. */
static uint32_t cut_rival(const run *r, uint32_t i, uint32_t *ends) {
  static const int parts[] = {4, 8, 16, 32};
  int64_t mib = TL_TRAIN_MIB;
  switch (i) {
  case 0: return cut_each(r->n, ends);
  case 1: return tl_buckets_default(r->bytes, r->n, false, ends);
  case 2: return tl_buckets_default(r->padded, r->n, false, ends);
  case 3: return tl_buckets_by_bytes(r->bytes, r->n, mib, 25 * mib, ends);
  case 4: return tl_buckets_combine(r->bytes, r->n, 30 * mib, 256, ends);
  case 5: return tl_buckets_combine(r->bytes, r->n, r->most, UINT32_MAX, ends);
  default: break;
  }
  int64_t all = 0;
  for (uint32_t k = 0; k < r->n; k++)
    all += r->bytes[k];
  int64_t cap = all / parts[(i - 6) / 2] + 1;
  return i % 2 ? tl_buckets_by_bytes(r->bytes, r->n, mib, cap, ends)
               : tl_buckets_combine(r->bytes, r->n, cap, 256, ends);
}

/* Number of collectives of all keys. */
static uint32_t count_buckets(const tl_bucket_part *parts, uint32_t n) {
  uint32_t m = 0;
  for (uint32_t i = 0; i < n; i++)
    m += parts[i].m;
  return m;
}

/* Returns true if a partition is better than the best so far. With several keys, whose order on the
 * link is only estimated, a step that is at most 0.01 % longer is taken if it has fewer
 * collectives. Updates *best and *m. */
static bool improves(const tl_bucket_part *parts, uint32_t n, double backward, double *best,
                     uint32_t *m) {
  for (uint32_t i = 0; i < n; i++)
    if (parts[i].m > parts[i].plan->most)
      return false;
  double step = tl_buckets_step_of(parts, n, backward);
  uint32_t buckets = count_buckets(parts, n);
  bool better = step < *best * (1 - 1e-9) || (n > 1 && step <= *best * (1 + 1e-4) && buckets < *m);
  if (better) {
    *best = step;
    *m = buckets;
  }
  return better;
}

/* Replaces the partition of one key by a rival that gives a shorter step. The partition whose
 * collectives end first need not be the best, since updates run behind their buckets. */
static tl_status take_better(const planner *plan, run *runs, uint32_t n_runs, run *r) {
  tl_bucket_part parts[TL_BUCKET_PARTS_MOST];
  uint32_t *ends = tl_arena_calloc(plan->p->scratch, r->n, sizeof *ends);
  if (!ends)
    return tl_no_memory(plan->m);
  for (uint32_t i = 0; i < n_runs; i++)
    parts[i] = (tl_bucket_part){&runs[i].plan, runs[i].work, runs[i].ends, runs[i].m};
  tl_bucket_part *own = &parts[r - runs];
  double best = tl_buckets_step_of(parts, n_runs, r->backward);
  uint32_t m = count_buckets(parts, n_runs);
  own->ends = ends;
  for (uint32_t i = 0; i < N_RIVALS; i++) {
    own->m = cut_rival(r, i, ends);
    if (!improves(parts, n_runs, r->backward, &best, &m))
      continue;
    r->m = own->m;
    memcpy(r->ends, ends, r->m * sizeof *ends);
  }
  return TL_OK;
}

/* Finds the exact optimum for the collectives, then compares it with rivals for the whole step. */
static tl_status cut_auto(const planner *plan, run *r) {
  r->plan = (tl_bucket_plan){.ready = r->ready,
                             .bytes = r->bytes,
                             .n = r->n,
                             .most = r->n,
                             .price = plan->price,
                             .event = plan->costs.hw.event};
  if (plan->c->bucket_compat_ge)
    r->plan.most = tl_buckets_most_of_ge(r->bytes, r->n, r->most);
  if (tl_buckets_auto(&r->plan, r->ends, &r->m, NULL) != TL_OK)
    return tl_no_memory(plan->m);
  return take_better(plan, r, 1, r);
}

static uint32_t cut_default(const planner *plan, const run *r) {
  return tl_buckets_default(r->padded, r->n, plan->c->bucket_compat_ge, r->ends);
}

/* Cuts by measured ready times. One bucket is no useful answer, since nothing would overlap; the
 * default takes its place. */
static tl_status cut_measured(const planner *plan, run *r) {
  const tl_measured_gradients *g = plan->c->measured;
  run of_device = *r;
  r->m = 1;
  if (g && g->n == r->n) {
    memcpy(of_device.bytes, g->bytes, r->n * sizeof *g->bytes);
    memcpy(of_device.ready, g->ready, r->n * sizeof *g->ready);
    of_device.backward = g->ready[g->n - 1];
    TL_TRY(cut_auto(plan, &of_device));
    r->m = of_device.m;
  } else if (g) {
    tl_warn_code(plan->m->diag, "W-BKT-LIB", TL_AT_FILE(plan->c->bucket_library),
                 "%u gradients were measured, and %u are reduced: buckets as with "
                 "bucket_strategy=default",
                 g->n, r->n);
  }
  if (r->m == 1)
    r->m = cut_default(plan, r);
  return TL_OK;
}

/* Cuts one key by the strategy. */
static tl_status cut(const planner *plan, run *r, tl_bucket_strategy how) {
  const tl_train_config *c = plan->c;
  tl_diag *d = plan->m->diag;
  switch (how) {
  case TL_BUCKETS_NONE: r->m = cut_each(r->n, r->ends); return TL_OK;
  case TL_BUCKETS_SINGLE:
    r->m = 1;
    r->ends[0] = r->n - 1;
    return TL_OK;
  case TL_BUCKETS_SIZE:
    return tl_buckets_by_size(
        d, r->padded, r->n,
        (tl_bucket_shares){c->bucket_sizes, c->n_bucket_sizes, c->bucket_compat_ge}, r->ends,
        &r->m);
  case TL_BUCKETS_INDEX:
    return tl_buckets_by_index(d, c->bucket_indices, c->n_bucket_indices, r->n, r->ends, &r->m);
  case TL_BUCKETS_BYTES:
    r->m = tl_buckets_by_bytes(r->bytes, r->n, c->bucket_first,
                               c->bucket_cap ? c->bucket_cap : (int64_t)25 * TL_TRAIN_MIB, r->ends);
    return TL_OK;
  case TL_BUCKETS_COMBINE:
    r->m = tl_buckets_combine(r->bytes, r->n,
                              c->bucket_cap ? c->bucket_cap : (int64_t)30 * TL_TRAIN_MIB,
                              c->bucket_members, r->ends);
    return TL_OK;
  case TL_BUCKETS_AUTO: return cut_auto(plan, r);
  case TL_BUCKETS_LIBRARY: return cut_measured(plan, r);
  default: r->m = cut_default(plan, r); return TL_OK;
  }
}

/* fusion=2 asks for one bucket; `auto` needs a machine, without which GE's default is used. */
static tl_bucket_strategy strategy_of(const planner *plan, const tl_bucket_member *first) {
  if (tl_node_attr_int(plan->m, first->node, TL_SYM_fusion, 1) == 2)
    return TL_BUCKETS_SINGLE;
  if (plan->how == TL_BUCKETS_AUTO && !plan->c->hw_preset)
    return TL_BUCKETS_DEFAULT;
  return plan->how;
}

/* Allocates and fills the tables of one key. */
static bool fill_run(const planner *plan, run *r) {
  tl_arena *a = plan->p->scratch;
  r->bytes = tl_arena_calloc(a, r->n, sizeof *r->bytes);
  r->padded = tl_arena_calloc(a, r->n, sizeof *r->padded);
  r->ready = tl_arena_calloc(a, r->n, sizeof *r->ready);
  r->work = tl_arena_calloc(a, r->n, sizeof *r->work);
  r->ends = tl_arena_calloc(a, r->n, sizeof *r->ends);
  if (!r->bytes || !r->padded || !r->ready || !r->work || !r->ends)
    return false;
  r->backward = plan->backward;
  r->most = plan->c->bucket_max_bytes;
  for (uint32_t i = 0; i < r->n; i++) {
    r->bytes[i] = (int64_t)r->at[i].bytes;
    r->padded[i] = plan->c->bucket_pad ? tl_bucket_padded(r->bytes[i]) : r->bytes[i];
    r->ready[i] = r->at[i].ready;
    r->work[i] = plan->rank[r->at[i].node] ? plan->work[plan->rank[r->at[i].node] - 1] : 0;
    if (i && r->ready[i] < r->ready[i - 1]) /* what is sent later counts as ready later */
      r->ready[i] = r->ready[i - 1];
  }
  return true;
}

/* Cuts one key. Flags stand last, are ready when all gradients are, and join the last bucket. */
static tl_status cut_key(planner *plan, run *r) {
  uint32_t n = r->n;
  while (r->n && is_flag(plan, r->at[r->n - 1].node))
    r->n--;
  if (r->n && !fill_run(plan, r))
    return tl_no_memory(plan->m);
  TL_TRY(r->n ? cut(plan, r, strategy_of(plan, r->at)) : TL_OK);
  r->all = n;
  return TL_OK;
}

/* Numbers the buckets of members; flags behind the last end get the last bucket. */
static void number_buckets(const planner *plan, const run *r) {
  tl_bucket_member *at = &plan->set->at[r->at - plan->set->at];
  for (uint32_t i = 0, bucket = 0; i < r->all; i++) {
    at[i].bucket = bucket;
    if (bucket + 1 < r->m && r->ends[bucket] == i)
      bucket++;
  }
}

/* Tries each rival for all keys at once and keeps it if the step gets shorter. */
static tl_status take_same(const planner *plan, run *runs, uint32_t n) {
  tl_bucket_part parts[TL_BUCKET_PARTS_MOST];
  uint32_t *ends[TL_BUCKET_PARTS_MOST];
  for (uint32_t k = 0; k < n; k++) {
    parts[k] = (tl_bucket_part){&runs[k].plan, runs[k].work, runs[k].ends, runs[k].m};
    ends[k] = tl_arena_calloc(plan->p->scratch, runs[k].n, sizeof *ends[k]);
    if (!ends[k])
      return tl_no_memory(plan->m);
  }
  double best = tl_buckets_step_of(parts, n, runs[0].backward);
  uint32_t m = count_buckets(parts, n);
  for (uint32_t i = 0; i < N_RIVALS; i++) {
    for (uint32_t k = 0; k < n; k++) {
      parts[k].m = cut_rival(&runs[k], i, ends[k]);
      parts[k].ends = ends[k];
    }
    if (!improves(parts, n, runs[0].backward, &best, &m))
      continue;
    for (uint32_t k = 0; k < n; k++) {
      runs[k].m = parts[k].m;
      memcpy(runs[k].ends, ends[k], parts[k].m * sizeof *ends[k]);
    }
  }
  return TL_OK;
}

/* Cuts keys that share a link again, each with regard to the buckets of the others (coordinate
 * descent). */
static tl_status cut_together(const planner *plan, run *runs, uint32_t n) {
  enum { SWEEPS = 2 };
  if (n < 2 || n > TL_BUCKET_PARTS_MOST)
    return TL_OK;
  for (uint32_t i = 0; i < n; i++)
    if (!runs[i].plan.most)
      return TL_OK; /* not by `auto` */
  TL_TRY(take_same(plan, runs, n));
  for (uint32_t i = 0; i < SWEEPS * n; i++)
    TL_TRY(take_better(plan, runs, n, &runs[i % n]));
  return TL_OK;
}

/* Cuts each key by its strategy, then all together with regard to the shared link. */
static tl_status cut_keys(planner *plan) {
  tl_bucket_set *s = plan->set;
  uint32_t n_runs = 0;
  run *runs = tl_arena_calloc(plan->p->scratch, s->n, sizeof *runs);
  if (!runs)
    return tl_no_memory(plan->m);
  for (uint32_t i = 0; i < s->n; i++) {
    if (!i || s->at[i].key != s->at[i - 1].key)
      runs[n_runs++].at = &s->at[i];
    runs[n_runs - 1].n++;
  }
  for (uint32_t i = 0; i < n_runs; i++)
    TL_TRY(cut_key(plan, &runs[i]));
  TL_TRY(cut_together(plan, runs, n_runs));
  for (uint32_t i = 0; i < n_runs; i++)
    number_buckets(plan, &runs[i]);
  return TL_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Fits the linear price of AllReduce through two points: 0 bytes and 1 GiB. */
static void set_price(planner *plan) {
  const double many = 1 << 30;
  double none = tl_cost_collective(&plan->costs, TL_ALL_REDUCE, 0);
  double all_of_them = tl_cost_collective(&plan->costs, TL_ALL_REDUCE, many);
  plan->price = (tl_bucket_price){none, (all_of_them - none) / many, plan->c->bucket_max_bytes};
}

static tl_status plan(planner *x, tl_u32_vec *keys) {
  set_price(x);
  TL_TRY(time_nodes(x));
  TL_TRY(gather(x, keys));
  if (!x->set->n)
    return TL_OK;
  TL_TRY(cut_keys(x));
  return tl_bucket_split(x->p, x->m, x->set);
}

tl_status tl_bucket_plan_make(tl_pass *p, tl_module *m, tl_train_info *t, tl_bucket_strategy how,
                              tl_bucket_set *out) {
  planner x = {.p = p, .m = m, .c = p->options->train, .how = how, .t = t, .set = out};
  tl_u32_vec keys = {0};
  *out = (tl_bucket_set){0};
  tl_status status =
      tl_train_costs(m->diag, x.c, tl_options_chip(p->options), &x.costs, &x.profile);
  if (status == TL_OK)
    status = plan(&x, &keys);
  tl_u32_vec_release(&keys);
  tl_costs_release(&x.costs);
  tl_file_close(x.profile);
  return status;
}

uint32_t tl_bucket_length(const tl_bucket_set *set, uint32_t first) {
  uint32_t n = 1;
  while (first + n < set->n && set->at[first + n].key == set->at[first].key &&
         set->at[first + n].bucket == set->at[first].bucket)
    n++;
  return n;
}
