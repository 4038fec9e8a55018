/* SPDX-License-Identifier: Apache-2.0 */
/* join-slices: replaces slices that together cover a value along one axis by one Split.
 * The Split reads the value once.
 *
 * Requires:  infer-shapes; fusions ran, whose patterns have Slice.
 * Keeps:     slices of constants and of lists of sizes, which are folded or run on the host.
 * After:     no value of two dims or more is cut into all its parts one by one.
 * Cost:      one sweep; each Slice looks at no more than MOST_USES users of its operand.
 * Tests:     tests/golden/join-slices/ */
#include <stdlib.h>

#include "ir/ops_gen.h"
#include "passes/edit/maker.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"

enum { MOST_PARTS = 64, MOST_USES = 256 };

/* The part [from, to) of an axis that a Slice cuts; 0 <= from < to <= size. */
typedef struct part {
  tl_node_id node;
  int64_t axis, size, from, to;
} part;

typedef struct joining {
  tl_pass *p;
  tl_module *m;
  tl_merge_facts facts;
  part parts[MOST_PARTS];
  uint32_t n;
} joining;

/* Reads operand i as one number; *out is `absent` if there is no such operand. Returns false if it
 * is not constant. */
static bool number_of(const tl_module *m, tl_node_id n, uint32_t i, int64_t absent, int64_t *out) {
  tl_value_id v = tl_operand(m, n, i);
  const tl_tensor *t = tl_value_constant(m, v);
  *out = absent;
  return v == TL_NO_VALUE || (t && tl_tensor_elements(m, t) == 1 && tl_tensor_int_at(m, t, 0, out));
}

/* Resolves a negative place and clamps it to [0, size], as Slice does. */
static int64_t bounded(int64_t at, int64_t size) {
  int64_t place = at < 0 ? at + size : at;
  return place < 0 ? 0 : place > size ? size : place;
}

/* Reads what a node cuts out of x. Returns false unless it is a Slice of x along one axis of known
 * size with step 1. */
static bool part_of(const tl_module *m, tl_node_id n, tl_value_id x, part *out) {
  const tl_node *node = tl_node_get(m, n);
  const tl_type *type = tl_type_get(m, tl_value_type(m, x));
  int64_t step;
  *out = (part){.node = n};
  if (node->op != TL_OP_Slice || node->control_in || node->control_out ||
      tl_operand(m, n, 0) != x || type->rank < 2)
    return false;
  if (!number_of(m, n, 1, 0, &out->from) || !number_of(m, n, 2, 0, &out->to) ||
      !number_of(m, n, 3, 0, &out->axis) || !number_of(m, n, 4, 1, &step) || step != 1)
    return false;
  out->axis += out->axis < 0 ? type->rank : 0;
  if (out->axis < 0 || out->axis >= type->rank || !tl_dim_is_static(type->dims[out->axis]))
    return false;
  out->size = type->dims[out->axis];
  out->from = bounded(out->from, out->size);
  out->to = bounded(out->to, out->size);
  return out->from < out->to;
}

static int by_place(const void *a, const void *b) {
  const part *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

/* Collects the parts along the axis of `first`. Returns true if they cover x from end to end
 * without overlap. */
static bool collect(joining *j, const part *first, tl_value_id x) {
  const tl_graph_id graph = tl_node_get(j->m, first->node)->graph;
  j->n = 0;
  if (tl_value_get(j->m, x)->n_uses > MOST_USES)
    return false;
  TL_FOR_USES(j->m, x, u) {
    tl_node_id user = tl_use_get(j->m, u)->user;
    part found;
    if (tl_node_get(j->m, user)->graph != graph || !part_of(j->m, user, x, &found) ||
        found.axis != first->axis)
      continue;
    if (j->n == MOST_PARTS)
      return false;
    j->parts[j->n++] = found;
  }
  qsort(j->parts, j->n, sizeof *j->parts, by_place);
  int64_t end = 0;
  for (uint32_t i = 0; i < j->n; end = j->parts[i++].to)
    if (j->parts[i].from != end)
      return false;
  return j->n > 1 && end == first->size;
}

static bool can_merge(const joining *j, tl_value_id split) {
  for (uint32_t i = 0; i < j->n; i++)
    if (!tl_value_can_merge(j->m, &j->facts, tl_result(j->m, j->parts[i].node, 0), split + i))
      return false;
  return true;
}

/* Makes the Split before the first of the slices. They lose their users; dead-nodes erases them. */
static tl_status join(joining *j, tl_node_id first, tl_value_id x) {
  int64_t sizes[MOST_PARTS];
  for (uint32_t i = 0; i < j->n; i++)
    sizes[i] = j->parts[i].to - j->parts[i].from;
  tl_maker k = tl_maker_before(j->m, first);
  tl_maker_mark mark = tl_maker_save(&k);
  tl_value_id operands[] = {x, tl_make_ints(&k, sizes, j->n)};
  tl_attr axis = tl_attr_int(TL_SYM_axis, j->parts[0].axis);
  tl_node_spec spec = {.op = TL_OP_Split,
                       .operands = operands,
                       .n_operands = 2,
                       .n_results = j->n,
                       .attrs = &axis,
                       .n_attrs = 1};
  tl_value_id split = tl_make_node(&k, &spec);
  TL_TRY(tl_maker_status(&k));
  if (!can_merge(j, split) || !tl_pass_may_rewrite(j->p)) {
    tl_maker_undo(&k, mark);
    return TL_OK;
  }
  tl_pass_remark(j->p, j->m, first, true, "all %u parts of a value are one Split", j->n);
  for (uint32_t i = 0; i < j->n; i++)
    tl_value_merge(j->m, tl_result(j->m, j->parts[i].node, 0), split + i);
  return TL_OK;
}

static tl_status sweep(joining *j, const tl_graph *g) {
  TL_FOR_NODES(j->m, g, n) {
    tl_value_id x = tl_operand(j->m, n, 0);
    part first;
    if (x && part_of(j->m, n, x, &first) && !tl_value_constant(j->m, x) &&
        tl_value_get(j->m, tl_result(j->m, n, 0))->n_uses && collect(j, &first, x))
      TL_TRY(join(j, n, x));
  }
  return TL_OK;
}

tl_status tl_pass_join_slices(tl_pass *p, tl_module *m) {
  joining j = {.p = p, .m = m};
  TL_TRY(tl_merge_facts_find(p, m, &j.facts));
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < m->graphs.n && status == TL_OK; i++)
    if (!m->graphs.at[i]->erased)
      status = sweep(&j, m->graphs.at[i]);
  tl_merge_facts_release(&j.facts);
  return status;
}
