/* SPDX-License-Identifier: Apache-2.0 */
/* Other rules at the graphs of a rule: those that fit the same nodes, and those that take its nodes
 * when the whole pipeline runs. */
#include "ir/fork.h"
#include "tools/rules/findings.h"

/* ---- overlaps -------------------------------------------------------------------------------- */

static void note_other(tl_other *list, uint32_t *n, const tl_rule *rule, const char *pass) {
  for (uint32_t i = 0; i < *n; i++) {
    if (rule ? list[i].rule && list[i].rule->name == rule->name
             : !list[i].rule && strcmp(list[i].pass, pass) == 0) {
      list[i].n++;
      return;
    }
  }
  if (*n < TL_OTHERS)
    list[(*n)++] = (tl_other){rule, pass, 1};
}

/* State of looking for rules that fit one graph. */
typedef struct looking {
  const tl_quest *q;
  tl_findings *f;
  const tl_positive *p;
  tl_other found[TL_OTHERS];
  uint32_t n;
  tl_status status;
} looking;

static bool shares_node(const tl_positive *p, const tl_trial *t) {
  for (uint32_t i = 0; i < TL_RULE_NODES; i++)
    for (uint32_t k = 0; t->nodes[i] && k < TL_RULE_NODES; k++)
      if (p->nodes[k] == t->nodes[i])
        return true;
  return false;
}

static void visit(void *user, tl_node_id n, tl_rule *rule) {
  looking *l = user;
  tl_trial t;
  if (rule->name == l->f->rule->name || l->status != TL_OK)
    return;
  l->status = tl_trial_run(l->q->bench, rule, l->p->m, n, &t);
  if (l->status == TL_OK && t.after && shares_node(l->p, &t))
    note_other(l->found, &l->n, rule, NULL);
  tl_trial_release(&t);
}

/* A rule that fits several nodes of a graph counts once there. */
static tl_status look(looking *l, tl_rule_index *index) {
  l->n = 0;
  TL_FOR_NODES(l->p->m, tl_module_main(l->p->m), n)
    tl_rule_index_visit(index, l->p->m, n, visit, l);
  for (uint32_t i = 0; i < l->n; i++)
    note_other(l->f->overlaps, &l->f->n_overlaps, l->found[i].rule, NULL);
  return l->status;
}

tl_status tl_find_overlaps(const tl_quest *q, tl_findings *f) {
  tl_rule_index index;
  looking l = {.q = q, .f = f};
  TL_TRY(tl_rule_index_build(&index, q->bench->set, (tl_rule_kind)f->rule->kind, false));
  for (uint32_t i = 0; i < f->n_kept && l.status == TL_OK; i++) {
    l.p = &f->kept[i];
    (void)look(&l, &index);
  }
  tl_rule_index_release(&index);
  return l.status;
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

/* State of one run of the pipeline. */
typedef struct piping {
  const tl_quest *q;
  tl_findings *f;
  const tl_positive *p;
  bool fired;
  const tl_rule *taker; /* the first rewrite of one of the nodes, by a rule ... */
  const char *pass;     /* ... or by this pass; NULL: none yet */
} piping;

static bool is_ours(const piping *p, tl_sv name) {
  for (uint32_t i = 0; i < TL_RULE_NODES; i++)
    if (p->p->nodes[i] && tl_sv_eq(tl_node_where(p->p->m, p->p->nodes[i]).node, name))
      return true;
  return false;
}

static void note_taker(piping *p, const tl_remark *r) {
  bool ours = is_ours(p, r->node);
  for (uint32_t i = 0; r->fusion && i < r->fusion->n_nodes; i++)
    ours = ours || is_ours(p, r->fusion->nodes[i]);
  if (!ours || p->pass)
    return;
  p->pass = r->pass;
  const tl_ruleset *set = p->q->bench->set;
  for (uint32_t i = 0; r->fusion && i < set->rules.n && !p->taker; i++)
    if (tl_sv_eq(tl_sym(set->m, set->rules.at[i]->name), r->fusion->rule))
      p->taker = set->rules.at[i];
}

static void note(void *user, const tl_remark *r) {
  piping *p = user;
  tl_sv name = tl_sym(p->q->bench->set->m, p->f->rule->name);
  if (!r->applied)
    return;
  if (r->fusion && tl_sv_eq(r->fusion->rule, name))
    p->fired = true;
  else if (!p->fired)
    note_taker(p, r);
}

static tl_status pipe_one(const tl_quest *q, tl_findings *f, const tl_positive *p) {
  tl_cli *cli = q->bench->cli;
  piping state = {.q = q, .f = f, .p = p};
  tl_stage stage = f->rule->kind == TL_RULE_EXPAND ? TL_STAGE_SELECT : TL_STAGE_ALL;
  tl_pipeline_options o = tl_session_pipeline(&cli->session, stage);
  tl_pipeline_report report;
  o.remark = note;
  o.remark_user = &state;
  o.fusions = NULL;
  o.steps = NULL;
  tl_module *m = tl_module_fork(p->m, q->bench->quiet);
  if (!m)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  tl_status status = tl_session_run(&cli->session, m, &o, &report);
  tl_module_destroy(m);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  f->piped++;
  f->fired += state.fired;
  if (!state.fired && state.pass)
    note_other(f->takers, &f->n_takers, state.taker, state.pass);
  return TL_OK;
}

tl_status tl_find_takers(const tl_quest *q, tl_findings *f) {
  enum { MOST = 6 };
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < f->n_kept && i < MOST && status == TL_OK; i++)
    status = *q->bench->cli->signal ? TL_IO : pipe_one(q, f, &f->kept[i]);
  return status;
}
