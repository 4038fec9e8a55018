/* SPDX-License-Identifier: Apache-2.0 */
/* split-collectives: replaces each bucket by one AllReduce a tensor, all with one fusion id.
 * GE's prototype of AllReduce takes one tensor. The device compiler joins the nodes of one fusion
 * id again, and nothing else with them.
 *
 * Requires:  select has run.     Keeps: values, names of results, order of buckets.
 * After:     an AllReduce has one operand; what ar-bucket has been at has fusion 2.
 * Cost:      O(nodes + tensors of buckets).
 * Tests:     tests/golden/split-collectives/ */
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/maker.h"
#include "passes/edit/passes.h"
#include "passes/train/comm/bucket_fuse.h"
#include "passes/train/comm/bucket_plan.h"

typedef struct splitting {
  tl_pass *p;
  tl_module *m;
  int64_t next_id; /* of fusion */
} splitting;

static bool is_all_reduce(const tl_module *m, tl_node_id n) {
  return tl_node_get(m, n)->op == TL_OP_npu_hcom_HcomAllReduce;
}

/* Finds the first free fusion id: ids that the model has given stay as they are. */
static void find_ids(splitting *split, const tl_graph *g) {
  TL_FOR_NODES(split->m, g, n) {
    int64_t id = is_all_reduce(split->m, n) ? tl_node_attr_int(split->m, n, TL_SYM_fusion_id, -1)
                                            : -1;
    split->next_id = id >= split->next_id ? id + 1 : split->next_id;
  }
}

static tl_status set_id(splitting *split, tl_node_id n, int64_t id) {
  TL_TRY(tl_node_set_attr(split->m, n, tl_attr_int(TL_SYM_fusion, 2)));
  return tl_node_set_attr(split->m, n, tl_attr_int(TL_SYM_fusion_id, id));
}

/* Makes the node of tensor i; the first one keeps the name of the bucket's node. */
static tl_node_id make_part(splitting *split, tl_maker *k, tl_node_id n, uint32_t i) {
  tl_module *m = split->m;
  const tl_node *node = tl_node_get(m, n);
  tl_value_id v = tl_operand(m, n, i), old = tl_result(m, n, i);
  tl_symbol name = tl_value_get(m, old)->name;
  tl_node_spec spec = {.op = node->op,
                       .name = node->name,
                       .operands = &v,
                       .n_operands = 1,
                       .results = &name,
                       .n_results = 1,
                       .attrs = node->attrs,
                       .n_attrs = node->n_attrs};
  uint32_t extra = node->extra;
  bool selected = node->selected;
  if (i && spec.name)
    spec.name = tl_module_fresh_name(m, tl_sym(m, spec.name));
  tl_value_set_name(m, old, 0);
  tl_value_id made = spec.name == TL_NO_SYMBOL ? TL_NO_VALUE : tl_make_node(k, &spec);
  if (!made)
    return TL_NO_NODE;
  tl_node_id part = tl_value_producer(m, made);
  tl_node_get(m, part)->selected = selected;
  tl_node_get(m, part)->candidate = selected ? 0 : -1;
  if (extra) /* notes of the schedule and the mark; the offsets are those of the bucket */
    tl_node_get(m, part)->extra = extra;
  tl_value_replace_uses(m, old, made);
  return part;
}

/* Moves control edges in front to the first part and those behind to the last: the device compiler
 * joins the parts again, so the bucket waits and is waited for as a whole. */
static bool move_edges(tl_module *m, tl_node_id n, tl_node_id first, tl_node_id last) {
  bool ok = true;
  for (tl_control_id c = tl_node_get(m, n)->control_in; c && ok; c = tl_control_get(m, c)->next_in)
    ok = tl_control_add(m, tl_control_get(m, c)->from, first,
                        (tl_control_origin)tl_control_get(m, c)->origin);
  for (tl_control_id c = tl_node_get(m, n)->control_out; c && ok;
       c = tl_control_get(m, c)->next_out)
    ok = tl_control_add(m, last, tl_control_get(m, c)->to,
                        (tl_control_origin)tl_control_get(m, c)->origin);
  return ok;
}

/* Replaces a bucket by one node a tensor, all with the same new fusion id. */
static tl_status split(splitting *x, tl_node_id n) {
  tl_maker k = tl_maker_before(x->m, n);
  tl_node_id first = TL_NO_NODE, last = TL_NO_NODE;
  uint32_t count = tl_node_get(x->m, n)->n_operands;
  if (!tl_node_set_note(x->m, n, TL_MARK_OFFSETS, TL_SV("")) ||
      !tl_node_set_note(x->m, n, TL_MARK_COALESCED, TL_SV("")))
    return tl_no_memory(x->m);
  for (uint32_t i = 0; i < count; i++) {
    last = make_part(x, &k, n, i);
    if (!last)
      return tl_maker_status(&k) == TL_OK ? tl_no_memory(x->m) : TL_NO_MEMORY;
    first = first ? first : last;
    TL_TRY(set_id(x, last, x->next_id));
  }
  if (!move_edges(x->m, n, first, last))
    return tl_no_memory(x->m);
  tl_pass_remark(x->p, x->m, n, true, "one node a tensor, fusion id %lld", (long long)x->next_id);
  tl_node_erase(x->m, n);
  return TL_OK;
}

/* Marks an AllReduce as a bucket of its own, so that the device compiler joins nothing else to
 * it. */
static tl_status visit(splitting *x, tl_node_id n) {
  bool several = tl_node_get(x->m, n)->n_operands > 1;
  bool bucket = tl_node_has_mark(x->m, n, TL_MARK_FUSED) &&
                tl_node_attr_int(x->m, n, TL_SYM_fusion, 1) == 1;
  if ((!several && !bucket) || !tl_pass_may_rewrite(x->p))
    return TL_OK;
  TL_TRY(several ? split(x, n) : set_id(x, n, x->next_id));
  x->next_id++;
  return TL_OK;
}

/* Visits every graph: a loop of steps has its collectives in the body. */
tl_status tl_pass_split_collectives(tl_pass *p, tl_module *m) {
  splitting split = {.p = p, .m = m};
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      find_ids(&split, m->graphs.at[i]);
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (is_all_reduce(m, n))
        TL_TRY(visit(&split, n));
  }
  return TL_OK;
}
