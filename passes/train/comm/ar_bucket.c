/* SPDX-License-Identifier: Apache-2.0 */
/* ar-bucket: several AllReduces of gradients become one, in the order the gradients become ready.
 *
 * Requires:  types inferred.     Keeps: values, names of results; the order on all ranks alike.
 * After:     every AllReduce that may be fused is marked; buckets of one key follow each other by
 *            control edges, unless each tensor is a bucket of its own; the collectives of a group
 *            stand in an order that depends on the content of the graph alone.
 * Cost:      that of recognition and of the strategy, and O(nodes + edges).
 * Tests:     tests/golden/ar-bucket/, tests/train/ */
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/train/comm/bucket_fuse.h"
#include "passes/train/comm/bucket_plan.h"
#include "passes/train/comm/comm_order.h"

typedef struct bucketing {
  tl_pass *p;
  tl_module *m;
  bool concat;
  tl_bucket_set set;
  tl_node_id *nodes;     /* of one bucket */
  tl_comm_place *places; /* of all collectives */
  uint32_t n_places;
} bucketing;

/* The node of a bucket, TL_NO_NODE after a failure. */
static tl_node_id make_bucket(bucketing *x, uint32_t first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    x->nodes[i] = x->set.at[first + i].node;
  if (n == 1)
    return x->nodes[0];
  tl_node_id made = tl_bucket_fuse(x->m, x->nodes, n, x->concat);
  if (made)
    tl_pass_remark(x->p, x->m, made, true, "%u AllReduces are one", n);
  return made;
}

static tl_status no_memory(const tl_module *m) {
  return tl_fail(m->diag, TL_NO_MEMORY, TL_AT_FILE(m->path), "out of memory");
}

static void note_place(bucketing *x, tl_node_id n, double ready, uint64_t order) {
  const tl_attr *group = tl_node_attr(x->m, n, TL_SYM_group);
  x->places[x->n_places++] =
      (tl_comm_place){.node = n,
                      .group = group && group->kind == TL_ATTR_STRING ? group->u.s : TL_NO_SYMBOL,
                      .ready = ready,
                      .order = order};
}

/* The buckets of one key; n members. Where nothing is joined the stream of the group is order
 * enough. */
static tl_status make_key(bucketing *x, uint32_t first, uint32_t n) {
  bool joins = false;
  double ready = 0;
  tl_node_id last = TL_NO_NODE;
  for (uint32_t i = first, size; i < first + n; i += size) {
    size = tl_bucket_length(&x->set, i);
    joins = joins || size > 1;
  }
  for (uint32_t i = first, size; i < first + n; i += size) {
    size = tl_bucket_length(&x->set, i);
    tl_node_id made = make_bucket(x, i, size);
    if (!made)
      return TL_NO_MEMORY; /* reported */
    for (uint32_t k = i; k < i + size; k++) /* what is sent later counts as ready later */
      ready = x->set.at[k].ready > ready ? x->set.at[k].ready : ready;
    note_place(x, made, ready, x->set.at[i + size - 1].order);
    if (!tl_node_put_mark(x->m, made, TL_MARK_FUSED) ||
        (last && joins && !tl_control_add(x->m, last, made, TL_CONTROL_COMM_ORDER)))
      return no_memory(x->m);
    last = made;
  }
  return TL_OK;
}

static tl_status make_all(bucketing *x) {
  x->nodes = tl_arena_calloc(x->p->scratch, (size_t)x->set.n + 1, sizeof *x->nodes);
  x->places = tl_arena_calloc(x->p->scratch, (size_t)x->set.n + x->set.n_others + 1,
                              sizeof *x->places);
  if (!x->nodes || !x->places)
    return no_memory(x->m);
  for (uint32_t i = 0, n; i < x->set.n; i += n) {
    for (n = 1; i + n < x->set.n && x->set.at[i + n].key == x->set.at[i].key;)
      n++;
    TL_TRY(make_key(x, i, n));
  }
  for (uint32_t i = 0; i < x->set.n_others; i++)
    note_place(x, x->set.others[i].node, x->set.others[i].ready, x->set.others[i].order);
  TL_TRY(tl_graph_sort(x->m, tl_module_main(x->m)->id));
  return tl_comm_line_up(x->m, x->places, x->n_places);
}

tl_status tl_pass_ar_bucket(tl_pass *p, tl_module *m) {
  const tl_train_config *c = p->options->train;
  bucketing x = {.p = p, .m = m};
  tl_train_info t;
  if (!tl_train_is_on(p->options))
    return TL_OK;
  x.concat = c->bucket_lowering == TL_BUCKET_CONCAT;
  TL_TRY(tl_train_detect(m, p->scratch, &t));
  TL_TRY(tl_bucket_plan_make(p, m, &t, &x.set));
  if ((!x.set.n && (!x.set.n_others || x.set.fused)) || !tl_pass_may_rewrite(p))
    return TL_OK; /* what has been through here is in order */
  return make_all(&x);
}
