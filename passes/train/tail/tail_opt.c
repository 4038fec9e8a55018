/* SPDX-License-Identifier: Apache-2.0 */
/* tail-opt: lets work that does not need the last bucket of gradients run while it is reduced.
 * Removes edges that only look like a dependence, splits joins of all buckets, orders overflow
 * flags before the last bucket or drops them; guards states that are updated in place. A change
 * that does not shorten the simulated step is undone.
 *
 * Requires:  types inferred; buckets in the graph.
 * Keeps:     values, but for what tail_mode says of predicates; the order of collectives, but for
 *            flags.
 * After:     no such change is left that would shorten the step.
 * Cost:      O(nodes log nodes + edges) for each kind of change.
 * Tests:     tests/golden/tail-opt/, tests/train/tail_random.py */
#include "passes/edit/passes.h"
#include "passes/npu/select.h"
#include "passes/train/tail/tail.h"
#include "passes/train/time/engine_slots.h"

enum { MOST_ROUNDS = 8, ONE_GROUP = 3 /* streams: of computing, of the group, of updates */ };

typedef struct kind {
  uint32_t (*apply)(tl_tail *t);
  const char *what;
  bool splits;
  bool frees; /* edges go, and nothing else */
  bool must;  /* keep although it takes longer: without it the step is wrong */
} kind;

static const kind kinds[] = {
    {tl_tail_guard_states, "edges from readers of states to their writers", false, false, true},
    {tl_tail_split_barriers, "barriers split", true, false, false},
    {tl_tail_relax, "control edges removed", false, true, false},
    {tl_tail_split_ifs, "conditional updates split", true, false, false},
    {tl_tail_split_updates, "updates of several tensors split", true, false, false},
    {tl_tail_split_concats, "joined tensors split", true, false, false},
    {tl_tail_split_checks, "checks of overflow split", true, false, false},
    {tl_tail_split_norms, "norms over all gradients split", true, false, false},
    {tl_tail_decompose_updates, "updates taken apart", true, false, false},
    {tl_tail_drop_flags, "flags that are equal on all ranks", false, false, false},
    {tl_tail_order_flags, "flags ordered before the last bucket", false, false, false},
};

/* Returns true if the AICORE works all the time: then no split can help. */
static bool is_full(const tl_tail *t) {
  double work = 0;
  for (uint32_t i = 0; i < t->step.g.n; i++)
    work += t->step.g.tasks[i].engine == TL_ENGINE_AICORE ? t->step.g.tasks[i].us : 0;
  return t->us <= work / tl_engine_degree(&t->step.g, TL_ENGINE_AICORE) * (1 + 1e-9);
}

/* Applies one kind of change. It stays if the step gets shorter, or not longer with nothing
 * split. */
static tl_status try_kind(tl_tail *t, const kind *k, bool *any) {
  uint32_t mark = tl_tail_mark(t);
  const tl_tail as_it_was = *t;
  double before = t->us;
  if (*t->p->rewrites >= t->p->limit || (k->splits && (t->n_buckets < 2 || is_full(t))))
    return TL_OK;
  uint32_t n = k->apply(t);
  if (t->no_memory)
    return tl_no_memory(t->m);
  if (!n)
    return TL_OK;
  tl_tail_look(t);
  if (t->no_memory)
    return tl_no_memory(t->m);
  TL_TRY(tl_tail_measure(t, k->frees));
  double rounding = 1e-9 * (1 + before); /* sums of the same times in another order */
  bool better = t->us < before - rounding || (!k->splits && t->us <= before + rounding);
  if (better || k->must) {
    tl_tail_commit(t, mark);
    tl_step_reorder(t->m, &t->step, t->order); /* what is tried next starts from there */
    *any = true;
    t->counts.splits += k->splits ? n : 0;
    (void)tl_pass_may_rewrite(t->p);
    tl_pass_remark(t->p, t->m, t->last, true, "%u %s", n, k->what);
    return TL_OK;
  }
  uint32_t rejected = t->counts.edges_rejected;
  tl_tail_undo(t, mark);
  t->counts = as_it_was.counts;
  t->counts.edges_rejected = rejected;
  t->step = as_it_was.step; /* with the order that was found for it */
  t->order = as_it_was.order;
  t->us = before;
  t->lost = true;
  tl_pass_remark(t->p, t->m, t->last, false, "%u %s: the step would take longer", n, k->what);
  if (t->no_memory)
    return tl_no_memory(t->m);
  tl_tail_look(t);
  return t->no_memory ? tl_no_memory(t->m) : TL_OK;
}

/* Returns the nodes in their order; NULL if memory is out. */
static tl_node_id *list_nodes(const tl_tail *t) {
  const tl_graph *g = tl_step_graph(t->m);
  tl_node_id *listed = tl_arena_calloc(t->p->scratch, g->n_nodes + 1u, sizeof *listed);
  uint32_t n = 0;
  TL_FOR_NODES(t->m, g, k)
    if (listed)
      listed[n++] = k;
  return listed;
}

static void put_back(tl_tail *t, const tl_node_id *listed) {
  const tl_graph *g = tl_step_graph(t->m);
  for (uint32_t i = 0; listed[i]; i++)
    if (listed[i] != g->last)
      tl_node_move_after(t->m, listed[i], g->last);
}

/* Schedules again. Buckets of several groups may change places on their link, so another bucket may
 * be the last; *other tells so. */
static tl_status look_again(tl_tail *t, bool *other) {
  tl_node_id last = t->last;
  *other = false;
  if (t->step.g.n_streams <= ONE_GROUP)
    return TL_OK;
  TL_TRY(tl_tail_measure(t, false));
  tl_step_reorder(t->m, &t->step, t->order);
  tl_tail_look(t);
  *other = t->last != last;
  return t->no_memory ? tl_no_memory(t->m) : TL_OK;
}

/* Returns true if anything but the updates of its own gradients needs the last bucket: an overflow
 * check, a norm over all gradients, or an edge. */
static bool something_waits(const tl_tail *t) {
  if (t->late_edges)
    return true;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), n)
    if (t->below[n] && t->bucket_of[n] == TL_TAIL_SEVERAL)
      return true;
  return false;
}

static void say_that_nothing_waits(const tl_tail *t) {
  static const char why[] =
      "only the updates of its own gradients wait for the last bucket: there is no overflow check "
      "and no norm over all gradients, so tail optimization changes nothing";
  tl_pass_remark(t->p, t->m, t->last, false, "%s", why);
  tl_note(t->m->diag, TL_AT_FILE(t->m->path), "%s", why);
}

/* Records that tail optimization is off, so that a file does not ask the runtime for it either. */
static void leave_out(tl_tail *t) {
  static const char why[] = "is_tailing_optimization is off: the step would take longer with each "
                            "of its changes";
  tl_step_state_edit(t->m)->no_tail = true;
  tl_pass_remark(t->p, t->m, t->last, false, "%s", why);
  tl_note(t->m->diag, TL_AT_FILE(t->m->path), "%s", why);
}

/* Tries all kinds of change round by round until none helps: a change that did not pay may do so
 * when another one is made. If nothing helps at all, the order of nodes is restored. */
static tl_status optimize(tl_tail *t) {
  bool changed = false;
  tl_step_state *state = tl_step_state_edit(t->m);
  bool ordered = state->ordered;
  tl_node_id *given = list_nodes(t);
  if (!given)
    return tl_no_memory(t->m);
  TL_TRY(tl_tail_measure(t, false));
  tl_step_reorder(t->m, &t->step, t->order);
  tl_tail_look(t); /* which bucket is the last is a matter of that order */
  if (t->no_memory)
    return tl_no_memory(t->m);
  bool any = true; /* what did not pay at first may do so once something else is gone */
  for (int round = 0; round < MOST_ROUNDS && any; round++) {
    any = false;
    t->counts.edges_rejected = 0; /* those of the last round: each comes up again */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
      TL_TRY(try_kind(t, &kinds[i], &any));
    changed = changed || any;
    if (changed && !any)
      TL_TRY(look_again(t, &any));
  }
  state->no_tail = false;
  if (!changed && !something_waits(t))
    say_that_nothing_waits(t);
  else if (!changed && t->lost && t->c->is_tailing_optimization)
    leave_out(t);
  if (!changed) { /* else the schedule starts from what was found here */
    put_back(t, given);
    state->ordered = ordered;
  }
  if (!state->record)
    return TL_OK;
  TL_TRY(tl_step_record_add(state->record, t->m, "tail", &t->step, t->order, &t->t->machine));
  tl_step_record_find(state->record, "tail")->tail = t->counts;
  return tl_tail_explain(t, state->record);
}

static tl_status run(tl_pass *p, tl_module *m, tl_train_setting *s) {
  tl_tail t = {.p = p, .m = m, .c = p->options->train, .t = s};
  tl_tail_find_buckets(&t);
  if (t.no_memory)
    return tl_no_memory(t.m);
  if (t.n_buckets < 2 && !p->options->train->inplace_state) {
    tl_pass_remark(p, m, t.last, false,
                   "%s, so no node is independent of the last bucket: more buckets might help",
                   t.n_buckets ? "there is one bucket" : "there is no bucket");
    tl_train_setting_leave(p, s, NULL);
    return TL_OK;
  }
  TL_TRY(tl_train_record_before(p, m, s));
  tl_status status = optimize(&t);
  if (status == TL_OK)
    tl_train_setting_leave(p, s, &t.step);
  tl_tail_change_vec_release(&t.changes);
  return status;
}

tl_status tl_pass_tail_opt(tl_pass *p, tl_module *m) {
  tl_train_setting s;
  const tl_train_config *c = p->options->train;
  if (!c || !c->train || !(c->is_tailing_optimization || c->inplace_state))
    return TL_OK;
  tl_status status = tl_train_setting_begin(p, m, &s);
  if (status == TL_OK && s.info.form != TL_TRAIN_NONE)
    status = run(p, m, &s);
  tl_train_setting_end(&s);
  return status == TL_OK ? tl_select_made(p, m) : status;
}
