/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas: nodes in the order of their text, in two steps where an operand comes late. */
#include "ir/tensor.h"
#include "ir/text/parse.h"
#include "passes/engine/formula.h"
#include "tests/unit/unit.h"

static const char source[] = "graph @g(%x: f32[2], %g: f32[2], %v: f32[2], %h: f32[2], %r: f32[]) "
                             "-> (%y) {\n  %y = Neg(%x)\n}\n";

/* A module with five inputs and a maker before its only node. */
typedef struct bench {
  tl_diag diag;
  tl_options options;
  tl_module *m;
  tl_ruleset set;
  tl_maker k;
  tl_value_id in[5]; /* x, g, v, h, r */
} bench;

static void set_up(bench *b) {
  *b = (bench){.options = tl_options_default()};
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&b->diag, "test", tl_sv_from(source), &b->m), TL_OK);
  tl_ruleset_init(&b->set, b->m);
  b->set.kinds = TL_RULE_FORMULA_BIT;
  b->set.options = &b->options;
  CU_ASSERT_EQUAL_FATAL(tl_rules_add_builtin(&b->set), TL_OK);
  const tl_graph *g = tl_module_main(b->m);
  b->k = tl_maker_before(b->m, g->first);
  for (uint32_t i = 0; i < 5; i++)
    b->in[i] = g->inputs.at[i];
}

static void tear_down(bench *b) {
  tl_ruleset_release(&b->set);
  tl_module_destroy(b->m);
}

/* Compares the ops of all nodes but the last one with a list of words. */
static bool makes(const bench *b, const char *ops) {
  tl_buf text;
  tl_buf_init(&text);
  TL_FOR_NODES(b->m, tl_module_main(b->m), n)
    tl_buf_printf(&text, "%.*s ", TL_SV_ARG(tl_op_name(b->m, tl_node_get(b->m, n)->op)));
  bool same = !text.failed && tl_sv_is(tl_buf_view(&text), ops);
  if (!same)
    printf("\n  made: %.*s\n", TL_SV_ARG(tl_buf_view(&text)));
  tl_buf_release(&text);
  return same;
}

static tl_formula adam(bench *b) {
  return (tl_formula){.set = &b->set,
                      .k = &b->k,
                      .name = "AdamStep",
                      .in = {b->in[4], b->in[0], b->in[1], b->in[2], b->in[3]},
                      .numbers = {{"alpha", 0.5}, {"beta", 0.75}, {"epsilon", 0.125}}};
}

static void nodes_come_in_the_order_of_the_text(void) {
  bench b;
  set_up(&b);
  tl_formula f = adam(&b);
  tl_formula_make(&f);
  CU_ASSERT(!tl_maker_failed(&b.k) && f.out[0] && f.out[1] && f.out[2]);
  CU_ASSERT(makes(&b, "Mul Mul Add Mul Mul Mul Add Sqrt Add Mul Div Sub Neg "));
  double beside = 0;
  tl_node_id of_gradient =
      tl_value_producer(b.m, tl_operand(b.m, tl_value_producer(b.m, f.out[1]), 1));
  const tl_tensor *t = tl_value_constant(b.m, tl_operand(b.m, of_gradient, 1));
  CU_ASSERT_FATAL(t && t->dtype == TL_DTYPE_F32 && tl_type_get(b.m, t->type)->rank == 0);
  CU_ASSERT(tl_tensor_float_at(b.m, t, 0, &beside));
  CU_ASSERT_EQUAL(beside, 0.5); /* 1 - alpha */
  tear_down(&b);
}

/* The gradient comes late: what does not need it is made first, and once. */
static void early_nodes_come_first(void) {
  bench b;
  set_up(&b);
  tl_formula f = adam(&b);
  f.in[2] = TL_NO_VALUE;
  tl_formula_make_early(&f);
  CU_ASSERT(makes(&b, "Mul Mul Neg "));
  CU_ASSERT_EQUAL(f.out[0], TL_NO_VALUE);
  f.in[2] = b.in[1];
  tl_formula_make(&f);
  CU_ASSERT(makes(&b, "Mul Mul Mul Add Mul Mul Add Sqrt Add Mul Div Sub Neg "));
  CU_ASSERT(f.out[0] && f.out[1] && f.out[2]);
  tear_down(&b);
}

/* Definitions of one name: the first whose conditions hold. */
static void numbers_choose_the_definition(void) {
  bench b;
  set_up(&b);
  tl_formula f = {.set = &b.set,
                  .k = &b.k,
                  .name = "DecayFirst",
                  .in = {b.in[1], b.in[0], b.in[4]},
                  .numbers = {{"decay", 0}}};
  tl_formula_make(&f);
  CU_ASSERT(makes(&b, "Mul Neg "));
  tear_down(&b);
  set_up(&b);
  tl_formula decays = {.set = &b.set,
                       .k = &b.k,
                       .name = "DecayFirst",
                       .in = {b.in[1], b.in[0], b.in[4]},
                       .numbers = {{"decay", 0.25}}};
  tl_formula_make(&decays);
  CU_ASSERT(makes(&b, "Mul Add Mul Neg "));
  tear_down(&b);
}

/* After a failure of the maker nothing is made. */
static void failures_stay_with_the_maker(void) {
  bench b;
  set_up(&b);
  b.k.clash = true;
  tl_formula f = adam(&b);
  tl_formula_make(&f);
  CU_ASSERT(makes(&b, "Neg "));
  CU_ASSERT_EQUAL(f.out[0], TL_NO_VALUE);
  tear_down(&b);
}

static const unit_test tests[] = {
    {"nodes come in the order of the text", nodes_come_in_the_order_of_the_text},
    {"early nodes come first", early_nodes_come_first},
    {"numbers choose the definition", numbers_choose_the_definition},
    {"failures stay with the maker", failures_stay_with_the_maker},
    {NULL, NULL}};
const unit_suite unit_suite_formula = {"formula", tests};
