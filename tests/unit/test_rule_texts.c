/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in rules that are read only where they can match: what their rows say they need is what
 * their patterns hold, and what is left out cannot match. */
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "ir/text/parse.h"
#include "passes/engine/image.h"
#include "passes/engine/index.h"
#include "passes/engine/lazy.h"
#include "tests/unit/unit.h"

static tl_module *read_module(tl_diag *diag, const char *text) {
  tl_module *m = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(diag, "test", tl_sv_from(text), &m), TL_OK);
  return m;
}

/* Moves *list behind the list of the ops of p; false when it says something else. */
static bool same_ops(const tl_op_id **list, const tl_pattern_node *p) {
  uint8_t n = 0;
  for (; **list != TL_OP_RETURN; ++*list, n++)
    if (n == p->n_ops || **list != p->ops[n])
      return false;
  ++*list;
  return n == p->n_ops;
}

static bool needs_its_pattern(const tl_rule_text *text, const tl_rule *r) {
  const tl_op_id *list = &tl_rule_needs[text->needs];
  for (uint8_t i = 0; r->kind != TL_RULE_CAPTURE && i < r->n_match; i++)
    if (!r->match[i].maybe && !same_ops(&list, &r->match[i]))
      return false;
  return *list == TL_OP_RETURN;
}

static bool makes(const tl_rule_text *text, tl_op_id op) {
  for (const tl_op_id *at = &tl_rule_needs[text->makes]; *at != TL_OP_RETURN; at++)
    if (*at == op)
      return true;
  return false;
}

/* The ops of the replacement but for "op(%x)", in their order. */
static bool makes_its_replacement(const tl_rule_text *text, const tl_rule *r) {
  const tl_op_id *at = &tl_rule_needs[text->makes];
  for (uint8_t i = 0; i < r->n_build; i++)
    if (!r->build[i].forward && r->build[i].like == TL_RULE_NODES && *at++ != r->build[i].ops[0])
      return false;
  return r->kind == TL_RULE_CAPTURE || *at == TL_OP_RETURN;
}

static void rows_say_what_patterns_hold(void) {
  tl_diag diag = {0};
  tl_module *m = tl_module_create(&diag, "ops", 0);
  tl_ruleset set;
  CU_ASSERT_PTR_NOT_NULL_FATAL(m);
  tl_ruleset_init(&set, m);
  for (uint32_t i = 0; i < tl_n_rule_texts; i++) {
    CU_ASSERT_EQUAL_FATAL(tl_rules_parse_text(&set, &tl_rule_texts[i]), TL_OK);
    const tl_rule *r = set.rules.at[set.rules.n - 1];
    bool formula = tl_rule_texts[i].kind == TL_RULE_FORMULA_BIT; /* of no op of the table */
    bool needs = formula ? tl_rule_texts[i].needs == 0 : needs_its_pattern(&tl_rule_texts[i], r);
    bool same = needs && makes_its_replacement(&tl_rule_texts[i], r);
    if (!same)
      printf("\n  %s:%u\n", tl_rule_paths[tl_rule_texts[i].path], tl_rule_texts[i].line);
    CU_ASSERT(same);
    CU_ASSERT_EQUAL(r->line, tl_rule_texts[i].line);
    CU_ASSERT_EQUAL(r->targets, tl_rule_texts[i].targets);
    CU_ASSERT_EQUAL(r->index, i);
  }
  tl_ruleset_release(&set);
  tl_module_destroy(m);
}

static bool has_rule(tl_module *m, const tl_ruleset *set, const char *name) {
  return tl_ruleset_find(set, tl_module_intern(m, tl_sv_from(name))) != NULL;
}

static bool is_in_order(const tl_ruleset *set) {
  for (uint32_t i = 1; i < set->rules.n; i++)
    if (set->rules.at[i - 1]->index >= set->rules.at[i]->index)
      return false;
  return true;
}

/* Sub and the others of a layer norm come only later; then its rule is read, in its place. */
static void rules_follow_the_ops_of_the_module(void) {
  tl_diag diag = {0};
  tl_options options = tl_options_default();
  tl_module *m = read_module(&diag, "graph @g(%x: f32[1,2,4,4], %w: f32[2,2,1,1], %s: f32[2]) "
                                    "-> (%z) {\n  %y = Conv(%x, %w)\n"
                                    "  %z = BatchNormalization(%y, %s, %s, %s, %s)\n}\n");
  tl_ruleset set;
  tl_ruleset_init(&set, m);
  CU_ASSERT_EQUAL_FATAL(tl_rules_load_needed(&set, &options), TL_OK);
  CU_ASSERT(has_rule(m, &set, "ConvBatchNorm"));
  CU_ASSERT(!has_rule(m, &set, "LayerNorm"));
  CU_ASSERT(set.rules.n < tl_n_rule_texts / 3);
  uint32_t before = set.rules.n;
  CU_ASSERT_EQUAL(tl_rules_load_more(&set), TL_OK);
  CU_ASSERT_EQUAL(set.rules.n, before);
  tl_value_id x = tl_graph_get(m, 1)->inputs.at[0];
  const tl_op_id ops[] = {TL_OP_ReduceMean, TL_OP_Sub, TL_OP_Pow, TL_OP_Add,
                          TL_OP_Sqrt,       TL_OP_Div, TL_OP_Mul};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    tl_node_spec spec = {.op = ops[i], .operands = (tl_value_id[]){x, x}, .n_operands = 2};
    CU_ASSERT_FATAL(tl_graph_append(m, 1, &spec) != TL_NO_NODE);
  }
  CU_ASSERT_EQUAL(tl_rules_load_more(&set), TL_OK);
  CU_ASSERT(has_rule(m, &set, "LayerNorm") && set.rules.n > before);
  CU_ASSERT(is_in_order(&set));
  tl_ruleset_release(&set);
  tl_module_destroy(m);
}

static int by_precedence(const void *a, const void *b) {
  const tl_rule *x = *(tl_rule *const *)a, *y = *(tl_rule *const *)b;
  if (x->priority != y->priority)
    return x->priority < y->priority ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Rules that are made one by one are switched as those that are loaded together, and have the same
 * order. */
static void lazy_rules_are_switched_and_ordered(void) {
  tl_diag diag = {0};
  tl_options options = tl_options_default();
  tl_module *m = tl_module_create(&diag, "ops", 0);
  tl_ruleset all, lazy;
  const tl_rule *before = NULL;
  uint32_t off = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL(m);
  tl_ruleset_init(&all, m);
  tl_ruleset_init(&lazy, m);
  lazy.options = &options;
  CU_ASSERT_EQUAL_FATAL(tl_rules_load(&all, &options), TL_OK);
  qsort(all.rules.at, all.rules.n, sizeof *all.rules.at, by_precedence);
  for (uint32_t i = 0; i < all.rules.n; i++) {
    const tl_rule *a = all.rules.at[i];
    if (!tl_rule_has_image(a->index) || !tl_rule_fuses(a))
      continue;
    CU_ASSERT_EQUAL_FATAL(tl_lazy_add(&lazy, a->index), TL_OK);
    const tl_rule *b = tl_lazy_rule(&lazy, a->index);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    CU_ASSERT(a->name == b->name && a->unsupported == b->unsupported);
    CU_ASSERT((!a->off && !b->off) || (a->off && b->off && strcmp(a->off, b->off) == 0));
    CU_ASSERT(!before || by_precedence(&before, &b) < 0);
    off += a->off != NULL;
    before = b;
  }
  CU_ASSERT(off > 0 || tl_n_rule_images == 0);
  tl_ruleset_release(&all);
  tl_ruleset_release(&lazy);
  tl_module_destroy(m);
}

static bool has_one_of(const tl_module *m, const tl_ruleset *set, const tl_pattern_node *p) {
  for (uint8_t k = 0; k < p->n_ops; k++) {
    if (p->ops[k] >= tl_n_op_rows || m->had_ops[p->ops[k]])
      return true;
    for (uint32_t i = 0; i < set->rules.n; i++)
      if (makes(set->rules.at[i]->text, p->ops[k]))
        return true;
  }
  return false;
}

/* Of the rules that are left out, each is for another target, or has a node that neither the module
 * nor a rule makes. */
static void what_is_left_out_cannot_match(void) {
  tl_diag diag = {0};
  tl_options options = tl_options_default();
  tl_module *m = read_module(&diag, "graph @g(%x: f32[2,4], %w: f32[4,4], %b: f32[4]) -> (%z) {\n"
                                    "  %y = Gemm(%x, %w, %b)\n  %s = Sigmoid(%y)\n"
                                    "  %z = Mul(%y, %s)\n}\n");
  tl_ruleset some, all;
  tl_ruleset_init(&some, m);
  tl_ruleset_init(&all, m);
  CU_ASSERT_EQUAL_FATAL(tl_rules_load_needed(&some, &options), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_rules_load(&all, &options), TL_OK);
  CU_ASSERT(has_rule(m, &some, "SwishPlain"));
  for (uint32_t i = 0, k = 0; i < all.rules.n; i++) {
    const tl_rule *r = all.rules.at[i];
    if (k < some.rules.n && some.rules.at[k]->index == r->index) {
      CU_ASSERT_EQUAL(some.rules.at[k]->name, r->name);
      k++;
      continue;
    }
    bool missing = r->off && tl_rule_misplaced(&options, r->targets);
    for (uint8_t j = 0; j < r->n_match; j++)
      missing = missing || (!r->match[j].maybe && !has_one_of(m, &some, &r->match[j]));
    CU_ASSERT(missing);
  }
  tl_ruleset_release(&some);
  tl_ruleset_release(&all);
  tl_module_destroy(m);
}

static bool same_nodes(const tl_pattern_node *a, const tl_pattern_node *b, uint8_t n) {
  for (uint8_t i = 0; i < n; i++)
    if (a[i].ops[0] != b[i].ops[0] || a[i].line != b[i].line || a[i].column != b[i].column ||
        a[i].n_operands != b[i].n_operands || a[i].n_attrs != b[i].n_attrs)
      return false;
  return true;
}

/* What the pattern alone decides. */
static bool same_pattern(const tl_rule *a, const tl_rule *b) {
  return a->name == b->name && a->pass == b->pass && a->index == b->index && a->kind == b->kind &&
         a->pass_kind == b->pass_kind && a->targets == b->targets && a->numerics == b->numerics &&
         a->written == b->written && a->text == b->text && a->line == b->line &&
         a->column == b->column && a->depth == b->depth && a->n_match == b->n_match &&
         a->n_steps == b->n_steps && same_nodes(a->match, b->match, a->n_match) &&
         memcmp(a->steps, b->steps, a->n_steps * sizeof *a->steps) == 0;
}

static bool same_rest(const tl_rule *a, const tl_rule *b) {
  return a->n_values == b->n_values && a->n_names == b->n_names && a->n_where == b->n_where &&
         a->n_lets == b->n_lets && a->n_build == b->n_build &&
         same_nodes(a->build, b->build, a->n_build);
}

static bool same_text(tl_sv a, tl_sv b) { return a.n == b.n && (a.n == 0 || a.p == b.p); }

static bool same_expr(const tl_expr *a, const tl_expr *b) {
  if (!a || !b)
    return a == b;
  bool same = a->kind == b->kind && a->function == b->function && a->n == b->n &&
              a->u.mask == b->u.mask && same_text(a->text, b->text);
  for (uint16_t i = 0; same && i < a->n; i++)
    same = same_expr(a->args[i], b->args[i]);
  return same;
}

static bool same_parts(const tl_pattern_node *a, const tl_pattern_node *b) {
  bool same = a->n_ops == b->n_ops && memcmp(a->ops, b->ops, a->n_ops * sizeof *a->ops) == 0 &&
              memcmp(a->results, b->results, a->n_results) == 0 && a->like == b->like &&
              a->from == b->from && a->open == b->open && a->shared == b->shared &&
              a->maybe == b->maybe && a->forward == b->forward;
  for (uint8_t i = 0; same && i < a->n_operands; i++) {
    const tl_pattern_operand *x = &a->operands[i], *y = &b->operands[i];
    same = x->kind == y->kind && x->value == y->value && x->tolerant == y->tolerant &&
           memcmp(&x->number, &y->number, sizeof x->number) == 0 && x->dtype == y->dtype &&
           same_expr(x->expr, y->expr) && same_expr(x->end, y->end) &&
           same_expr(x->dtype_of, y->dtype_of);
  }
  for (uint8_t i = 0; same && i < a->n_attrs; i++)
    same = a->attrs[i].name == b->attrs[i].name && a->attrs[i].captures == b->attrs[i].captures &&
           a->attrs[i].index == b->attrs[i].index && same_expr(a->attrs[i].expr, b->attrs[i].expr);
  return same;
}

static bool same_values(const tl_rule *a, const tl_rule *b) {
  bool same = same_text(a->about, b->about) && a->general == b->general &&
              a->spelling == b->spelling && a->pass_row == b->pass_row &&
              a->name_row == b->name_row && strcmp(a->file, b->file) == 0;
  for (uint8_t i = 0; same && i < a->n_values; i++) {
    const tl_rule_value *x = &a->values[i], *y = &b->values[i];
    same = same_text(x->name, y->name) && x->node == y->node && x->result == y->result &&
           x->built == y->built && x->rest == y->rest && x->maybe == y->maybe;
  }
  for (uint8_t i = 0; same && i < a->n_names; i++)
    same = same_text(a->names[i], b->names[i]);
  for (uint8_t i = 0; same && i < a->n_where; i++)
    same = same_expr(a->where[i], b->where[i]);
  for (uint8_t i = 0; same && i < a->n_lets; i++)
    same = a->let_index[i] == b->let_index[i] && same_expr(a->lets[i], b->lets[i]);
  for (uint8_t i = 0; same && i < a->n_match; i++)
    same = same_parts(&a->match[i], &b->match[i]);
  for (uint8_t i = 0; same && i < a->n_build; i++)
    same = same_parts(&a->build[i], &b->build[i]);
  return same;
}

/* Returns true if the compiled automaton has all ways of a rule that was parsed, at the end of
 * which is rule i. */
static bool has_ways(const tl_module *m, const tl_rule *r, uint32_t i) {
  tl_rule_way_vec ways = {0};
  bool has = tl_rule_ways(m, r, &ways) && ways.n;
  for (uint32_t k = 0; has && k < ways.n; k++)
    has = tl_automaton_has(&tl_image_automaton, r->kind, &ways.at[k], i + 1);
  tl_rule_way_vec_release(&ways);
  return has;
}

/* The tables that the build writes hold what the parser reads; only rules about scopes
 * and formulas, whose names are no ops of the table, are text. */
static void compiled_rules_are_what_is_written(void) {
  tl_diag diag = {0};
  tl_module *m = tl_module_create(&diag, "ops", 0);
  tl_ruleset compiled, parsed;
  const unsigned as_text = TL_RULE_BIT(TL_RULE_SCOPE) | TL_RULE_FORMULA_BIT;
  CU_ASSERT_PTR_NOT_NULL_FATAL(m);
  tl_ruleset_init(&compiled, m);
  CU_ASSERT(tl_n_rule_images == 0 || tl_n_rule_images == tl_n_rule_texts);
  for (uint32_t i = 0; i < tl_n_rule_images; i++) {
    CU_ASSERT(tl_rule_has_image(i) || (tl_rule_texts[i].kind & as_text));
    if (!tl_rule_has_image(i))
      continue;
    tl_rule *a = tl_rule_image_head(&compiled, i);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    tl_ruleset_init(&parsed, m);
    CU_ASSERT_EQUAL_FATAL(tl_rules_parse_text(&parsed, &tl_rule_texts[i]), TL_OK);
    tl_rule *b = parsed.rules.at[0];
    CU_ASSERT(a->bare);
    CU_ASSERT_FATAL(tl_rule_complete(&compiled, a));
    bool same = same_pattern(a, b) && same_rest(a, b) && same_values(a, b) && has_ways(m, b, i);
    if (!same)
      printf("\n  %s:%u\n", tl_rule_paths[tl_rule_texts[i].path], tl_rule_texts[i].line);
    CU_ASSERT(same);
    tl_ruleset_release(&parsed);
  }
  tl_ruleset_release(&compiled);
  tl_module_destroy(m);
}

static const unit_test tests[] = {
    {"rows say what patterns hold", rows_say_what_patterns_hold},
    {"rules follow the ops of the module", rules_follow_the_ops_of_the_module},
    {"lazy rules are switched and ordered", lazy_rules_are_switched_and_ordered},
    {"what is left out cannot match", what_is_left_out_cannot_match},
    {"compiled rules are what is written", compiled_rules_are_what_is_written},
    {NULL, NULL}};
const unit_suite unit_suite_rule_texts = {"rule_texts", tests};
