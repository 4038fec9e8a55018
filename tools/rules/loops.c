/* SPDX-License-Identifier: Apache-2.0 */
/* Does rewriting come to an end? All rules of a kind are applied to a graph again and again, one at
 * a time, in their order; a graph that was there before, or that grows without end, shows that it
 * does not. */
#include "ir/fork.h"
#include "tools/rules/findings.h"

enum { MOST_STEPS = 48, MOST_SIZE = 400 };

/* One way from a graph. */
typedef struct way {
  const tl_quest *q;
  tl_module *m;                     /* the graph as it is now */
  tl_module *all[MOST_STEPS + 1];   /* owned; each views contents of the one before it */
  const tl_rule *rules[MOST_STEPS]; /* that were applied ... */
  uint64_t hashes[MOST_STEPS + 1];  /* ... and the graphs before and behind them */
  uint32_t n;
  tl_symbol ours;      /* name of the rule that is tested */
  const tl_rule *best; /* of one step: the first in order ... */
  tl_node_id where;
  tl_status status;
} way;

static bool is_before(const tl_rule *a, const tl_rule *b) {
  if (a->priority != b->priority)
    return a->priority < b->priority;
  return a->index != b->index ? a->index < b->index : a->spelling < b->spelling;
}

static void visit(void *user, tl_node_id n, tl_rule *rule) {
  way *w = user;
  tl_trial t;
  if (w->status != TL_OK || (rule->off && rule->name != w->ours) ||
      (w->best && !is_before(rule, w->best)))
    return;
  w->status = tl_trial_run(w->q->bench, rule, w->m, n, &t);
  if (w->status == TL_OK && t.after) {
    w->best = rule;
    w->where = n;
  }
  tl_trial_release(&t);
}

/* Applies the first rule that fits somewhere. False: none does. */
static bool step(way *w, tl_rule_index *index) {
  tl_trial t;
  w->best = NULL;
  TL_FOR_NODES(w->m, tl_module_main(w->m), n)
    tl_rule_index_visit(index, w->m, n, visit, w);
  if (!w->best || w->status != TL_OK)
    return false;
  w->status = tl_trial_run(w->q->bench, w->best, w->m, w->where, &t);
  if (w->status == TL_OK && t.after) {
    w->m = w->all[w->n + 1] = t.after;
    t.after = NULL;
    /* Constants are computed between rewrites, as the engine does. */
    w->status =
        tl_session_run_passes(&w->q->bench->cli->session, w->m, "fold-constants,dead-nodes");
  }
  tl_trial_release(&t);
  return w->status == TL_OK;
}

static void describe(const way *w, uint32_t from, bool grows, tl_findings *f) {
  const tl_module *names = w->q->bench->set->m;
  f->loops++;
  if (f->loop.n)
    return;
  for (uint32_t i = from; i < w->n && i < from + 6; i++)
    tl_buf_printf(&f->loop, "%s%.*s", i > from ? ", then " : "",
                  TL_SV_ARG(tl_sym(names, w->rules[i]->name)));
  if (w->n > from + 6)
    tl_buf_add_z(&f->loop, ", and so on");
  tl_buf_add_z(&f->loop, grows ? "; the graph grows" : "; the graph is what it was");
}

/* Returns true if our rule is among those that were applied since step `from`. */
static bool took_part(const way *w, const tl_findings *f, uint32_t from) {
  for (uint32_t i = from; i < w->n; i++)
    if (w->rules[i]->name == f->rule->name)
      return true;
  return false;
}

static void walk(way *w, tl_rule_index *index, tl_findings *f) {
  while (w->n < MOST_STEPS && step(w, index)) {
    w->rules[w->n++] = w->best;
    w->hashes[w->n] = tl_graph_hash(w->m, tl_module_main(w->m)->id);
    for (uint32_t i = 0; i < w->n; i++) {
      if (w->hashes[i] != w->hashes[w->n])
        continue;
      if (took_part(w, f, i))
        describe(w, i, false, f);
      return;
    }
    if (tl_module_count_nodes(w->m) > MOST_SIZE)
      break;
  }
  bool endless = w->n == MOST_STEPS || tl_module_count_nodes(w->m) > MOST_SIZE;
  if (endless && took_part(w, f, w->n / 2))
    describe(w, w->n / 2, true, f);
}

tl_status tl_find_loops(const tl_quest *q, tl_findings *f) {
  enum { MOST = 8 };
  tl_rule_index index;
  tl_status status;
  /* Expansions are tried at nodes without NPU form only, which ends them; a rule for another target
   * does not meet those that are on. */
  bool meets = f->rule->kind != TL_RULE_EXPAND && !f->rule->off;
  way *w = meets ? calloc(1, sizeof *w) : NULL;
  if (!meets)
    return TL_OK;
  if (!w)
    return tl_fail_memory(&q->bench->cli->diag, TL_NOWHERE);
  status = tl_rule_index_build(&index, q->bench->set, (tl_rule_kind)f->rule->kind, true);
  if (status != TL_OK) {
    free(w);
    return status;
  }
  for (uint32_t i = 0; i < f->n_kept && i < MOST && status == TL_OK; i++) {
    *w = (way){.q = q, .ours = f->rule->name, .m = tl_module_fork(f->kept[i].m, q->bench->quiet)};
    if (!w->m) {
      status = tl_fail_memory(&q->bench->cli->diag, TL_NOWHERE);
      break;
    }
    w->all[0] = w->m;
    w->hashes[0] = tl_graph_hash(w->m, tl_module_main(w->m)->id);
    walk(w, &index, f);
    status = *q->bench->cli->signal ? TL_IO : w->status;
    for (uint32_t k = MOST_STEPS + 1; k > 0; k--)
      tl_module_destroy(w->all[k - 1]);
  }
  tl_rule_index_release(&index);
  free(w);
  return status;
}
