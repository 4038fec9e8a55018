/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why nodes run under the last bucket, or do not. */
#include "passes/train/tail/tail.h"

/* Returns the producer of the first operand, or the control predecessor, that needs L. */
static tl_node_id reason(const tl_tail *t, tl_node_id n, const char **verdict) {
  const tl_node *node = tl_node_get(t->m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(t->m, n, i);
    tl_node_id p = v ? tl_value_producer(t->m, v) : TL_NO_NODE;
    if (p && (p == t->last || t->below[p])) {
      *verdict = "data";
      return p;
    }
  }
  for (tl_control_id c = node->control_in; c; c = tl_control_get(t->m, c)->next_in) {
    const tl_control *e = tl_control_get(t->m, c);
    if (e->from != t->last && !t->below[e->from])
      continue;
    *verdict = e->origin == TL_CONTROL_MEMORY ? "hazard"
               : e->origin == TL_CONTROL_USER ? "user edge"
                                              : "control";
    return e->from;
  }
  *verdict = "data"; /* of a body */
  return t->last;
}

static bool copy(tl_arena *a, tl_sv *s) {
  s->p = tl_arena_copy(a, s->n ? s->p : "", s->n);
  return s->p != NULL;
}

/* Compares a task with L in time; a task below L gets the node that it waits for. */
static bool explain(const tl_tail *t, const tl_timeline *line, uint32_t task, tl_arena *a,
                    tl_tail_node *out) {
  uint32_t last = t->step.task[t->last];
  tl_node_id n = t->step.node[task];
  *out = (tl_tail_node){.name = t->step.g.tasks[task].name, .because = TL_SV("")};
  if (t->below[n])
    out->because = t->step.g.tasks[t->step.task[reason(t, n, &out->verdict)]].name;
  else if (line->end[task] <= line->start[last])
    out->verdict = "earlier";
  else if (line->start[task] >= line->end[last])
    out->verdict = "later";
  else
    out->verdict = "overlaps";
  return copy(a, &out->name) && copy(a, &out->because);
}

/* Marks everything that L itself waits for. */
static void find_ancestors(const tl_tail *t, bool *above) {
  const tl_task_graph *g = &t->step.g;
  above[t->step.task[t->last]] = true;
  for (uint32_t i = g->n; i-- > 0;) /* numbers follow depth */
    for (uint32_t e = g->first[i]; above[i] && e < g->first[i + 1]; e++)
      above[g->preds[e]] = true;
}

tl_status tl_tail_explain(tl_tail *t, tl_step_record *r) {
  tl_timeline line;
  uint32_t n = t->step.g.n;
  r->n_explained = 0;
  if (!t->last) /* states in place are guarded without buckets, too */
    return TL_OK;
  bool *above = tl_arena_calloc(t->p->scratch, n, sizeof *above);
  tl_tail_node *nodes = tl_arena_calloc(&r->arena, n, sizeof *nodes);
  if (!above || !nodes)
    return tl_no_memory(t->m);
  TL_TRY(tl_timeline_run(t->m->diag, &t->step.g, t->order, &line));
  find_ancestors(t, above);
  bool good = true;
  for (uint32_t i = 0; i < n && good; i++) {
    uint32_t task = t->order[i];
    if (!above[task] && t->step.g.tasks[task].us > 0)
      good = explain(t, &line, task, &r->arena, &nodes[r->n_explained++]);
  }
  tl_timeline_release(&line);
  r->explained = nodes;
  r->last_bucket = t->step.g.tasks[t->step.task[t->last]].name;
  if (!good || !copy(&r->arena, &r->last_bucket))
    return tl_no_memory(t->m);
  return TL_OK;
}
