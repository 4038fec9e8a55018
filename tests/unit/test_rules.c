/* SPDX-License-Identifier: Apache-2.0 */
/* The rules engine on small modules: a text of rules and a module go in, the text of the module
 * comes out; and why a rule did not apply. */
#include <stdlib.h>
#include <string.h>

#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"
#include "tests/unit/unit.h"

enum { MOST_TEXT = 4096 };

typedef struct outcome {
  char text[MOST_TEXT];   /* of the module */
  char missed[MOST_TEXT]; /* "CODE " of each near miss */
  uint64_t rewrites;
  bool sound; /* rules and module were read, the result is well-formed */
} outcome;

static void listen(void *user, const tl_remark *r) {
  outcome *o = user;
  if (!r->applied && strlen(o->missed) + strlen(r->fusion->code) + 2 < sizeof o->missed)
    strcat(strcat(o->missed, r->fusion->code), " ");
}

static bool rewrite(tl_module *m, tl_ruleset *set, tl_rule_kind kind, uint32_t rounds, outcome *o) {
  tl_options options = tl_options_default();
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  tl_engine_state engine = {.sets = {set}};
  tl_pass pass = {.name = "test",
                  .options = &options,
                  .scratch = &scratch,
                  .remark = listen,
                  .remark_user = o,
                  .engine = &engine,
                  .explain = true,
                  .rewrites = &o->rewrites,
                  .limit = 1000};
  bool ok = tl_rewrite(&(tl_rewriter){
                .pass = &pass, .m = m, .set = set, .kind = kind, .rounds = rounds}) == TL_OK;
  tl_arena_release(&scratch);
  return ok && tl_module_verify(m, TL_VERIFY_ALL) == TL_OK;
}

/* Applies the rules of `kind` to the graph "graph @g HEAD -> (OUT) { BODY }". */
static outcome run(const char *rules, tl_rule_kind kind, const char *graph) {
  static const tl_print_options plain = {.elide_constants = true};
  outcome o = {.sound = false};
  tl_diag diag = {0};
  tl_module *m = NULL;
  tl_buf text;
  tl_buf_init(&text);
  if (tl_module_parse(&diag, "test", tl_sv_from(graph), &m) != TL_OK)
    return o;
  tl_ruleset set;
  tl_ruleset_init(&set, m);
  tl_buf_printf(&text, "rules 1\n%s", rules);
  o.sound = tl_infer_module(m) == TL_OK &&
            tl_rules_parse(&set, "test.tlr", tl_buf_view(&text), false) == TL_OK &&
            rewrite(m, &set, kind, 10, &o);
  tl_buf printed;
  tl_buf_init(&printed);
  if (o.sound && tl_module_print(m, &printed, &plain) == TL_OK && printed.n < sizeof o.text)
    memcpy(o.text, printed.p, printed.n);
  tl_buf_release(&printed);
  tl_ruleset_release(&set);
  tl_buf_release(&text);
  tl_module_destroy(m);
  return o;
}

static bool has(const outcome *o, const char *part) { return strstr(o->text, part) != NULL; }

/* A node that may be missing: with it, without it, and with its result used elsewhere. */
static void maybe_nodes(void) {
  static const char rule[] = "rule R : cleanup {\n match { %a = maybe Neg(%x)  %y = Abs(%a) }\n"
                             " replace { %y = Exp(%x) }\n}\n";
  outcome with = run(rule, TL_RULE_CLEANUP,
                     "graph @g(%x: f32[2]) -> (%y) {\n %a = Neg(%x)\n %y = Abs(%a)\n}\n");
  CU_ASSERT_TRUE(with.sound && with.rewrites == 1);
  CU_ASSERT_TRUE(has(&with, "%y = Exp(%x)") && !has(&with, "Neg"));
  outcome without =
      run(rule, TL_RULE_CLEANUP, "graph @g(%x: f32[2]) -> (%y) {\n %y = Abs(%x)\n}\n");
  CU_ASSERT_TRUE(without.sound && has(&without, "%y = Exp(%x)"));
  outcome used = run(rule, TL_RULE_CLEANUP,
                     "graph @g(%x: f32[2]) -> (%y, %a) {\n %a = Neg(%x)\n %y = Abs(%a)\n}\n");
  CU_ASSERT_TRUE(used.sound && has(&used, "%a = Neg(%x)"));
}

/* Concat(%a..., %inner, %b...): the inner node may be anywhere, lists may be empty. */
static void two_lists(void) {
  static const char rule[] = "rule R : cleanup {\n match {\n  %i = Concat(%m...) {axis=$k}\n"
                             "  %y = Concat(%a..., %i, %b...) {axis=$k}\n }\n"
                             " replace { %y = Concat(%a..., %m..., %b...) {axis=$k} }\n}\n";
  static const char head[] = "graph @g(%p: f32[2], %q: f32[2]) -> (%y) {\n";
  static const struct {
    const char *body;
    const char *want;
  } cases[] = {
      {"%i = Concat(%p, %q) {axis=0}\n %y = Concat(%p, %i, %q) {axis=0}\n", "(%p, %p, %q, %q)"},
      {"%i = Concat(%p, %q) {axis=0}\n %y = Concat(%i) {axis=0}\n", "(%p, %q)"},
      {"%i = Concat(%q) {axis=0}\n %y = Concat(%p, %p, %i) {axis=0}\n", "(%p, %p, %q)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char graph[512];
    snprintf(graph, sizeof graph, "%s %s}\n", head, cases[i].body);
    outcome o = run(rule, TL_RULE_CLEANUP, graph);
    CU_ASSERT_TRUE(o.sound && o.rewrites == 1 && has(&o, cases[i].want));
  }
}

/* Two outputs: what used the earlier one moves behind the new nodes; a user that the match depends
 * on would close a cycle. */
static void several_outputs(void) {
  static const char rule[] =
      "rule R : graph {\n match { %a = Exp(%x)  %b = Neg(%x)  %y = Mul(%a, %b) }\n"
      " replace { %a = Sqrt(%x)  %y = Softsign(%x) }\n}\n";
  outcome o = run(rule, TL_RULE_GRAPH,
                  "graph @g(%x: f32[2]) -> (%y, %u) {\n %a = Exp(%x)\n %u = Tanh(%a)\n"
                  " %b = Neg(%x)\n %y = Mul(%a, %b)\n}\n");
  CU_ASSERT_TRUE(o.sound && o.rewrites == 1);
  CU_ASSERT_TRUE(has(&o, "%a = Sqrt(%x)") && has(&o, "%u = Tanh(%a)"));
  CU_ASSERT_TRUE(has(&o, "%y = Softsign(%x)") && !has(&o, "Neg("));
  static const char *const cyclic[] = {"%a = Sqrt(%z)  %y = Exp(%x)", "%a = %z  %y = Exp(%x)"};
  for (size_t i = 0; i < sizeof cyclic / sizeof *cyclic; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "rule R : graph {\n match { %%a = Exp(%%x)  %%y = Mul(%%a, %%z) }\n"
             " replace { %s }\n}\n",
             cyclic[i]);
    outcome cycle = run(text, TL_RULE_GRAPH,
                        "graph @g(%x: f32[2]) -> (%y) {\n %a = Exp(%x)\n %u = Tanh(%a)\n"
                        " %y = Mul(%a, %u)\n}\n");
    CU_ASSERT_TRUE(cycle.sound && cycle.rewrites == 0 && has(&cycle, "%y = Mul(%a, %u)"));
    CU_ASSERT_TRUE(strstr(cycle.missed, "CYCLE") != NULL);
  }
}

/* A shared node stays while others use it, and goes with the last of them. */
static void shared_nodes(void) {
  static const char rule[] = "rule R : cleanup {\n match { %n = shared Neg(%x)  %y = Abs(%n) }\n"
                             " replace { %y = Abs(%x) }\n}\n";
  outcome kept = run(rule, TL_RULE_CLEANUP,
                     "graph @g(%x: f32[2]) -> (%y, %z) {\n %n = Neg(%x)\n %y = Abs(%n)\n"
                     " %z = Exp(%n)\n}\n");
  CU_ASSERT_TRUE(kept.sound && kept.rewrites == 1 && has(&kept, "%n = Neg(%x)"));
  outcome gone = run(rule, TL_RULE_CLEANUP,
                     "graph @g(%x: f32[2]) -> (%y, %z) {\n %n = Neg(%x)\n %y = Abs(%n)\n"
                     " %z = Abs(%n)\n}\n");
  CU_ASSERT_TRUE(gone.sound && gone.rewrites == 2 && !has(&gone, "Neg"));
}

/* What does not fit is taken back: the module is as it was, constants included. */
static void undo(void) {
  static const char graph[] = "graph @g(%x: f32[2,3]) -> (%y) {\n %a = Neg(%x)\n %y = Abs(%a)\n}\n";
  outcome o = run("rule R : graph {\n match { %a = Neg(%x)  %y = Abs(%a) }\n"
                  " replace { %t = Reshape(%x, const i64 [6])  %y = Add(%t, const 1.5) }\n}\n",
                  TL_RULE_GRAPH, graph);
  CU_ASSERT_TRUE(o.sound && o.rewrites == 0 && strstr(o.missed, "SHAPE"));
  outcome same = run("", TL_RULE_GRAPH, graph);
  CU_ASSERT_STRING_EQUAL(o.text, same.text);
  outcome overflow = run("rule R : graph {\n match { %a = Neg(%x)  %y = Abs(%a) }\n"
                         " replace { %y = Add(%x, const i8 300) }\n}\n",
                         TL_RULE_GRAPH, graph);
  CU_ASSERT_TRUE(overflow.sound && strstr(overflow.missed, "CONST_VALUE"));
  CU_ASSERT_STRING_EQUAL(overflow.text, same.text);
}

/* A value of the graph around may be an operand, its node is not part of a match in a body. */
static void bodies(void) {
  static const char rule[] = "rule R : cleanup {\n match { %a = Neg(%x)  %y = Abs(%a) }\n"
                             " replace { %y = Exp(%x) }\n}\n";
  outcome o = run(rule, TL_RULE_CLEANUP,
                  "graph @g(%x: f32[2], %c: bool[]) -> (%z) {\n %a = Neg(%x)\n"
                  " %z = If(%c) {then_branch=graph @t() -> (%p) {\n  %p = Abs(%a)\n },\n"
                  "  else_branch=graph @e() -> (%q) {\n  %b = Neg(%x)\n  %q = Abs(%b)\n }}\n}\n");
  CU_ASSERT_TRUE(o.sound && o.rewrites == 1);
  CU_ASSERT_TRUE(has(&o, "%p = Abs(%a)") && has(&o, "%q = Exp(%x)"));
}

/* A control edge moves to what takes the place of its node, unless its other end stands between the
 * nodes that go (example 38 of fusion). */
static void control_edges(void) {
  static const char rule[] = "rule R : graph {\n match { %a = Neg(%x)  %y = Abs(%a) }\n"
                             " replace { %y = Exp(%x) }\n}\n";
  outcome root = run(rule, TL_RULE_GRAPH,
                     "graph @g(%x: f32[2]) -> (%y, %z) {\n %z = Sin(%x)\n %a = Neg(%x)\n"
                     " %y = Abs(%a) after %z\n}\n");
  CU_ASSERT_TRUE(root.sound && root.rewrites == 1);
  CU_ASSERT_TRUE(has(&root, "Exp(%x)") && has(&root, "after %z"));
  outcome inner = run(rule, TL_RULE_GRAPH,
                      "graph @g(%x: f32[2]) -> (%y, %z) {\n %z = Sin(%x)\n %a = Neg(%x) after %z\n"
                      " %y = Abs(%a)\n}\n");
  CU_ASSERT_TRUE(inner.sound && inner.rewrites == 1);
  CU_ASSERT_TRUE(has(&inner, "Exp(%x)") && has(&inner, "after %z"));
  outcome behind = run(rule, TL_RULE_GRAPH,
                       "graph @g(%x: f32[2]) -> (%y, %z) {\n %a = Neg(%x)\n %y = Abs(%a)\n"
                       " %z = Sin(%x) after %a\n}\n");
  CU_ASSERT_TRUE(behind.sound && behind.rewrites == 1 && has(&behind, "after %y"));
  outcome between = run(rule, TL_RULE_GRAPH,
                        "graph @g(%x: f32[2]) -> (%y, %z) {\n %a = Neg(%x)\n"
                        " %z = Sin(%x) after %a\n %y = Abs(%a)\n}\n");
  CU_ASSERT_TRUE(between.sound && between.rewrites == 0 && strstr(between.missed, "CTRL_INNER"));
}

/* What the device compiler was told about single nodes keeps them apart; nodes that were told the
 * same are fused, and what they become inherits it. */
static void marks_keep_nodes_apart(void) {
  static const char rule[] = "rule R : graph {\n match { %a = Neg(%x)  %y = Abs(%a) }\n"
                             " replace { %y = Exp(%x) }\n}\n";
  static const struct {
    const char *inner, *root, *code;
  } rows[] = {{"meta \"_super_kernel_scope\" \"k\"", "", "ATTR_GROUP"},
              {"", "meta \"_user_stream_label\" \"s\"", "ATTR_GROUP"},
              {"meta \"_op_aicore_num\" \"4\"", "meta \"_op_aicore_num\" \"8\"", "ATTR_GROUP"},
              {"meta \"_super_kernel_scope\" \"k\"", "meta \"_super_kernel_scope\" \"k\"", NULL},
              {"meta \"_dump_able\" \"true\"", "", "DUMPABLE"},
              {"", "meta \"_dump_able\" \"true\"", NULL},
              {"meta \"tailor.nofold\" \"1\"", "", "NOFOLD"},
              {"", "meta \"tailor.nofold\" \"1\"", "NOFOLD"},
              {"meta \"tailor.nofold\" \"0\"", "", NULL},
              {"meta \"other\" \"1\"", "", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char graph[256];
    snprintf(graph, sizeof graph,
             "graph @g(%%x: f32[2]) -> (%%y) {\n %%a = Neg(%%x) %s\n %%y = Abs(%%a) %s\n}\n",
             rows[i].inner, rows[i].root);
    outcome o = run(rule, TL_RULE_GRAPH, graph);
    CU_ASSERT_TRUE(o.sound && o.rewrites == (rows[i].code ? 0 : 1));
    CU_ASSERT_TRUE(!rows[i].code || strstr(o.missed, rows[i].code));
    CU_ASSERT_TRUE(i != 3 || has(&o, "meta \"_super_kernel_scope\" \"k\""));
  }
}

/* Thousands of equal choices end at a bound and leave the module alone. */
static void choices_are_bounded(void) {
  tl_buf graph;
  tl_buf_init(&graph);
  tl_buf_add_z(&graph, "graph @g(%x: f32[2]) -> (%y) {\n %a = Neg(%x)\n");
  for (int i = 0; i < 300; i++)
    tl_buf_printf(&graph, " %%b%d = Exp(%%a)\n", i);
  tl_buf_add_z(&graph, " %y = Sum(%a");
  for (int i = 0; i < 300; i++)
    tl_buf_printf(&graph, ", %%b%d", i);
  tl_buf_add_z(&graph, ")\n}\n");
  outcome o = run("rule R : cleanup {\n match {\n  %b = Exp(%a)  %c = Exp(%a)  %d = Exp(%a)\n"
                  "  %e = Tanh(%b)  %a = Neg(%x)\n }\n replace { %e = Tanh(%x)\n"
                  "  %c = Exp(%x) %d = Exp(%x) %a = Sin(%x) }\n}\n",
                  TL_RULE_CLEANUP, graph.p);
  CU_ASSERT_TRUE(o.rewrites == 0);
  tl_buf_release(&graph);
}

static const unit_test tests[] = {{"nodes that may be missing", maybe_nodes},
                                  {"two lists of operands", two_lists},
                                  {"several outputs", several_outputs},
                                  {"shared nodes", shared_nodes},
                                  {"what does not fit is taken back", undo},
                                  {"bodies", bodies},
                                  {"control edges", control_edges},
                                  {"marks keep nodes apart", marks_keep_nodes_apart},
                                  {"choices are bounded", choices_are_bounded},
                                  {NULL, NULL}};
const unit_suite unit_suite_rules = {"rules", tests};
