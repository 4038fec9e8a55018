/* SPDX-License-Identifier: Apache-2.0 */
/* Fused ops and their definitions: through ONNX and back a module stays what it is, and definitions
 * say what the ops mean. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/onnx/export.h"
#include "frontend/onnx/load.h"
#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "passes/manager.h"
#include "passes/precision/range_rows.h"
#include "passes/train/time/cost.h"
#include "tests/unit/unit.h"

/* Two uses that share a function, others that differ in an attribute and in the dtype, one of them
 * in a body. */
static const char uses[] = "graph @g(%x: f32[n,4], %h: f16[2,4], %c: bool[]) -> (%y, %z, %w) {\n"
                           "  const %k: f32[4] = [1.0, 2.0, 3.0, 4.0]\n"
                           "  const %l: f16[4] = [1.0, 2.0, 3.0, 4.0]\n"
                           "  %a = tl::RmsNorm(%x, %k) {epsilon=1e-06}\n"
                           "  %y = tl::RmsNorm(%a, %k) {epsilon=1e-06}\n"
                           "  %z = tl::RmsNorm(%h, %l)\n"
                           "  %w = If(%c) {\n"
                           "    then_branch=graph @t() -> (%p) {\n"
                           "      %p = tl::RmsNorm(%x, %k) {epsilon=0.5}\n"
                           "    },\n"
                           "    else_branch=graph @e() -> (%q) {\n"
                           "      %q = Neg(%a)\n"
                           "    }\n"
                           "  }\n"
                           "}\n";

static tl_module *made(tl_diag *diag, const char *text, const char *passes) {
  tl_module *m = NULL;
  tl_options options = tl_options_default();
  tl_pipeline_options p = {.passes = passes, .verify_each = true};
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(diag, "-", tl_sv_from(text), &m), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_pipeline_run(m, &options, &p, NULL), TL_OK);
  return m;
}

static void check_same(const tl_module *a, const tl_module *b) {
  CU_ASSERT_EQUAL_FATAL(a->graphs.n, b->graphs.n);
  for (uint32_t i = 0; i < a->graphs.n; i++)
    if (a->graphs.at[i]->kind == TL_GRAPH_ROOT)
      CU_ASSERT_EQUAL(tl_graph_hash(a, a->graphs.at[i]->id), tl_graph_hash(b, b->graphs.at[i]->id));
}

static void functions_are_raised_again(void) {
  tl_diag diag = {0};
  char folder[] = "/tmp/tailor-unit-XXXXXX", path[64];
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m.onnx", folder);
  tl_module *m = made(&diag, uses, "infer-shapes,outline-definitions"), *again = NULL;
  CU_ASSERT_EQUAL(m->definitions.n, 3); /* two of one epsilon, one of another, one of f16 */
  CU_ASSERT_EQUAL(tl_onnx_save(m, path, NULL), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_onnx_load(&diag, path, NULL, &again), TL_OK);
  check_same(m, again);
  tl_module_destroy(again);
  tl_module_destroy(m);
  unlink(path);
  rmdir(folder);
}

static uint32_t count_defined(const tl_module *m) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < m->graphs.n; i++)
    TL_FOR_NODES(m, m->graphs.at[i], at)
      n += tl_sv_eq(tl_op_domain(m, tl_node_get(m, at)->op), TL_SV("tl"));
  return n;
}

static void ops_become_their_definitions(void) {
  tl_diag diag = {0};
  tl_module *m = made(&diag, uses, "infer-shapes,expand-definitions");
  CU_ASSERT_EQUAL(count_defined(m), 0);
  CU_ASSERT_EQUAL(m->definitions.n, 0);
  tl_module_destroy(m);
}

static bool has_cost_row(const char *name) {
  for (uint32_t i = 0; tl_cost_row_name(i); i++)
    if (strcmp(tl_cost_row_name(i), name) == 0)
      return true;
  return false;
}

/* A fusion may not make precision or the schedule know less of a model: what it makes has a row in
 * range_ops.tbl, though it may be NONE, and one in cost_ops.tbl. */
static void ranges_and_costs_know_fused_ops(void) {
  uint32_t n = 0;
  for (tl_op_id op = 0; op < tl_n_op_rows; op++) {
    const tl_op *row = tl_op_row(op);
    if (row->domain_symbol != TL_SYM_tl || tl_op_has_trait(op, TL_TRAIT_BODY))
      continue;
    n++;
    CU_ASSERT_TRUE(tl_range_op_at(op)->listed);
    CU_ASSERT_TRUE(has_cost_row(row->name));
    if (!tl_range_op_at(op)->listed)
      printf("\n  RANGE(tl_%s, ...) is missing in passes/precision/range_ops.tbl", row->name);
    if (!has_cost_row(row->name))
      printf("\n  COST(\"%s\", ...) is missing in passes/train/time/cost_ops.tbl", row->name);
  }
  CU_ASSERT_TRUE(n > 10);
}

static const unit_test tests[] = {
    {"functions are raised again", functions_are_raised_again},
    {"ops become their definitions", ops_become_their_definitions},
    {"ranges and costs know fused ops", ranges_and_costs_know_fused_ops},
    {NULL, NULL}};
const unit_suite unit_suite_definitions = {"definitions", tests};
