/* SPDX-License-Identifier: Apache-2.0 */
/* Where rules are looked for: at each node that they may fit, once, and at few others. */
#include <stdlib.h>
#include <string.h>

#include "ir/text/parse.h"
#include "passes/engine/index.h"
#include "tests/unit/unit.h"

typedef struct visits {
  const tl_module *m;
  char names[64]; /* of results of visited roots, in order */
} visits;

static void note(void *user, tl_node_id n, tl_rule *rule) {
  visits *v = user;
  (void)rule;
  tl_sv name = tl_value_name(v->m, tl_result(v->m, n, 0));
  size_t used = strlen(v->names);
  CU_ASSERT_FATAL(used + name.n + 2 < sizeof v->names);
  memcpy(v->names + used, name.p, name.n);
  memcpy(v->names + used + name.n, " ", 2);
}

/* Roots at which rules are looked for. */
static visits visit(const char *rules, const char *graph, bool all) {
  visits v = {.names = ""};
  tl_diag diag = {0};
  tl_module *m = NULL;
  tl_ruleset set;
  tl_rule_index x;
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&diag, "test", tl_sv_from(graph), &m), TL_OK);
  tl_ruleset_init(&set, m);
  CU_ASSERT_EQUAL_FATAL(tl_rules_parse(&set, "test.tlr", tl_sv_from(rules), false), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_rule_index_build(&x, &set, TL_RULE_CLEANUP, false), TL_OK);
  v.m = m;
  TL_FOR_NODES(m, tl_graph_get(m, 1), n) {
    if (all)
      tl_rule_index_visit_all(&x, m, n, note, &v);
    else
      tl_rule_index_visit(&x, m, n, note, &v);
  }
  tl_rule_index_release(&x);
  tl_ruleset_release(&set);
  tl_module_destroy(m);
  return v;
}

static const char graph[] = "graph @g(%x: f32[2,2]) -> (%a, %b, %c, %d, %e) {\n"
                            "  %s = Softmax(%x)\n  %t = Cast(%s) {to=10}\n"
                            "  %a = MatMul(%s, %x)\n  %b = MatMul(%t, %x)\n"
                            "  %c = MatMul(%t, %s)\n  %d = MatMul(%x, %x)\n"
                            "  %r = Relu(%x)\n  %e = MatMul(%r, %x)\n}\n";

/* With it, without it, with both, each once; not where neither is there. */
static void what_may_be_missing_decides(void) {
  static const char rule[] = "rules 1\nrule R : cleanup {\n  match {\n    %p = Softmax(%x)\n"
                             "    %g = maybe Cast(%p) {...}\n    %y = MatMul(%g, %v)\n  }\n"
                             "  replace { %y = MatMul(%x, %v) }\n}\n";
  visits v = visit(rule, graph, false), all = visit(rule, graph, true);
  CU_ASSERT_STRING_EQUAL(v.names, "a b c ");
  CU_ASSERT_STRING_EQUAL(all.names, "a b c d e ");
}

/* What is missing may be all there is above an operand: then nothing is known of its producer. */
static void what_comes_from_outside_does_not(void) {
  static const char rule[] = "rules 1\nrule R : cleanup {\n  match {\n"
                             "    %g = maybe Cast(%x) {...}\n    %y = MatMul(%g, %v)\n  }\n"
                             "  replace { %y = MatMul(%x, %v) }\n}\n";
  visits v = visit(rule, graph, false);
  CU_ASSERT_STRING_EQUAL(v.names, "a b c d e ");
}

/* A node may have as many alternatives as the language allows. */
static void many_alternatives_decide(void) {
  static const char rule[] =
      "rules 1\nrule R : cleanup {\n  match {\n    %p = Relu|Sigmoid|Tanh|Exp|Log|Sqrt|Neg|Abs|Erf"
      "|LeakyRelu|Elu|HardSigmoid|HardSwish|Softplus|Softsign|Cast|Reciprocal|Floor|Ceil|Round|Sign"
      "|Gelu|Not|Sin|Cos|Tan|Asin|Acos|Atan|Sinh|Cosh|Softmax(%x) {...}\n"
      "    %y = MatMul(%p, %v)\n  }\n  replace { %y = MatMul(%x, %v) }\n}\n";
  visits v = visit(rule, graph, false);
  CU_ASSERT_STRING_EQUAL(v.names, "a b c e ");
}

/* Written attributes decide, also where the node leaves them to the default of its op: Softmax has
 * axis -1. What a pattern captures does not. */
static void attributes_decide(void) {
  static const char nodes[] = "graph @g(%x: f32[2,3]) -> (%a, %b, %c, %d, %e) {\n"
                              "  %a = Softmax(%x)\n  %b = Softmax(%x) {axis=0}\n"
                              "  %p = Transpose(%x) {perm=[1,0]}\n"
                              "  %q = Transpose(%x) {perm=[0,1]}\n"
                              "  %c = Relu(%p)\n  %d = Relu(%q)\n  %e = Relu(%x)\n}\n";
  static const char by_default[] = "rules 1\nrule R : cleanup {\n  match { %y = Softmax(%x) "
                                   "{axis=-1} }\n  replace { %y = Exp(%x) }\n}\n";
  static const char above[] = "rules 1\nrule R : cleanup {\n  match { %p = Transpose(%x) "
                              "{perm=[1,0]}\n %y = Relu(%p) }\n  replace { %y = Exp(%x) }\n}\n";
  static const char captured[] = "rules 1\nrule R : cleanup {\n  match { %y = Softmax(%x) "
                                 "{axis=$_a} }\n  replace { %y = Exp(%x) }\n}\n";
  CU_ASSERT_STRING_EQUAL(visit(by_default, nodes, false).names, "a ");
  CU_ASSERT_STRING_EQUAL(visit(above, nodes, false).names, "c ");
  CU_ASSERT_STRING_EQUAL(visit(captured, nodes, false).names, "a b ");
  CU_ASSERT_STRING_EQUAL(visit(above, nodes, true).names, "c d e ");
}

/* Operands of Add may come in either order, those of Sub may not, and two steps above as well. */
static void orders_decide(void) {
  static const char nodes[] = "graph @g(%x: f32[2]) -> (%a, %b, %c, %d) {\n"
                              "  %r = Relu(%x)\n  %m = Mul(%x, %r)\n"
                              "  %a = Add(%x, %r)\n  %b = Sub(%x, %r)\n"
                              "  %c = Sub(%m, %x)\n  %d = Sub(%r, %x)\n}\n";
  static const char add[] = "rules 1\nrule R : cleanup {\n  match { %r = Relu(%x)\n"
                            " %y = Add(%r, %v) }\n  replace { %y = Add(%x, %v) }\n}\n";
  static const char sub[] = "rules 1\nrule R : cleanup {\n  match { %r = Relu(%x)\n"
                            " %y = Sub(%r, %v) }\n  replace { %y = Sub(%x, %v) }\n}\n";
  static const char far[] = "rules 1\nrule R : cleanup {\n  match { %r = Relu(%_x)\n"
                            " %m = Mul(%r, %u)\n %y = Sub(%m, %v) }\n"
                            "  replace { %y = Sub(%u, %v) }\n}\n";
  CU_ASSERT_STRING_EQUAL(visit(add, nodes, false).names, "a ");
  CU_ASSERT_STRING_EQUAL(visit(sub, nodes, false).names, "d ");
  CU_ASSERT_STRING_EQUAL(visit(far, nodes, false).names, "c ");
}

/* A number decides within its tolerance; a constant of another number is not visited. */
static void numbers_decide(void) {
  static const char nodes[] = "graph @g(%x: f32[2]) -> (%a, %b, %c, %d) {\n"
                              "  const %two: f32[] = [2]\n  const %near: f32[] = [2.00001]\n"
                              "  const %three: f32[] = [3]\n"
                              "  %a = Mul(%x, %two)\n  %b = Mul(%near, %x)\n"
                              "  %c = Mul(%x, %three)\n  %d = Mul(%x, %x)\n}\n";
  static const char rule[] = "rules 1\nrule R : cleanup {\n  match { %y = Mul(%x, const ~2.0) }\n"
                             "  replace { %y = Add(%x, %x) }\n}\n";
  CU_ASSERT_STRING_EQUAL(visit(rule, nodes, false).names, "a b ");
}

/* Cheap conditions are asked first, a number right before who needs it, and those of the
 * replacement last. Conditions of one cost stay as they are written. */
static void cheap_conditions_come_first(void) {
  static const char rule[] =
      "rules 1\nrule R : cleanup {\n  match { %y = Transpose(%x) {perm=$perm} }\n"
      "  where {\n    feeds(%x, \"Relu\")\n    let $p = inverse(axes($perm, rank(%x)))\n"
      "    let $q = [1, 0, 2, 3]\n    rank(%x) == 4\n    $p == [0, 3, 1, 2]\n"
      "    rank(%x) > 1\n  }\n"
      "  replace { %y = Transpose(%x) {perm=$q} }\n}\n";
  static const uint8_t order[] = {1, 3, 4, 2, 0, 5};
  tl_diag diag = {0};
  tl_module *m = NULL;
  tl_ruleset set;
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&diag, "test", tl_sv_from(graph), &m), TL_OK);
  tl_ruleset_init(&set, m);
  CU_ASSERT_EQUAL_FATAL(tl_rules_parse(&set, "test.tlr", tl_sv_from(rule), false), TL_OK);
  const tl_rule *r = set.rules.at[0];
  CU_ASSERT_EQUAL_FATAL(r->n_where + r->n_lets, sizeof order);
  CU_ASSERT_PTR_NOT_NULL_FATAL(r->order);
  CU_ASSERT_EQUAL(memcmp(r->order, order, sizeof order), 0);
  tl_ruleset_release(&set);
  tl_module_destroy(m);
}

static const unit_test tests[] = {
    {"attributes decide", attributes_decide},
    {"orders decide", orders_decide},
    {"numbers decide", numbers_decide},
    {"what may be missing decides", what_may_be_missing_decides},
    {"what comes from outside does not", what_comes_from_outside_does_not},
    {"many alternatives decide", many_alternatives_decide},
    {"cheap conditions come first", cheap_conditions_come_first},
    {NULL, NULL}};
const unit_suite unit_suite_rule_index = {"rule_index", tests};
