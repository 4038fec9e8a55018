/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the switches of fusion passes to a set of rules: which are off, and their order. */
#include "ir/options/fusion_row.h"
#include "passes/engine/rule.h"

/* Priority that the parser gives to a rule without one. */
enum { NO_PRIORITY_GIVEN = TL_PRIORITY_RULE };

/* Returns true if the switches leave the rule's public name on. Functional levels concern fusions:
 * a simplification is on from -O1 whatever its name. An expansion is off only if its pass is named
 * on the command line. */
static bool is_pass_on(const tl_ruleset *s, const tl_rule *r, const tl_fusion_config *fusion,
                       const char **why) {
  tl_fusion_config own = fusion ? *fusion : (tl_fusion_config){0};
  if (r->kind == TL_RULE_EXPAND)
    own = (tl_fusion_config){.direct = own.direct, .option = own.option};
  else if (r->pass != r->name && !tl_rule_fuses(r))
    own.functional_only = false;
  return tl_fusion_row_is_on(&own, r->pass_row, tl_sym(s->m, r->pass), (tl_fusion_kind)r->pass_kind,
                             why);
}

/* A scope fusion of a user is on if its public name is requested or if it is general. */
static bool is_asked_for(const tl_ruleset *s, const tl_rule *r, const tl_options *options) {
  tl_sv pass = tl_sym(s->m, r->pass);
  return !r->custom || r->pass_kind != TL_FUSION_SCOPE || r->general ||
         tl_fusion_is_named(options->fusion, pass, TL_FUSION_SCOPE);
}

void tl_rule_switch(const tl_ruleset *s, const tl_options *options, tl_rule *r) {
  const char *why;
  bool public = r->pass != r->name;
  if (r->kind == TL_RULE_DEFINE || (r->kind == TL_RULE_EXPAND && !public))
    return;
  if (!is_pass_on(s, r, options->fusion, &why) ||
      (public && r->kind != TL_RULE_EXPAND &&
       !tl_fusion_row_is_on(options->fusion, r->name_row, tl_sym(s->m, r->name), TL_FUSION_CLEANUP,
                            &why)))
    r->off = why;
  else if (!is_asked_for(s, r, options))
    r->off = "not named by --enable-scope-fusion-passes";
  else if (r->numerics > options->numerics && r->kind != TL_RULE_EXPAND)
    r->off = "its numerics class is looser than --numerics";
}

int tl_rule_priority(const tl_ruleset *s, const tl_rule *r) {
  bool given = r->written != NO_PRIORITY_GIVEN;
  return tl_fusion_priority(s->options->fusion, tl_sym(s->m, r->pass), TL_FUSION_GRAPH,
                            given ? r->written : TL_NO_PRIORITY);
}

/* Lists the graph rules in the order of definition. */
static uint32_t list_rules(const tl_ruleset *s, tl_fusion_order *order, tl_rule **rules) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->rules.n; i++) {
    tl_rule *r = s->rules.at[i];
    if (!tl_rule_fuses(r))
      continue;
    bool given = r->written != NO_PRIORITY_GIVEN;
    order[n] = (tl_fusion_order){.pass = tl_sym(s->m, r->pass),
                                 .custom = r->custom,
                                 .rule = true,
                                 .configured = given ? r->written : TL_NO_PRIORITY};
    rules[n++] = r;
  }
  return n;
}

tl_status tl_rules_configure(tl_ruleset *s, const tl_options *options) {
  tl_fusion_order *order = tl_arena_calloc(&s->arena, s->rules.n, sizeof *order);
  tl_rule **rules = tl_arena_calloc(&s->arena, s->rules.n, sizeof *rules);
  if (!order || !rules)
    return tl_fail_memory(s->m->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < s->rules.n; i++) {
    tl_rule_switch(s, options, s->rules.at[i]);
    TL_TRY(tl_rule_fit_target(s, options, s->rules.at[i]));
  }
  uint32_t n = list_rules(s, order, rules);
  tl_fusion_sort(options->fusion, TL_FUSION_GRAPH, order, n);
  for (uint32_t i = 0; i < n; i++)
    rules[order[i].position]->priority = order[i].priority;
  return TL_OK;
}
