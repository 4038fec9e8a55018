/* SPDX-License-Identifier: Apache-2.0 */
/* Loads sets of rules: all of them, or only those that can match in a module (ruleset.h). */
#include "passes/engine/ruleset.h"

#include <stdlib.h>
#include <string.h>

#include "passes/engine/image.h"
#include "passes/engine/lazy.h"

/* Formulas are no rules; who wants them asks for them. */
static bool is_wanted(const tl_ruleset *s, const tl_rule_text *text) {
  return s->kinds ? s->kinds & text->kind : text->kind != TL_RULE_FORMULA_BIT;
}

tl_status tl_rules_add_builtin(tl_ruleset *s) {
  for (uint32_t i = 0; i < tl_n_rule_texts; i++)
    if (is_wanted(s, &tl_rule_texts[i]))
      TL_TRY(tl_rules_add_text(s, &tl_rule_texts[i]));
  s->next = tl_n_rule_texts;
  return TL_OK;
}

tl_status tl_rules_add_text(tl_ruleset *s, const tl_rule_text *text) {
  bool done;
  TL_TRY(tl_rule_image_load(s, (uint32_t)(text - tl_rule_texts), &done));
  return done ? TL_OK : tl_rules_parse_text(s, text);
}

void tl_ruleset_init(tl_ruleset *s, tl_module *m) {
  *s = (tl_ruleset){.m = m};
  tl_arena_init(&s->arena, 1 << 16);
}

void tl_ruleset_release(tl_ruleset *s) {
  tl_automaton_end(s->automaton);
  tl_rule_vec_release(&s->rules);
  tl_rule_vec_release(&s->made);
  tl_map_release(&s->names);
  tl_arena_release(&s->arena);
}

tl_rule *tl_ruleset_find(const tl_ruleset *s, tl_symbol name) {
  for (uint32_t i = 0; i < s->rules.n; i++)
    if (s->rules.at[i]->name == name)
      return s->rules.at[i];
  return NULL;
}

/* Returns true if the text may have definitions. Cheap, since each body of a definition asks and
 * most files have none. */
static bool has_definitions(tl_sv text) {
  static const char word[] = "define";
  for (size_t i = 0; i + sizeof word <= text.n; i++)
    if (memcmp(text.p + i, word, sizeof word - 1) == 0)
      return true;
  return false;
}

tl_status tl_rules_load(tl_ruleset *s, const tl_options *options) {
  s->options = options;
  TL_TRY(tl_rules_add_builtin(s));
  for (uint32_t i = 0; i < options->n_rule_files; i++)
    if (!s->only_definitions || has_definitions(options->rule_files[i].text))
      TL_TRY(tl_rules_parse(s, options->rule_files[i].path, options->rule_files[i].text, true));
  if (options->n_rule_files)
    TL_TRY(tl_rules_check_made(s));
  return tl_rules_configure(s, options);
}

/* ---- rules that can match ------------------------------------------------------------------- */

/* Returns true if of each list of required ops one is in the module or made by a rule. */
static bool can_match(const tl_ruleset *s, const tl_rule_text *text) {
  for (const tl_op_id *op = &tl_rule_needs[text->needs]; *op != TL_OP_RETURN; op++) {
    bool any = false;
    for (; *op != TL_OP_RETURN; op++)
      any = any || s->ops[*op];
    if (!any)
      return false;
  }
  return true;
}

/* Returns true if the rule's targets allow it. Targets do not concern clean-up and definitions. */
static bool is_for_target(const tl_ruleset *s, const tl_rule_text *text) {
  const unsigned bound = TL_RULE_BIT(TL_RULE_GRAPH) | TL_RULE_BIT(TL_RULE_LATE) |
                         TL_RULE_BIT(TL_RULE_SCOPE) | TL_RULE_BIT(TL_RULE_EXPAND);
  return !(text->kind & bound) || !tl_rule_misplaced(s->options, text->targets);
}

/* Marks the ops that the rule's replacement makes. */
static void note_made(tl_ruleset *s, const tl_rule_text *text) {
  for (const tl_op_id *op = &tl_rule_needs[text->makes]; *op != TL_OP_RETURN; op++)
    s->ops[*op] = 1;
}

static int by_index(const void *a, const void *b) {
  const tl_rule *const *x = a, *const *y = b;
  return ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

/* Lists the texts that the set may add: of its kinds, and for its target. */
static tl_status list_waiting(tl_ruleset *s) {
  s->waiting = tl_arena_alloc(&s->arena, tl_n_rule_texts * sizeof *s->waiting);
  if (!s->waiting)
    return tl_no_memory(s->m);
  for (uint32_t i = 0; i < tl_n_rule_texts; i++)
    if (is_wanted(s, &tl_rule_texts[i]) && is_for_target(s, &tl_rule_texts[i]))
      s->waiting[s->n_waiting++] = i;
  return TL_OK;
}

/* Marks the ops that the module got since the last time; returns true if there are any. Eight ops a
 * step: this is asked by each pass that has rules. */
static bool note_ops(tl_ruleset *s) {
  uint64_t had, have, more = 0;
  uint32_t op = 0;
  for (; op + sizeof had <= tl_n_op_rows; op += (uint32_t)sizeof had) {
    memcpy(&had, s->m->had_ops + op, sizeof had);
    memcpy(&have, s->ops + op, sizeof have);
    more |= had & ~have;
    have |= had;
    memcpy(s->ops + op, &have, sizeof have);
  }
  for (; op < tl_n_op_rows; op++) {
    more |= s->m->had_ops[op] & ~s->ops[op];
    s->ops[op] |= s->m->had_ops[op];
  }
  return more != 0;
}

/* Adds those waiting texts that can match now. */
static tl_status add_matching(tl_ruleset *s) {
  uint32_t left = 0;
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < s->n_waiting; i++) {
    uint32_t which = s->waiting[i];
    const tl_rule_text *text = &tl_rule_texts[which];
    if (status != TL_OK || !can_match(s, text)) {
      s->waiting[left++] = which;
      continue;
    }
    bool lazy = s->lazy && tl_rule_has_image(which);
    status = lazy ? tl_lazy_add(s, which) : tl_rules_add_text(s, text);
    note_made(s, text);
  }
  s->n_waiting = left;
  return status;
}

/* Fixpoint: a rule that is added may make ops that other rules need. */
tl_status tl_rules_load_more(tl_ruleset *s) {
  uint32_t had = s->rules.n, before;
  bool first = !s->waiting;
  if (first)
    TL_TRY(list_waiting(s));
  if (!note_ops(s) && !first)
    return TL_OK;
  do {
    before = s->n_waiting;
    TL_TRY(add_matching(s));
  } while (s->n_waiting < before);
  if (s->rules.n == had)
    return TL_OK;
  qsort(s->rules.at, s->rules.n, sizeof *s->rules.at, by_index);
  s->n_named = 0; /* it counts in the new order */
  return tl_rules_configure(s, s->options);
}

/* A rule of a file may override any built-in one, so nothing is left out then. */
tl_status tl_rules_load_needed(tl_ruleset *s, const tl_options *options) {
  if (options->n_rule_files) {
    s->lazy = false; /* rules of files may override them */
    return tl_rules_load(s, options);
  }
  s->options = options;
  s->ops = tl_arena_calloc(&s->arena, tl_n_op_rows, 1);
  if (!s->ops)
    return tl_no_memory(s->m);
  return tl_rules_load_more(s);
}

bool tl_rules_have(tl_ruleset *s, unsigned kinds, bool any) {
  for (uint32_t i = 0; i < s->rules.n; i++)
    if ((kinds & TL_RULE_BIT(s->rules.at[i]->kind)) && (any || !s->rules.at[i]->off))
      return true;
  return tl_lazy_have(s, kinds, any);
}

/* Separate sets: expansions are many and needed for AIR only, definitions for the evaluator
 * only. */
enum { COMMON_SET, EXPAND_SET, DEFINE_SET, FORMULA_SET, N_SETS };
static const unsigned kinds_of_sets[] = {
    [COMMON_SET] = TL_RULE_BIT(TL_RULE_CLEANUP) | TL_RULE_BIT(TL_RULE_GRAPH) |
                   TL_RULE_BIT(TL_RULE_LATE) | TL_RULE_BIT(TL_RULE_SCOPE),
    [EXPAND_SET] = TL_RULE_BIT(TL_RULE_EXPAND),
    [DEFINE_SET] = TL_RULE_BIT(TL_RULE_DEFINE) | TL_RULE_NPU_BIT,
    [FORMULA_SET] = TL_RULE_FORMULA_BIT};
TL_ASSERT_ROWS(kinds_of_sets, N_SETS);
TL_ASSERT_ROWS(((tl_engine_state *)NULL)->sets, N_SETS);

/* Makes an empty set of the engine. */
static tl_status start_set(tl_pass *p, tl_module *m, unsigned which, tl_ruleset **out) {
  tl_ruleset *s = malloc(sizeof *s);
  if (!s)
    return tl_no_memory(m);
  tl_ruleset_init(s, m);
  s->kinds = kinds_of_sets[which];
  s->only_definitions = which == DEFINE_SET;
  p->engine->sets[which] = s;
  *out = s;
  return TL_OK;
}

/* A set stays loaded for the pipeline; later passes only add rules for new ops. */
tl_status tl_pass_rules(tl_pass *p, tl_module *m, tl_rule_kind kind, tl_ruleset **out) {
  unsigned which = kind == TL_RULE_EXPAND   ? EXPAND_SET
                   : kind == TL_RULE_DEFINE ? DEFINE_SET
                                            : COMMON_SET;
  tl_ruleset *s = p->engine->sets[which];
  *out = s;
  if (s)
    return s->ops ? tl_rules_load_more(s) : TL_OK;
  TL_TRY(start_set(p, m, which, &s));
  *out = s;
  s->lazy = !p->explain && !p->question;
  /* explanations cover rules whose ops the model lacks */
  return p->explain ? tl_rules_load(s, p->options) : tl_rules_load_needed(s, p->options);
}

tl_status tl_pass_formulas(tl_pass *p, tl_module *m, tl_ruleset **out) {
  *out = p->engine->sets[FORMULA_SET];
  if (*out)
    return TL_OK;
  TL_TRY(start_set(p, m, FORMULA_SET, out));
  (*out)->options = p->options;
  return tl_rules_add_builtin(*out);
}

void tl_engine_state_release(tl_engine_state *e) {
  for (unsigned i = 0; i < sizeof e->sets / sizeof *e->sets; i++) {
    if (e->sets[i])
      tl_ruleset_release(e->sets[i]);
    free(e->sets[i]);
    e->sets[i] = NULL;
  }
}
