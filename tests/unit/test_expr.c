/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language: what one node makes of a text, as a guard of the op table; the table of
 * functions. Rules ask the same evaluator in test_rules.c and tests/golden/rules. */
#include <stdio.h>
#include <string.h>

#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "passes/expr/expr.h"
#include "passes/npu/eval.h"
#include "tests/unit/unit.h"

static const char norm[] = "graph @g(%x: f32[2,n,4], %y: f16[3]) -> (%z) {\n"
                           "  const %c: i64[2] = [3, 5]\n  const %h: f32[2] = [0.5, 0.25]\n"
                           "  %r = Reshape(%x, %c)\n"
                           "  %z = LayerNormalization(%x, %h) {axis=-1, epsilon=0.1}\n}\n";

/* Operands in0 to in10 of one node: shapes that are known, named and unknown, and constants. */
static const char operands[] =
    "graph @g(%a: f32[2,3,4], %b: f32[3,1], %s: f16[n,4], %u: i64[?,4], %t: bf16[n,4], %k: i8[4], "
    "%o: bool[], %w: f32[?,?]) -> (%z) {\n  const %c: i64[3] = [3, 5, 7]\n"
    "  const %f: f32[2] = [2.5, 2.5]\n  const %i: i32[2] = [4, 4]\n"
    "  %z = acme::Any(%a, %b, %s, %u, %t, %k, %o, %w, %c, %f, %i)\n}\n";

/* The value of a text at the last node, as people read it; "?": the text is no expression. */
static void evaluate(const char *graph, const char *text, tl_buf *out) {
  tl_diag diag = {0};
  tl_module *m = NULL;
  tl_arena scratch;
  tl_options options = tl_options_default();
  const char *why = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&diag, "test", tl_sv_from(graph), &m), TL_OK);
  tl_arena_init(&scratch, 0);
  tl_site at = {.m = m, .scratch = &scratch, .options = &options, .node = tl_module_main(m)->last};
  const tl_expr *e = tl_npu_expr_parse(m, &scratch, tl_sv_from(text), TL_IN_GUARDS, &why);
  tl_buf_clear(out);
  if (e)
    tl_rv_print(m, tl_npu_evaluate(&at, e), out);
  else
    tl_buf_add_z(out, "?");
  CU_ASSERT(!at.failed);
  tl_arena_release(&scratch);
  tl_module_destroy(m);
}

typedef struct row {
  const char *text;
  const char *want;
} row;

static const row rows[] = {
    {"1 + 2 * 3", "7"},
    {"(1 + 2) * 3", "9"},
    {"2 - 3 - 4", "-5"}, /* from left to right */
    {"-7 / 2", "-4"},    /* rounded down */
    {"7 / 2.0", "3.5"},
    {"1 / 0", "unknown"},
    {"9223372036854775807 + 1", "unknown"},
    {"2 -1", "1"}, /* a sign where an operator belongs */
    {"[1, 2, 3][-1]", "3"},
    {"[1, 2][2]", "unknown"},
    {"[1, 2] == [1, 2]", "true"},
    {"2 in [1, 2]", "true"},
    {"f16 in [f32, bf16]", "false"},
    {"f16 in [f32, f16]", "true"},
    {"!true || 1 < 2 && 2 <= 2", "true"},
    {"\"a\" == \"b\"", "false"},
    {"1 == \"a\"", "unknown"},
    {"0.1 == epsilon", "true"}, /* an attribute is f32 */
    {"axis", "-1"},
    {"axis == -1 && set(axis)", "true"},
    {"set(stash_type)", "false"},
    {"stash_type", "1"}, /* its default */
    {"missing", "unknown"},
    {"missing != 1", "unknown"}, /* so that no guard holds on what is not known */
    {"!(missing == 1)", "unknown"},
    {"missing == 1 || true", "true"},
    {"missing == 1 && false", "false"},
    {"or(missing, 7)", "7"},
    {"rank(in0)", "3"},
    {"dim(in0, 0)", "2"},
    {"dim(in0, 1)", "unknown"}, /* a symbol */
    {"dim(in0, 5)", "unknown"},
    {"numel(in0)", "unknown"},
    {"dtype(in0) == f32", "true"},
    {"dtype(in0) in [f16]", "false"},
    {"static", "false"},
    {"static(in1)", "true"},
    {"is_const(in1) && !is_const(in0)", "true"},
    {"present(in2)", "false"},
    {"in1", "[0.5, 0.25]"},
    {"1 / in1", "[2.0, 4.0]"},
    {"in0", "unknown"},
    {"in9", "unknown"},
    {"nin", "2"},
    {"min(4, 3) + max([1, 5, 2])", "8"},
    {"max([])", "unknown"},
    {"soc == \"a2\"", "true"},
    {"range(0, rank(in0))", "[0, 1, 2]"},
};

/* What functions.tbl says of each function, at the ends of what it takes and beyond them. */
static const row functions[] = {
    /* numbers */
    {"mod(7, 3)", "1"},
    {"mod(-7, 3)", "2"},
    {"mod(7, -3)", "-2"},
    {"mod(6, 3)", "0"},
    {"mod(-6, 3)", "0"},
    {"mod(5, 0)", "unknown"},
    {"mod(5, -1)", "0"},
    {"-7 / -2", "3"},
    {"-6 / 2", "-3"},
    {"0 / -2", "0"},
    {"6 / -4", "-2"},
    {"whole(2.9)", "2"},
    {"whole(-2.9)", "-2"},
    {"whole(5)", "5"},
    {"whole(infinity())", "unknown"},
    {"min(2, 3)", "2"},
    {"max(2, 3)", "3"},
    {"min([3, 1, 2])", "1"},
    {"max([1, 3, 2])", "3"},
    {"min([])", "unknown"},
    {"min(1, 2.0)", "unknown"},
    {"min(1.5, 2.5)", "1.5"},
    {"max(1.5, 2.5)", "2.5"},
    {"abs(-3)", "3"},
    {"abs(3)", "3"},
    {"abs(-1.5)", "1.5"},
    {"sqrt(4)", "2.0"},
    {"sqrt(2.25)", "1.5"},
    {"sqrt(0)", "0.0"},
    {"sqrt(-1)", "unknown"},
    {"infinity() > 1.0", "true"},
    {"if(true, 1, missing)", "1"},
    {"if(false, missing, 2)", "2"},
    {"if(missing, 1, 2)", "unknown"},
    {"known(1)", "true"},
    {"known(missing)", "false"},
    {"power_of_two(16384)", "true"},
    {"power_of_two(32768)", "false"},
    {"power_of_two(-2)", "true"},
    {"power_of_two(6)", "false"},
    {"power_of_two(0)", "false"},
    {"power_of_two(0.00006103515625)", "true"},
    {"power_of_two(0.000030517578125)", "false"},
    {"power_of_two([2])", "unknown"},
    {"onnx(f32)", "1"},
    {"onnx(f16)", "10"},
    {"onnx(7)", "unknown"},
    /* lists */
    {"len([])", "0"},
    {"len([4, 4])", "2"},
    {"sum([])", "0"},
    {"sum([1, 2, 4])", "7"},
    {"sum([9223372036854775807, 1])", "unknown"},
    {"product([])", "1"},
    {"product([2, 3, 4])", "24"},
    {"product([9223372036854775807, 2])", "unknown"},
    {"count([1, 2, 1], 1)", "2"},
    {"count([], 1)", "0"},
    {"all_equal([1, 1], 1)", "true"},
    {"all_equal([1, 2], 1)", "false"},
    {"at_least([1, 2], 1)", "true"},
    {"at_least([1, 2], 2)", "false"},
    {"repeat(7, 3)", "[7, 7, 7]"},
    {"repeat(7, 0)", "[]"},
    {"repeat(7, -1)", "unknown"},
    {"range(2, 5)", "[2, 3, 4]"},
    {"range(-2, 1)", "[-2, -1, 0]"},
    {"range(3, 3)", "[]"},
    {"range(5, 2)", "[]"},
    {"len(range(0, 1024))", "1024"},
    {"len(range(0, 1025))", "unknown"},
    {"len(range(-1024, 0))", "1024"},
    {"slice([1, 2, 3, 4], 1, 3)", "[2, 3]"},
    {"slice([1, 2, 3, 4], -3, -1)", "[2, 3]"},
    {"slice([1, 2, 3, 4], -9, 2)", "[1, 2]"},
    {"slice([1, 2, 3, 4], 2, 9)", "[3, 4]"},
    {"slice([1, 2, 3, 4], 0, 4)", "[1, 2, 3, 4]"},
    {"slice([1, 2, 3, 4], 3, 1)", "[]"},
    {"slice([1, 2, 3, 4], 9, 12)", "[]"},
    {"slice([1, 2, 3, 4], 0, -9)", "[]"},
    {"join([1], [2, 3])", "[1, 2, 3]"},
    {"join([], [])", "[]"},
    {"without([5, 6, 7], [1])", "[5, 7]"},
    {"without([5, 6], [])", "[5, 6]"},
    {"without([5, 6], [0, 1])", "[]"},
    {"replace_at([1, 2, 3], 1, 9)", "[1, 9, 3]"},
    {"replace_at([1, 2, 3], -1, 9)", "[1, 2, 9]"},
    {"replace_at([1], 1, 9)", "unknown"},
    {"insert_at([1, 3], 0, 2)", "[2, 1, 3]"},
    {"insert_at([1, 3], 1, 2)", "[1, 2, 3]"},
    {"insert_at([1, 3], 2, 2)", "[1, 3, 2]"},
    {"insert_at([1], 2, 9)", "unknown"},
    {"insert_at([1], -1, 9)", "unknown"},
    {"pick([5, 6, 7], [2, 0, -1])", "[7, 5, 7]"},
    {"pick([5], [])", "[]"},
    {"pick([5], [1])", "unknown"},
    {"sorted([3, 1, 2])", "[1, 2, 3]"},
    {"sorted([])", "[]"},
    {"add_lists([1, 2], [3, 5])", "[4, 7]"},
    {"add_lists([1], [1, 2])", "unknown"},
    {"add_lists([9223372036854775807], [1])", "unknown"},
    {"sub_lists([5, 2], [3, 4])", "[2, -2]"},
    {"sub_lists([1], [1, 2])", "unknown"},
    {"mul_lists([2, 3], [4, 5])", "[8, 15]"},
    {"mul_lists([9223372036854775807], [2])", "unknown"},
    {"max_lists([1, 5], [2, 4])", "[2, 5]"},
    {"halves([4, 5, -3, -4, 0])", "[2, 2, -2, -2, 0]"},
    {"below([1, 2], [2, 3])", "true"},
    {"below([1, 3], [2, 3])", "false"},
    {"below([1], [1, 2])", "unknown"},
    {"axes([-1, 0], 3)", "[0, 2]"},
    {"axes([], 3)", "[]"},
    {"axes([3], 3)", "unknown"},
    {"axes([-4], 3)", "unknown"},
    {"axis(-1, 4)", "3"},
    {"axis(3, 4)", "3"},
    {"axis(-4, 4)", "0"},
    {"axis(4, 4)", "unknown"},
    {"axis(-5, 4)", "unknown"},
    /* permutations */
    {"compose([1, 2, 0], [1, 0, 2])", "[2, 1, 0]"},
    {"compose([1, 2, 0], [2, 0, 1])", "[0, 1, 2]"},
    {"compose([0, 1], [0])", "unknown"},
    {"compose([0, 0], [0, 1])", "unknown"},
    {"compose([0, 1], [0, 2])", "unknown"},
    {"inverse([2, 0, 1])", "[1, 2, 0]"},
    {"inverse([0, 0])", "unknown"},
    {"inverse([1])", "unknown"},
    {"is_identity([0, 1, 2])", "true"},
    {"is_identity([0, 2, 1])", "false"},
    {"perm_of(missing, in0)", "[2, 1, 0]"},
    {"perm_of([0, 1], in0)", "[0, 1]"},
    /* shapes: in0 f32[2,3,4], in1 f32[3,1], in2 f16[n,4], in3 i64[?,4], in4 bf16[n,4], in5 i8[4],
       in6 bool[] */
    {"dim(in0, -1)", "4"},
    {"dim(in0, -3)", "2"},
    {"dim(in0, -4)", "unknown"},
    {"dim(in0, 3)", "unknown"},
    {"shape(in0)", "[2, 3, 4]"},
    {"shape(in2)", "unknown"},
    {"numel(in0)", "24"},
    {"numel(in6)", "1"},
    {"same_dim(in0, 2, in2, 1)", "true"},
    {"same_dim(in0, 0, in2, 1)", "false"},
    {"same_dim(in0, 3, in2, 1)", "unknown"},
    {"same_dim(in0, 2, in2, 2)", "unknown"},
    {"same_dim(in2, 0, in4, 0)", "true"},
    {"same_dim(in2, 0, in3, 0)", "unknown"},
    {"same_dims(in0, [2], in2, [-1])", "true"},
    {"same_dims(in0, [2, 0], in2, [1, 1])", "false"},
    {"same_dims(in0, [2, 1], in2, [1])", "unknown"},
    {"same_dims(in2, [0, 1], in3, [0, 1])", "unknown"},
    {"is_float(in0)", "true"},
    {"is_float(in3)", "false"},
    {"static(in0)", "true"},
    {"static(in3)", "false"},
    {"same_shape(in2, in4)", "true"},
    {"same_shape(in0, in1)", "false"},
    {"same_shape(in1, in2)", "false"},
    {"same_shape(in3, in2)", "unknown"},
    {"same_type(in2, in2)", "true"},
    {"same_type(in2, in4)", "false"},
    {"broadcasts(in1, in0)", "true"},
    {"broadcasts(in0, in1)", "false"},
    {"broadcasts(in2, in0)", "false"},
    {"broadcasts(in3, in0)", "unknown"},
    {"broadcasts(in6, in0)", "true"},
    {"stretched(in1, in0)", "[0, 2]"},
    {"stretched(in0, in0)", "[]"},
    {"stretched(in5, in0)", "[0, 1]"},
    {"stretched(in0, in1)", "unknown"},
    {"stretched(in1, in2)", "unknown"},
    {"keeps(in0, f32)", "true"},
    {"keeps(in0, f64)", "true"},
    {"keeps(in0, f16)", "false"},
    {"keeps(in2, f32)", "true"},
    {"keeps(in4, f16)", "false"},
    {"keeps(in5, i16)", "true"},
    {"keeps(in5, f16)", "false"},
    {"keeps(in3, f64)", "false"},
    {"keeps(in6, u8)", "true"},
    {"reshape_spec(in0, in1)", "[3, 1]"},
    {"reshape_spec(in2, in4)", "[0, 4]"},
    {"reshape_spec(in0, in2)", "[-1, 4]"},
    {"reshape_spec(in5, in4)", "[-1, 4]"},
    {"reshape_spec(in1, in7)", "unknown"},
    {"moves_units([1, 0], in1)", "true"},
    {"moves_units([1, 0], in2)", "false"},
    {"moves_units([0, 1], in2)", "true"},
    {"moves_units([0], in2)", "unknown"},
    {"moves_units([0, 0], in2)", "unknown"},
    {"moves_units(missing, in2)", "unknown"},
    {"per_channel(in1, in0)", "true"},
    {"per_channel(in5, in0)", "false"},
    {"per_channel(in0, in0)", "false"},
    {"per_channel(in0, in1)", "unknown"},
    {"per_channel(in5, in5)", "unknown"},
    {"along(in1, in0, 1)", "true"},
    {"along(in1, in0, -2)", "true"},
    {"along(in1, in0, 2)", "false"},
    {"along(in5, in0, 2)", "true"},
    {"along(in5, in0, -1)", "true"},
    {"along(in5, in0, 0)", "false"},
    {"along(in5, in0, 3)", "false"},
    {"along(in5, in0, -4)", "false"},
    {"along(in6, in0, 0)", "true"},
    {"along(in0, in1, 0)", "false"},
    {"trailing(in5, in0)", "true"},
    {"trailing(in0, in0)", "true"},
    {"trailing(in1, in0)", "false"},
    {"trailing(in0, in5)", "false"},
    {"trailing(in2, in0)", "false"},
    {"trailing(in3, in0)", "unknown"},
    /* constants: in8 i64 [3, 5, 7], in9 f32 [2.5, 2.5], in10 i32 [4, 4] */
    {"is_const(in8)", "true"},
    {"is_const(in0)", "false"},
    {"ints(in8)", "[3, 5, 7]"},
    {"ints(in9)", "unknown"},
    {"ints(in0)", "unknown"},
    {"scalar(in9)", "2.5"},
    {"scalar(in10)", "4"},
    {"scalar(in8)", "unknown"},
    {"scalar(in0)", "unknown"},
};

static void check(const char *graph, const row *some, size_t n) {
  tl_buf out;
  tl_buf_init(&out);
  for (size_t i = 0; i < n; i++) {
    evaluate(graph, some[i].text, &out);
    bool same = tl_sv_is(tl_buf_view(&out), some[i].want);
    CU_ASSERT(same);
    if (!same)
      printf("\n  %s: %.*s, not %s\n", some[i].text, TL_SV_ARG(tl_buf_view(&out)), some[i].want);
  }
  tl_buf_release(&out);
}

static void values(void) { check(norm, rows, sizeof rows / sizeof *rows); }

static void values_of_functions(void) {
  check(operands, functions, sizeof functions / sizeof *functions);
}

/* The parser looks names up by halves. */
static void functions_are_sorted(void) {
  for (unsigned i = 1; i < TL_N_FUNCTIONS; i++)
    CU_ASSERT(strcmp(tl_functions[i - 1].name, tl_functions[i].name) < 0);
  for (unsigned i = 0; i < TL_N_FUNCTIONS; i++) {
    const tl_function_row *f = &tl_functions[i];
    CU_ASSERT(f->places && f->least <= f->most && f->most <= TL_FUNCTION_ARGS);
    CU_ASSERT(strncmp(f->signature, f->name, strlen(f->name)) == 0);
  }
}

/* Each function that some place has is known there and nowhere else. */
static void functions_have_their_places(void) {
  tl_diag diag = {0};
  tl_module *m = tl_module_create(&diag, "test", 0);
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  for (unsigned i = 0; i < TL_N_FUNCTIONS; i++)
    for (unsigned place = TL_IN_GUARDS; place <= TL_IN_OPERANDS; place <<= 1) {
      char text[128];
      const char *why;
      int n = snprintf(text, sizeof text, "%s(", tl_functions[i].name);
      for (unsigned k = 0; k < tl_functions[i].least; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s1", k ? ", " : "");
      snprintf(text + n, sizeof text - (size_t)n, ")");
      const tl_expr *e = tl_npu_expr_parse(m, &scratch, tl_sv_from(text), place, &why);
      CU_ASSERT_EQUAL(e != NULL, (tl_functions[i].places & place) != 0);
    }
  tl_arena_release(&scratch);
  tl_module_destroy(m);
}

static const unit_test tests[] = {{"values", values},
                                  {"values of functions", values_of_functions},
                                  {"functions are sorted", functions_are_sorted},
                                  {"functions have their places", functions_have_their_places},
                                  {NULL, NULL}};
const unit_suite unit_suite_expr = {"expr", tests};
