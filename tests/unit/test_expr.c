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

static const char graph[] = "graph @g(%x: f32[2,n,4], %y: f16[3]) -> (%z) {\n"
                            "  const %c: i64[2] = [3, 5]\n  const %h: f32[2] = [0.5, 0.25]\n"
                            "  %r = Reshape(%x, %c)\n"
                            "  %z = LayerNormalization(%x, %h) {axis=-1, epsilon=0.1}\n}\n";

/* The value of a text at the last node, as people read it; "?": the text is no expression. */
static void evaluate(const char *text, tl_buf *out) {
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

static const struct {
  const char *text;
  const char *want;
} rows[] = {
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

static void values(void) {
  tl_buf out;
  tl_buf_init(&out);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    evaluate(rows[i].text, &out);
    bool same = tl_sv_is(tl_buf_view(&out), rows[i].want);
    CU_ASSERT(same);
    if (!same)
      printf("\n  %s: %.*s, not %s\n", rows[i].text, TL_SV_ARG(tl_buf_view(&out)), rows[i].want);
  }
  tl_buf_release(&out);
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
                                  {"functions are sorted", functions_are_sorted},
                                  {"functions have their places", functions_have_their_places},
                                  {NULL, NULL}};
const unit_suite unit_suite_expr = {"expr", tests};
