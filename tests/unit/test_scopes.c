/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes: where nodes are by each source of names, and each reason why a scope is not captured. */
#include <string.h>

#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "passes/edit/scope_names.h"
#include "passes/edit/scopes.h"
#include "passes/manager.h"
#include "tests/unit/unit.h"

/* ---- globs and lists ------------------------------------------------------------------------- */

static void globs(void) {
  static const struct {
    const char *glob, *name;
    bool fits;
  } rows[] = {{"*/ln", "/ln", true},
              {"*/ln", "/a/b/ln", true},
              {"*/ln", "/a/ln/b", false},
              {"/a/*", "/a/b/c", true},
              {"ln_?", "ln_1", true},
              {"ln_?", "ln_12", false},
              {"*", "", true},
              {"", "", true},
              {"*a*b*", "xaybz", true},
              {"*a*b*", "xbya", false},
              {"a", "", false},
              {"**", "abc", true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    CU_ASSERT_EQUAL(tl_scope_glob_fits(tl_sv_from(rows[i].glob), tl_sv_from(rows[i].name)),
                    rows[i].fits);
}

/* "layer.0 (Class)" and so on, between '/'. */
static void print_levels(const tl_scope_level *levels, uint32_t n, tl_buf *out) {
  for (uint32_t i = 0; i < n; i++) {
    tl_buf_printf(out, "/%.*s", TL_SV_ARG(levels[i].name));
    if (levels[i].klass.n)
      tl_buf_printf(out, " (%.*s)", TL_SV_ARG(levels[i].klass));
  }
}

static void lists(void) {
  static const struct {
    const char *names, *classes, *levels; /* NULL: it does not read */
  } rows[] = {{"['', 'network', 'network.0', 'linear']", "", "/network/0"},
              {"['', 'network', 'network.0', 'linear']", "['Net', 'Seq', 'Linear', 'aten.linear']",
               "/network (Seq)/0 (Linear)"},
              {"['', 'a.b', 'a.bc', 'x']", "", "/a.b/a.bc"}, /* a.bc is not inside of a.b */
              {"['', \"it's\", 'x']", "", "/it's"},
              {"['', 'it\\'s', 'x']", "", "/it's"},
              {"['', 'a', 'x']", "['one']", "/a"}, /* lists of different lengths */
              {"['', 'a', 'x']", "[1, 2, 3]", "/a"},
              {"['x']", "", ""},
              {"['', 'a', 'x',]", "", "/a"},
              {"[]", "", NULL},
              {"", "", NULL},
              {"['', 'a'", "", NULL},
              {"['', 'a", "", NULL},
              {"['', 'a\\", "", NULL},
              {"['' 'a']", "", NULL},
              {"['', a, 'x']", "", NULL},
              {"['', 'a', 'x'] + 1", "", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tl_scope_level levels[TL_MOST_SCOPES_DEEP];
    uint32_t n;
    tl_arena arena;
    tl_buf text;
    tl_arena_init(&arena, 0);
    tl_buf_init(&text);
    bool reads = tl_scope_levels_of_lists(&arena, tl_sv_from(rows[i].names),
                                          tl_sv_from(rows[i].classes), levels, &n);
    print_levels(levels, n, &text);
    CU_ASSERT_EQUAL(reads, rows[i].levels != NULL);
    CU_ASSERT_TRUE(!reads || tl_sv_is(tl_buf_view(&text), rows[i].levels));
    tl_buf_release(&text);
    tl_arena_release(&arena);
  }
}

static void namespaces(void) {
  static const struct {
    const char *text, *levels;
  } rows[] = {{": __main__.Net/fc: torch.nn.modules.linear.Linear/linear: aten.linear.default",
               "/fc (torch.nn.modules.linear.Linear)"},
              {": Net/a: A/a.b: B/x: y", "/a (A)/b (B)"},
              {"x: y", ""},
              {"x", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tl_scope_level levels[TL_MOST_SCOPES_DEEP];
    uint32_t n;
    tl_buf text;
    tl_buf_init(&text);
    bool reads = tl_scope_levels_of_namespace(tl_sv_from(rows[i].text), levels, &n);
    print_levels(levels, n, &text);
    CU_ASSERT_EQUAL(reads, rows[i].levels != NULL);
    CU_ASSERT_TRUE(!reads || tl_sv_is(tl_buf_view(&text), rows[i].levels));
    tl_buf_release(&text);
  }
}

/* A path of 3,000 levels ends at the deepest that is kept. */
static void depth_is_bounded(void) {
  tl_buf text;
  tl_diag diag = {0};
  tl_module *m;
  tl_scopes s;
  tl_buf_init(&text);
  tl_buf_add_z(&text, "graph @g(%x: f32[2]) -> (%y) {\n %y = Abs(%x) @\"");
  for (int i = 0; i < 3000; i++)
    tl_buf_printf(&text, "a%d/", i % 7);
  tl_buf_add_z(&text, "x\"\n}\n");
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&diag, "test", tl_buf_view(&text), &m), TL_OK);
  CU_ASSERT_TRUE(tl_scopes_find(&s, m));
  CU_ASSERT_EQUAL(s.at.n, TL_MOST_SCOPES_DEEP + 1);
  CU_ASSERT_EQUAL(s.nodes.n, 1);
  tl_scopes_release(&s);
  tl_module_destroy(m);
  tl_buf_release(&text);
}

/* ---- where nodes are ------------------------------------------------------------------------- */

/* The path of the node that makes %y. */
static void check_place(const char *statements, const char *path) {
  tl_buf text, found;
  tl_diag diag = {0};
  tl_module *m;
  tl_scopes s;
  tl_buf_init(&text);
  tl_buf_init(&found);
  tl_buf_printf(&text,
                "module {\n call \"f\" \"d::F\"\n}\n"
                "graph @g(%%x: f32[2]) -> (%%z) {\n %s\n %%z = Neg(%%y) @a/b/z\n}\n",
                statements);
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&diag, "test", tl_buf_view(&text), &m), TL_OK);
  CU_ASSERT_TRUE(tl_scopes_find(&s, m));
  tl_node_id last = tl_module_main(m)->last;
  uint32_t scope = tl_scope_of(&s, tl_value_producer(m, tl_operand(m, last, 0)));
  tl_scope_path(&s, scope, &found);
  if (s.at.at[scope].klass)
    tl_buf_printf(&found, " (%.*s)", TL_SV_ARG(tl_sym(m, s.at.at[scope].klass)));
  if (!tl_sv_is(tl_buf_view(&found), path))
    fprintf(stderr, "%s: '%.*s'\n", statements, TL_SV_ARG(tl_buf_view(&found)));
  CU_ASSERT_TRUE(tl_sv_is(tl_buf_view(&found), path));
  tl_scopes_release(&s);
  tl_module_destroy(m);
  tl_buf_release(&found);
  tl_buf_release(&text);
}

static void sources(void) {
  check_place("%y = Abs(%x) @a/b/y", "/a/b");
  check_place("%y = Abs(%x) @/a//b/y", "/a/b");
  check_place("%y = Abs(%x) @y", "");
  check_place("%y = Abs(%x)", "");
  check_place("%y = Abs(%x) @q/y scope \"f/g\"", "/f/g");
  check_place("%y = Abs(%x) @q/y scope \"f\"", "/f (d::F)");
  check_place("%y = Abs(%x) @q/y scope \"f\" meta \"namespace\" \": N/c: C/y: abs\"", "/c (C)");
  check_place("%y = Abs(%x) @q/y meta \"namespace\" \": N/c: C/y: abs\" "
              "meta \"pkg.torch.onnx.name_scopes\" \"['', 'd', 'd.e', 'y']\" "
              "meta \"pkg.torch.onnx.class_hierarchy\" \"['N', 'D', 'E', 'abs']\"",
              "/d/e (E)");
  check_place("%y = Abs(%x) @q/y meta \"pkg.torch.onnx.name_scopes\" \"oops\"", "/q");
  check_place("%y = Abs(%x) @q/y meta \"pkg.torch.onnx.name_scopes\" \"['', 'y']\"", "");
  /* what nothing tells of is where its producer is, if its users are */
  check_place("%w = Abs(%x) @a/b/w\n %y = Exp(%w)", "/a/b");
  check_place("%w = Abs(%x) @a/b/w\n %v = Sin(%w)\n %y = Exp(%v)", "/a/b");
  check_place("%w = Abs(%x) @a/b/w\n %v = Sin(%w)\n %u = Cos(%v)\n %y = Exp(%v)", "");
  check_place("%w = Abs(%x) @a/c/w\n %y = Exp(%w)", "");
  check_place("%w = Abs(%x) @a/b/w\n %y = Add(%w, %x)", "");
}

/* ---- capturing ------------------------------------------------------------------------------- */

typedef struct outcome {
  char codes[256]; /* "CODE " of what was missed */
  uint32_t applied;
} outcome;

static void listen(void *user, const tl_remark *r) {
  outcome *o = user;
  if (!r->fusion || !tl_sv_is(r->fusion->rule, "R"))
    return;
  o->applied += r->applied;
  if (!r->applied && strlen(o->codes) + strlen(r->fusion->code) + 2 < sizeof o->codes)
    strcat(strcat(o->codes, r->fusion->code), " ");
}

/* Runs rule R over the graph; the result has to be well-formed. */
static outcome capture(const char *rules, const char *graph) {
  outcome o = {{0}, 0};
  tl_diag diag = {0};
  tl_module *m;
  tl_rule_file file = {.path = "test.tlr", .text = tl_sv_from(rules)};
  tl_options options = tl_options_default();
  options.rule_files = &file;
  options.n_rule_files = 1;
  tl_pipeline_options p = {.passes = "infer-shapes,scope-fusion,expand-definitions,infer-shapes",
                           .verify_each = true,
                           .remark = listen,
                           .remark_user = &o,
                           .explain = true};
  tl_status parsed = tl_module_parse(&diag, "test", tl_sv_from(graph), &m);
  CU_ASSERT_EQUAL(parsed, TL_OK);
  if (parsed != TL_OK)
    return o;
  CU_ASSERT_EQUAL(tl_pipeline_run(m, &options, &p, NULL), TL_OK);
  tl_module_destroy(m);
  return o;
}

/* `from` is replaced once by `to`; NULL: nothing is. */
static void edit(const char *text, const char *from, const char *to, tl_buf *out) {
  const char *at = from ? strstr(text, from) : NULL;
  CU_ASSERT_TRUE(!from || at);
  if (!at) {
    tl_buf_add_z(out, text);
    return;
  }
  tl_buf_add(out, text, (size_t)(at - text));
  tl_buf_add_z(out, to);
  tl_buf_add_z(out, at + strlen(from));
}

static const char rule[] =
    "rules 1\n"
    "scope \"*/attn\" : R general {\n"
    "  except \"*/old/*\" class \"*\"\n"
    "  types { MatMul 2, Softmax|LogSoftmax 1, Relu 0, Mul 1 or more, Add 0 to 2,\n"
    "          MatMul times 2 }\n"
    "  child \"qk*\" { MatMul 1 }\n"
    "  boundary (%x, const %w, const %more...) -> (%y)\n"
    "} -> my::Attention\n";
static const char graph[] =
    "module {\n opset \"\" 21\n opset \"my\" 1\n opset \"other\" 1\n"
    " call \"attn\" \"nn::Attn\"\n}\n"
    "graph @g(%x: f32[2,2,2], %i: f32[2,2,2], %cond: bool[]) -> (%y, %o) {\n"
    " const %w: f32[2,2] = [1.0, 2.0, 3.0, 4.0]\n const %v: f32[2,2] = [4.0, 3.0, 2.0, 1.0]\n"
    " const %s: f32[] = 0.5\n"
    " %q = MatMul(%x, %w) @q scope \"attn/qk_1\"\n"
    " %r = Mul(%q, %s) @r scope \"attn\"\n"
    " %o = Exp(%i) @o\n"
    " %p = Softmax(%r) @p scope \"attn\"\n"
    " %y = MatMul(%p, %v) @y scope \"attn\"\n"
    "}\n";

/* One thing is changed, of the rule or of the graph, and that is what stands in the way. */
static const struct {
  const char *code; /* NULL: it is captured */
  const char *rule_from, *rule_to, *graph_from, *graph_to;
} reasons[] = {
    {NULL, NULL, NULL, NULL, NULL},
    {"SCOPE", "MatMul 2,", "MatMul 3,", NULL, NULL},
    {"SCOPE", "Relu 0", "Relu 1", NULL, NULL},
    {"SCOPE", "LogSoftmax 1", "LogSoftmax 2", NULL, NULL},
    {"SCOPE", "Mul 1 or more", "Mul 2 or more", NULL, NULL},
    {"SCOPE", "Add 0 to 2", "Add 1 to 2", NULL, NULL},
    {"SCOPE", "times 2", "times 3", NULL, NULL},
    {"SCOPE", "\"qk*\" { MatMul 1 }", "\"qk*\" { MatMul 2 }", NULL, NULL},
    {"SCOPE", "\"qk*\"", "\"kv*\"", NULL, NULL},
    {"", "class \"*\"", "class \"*.Other\"", NULL, NULL}, /* other names are no near misses */
    {"", "\"*/attn\"", "\"*/layer\"", NULL, NULL},
    {"", "\"*/old/*\"", "\"*/attn\"", NULL, NULL},
    {NULL, "\"*/attn\"", "\"attn\"", NULL, NULL},
    {"SCOPE_BOUNDARY", "(%x, const", "(%x, %z, const", NULL, NULL},
    {"SCOPE_BOUNDARY", ", const %more...", "", NULL, NULL},
    {NULL, ", const %more...", ", const %more", NULL, NULL},
    {NULL, "(%x, const %w, const %more...)", "(const %w..., %x...)", NULL, NULL},
    {"SCOPE_BOUNDARY", "-> (%y)", "-> (%y, %z)", NULL, NULL},
    {NULL, "(%x, const", "(%x rank 3, const", NULL, NULL},
    {NULL, "(%x, const %w, const %more...)",
     "(%x rank 2 or more, const %w rank 2 to 3, const %more... rank 2)", NULL, NULL},
    {"SCOPE_BOUNDARY", "(%x, const", "(%x rank 2, const", NULL, NULL},
    {"SCOPE_BOUNDARY", "const %w", "const %w rank 3 or more", NULL, NULL},
    {"SCOPE_BOUNDARY", "const %more...", "const %more... rank 0 to 1", NULL, NULL},
    {NULL, "child", "attrs { Softmax {axis=-1} } child", NULL, NULL},
    {NULL, "child", "attrs { Softmax {axis=1} } child", "Softmax(%r) @p",
     "Softmax(%r) @p {axis=1}"},
    {"SCOPE", "child", "attrs { Softmax {axis=1} } child", NULL, NULL},
    {"SCOPE", "child", "attrs { Softmax {axis=\"-1\"} } child", NULL, NULL},
    {"SCOPE", "child", "attrs { Softmax {depth=1} } child", NULL, NULL},
    {"SCOPE", "child", "attrs { Relu {axis=1} } child", NULL, NULL},
    {NULL, "child", "attrs { Elu {alpha=0.1} } child", "%r = Mul(%q, %s) @r",
     "%q2 = Elu(%q) @q2 {alpha=0.1} scope \"attn\"\n %r = Mul(%q2, %s) @r"},
    {"SCOPE", "child", "attrs { Elu {alpha=0.1} } child", "%r = Mul(%q, %s) @r",
     "%q2 = Elu(%q) @q2 {alpha=0.1} scope \"attn/qk_1\"\n %r = Mul(%q2, %s) @r"},
    {"SCOPE_BOUNDARY", NULL, NULL, "Exp(%i)", "Exp(%r)"},
    {"SCOPE_BOUNDARY", NULL, NULL, "-> (%y, %o)", "-> (%y, %o, %p)"},
    {"SCOPE_BOUNDARY", NULL, NULL, "Mul(%q, %s)", "Mul(%q, %i)"},
    {"CYCLE", "(%x, const %w, const %more...) -> (%y)",
     "(%x, %z, const %w, const %more...) -> (%a, %y)", "%p = Softmax(%r)",
     "%k = Exp(%r) @out/k\n %l = Exp(%k) @out/l\n %p2 = Mul(%r, %l) @p2 scope \"attn\"\n "
     "%p = Softmax(%p2)"},
    {"CYCLE", "(%x, const %w, const %more...) -> (%y)", /* to the last node */
     "(%x, %z, const %w, const %more...) -> (%a, %y)", "%y = MatMul(%p, %v)",
     "%k = Exp(%p) @out/k\n %y = MatMul(%k, %v)"},
    {NULL, "-> (%y)", "-> (%a, %y)", "%o = Exp(%i) @o\n", "%k = Exp(%r)\n %o = Exp(%k) @o\n"},
    {"CTRL_INNER", "-> (%y)", "-> (%a, %y)", "%o = Exp(%i) @o\n", "%o = Exp(%r) @o after %q\n"},
    {"CTRL_INNER", NULL, NULL, "%p = Softmax(%r) @p scope \"attn\"",
     "%p = Softmax(%r) @p scope \"attn\" after %o"},
    {"STREAM_LABEL", NULL, NULL, "@p scope \"attn\"", "@p scope \"attn\" stream 2"},
    {"ATTR_GROUP", NULL, NULL, "@p scope \"attn\"",
     "@p scope \"attn\" meta \"_super_kernel_scope\" \"k\""},
    {"DUMPABLE", NULL, NULL, "@p scope \"attn\"", "@p scope \"attn\" meta \"_dump_able\" \"true\""},
    {"NOFOLD", NULL, NULL, "@p scope \"attn\"", "@p scope \"attn\" meta \"tailor.nofold\" \"1\""},
    {"SCOPE_BODY", NULL, NULL, "%p = Softmax(%r) @p scope \"attn\"",
     "%p0 = other::Thing(%r) @p0 scope \"attn\"\n %p = Softmax(%r) @p scope \"attn\""},
    {"SCOPE_BODY", "(%x, const", "(%x, %c, const", "%p = Softmax(%r) @p scope \"attn\"",
     "%p0 = If(%cond) @p0 {then_branch=graph @t() -> (%a) {\n %a = Abs(%x)\n },\n "
     "else_branch=graph @e() -> (%b) {\n %b = Neg(%x)\n }} scope \"attn\"\n"
     " %p = Softmax(%r) @p scope \"attn\""},
    {"SCOPE_BODY", NULL, NULL, "%x: f32[2,2,2],", "%x: f32[*],"},
    {"DEFINITION", NULL, NULL, "Exp(%i)", "my::Attention(%i)"},
    {"PINNED", NULL, NULL, "%y = MatMul(%p, %v)", "state %x -> %q\n %y = MatMul(%p, %v)"},
};

static void each_reason(void) {
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    tl_buf r, g;
    tl_buf_init(&r);
    tl_buf_init(&g);
    edit(rule, reasons[i].rule_from, reasons[i].rule_to, &r);
    edit(graph, reasons[i].graph_from, reasons[i].graph_to, &g);
    outcome o = capture(r.p, g.p);
    const char *code = reasons[i].code;
    bool right = !code ? o.applied == 1
                       : !o.applied && (*code ? strstr(o.codes, code) != NULL : !*o.codes);
    if (!right)
      fprintf(stderr, "case %zu: %u applied, missed %s\n", i, o.applied, o.codes);
    CU_ASSERT_TRUE(right);
    tl_buf_release(&r);
    tl_buf_release(&g);
  }
}

/* An op means one thing: a second scope becomes it only when it computes the same. */
static void one_meaning(void) {
  static const char small[] = "rules 1\nscope \"*/attn\" : R general {\n"
                              "  boundary (%x, const %w...) -> (%y)\n} -> my::Attention\n";
  static const char twice[] =
      "graph @g(%x: f32[n,2]) -> (%y) {\n"
      " const %w: f32[2,2] = [1.0, 2.0, 3.0, 4.0]\n const %v: f32[2,2] = [4.0, 3.0, 2.0, 1.0]\n"
      " const %s: f32[] = 0.5\n const %t: f32[] = 0.5\n"
      " %a = MatMul(%x, %w) @l0/attn/a\n %b = Mul(%a, %s) @l0/attn/b\n"
      " %r = LeakyRelu(%b) @l0/attn/r {alpha=0.5}\n %c = MatMul(%r, %v) @l1/attn/c\n"
      " %d = Mul(%c, %t) @l1/attn/d\n %y = LeakyRelu(%d) @l1/attn/y {alpha=0.5}\n}\n";
  static const struct {
    const char *from, *to;
    uint32_t applied;
  } rows[] = {{NULL, NULL, 2},
              {"%t: f32[] = 0.5", "%t: f32[] = 0.25", 1},
              {"%t: f32[] = 0.5", "%t: f32[1] = [0.5]", 1},
              {"Mul(%c, %t)", "Add(%c, %t)", 1},
              {"Mul(%c, %t)", "Mul(%t, %c)", 1},
              {"Mul(%c, %t)", "Mul(%c, %c)", 1},
              {"LeakyRelu(%d)", "LeakyRelu(%c)", 1},
              {"@l1/attn/y {alpha=0.5}", "@l1/attn/y {alpha=0.25}", 1},
              {"@l1/attn/y {alpha=0.5}", "@l1/attn/y", 1},
              {"@l1/attn/c\n", "@l1/attn/c\n %more = Abs(%c) @l1/attn/more\n", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tl_buf g;
    tl_buf_init(&g);
    edit(twice, rows[i].from, rows[i].to, &g);
    outcome o = capture(small, g.p);
    CU_ASSERT_EQUAL(o.applied, rows[i].applied);
    CU_ASSERT_TRUE(o.applied == 2 || strstr(o.codes, "DEFINITION"));
    tl_buf_release(&g);
  }
}

static const unit_test tests[] = {{"globs", globs},
                                  {"lists in metadata", lists},
                                  {"namespaces", namespaces},
                                  {"depth is bounded", depth_is_bounded},
                                  {"sources of scopes", sources},
                                  {"each reason not to capture", each_reason},
                                  {"an op has one meaning", one_meaning},
                                  {NULL, NULL}};
const unit_suite unit_suite_scopes = {"scopes", tests};
