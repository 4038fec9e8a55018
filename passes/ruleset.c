/* SPDX-License-Identifier: Apache-2.0 */
/* Where rules come from (ruleset.h). */
#include "passes/ruleset.h"

#include <string.h>

tl_status tl_rules_add_builtin(tl_ruleset *s) {
  for (uint32_t i = 0; i < tl_n_rule_texts; i++) {
    tl_sv text = {tl_rule_texts[i].text, tl_rule_texts[i].n};
    if (s->kinds && !(s->kinds & tl_rule_texts[i].kinds))
      continue;
    TL_TRY(tl_rules_parse(s, tl_rule_texts[i].path, text, false));
  }
  return TL_OK;
}

void tl_ruleset_init(tl_ruleset *s, tl_module *m) {
  *s = (tl_ruleset){.m = m};
  tl_arena_init(&s->arena, 1 << 16);
}

void tl_ruleset_release(tl_ruleset *s) {
  tl_rule_vec_release(&s->rules);
  tl_map_release(&s->names);
  tl_arena_release(&s->arena);
}

tl_rule *tl_ruleset_find(const tl_ruleset *s, tl_symbol name) {
  for (uint32_t i = 0; i < s->rules.n; i++)
    if (s->rules.at[i]->name == name)
      return s->rules.at[i];
  return NULL;
}

/* Bodies of definitions ask once each, and most files have none. */
static bool has_definitions(tl_sv text) {
  static const char word[] = "define";
  for (size_t i = 0; i + sizeof word <= text.n; i++)
    if (memcmp(text.p + i, word, sizeof word - 1) == 0)
      return true;
  return false;
}

tl_status tl_rules_load(tl_ruleset *s, const tl_options *options) {
  TL_TRY(tl_rules_add_builtin(s));
  for (uint32_t i = 0; i < options->n_rule_files; i++)
    if (!s->only_definitions || has_definitions(options->rule_files[i].text))
      TL_TRY(tl_rules_parse(s, options->rule_files[i].path, options->rule_files[i].text, true));
  return tl_rules_configure(s, options);
}

bool tl_rules_have(const tl_ruleset *s, unsigned kinds, bool any) {
  for (uint32_t i = 0; i < s->rules.n; i++)
    if ((kinds & TL_RULE_BIT(s->rules.at[i]->kind)) && (any || !s->rules.at[i]->off))
      return true;
  return false;
}

/* Expansions are many, and only AIR asks for them; so are definitions, which only the evaluator
 * wants: they have sets of their own. */
enum { COMMON_SET, EXPAND_SET, DEFINE_SET };
static const unsigned kinds_of_sets[] = {
    [COMMON_SET] = TL_RULE_BIT(TL_RULE_CLEANUP) | TL_RULE_BIT(TL_RULE_GRAPH) |
                   TL_RULE_BIT(TL_RULE_LATE) | TL_RULE_BIT(TL_RULE_SCOPE),
    [EXPAND_SET] = TL_RULE_BIT(TL_RULE_EXPAND),
    [DEFINE_SET] = TL_RULE_BIT(TL_RULE_DEFINE) | TL_RULE_NPU_BIT};

tl_status tl_pass_rules(tl_pass *p, tl_module *m, tl_rule_kind kind, const tl_ruleset **out) {
  unsigned which = kind == TL_RULE_EXPAND   ? EXPAND_SET
                   : kind == TL_RULE_DEFINE ? DEFINE_SET
                                            : COMMON_SET;
  *out = p->rules[which];
  if (*out)
    return TL_OK;
  tl_ruleset *s = malloc(sizeof *s);
  if (!s)
    return tl_fail(m->diag, TL_NO_MEMORY, TL_AT_FILE(m->path), "out of memory");
  tl_ruleset_init(s, m);
  s->kinds = kinds_of_sets[which];
  s->only_definitions = which == DEFINE_SET;
  tl_status status = tl_rules_load(s, p->options);
  p->rules[which] = s;
  *out = s;
  return status;
}

void tl_pass_release_rules(tl_pass *p) {
  for (unsigned i = 0; i < sizeof p->rules / sizeof *p->rules; i++) {
    if (p->rules[i])
      tl_ruleset_release(p->rules[i]);
    free(p->rules[i]);
    p->rules[i] = NULL;
  }
}
