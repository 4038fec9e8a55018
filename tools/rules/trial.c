/* SPDX-License-Identifier: Apache-2.0 */
/* Implements trials: the match and the rewrite. */
#include "tools/rules/trial.h"

#include "ir/fork.h"
#include "passes/engine/scope.h"

/* Returns the number of the condition with this text; -1: none has it. */
static int number_of(const tl_rule *r, tl_sv condition) {
  for (int i = 0; condition.n && i < r->n_where; i++)
    if (r->where[i]->text.p == condition.p)
      return i;
  return -1;
}

static tl_status apply(tl_match *match, tl_trial *out, bool *done) {
  tl_built built;
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    out->nodes[i] = tl_match_has_node(match, i) ? match->nodes[i] : TL_NO_NODE;
  return tl_match_apply(match, &built, done);
}

/* Matches and applies to the copy itself. */
static tl_status fire(const tl_bench *b, const tl_rule *rule, tl_module *m, tl_node_id root,
                      tl_trial *out, bool *done) {
  uint64_t rewrites = 0;
  tl_merge_facts facts;
  tl_scopes scopes = {.m = m};
  tl_miss miss = {.text = &out->why};
  tl_pass pass = {.name = "test-rules",
                  .options = &b->cli->settings.options,
                  .scratch = b->scratch,
                  .rewrites = &rewrites,
                  .limit = UINT64_MAX};
  tl_match *match = tl_arena_calloc(b->scratch, 1, sizeof *match);
  if (!match)
    return TL_NO_MEMORY;
  TL_TRY(tl_merge_facts_find(&pass, m, &facts));
  *match = (tl_match){.set = b->set,
                      .rule = rule,
                      .m = m,
                      .scratch = b->scratch,
                      .facts = &facts,
                      .scopes = &scopes,
                      .miss = &miss};
  tl_status status = TL_OK;
  if (tl_rule_match(match, root) && tl_match_is_closed(match))
    status = apply(match, out, done);
  out->depth = miss.depth;
  out->code = miss.code ? miss.code : "OPERANDS";
  out->condition = number_of(rule, miss.condition);
  tl_scopes_release(&scopes);
  tl_merge_facts_release(&facts);
  return status;
}

tl_status tl_trial_run(const tl_bench *b, const tl_rule *rule, const tl_module *m, tl_node_id root,
                       tl_trial *out) {
  bool done = false;
  *out = (tl_trial){.condition = -1};
  tl_buf_init(&out->why);
  tl_module *copy = tl_module_fork(m, b->quiet);
  if (!copy)
    return tl_fail_memory(&b->cli->diag, TL_NOWHERE);
  tl_arena_mark mark = tl_arena_save(b->scratch);
  tl_status status = fire(b, rule, copy, root, out, &done);
  tl_arena_rewind(b->scratch, mark);
  if (status == TL_OK && done)
    out->after = copy;
  else
    tl_module_destroy(copy);
  return status == TL_NO_MEMORY ? tl_fail_memory(&b->cli->diag, TL_NOWHERE) : TL_OK;
}

void tl_trial_release(tl_trial *t) {
  if (t->after)
    tl_module_destroy(t->after);
  t->after = NULL;
  tl_buf_release(&t->why);
}
