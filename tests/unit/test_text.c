/* SPDX-License-Identifier: Apache-2.0 */
/* The textual form: round trips, errors with their places, limits; and the verifier on broken
 * modules. */
#include <stdio.h>
#include <stdlib.h>

#include "ir/fork.h"
#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "tests/unit/unit.h"

typedef struct seen {
  tl_diag diag;
  tl_buf text; /* formatted messages */
} seen;

static void remember(void *user, const tl_diagnostic *d) {
  tl_diag_format(&((seen *)user)->text, d);
}

static void open_seen(seen *s) {
  *s = (seen){.diag = {.fn = remember, .user = s}};
  tl_buf_init(&s->text);
}

static bool mentions(const seen *s, const char *part) {
  return s->text.p && strstr(s->text.p, part) != NULL;
}

static tl_module *parse(seen *s, const char *text) {
  tl_module *m = NULL;
  tl_status status = tl_module_parse(&s->diag, "test.tir", tl_sv_from(text), &m);
  CU_ASSERT_EQUAL(status == TL_OK, m != NULL);
  return m;
}

/* Parses `text` and checks that printing gives `expected`. */
static void prints_as(const char *text, const char *expected) {
  seen s;
  tl_buf out;
  open_seen(&s);
  tl_buf_init(&out);
  tl_module *m = parse(&s, text);
  if (!m)
    printf("\n%s", s.text.p);
  CU_ASSERT_PTR_NOT_NULL_FATAL(m);
  CU_ASSERT_EQUAL(tl_module_print(m, &out, NULL), TL_OK);
  if (!tl_sv_is(tl_buf_view(&out), expected))
    printf("\nprinted:\n%s\nexpected:\n%s", out.p, expected);
  CU_ASSERT_TRUE(tl_sv_is(tl_buf_view(&out), expected));
  tl_module_destroy(m);
  tl_buf_release(&out);
  tl_buf_release(&s.text);
}

static void stays(const char *text) { prints_as(text, text); }

static void fails_with(const char *text, const char *message) {
  seen s;
  open_seen(&s);
  tl_module *m = parse(&s, text);
  CU_ASSERT_PTR_NULL(m);
  if (!mentions(&s, message))
    printf("\n%sexpected: %s\n", s.text.p ? s.text.p : "", message);
  CU_ASSERT_TRUE(mentions(&s, message));
  CU_ASSERT_EQUAL(s.diag.errors, 1);
  tl_module_destroy(m);
  tl_buf_release(&s.text);
}

static void samples_stay(void) {
  stays("graph @g(%x: f32[2,3]) -> (%y) {\n"
        "  %t = Exp(%x)\n"
        "  %y = LeakyRelu(%x) {alpha=0.5} : f32[2,3]\n"
        "}\n");
  stays("module {\n  ir_version 8\n  opset \"\" 22\n  opset \"com.microsoft\" 1\n"
        "  producer \"pytorch\" \"2.1\"\n  doc \"a\\nb\" meta \"k\" \"v\"\n}\n\n"
        "graph(%x) -> () {\n}\n");
  prints_as("# a comment\ngraph(%x)->(%x){}", "graph(%x) -> (%x) {\n}\n");
}

static void names_are_quoted_when_needed(void) {
  stays("graph(%\"a b\", %x:0, %\"\\xff\", %\"x:\") -> (%\"a b\") {\n"
        "  _, %$1 = my.domain::Op(%x:0, _) @\"n n\"\n"
        "  \"odd domain\"::\"odd op\"(%$1) @/a/b.c {\"a b\"=1}\n"
        "}\n");
}

static void types_stay(void) {
  stays("graph(%a: f32[*], %b: ?[2,?], %c: i64[n,\"2*n\"], %d: seq(optional(map(str,f16[]))), "
        "%e: sparse(f32[3]), %f: opaque(\"d\",\"n\"), %g: seq(?)) -> () {\n}\n");
}

static void constants_stay(void) {
  stays("graph(%w: f32[2] = [1.0, -0.0], %v: f32[n] = f32[1] [inf]) -> () {\n"
        "  const %a: f32[3] = [nan, nan(0xffc00001), 3.4028235e+38]\n"
        "  const %b: f16[2] = [0.099975586, nan(0x7c01)]\n"
        "  const %c: f64[] = 0.1\n"
        "  const %d: bool[2] = [true, false]\n"
        "  const %e: str[2] = [\"a\", \"\\x00\\\"\"]\n"
        "  const %f: f32[0,3] = []\n"
        "  const %g: u64[1] = [18446744073709551615]\n"
        "  const %h: i8[2] = [-128, 127]\n"
        "  const %i: i4[3] = hex(\"210f\")\n"
        "  const %j: u8[17] = hex(\"000102030405060708090a0b0c0d0e0f10\")\n"
        "  const %k: bool[1] = hex(\"02\")\n"
        "  const %l: bf16[1] = [1.0]\n"
        "}\n");
}

static void attributes_stay(void) {
  stays("graph() -> () {\n"
        "  %a = d::Op() {i=-1, f=1.0, s=\"x\", t=f32[2] [1.0, -inf], ty=type(seq(f32[2])), "
        "sp=sparse(\"\\x01\"), is=[1, 2], fs=[1.0, nan], ss=[\"a\"], "
        "ts=tensors[f32[] 1.0, i64[1] [2] name \"q\"], tys=types[?, f32[2]], sps=sparses[\"a\"], "
        "b=true, dt=dtype(f32), bs=bools[true, false], dts=dtypes[f32, ?], ls=lists[[1], []], "
        "e1=ints[], e2=floats[], e3=strings[], n=nan(0x7fc00002)}\n"
        "}\n");
  /* The op table knows that alpha is a float and axes a list of integers. */
  prints_as("graph(%x) -> (%y) { %y = LeakyRelu(%x) {alpha=1} }",
            "graph(%x) -> (%y) {\n  %y = LeakyRelu(%x) {alpha=1.0}\n}\n");
}

static void bodies_stay(void) {
  stays("graph(%c: bool[], %x: f32[2]) -> (%y) {\n"
        "  %y = If(%c) {\n"
        "    then_branch=graph @t() -> (%z) {\n"
        "      %z = Exp(%x)\n"
        "    },\n"
        "    else_branch=graph() -> (%x) {\n"
        "    }\n"
        "  } : f32[2] scope \"a/b\"\n"
        "}\n");
}

/* Names of values that are made later, and could come before it. */
static void names_in_bodies_are_parted(void) {
  prints_as("graph(%c: bool[], %x: f32[]) -> (%y, %w) {\n"
            "  %y = If(%c) {then_branch=graph() -> (%y) {\n"
            "    %w = Relu(%x)\n"
            "    %y = Exp(%w)\n"
            "  }, else_branch=graph() -> (%x) {}}\n"
            "  %w = Exp(%x)\n"
            "}",
            "graph(%c: bool[], %x: f32[]) -> (%y, %w) {\n"
            "  %y = If(%c) {\n"
            "    then_branch=graph() -> (%y_1) {\n"
            "      %w_1 = Relu(%x)\n"
            "      %y_1 = Exp(%w_1)\n"
            "    },\n"
            "    else_branch=graph() -> (%x) {\n"
            "    }\n"
            "  }\n"
            "  %w = Exp(%x)\n"
            "}\n");
}

static void clauses_stay(void) {
  stays("module {\n  form selected\n}\n\n"
        "graph(%x: f32[2]) -> (%z) {\n"
        "  about graph doc \"g\"\n"
        "  about %x meta \"a\" \"b\" denotation \"IMAGE\"\n"
        "  d::Sink(%x) stream 3 label $1\n"
        "  %y = Exp(%x) npu none\n"
        "  %z = Relu(%y) npu Relu after $1 sched after %y after %y gate doc \"d\" raw \"\\xff\"\n"
        "  about %z denotation \"OUT\"\n"
        "  state %x -> %z\n"
        "}\n");
}

static void errors_have_places(void) {
  fails_with("", "test.tir:1:1: error: expected 'graph', found the end of the text");
  fails_with("graph(%x) -> (%y) {\n  %y = Rleu(%x)\n}", "test.tir:2:8: error: unknown op 'Rleu'");
  fails_with("graph(%x) -> (%y) {\n  %y = Rleu(%x)\n}", "hint: did you mean 'Relu'?");
  fails_with("graph(%x) -> (%y) {\n  %y = Relu(%z)\n}", "test.tir:2:13: error: %z is not defined");
  fails_with("graph(%x) -> (%x) {\n  %x = Relu(%x)\n}", "%x is defined twice");
  fails_with("graph(%c: bool[], %x: f32[]) -> (%y) { %y = If(%c) {then_branch=graph() -> (%x) {"
             " %x = Relu(%c) }} }",
             "%x in a body has the name of a value around it");
  fails_with("graph(%x) -> (%y) {}", "test.tir:1:15: error: %y is not defined");
  fails_with("graph() -> () { const %a: f32[2] = [1.0] }", "the type needs 2 elements, found 1");
  fails_with("graph() -> () { const %a: i8[] = 128 }", "an element of type i8, found '128'");
  fails_with("graph() -> () { const %a: f32[n] = [1.0] }", "fixed dimensions");
  fails_with("graph() -> () { const %a: f32[1] = hex(\"00\") }", "needs 4 bytes");
  fails_with("graph() -> () { const %a: f32[9] = file(\"no/such\", 0, 36) }", "not a regular file");
  fails_with("graph() -> () { const %a: f32[9] = file(\"/dev/zero\", 0, 36) }",
             "not a regular file");
  fails_with("graph(%x) -> () { %y = Relu(%x) : f32[1], f32[1] }", "more types than results");
  fails_with("graph(%x) -> () { %y = d::R(%x) {a=1, a=2} }", "attribute 'a' is given twice");
  fails_with("module { opset \"\" -1 } graph(%x) -> (%x) { }", "opset -1 is not between 21 and");
  fails_with("module { opset \"\" 99 } graph(%x) -> (%x) { }", "opset 99 is not between 21 and");
  fails_with("module { opset \"\" 20 } graph(%x) -> (%x) { }", "opset 20 is not between 21 and");
  fails_with("module { opset \"ai.onnx\" 11 } graph(%x) -> (%x) { }",
             "opset 11 is not between 21 and");
  fails_with("module { opset \"acme\" 0 } graph(%x) -> (%x) { }", "opset 0 is below 1");
  fails_with("module { source_opset -1 } graph(%x) -> (%x) { }", "source_opset -1 is not between");
  fails_with("module { source_opset 99 } graph(%x) -> (%x) { }", "source_opset 99 is not between");
  fails_with("graph(%x) -> () { %y = d::R(%x) {a=[]} }", "other lists name their kind");
  fails_with("graph(%x) -> () { %y = d::R(%\"a\\q\") }", "unknown escape");
  fails_with("graph(%x) -> () { %y = d::R(%x) npu Nothing }", "not an NPU candidate");
  fails_with("graph(%x) -> () { %y = d::R(%x) after %x }", "can only run after another node");
}

static void add_times(tl_buf *b, const char *text, int n) {
  for (int i = 0; i < n; i++)
    tl_buf_add_z(b, text);
}

/* Of two that differ, nobody can tell which one counts. */
static void nothing_is_said_twice(void) {
  static const char *const entries[][2] = {
      {"ir_version 8 ir_version 9", "ir_version is given twice"},
      {"opset \"\" 21 opset \"ai.onnx\" 22",
       "opset 22 contradicts opset 21, which the same domain has above"},
      {"opset \"a\" 2 opset \"a\" 1", "opset 1 contradicts opset 2"},
      {"source_opset 8 source_opset 9", "source_opset is given twice"},
      {"producer \"a\" producer \"b\"", "producer is given twice"},
      {"model_version 1 model_version 2", "model_version is given twice"},
      {"domain \"a\" domain \"b\"", "domain is given twice"},
      {"form npu form canonical", "form is given twice"},
      {"doc \"a\" doc \"b\"", "doc is given twice"},
      {"doc \"a\" domain \"b\" meta \"k\" \"v\"", "would replace what is said before"}};
  static const char *const statements[][2] = {
      {"%y = Relu(%x) scope \"a\" scope \"b\"", "scope is given twice"},
      {"%y = Relu(%x) stream 0 stream 1", "stream is given twice"},
      {"%y = Relu(%x) npu none npu Relu", "npu is given twice"},
      {"%y = Relu(%x) raw \"a\" raw \"b\"", "raw is given twice"},
      {"about %x denotation \"a\" denotation \"b\"", "denotation is given twice"},
      {"about %x doc \"a\" about %x meta \"k\" \"v\"", "would replace what is said before"},
      {"about graph doc \"a\" about graph doc \"b\"", "would replace what is said before"},
      {"%y = Relu(%x) loss %y loss %x", "the loss is given twice"},
      {"%y = Relu(%x) seed %y seed %x", "the seed is given twice"}};
  char text[200];
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    snprintf(text, sizeof text, "module { %s } graph(%%x) -> (%%x) { }", entries[i][0]);
    fails_with(text, entries[i][1]);
  }
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
    snprintf(text, sizeof text, "graph(%%x: f32[2]) -> (%%x) { %s }", statements[i][0]);
    fails_with(text, statements[i][1]);
  }
  stays("module {\n  opset \"a\" 2\n  opset \"\" 22\n}\n\ngraph(%x) -> (%x) {\n}\n");
}

static void nesting_is_bounded(void) {
  tl_buf b;
  tl_buf_init(&b);
  tl_buf_add_z(&b, "graph(%x: ");
  add_times(&b, "seq(", 100000);
  fails_with(b.p, "types nest more than 32 deep");
  tl_buf_clear(&b);
  tl_buf_add_z(&b, "graph() -> () {");
  add_times(&b, "d::Op() {b=graph() -> () {", 100000);
  fails_with(b.p, "graphs nest more than 64 deep");
  tl_buf_release(&b);
}

static tl_module *two_nodes(seen *s) {
  return parse(s, "graph(%x: f32[2]) -> (%z) { %y = Exp(%x) : f32[2] %z = Relu(%y) : f32[2] }");
}

static void verifier_accepts_good_modules(void) {
  seen s;
  open_seen(&s);
  tl_module *m = two_nodes(&s);
  CU_ASSERT_EQUAL(tl_module_verify(m, TL_VERIFY_ALL), TL_OK);
  CU_ASSERT_EQUAL(s.diag.errors, 0);
  tl_module_destroy(m);
  tl_buf_release(&s.text);
}

/* Damages a sound module with `damage` and wants a finding that mentions `message`. */
static void finds(void (*damage)(tl_module *m), const char *message) {
  seen s;
  open_seen(&s);
  tl_module *m = two_nodes(&s);
  damage(m);
  CU_ASSERT_EQUAL(tl_module_verify(m, TL_VERIFY_ALL), TL_INVALID_MODEL);
  if (!mentions(&s, message))
    printf("\n%sexpected: %s\n", s.text.p ? s.text.p : "", message);
  CU_ASSERT_TRUE(mentions(&s, message));
  tl_module_destroy(m);
  tl_buf_release(&s.text);
}

static tl_node_id first(tl_module *m) { return tl_module_main(m)->first; }
static tl_node_id last(tl_module *m) { return tl_module_main(m)->last; }

static void break_order(tl_module *m) { tl_node_get(m, last(m))->order = 0; }
static void break_links(tl_module *m) { tl_node_get(m, last(m))->previous = TL_NO_NODE; }
static void break_cycle(tl_module *m) { tl_node_get(m, last(m))->next = first(m); }
static void break_count(tl_module *m) { tl_value_get(m, tl_result(m, first(m), 0))->n_uses = 7; }
static void break_user(tl_module *m) {
  tl_use_get(m, tl_node_get(m, last(m))->operands)->value = tl_module_main(m)->inputs.at[0];
}
static void break_result(tl_module *m) { tl_value_get(m, tl_result(m, last(m), 0))->index = 3; }
static void break_name(tl_module *m) {
  tl_value_set_name(m, tl_result(m, last(m), 0), tl_module_intern(m, TL_SV("x")));
}
static void break_scope(tl_module *m) { tl_node_move_before(m, last(m), first(m)); }
static void break_arity(tl_module *m) { tl_node_set_op(m, last(m), TL_OP_Add); }
static void break_attr(tl_module *m) {
  CU_ASSERT_EQUAL(tl_node_set_attr(m, last(m), tl_attr_int(TL_SYM_axis, 1)), TL_OK);
}
static void break_type(tl_module *m) {
  tl_dim dims[] = {2};
  tl_value_set_type(m, tl_result(m, first(m), 0), tl_type_tensor(m, TL_DTYPE_STRING, 1, dims));
}
static void break_var(tl_module *m) {
  tl_dim dims[] = {2};
  tl_value_set_type(m, tl_result(m, last(m), 0), tl_type_tensor(m, TL_DTYPE_F16, 1, dims));
}
static void break_form(tl_module *m) { m->form = TL_FORM_NPU; }

static void verifier_finds_damage(void) {
  finds(break_order, "order label");
  finds(break_links, "link to the previous node");
  finds(break_cycle, "broken");
  finds(break_count, "counts 7");
  finds(break_user, "uses check");
  finds(break_result, "result 0 does not know its node");
  finds(break_name, "two values of a graph are called %x");
  finds(break_scope, "produced after its use");
  finds(break_arity, "has 1 operands, needs 2 to 2");
  finds(break_attr, "attribute 'axis' is unknown");
  finds(break_type, "does not allow");
  finds(break_var, "already");
  finds(break_form, "lowering should have replaced");
}

/* A fork is the same module; what is changed in it stays there, whatever it is. */
static void forks_are_apart(void) {
  static const char text[] = "graph @g(%c: bool[], %x: f32[n,3]) -> (%y) {\n"
                             "  const %k: f32[3] = [1.0, 2.0, 3.0]\n"
                             "  %a = odd::Thing(%x) {axis=1, list=[1, 2]}\n"
                             "  %b = Add(%x, %k)\n"
                             "  %y = If(%c) {then_branch=graph @t() -> (%p) {\n"
                             "    %p = Relu(%b)\n"
                             "  }, else_branch=graph @e() -> (%q) {\n"
                             "    %q = Concat(%a, %b) {axis=0}\n"
                             "  }}\n"
                             "}\n";
  seen s;
  tl_buf before, same, after;
  open_seen(&s);
  tl_buf_init(&before);
  tl_buf_init(&same);
  tl_buf_init(&after);
  tl_module *m = parse(&s, text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(m);
  tl_module *fork = tl_module_fork(m, &s.diag);
  CU_ASSERT_PTR_NOT_NULL_FATAL(fork);
  CU_ASSERT_EQUAL(tl_module_print(m, &before, NULL), TL_OK);
  CU_ASSERT_EQUAL(tl_module_print(fork, &same, NULL), TL_OK);
  CU_ASSERT_TRUE(tl_sv_eq(tl_buf_view(&before), tl_buf_view(&same)));
  CU_ASSERT_EQUAL(tl_module_verify(fork, TL_VERIFY_ALL), TL_OK);
  tl_node_id thing = tl_module_main(fork)->first;
  tl_node_id add = tl_node_get(fork, thing)->next;
  CU_ASSERT_EQUAL(tl_node_set_attr(fork, thing, tl_attr_int(TL_SYM_axis, 7)), TL_OK);
  CU_ASSERT_TRUE(tl_control_add(fork, thing, add, TL_CONTROL_USER) != 0);
  tl_node_set_operand(fork, add, 1, tl_operand(fork, add, 0));
  tl_value_set_name(fork, tl_result(fork, add, 0), tl_module_intern(fork, TL_SV("other")));
  CU_ASSERT_EQUAL(tl_module_print(m, &after, NULL), TL_OK);
  CU_ASSERT_TRUE(tl_sv_eq(tl_buf_view(&before), tl_buf_view(&after)));
  tl_buf_clear(&after);
  CU_ASSERT_EQUAL(tl_module_print(fork, &after, NULL), TL_OK);
  CU_ASSERT_FALSE(tl_sv_eq(tl_buf_view(&before), tl_buf_view(&after)));
  tl_module_destroy(fork);
  CU_ASSERT_EQUAL(tl_module_verify(m, TL_VERIFY_ALL), TL_OK);
  tl_module_destroy(m);
  tl_buf_release(&before);
  tl_buf_release(&same);
  tl_buf_release(&after);
  tl_buf_release(&s.text);
}

static const unit_test tests[] = {
    {"samples stay", samples_stay},
    {"names are quoted when needed", names_are_quoted_when_needed},
    {"types stay", types_stay},
    {"constants stay", constants_stay},
    {"attributes stay", attributes_stay},
    {"bodies stay", bodies_stay},
    {"names in bodies are parted", names_in_bodies_are_parted},
    {"clauses stay", clauses_stay},
    {"errors have places", errors_have_places},
    {"nothing is said twice", nothing_is_said_twice},
    {"nesting is bounded", nesting_is_bounded},
    {"forks are apart", forks_are_apart},
    {"verifier accepts good modules", verifier_accepts_good_modules},
    {"verifier finds damage", verifier_finds_damage},
    {NULL, NULL},
};

const unit_suite unit_suite_text = {"text", tests};
