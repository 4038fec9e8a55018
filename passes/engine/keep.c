/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a parsed rule to its set: which rules it overrides, and its place in the order of
 * definition. */
#include "passes/engine/parser.h"

/* Returns true if two rules have the same name, or define the same op. */
static bool is_namesake(const tl_rule *a, const tl_rule *b) {
  if (a->kind == TL_RULE_DEFINE || b->kind == TL_RULE_DEFINE)
    return a->kind == b->kind && a->match->ops[0] == b->match->ops[0];
  return a->name == b->name;
}

/* Returns what namesakes have in common. */
static uint64_t key_of(const tl_rule *r) {
  bool defines = r->kind == TL_RULE_DEFINE;
  return tl_map_pair(defines, defines ? r->match->ops[0] : r->name);
}

/* Returns true for definitions of one op in one file: they are alternatives, and the first whose
 * conditions hold applies. */
static bool is_alternative(const tl_rule *old, const tl_rule *r) {
  return r->kind == TL_RULE_DEFINE && old->file == r->file && old->n_where;
}

/* Returns true for two spellings of one rule. Built-in ones are parsed in any order. */
static bool is_spelling(const tl_rule *old, const tl_rule *r) {
  return old->spelling != r->spelling && old->file == r->file && old->line == r->line &&
         old->column == r->column;
}

/* Lists the names of rules that were added without being kept: compiled ones have names of their
 * own, which nothing compares with until a file is parsed. */
static bool note_names(tl_ruleset *s) {
  for (; s->n_named < s->rules.n; s->n_named++)
    if (!tl_map_set(&s->names, key_of(s->rules.at[s->n_named]), 1))
      return false;
  return true;
}

/* Adds a rule. lead: an earlier spelling, or NULL; spellings from a file share its index. */
static tl_status add_rule(tl_rule_parser *p, tl_rule *r, const tl_rule *lead) {
  r->index = lead && !p->builtin ? lead->index : p->set->next++;
  bool ok = tl_rule_vec_push(&p->set->rules, r) && note_names(p->set);
  return ok ? TL_OK : tl_rule_memory(p);
}

tl_status tl_rule_keep(tl_rule_parser *p, tl_rule *r, tl_token name, bool override) {
  tl_rule_vec *rules = &p->set->rules;
  const tl_rule *lead = NULL;
  uint32_t kept = 0, place = UINT32_MAX;
  TL_TRY(tl_rule_finish(p->set, r));
  TL_TRY(tl_rule_leave_room(p, r));
  r->custom = override;
  if (!note_names(p->set))
    return tl_rule_memory(p);
  if (!tl_map_find(&p->set->names, key_of(r), NULL)) /* most rules have a name of their own */
    return add_rule(p, r, NULL);
  for (uint32_t i = 0; i < rules->n; i++) {
    tl_rule *old = rules->at[i];
    if (is_spelling(old, r))
      lead = old;
    if (!is_namesake(old, r) || is_alternative(old, r) || lead == old) {
      rules->at[kept++] = old;
      continue;
    }
    if (!override || old->file == r->file)
      return tl_rule_fail(p, name, "'%.*s' is defined twice, first at %s:%u",
                          TL_SV_ARG(tl_sym(p->set->m, r->name)), old->file, old->line);
    if (place == UINT32_MAX) {
      place = kept;
      r->index = old->index;
      rules->at[kept++] = r;
    }
  }
  rules->n = p->set->n_named = kept;
  if (place != UINT32_MAX)
    return TL_OK;
  return add_rule(p, r, lead);
}
