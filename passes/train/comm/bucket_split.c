/* SPDX-License-Identifier: Apache-2.0 */
/* Splits buckets whose members depend on each other (bucket_split.h). */
#include "passes/train/comm/bucket_split.h"

#include "passes/train/step/regions.h"

/* Dependences of nodes on members, in the order of the members. */
typedef struct dependence {
  uint64_t *own;    /* by node: 1 + order of a member */
  uint64_t *latest; /* by node: 1 + the greatest order of members it depends on */
  tl_u32_vec values;
} dependence;

/* Fills both tables in one sweep; operands, captures and control edges all count. */
static tl_status look_for_members(tl_module *m, const tl_bucket_set *s, dependence *d) {
  for (uint32_t i = 0; i < s->n; i++)
    d->own[s->at[i].node] = s->at[i].order + 1;
  TL_FOR_NODES(m, tl_module_main(m), n) {
    uint64_t latest = 0;
    if (!tl_train_node_values(m, n, &d->values))
      return tl_no_memory(m);
    for (uint32_t i = 0; i < d->values.n; i++) {
      tl_node_id from = tl_value_producer(m, d->values.at[i]);
      uint64_t at = from ? (d->own[from] > d->latest[from] ? d->own[from] : d->latest[from]) : 0;
      latest = at > latest ? at : latest;
    }
    for (tl_control_id c = tl_node_get(m, n)->control_in; c; c = tl_control_get(m, c)->next_in) {
      tl_node_id from = tl_control_get(m, c)->from;
      uint64_t at = d->own[from] > d->latest[from] ? d->own[from] : d->latest[from];
      latest = at > latest ? at : latest;
    }
    d->latest[n] = latest;
  }
  return TL_OK;
}

/* Ends a bucket before a member that depends on anything sent since the bucket began. This keeps
 * the graph acyclic whatever the buckets of other keys are. */
static tl_status split(tl_module *m, const dependence *d, tl_bucket_set *s) {
  uint32_t more = 0;
  for (uint32_t i = 0, start = 0; i < s->n; i++) {
    tl_bucket_member *b = &s->at[i];
    uint64_t latest = d->latest[b->node];
    if (latest > b->order + 1)
      return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-BKT-ORDER", tl_node_where(m, b->node),
                          "the order of gradients has it before one that it depends on");
    if (!i || b->key != s->at[i - 1].key)
      more = 0;
    b->bucket += more;
    if (!i || b->key != s->at[i - 1].key || b->bucket != s->at[i - 1].bucket) {
      start = i;
    } else if (latest > s->at[start].order) {
      tl_warn_code(m->diag, "W-BKT-SPLIT", tl_node_where(m, b->node),
                   "depends on an AllReduce of its bucket: the bucket ends before it");
      start = i;
      more++;
      b->bucket++;
    }
  }
  return TL_OK;
}

tl_status tl_bucket_split(tl_pass *p, tl_module *m, tl_bucket_set *set) {
  uint32_t n = tl_module_node_end(m);
  dependence d = {.own = tl_arena_calloc(p->scratch, n, sizeof *d.own),
                  .latest = tl_arena_calloc(p->scratch, n, sizeof *d.latest)};
  tl_status status = d.own && d.latest ? look_for_members(m, set, &d) : tl_no_memory(m);
  if (status == TL_OK)
    status = split(m, &d, set);
  tl_u32_vec_release(&d.values);
  return status;
}
