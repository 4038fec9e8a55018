/* SPDX-License-Identifier: Apache-2.0 */
/* Tries a rule on a model of the user instead of made graphs. */
#include "ir/fork.h"
#include "tools/rules/findings.h"

/* Tries one spelling at one node. */
static tl_status try_at(const tl_quest *q, tl_findings *f, const tl_rule *r, tl_node_id n) {
  static const tl_genes none;
  tl_trial t;
  tl_status status = tl_trial_run(q->bench, r, q->empty, n, &t);
  if (status == TL_OK && t.after) {
    tl_sample s = {.m = tl_module_fork(q->empty, q->bench->quiet), .root = n};
    status = s.m ? tl_add_positive(q, f, r, &none, &s, &t)
                 : tl_fail_memory(&q->bench->cli->diag, TL_NOWHERE);
    tl_module_destroy(s.m);
  } else if (status == TL_OK && !f->graphs && !f->nearest.n) {
    tl_buf_printf(&f->nearest, "%s: ", t.code);
    tl_buf_add(&f->nearest, t.why.p, t.why.n);
  }
  tl_trial_release(&t);
  return status;
}

static bool has_root(const tl_rule *r, tl_op_id op) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  for (uint8_t i = 0; i < root->n_ops; i++)
    if (root->ops[i] == op)
      return true;
  return false;
}

tl_status tl_find_in_model(const tl_quest *q, tl_findings *f) {
  const tl_ruleset *set = q->bench->set;
  const tl_module *m = q->empty;
  for (uint32_t i = 0; i < set->rules.n; i++) {
    const tl_rule *r = set->rules.at[i];
    uint32_t before = f->graphs;
    if (r->name != f->rule->name)
      continue;
    TL_FOR_NODES(m, tl_module_main(m), n) {
      if (*q->bench->cli->signal)
        return TL_IO;
      if (f->graphs < q->count && has_root(r, tl_node_get(m, n)->op))
        TL_TRY(try_at(q, f, r, n));
    }
    f->reached += f->graphs > before;
  }
  return TL_OK;
}
