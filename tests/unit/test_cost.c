/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model: collectives as in example 36 of the training specification, nodes by the formulas
 * of 4.2 on a machine where a flop and a byte take a microsecond, presets and profiles with what is
 * wrong about them. */
#include <string.h>

#include "ir/text/parse.h"
#include "passes/train/time/cost.h"
#include "tests/unit/unit.h"

static const double RESNET50 = 102236324; /* bytes of its gradients */

static void example_36(void) {
  tl_links ring = {TL_COMM_RING, 56e3, 5};
  tl_links halving = {TL_COMM_HALVING, 56e3, 5};
  tl_links mesh = {TL_COMM_MESH, 18.3e3, 5};
  CU_ASSERT_DOUBLE_EQUAL(tl_cost_all_reduce(&ring, 8, RESNET50), 3264.9, 0.05);
  CU_ASSERT_DOUBLE_EQUAL(tl_cost_all_reduce(&halving, 8, RESNET50), 3224.9, 0.05);
  CU_ASSERT_DOUBLE_EQUAL(tl_cost_all_reduce(&mesh, 8, RESNET50), 1406.7, 0.05);
  tl_hw_preset hw;
  tl_costs c;
  tl_diag quiet = {0};
  CU_ASSERT_EQUAL_FATAL(tl_hw_preset_parse(&quiet, TL_SV("ascend910b"), &hw), TL_OK);
  hw.algorithm1 = TL_COMM_RING;
  tl_costs_init(&c, &hw, 16);
  CU_ASSERT_DOUBLE_EQUAL(tl_cost_collective(&c, TL_ALL_REDUCE, RESNET50), 2065.6, 0.05);
  CU_ASSERT_DOUBLE_EQUAL(tl_cost_collective(&c, TL_REDUCE_SCATTER, RESNET50), 2065.6 / 2, 0.05);
  tl_costs_release(&c);
}

static void collectives(void) {
  tl_links l = {TL_COMM_HALVING, 1, 10};
  /* three of four steps' worth: the power below is 2, and the third rank hands over all it has */
  CU_ASSERT_DOUBLE_EQUAL(tl_cost_all_reduce(&l, 3, 100), 2 * 2 * 10 + 100 + 200, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(tl_cost_all_reduce(&l, 4, 100), 2 * 2 * 10 + 150, 1e-9);
  CU_ASSERT_EQUAL(tl_cost_all_reduce(&l, 1, 100), 0);
  tl_hw_preset hw;
  tl_costs c;
  tl_diag quiet = {0};
  CU_ASSERT_EQUAL_FATAL(tl_hw_preset_parse(&quiet, TL_SV("ascend910"), &hw), TL_OK);
  tl_costs_init(&c, &hw, 8);
  /* a ring: (n - 1) a + S / b */
  CU_ASSERT_DOUBLE_EQUAL(tl_cost_collective(&c, TL_BROADCAST, 56e6), 7 * 10.5 + 1000, 1e-6);
  tl_costs_release(&c);
  tl_costs_init(&c, &hw, 1);
  CU_ASSERT_EQUAL(tl_cost_collective(&c, TL_ALL_REDUCE, 1e6), 0);
  tl_costs_release(&c);
  tl_costs_init(&c, &hw, 0);
  CU_ASSERT_EQUAL(c.ranks, 8);
  tl_costs_release(&c);
}

static void presets(void) {
  tl_hw_preset hw;
  tl_diag quiet = {0};
  for (uint32_t i = 0; tl_hw_preset_at(i); i++) {
    tl_sv name = tl_sv_from(tl_hw_preset_at(i)->name);
    CU_ASSERT_EQUAL(tl_hw_preset_parse(&quiet, name, &hw), TL_OK);
  }
  CU_ASSERT_EQUAL(tl_hw_preset_parse(&quiet, TL_SV("ascend910b:cube=280e12, launch=0"), &hw),
                  TL_OK);
  CU_ASSERT_EQUAL(hw.cube, 280e12);
  CU_ASSERT_EQUAL(hw.launch, 0);
  CU_ASSERT_EQUAL(hw.hbm, 1600e9);
  static const char *const bad[] = {"",
                                    "ascend",
                                    "ascend910b:",
                                    "ascend910b:cube",
                                    "ascend910b:cube=",
                                    "ascend910b:cube=0",
                                    "ascend910b:cube=-1",
                                    "ascend910b:cube=nan",
                                    "ascend910b:cube=inf",
                                    "ascend910b:cube=1e300",
                                    "ascend910b:tube=1",
                                    "ascend910b:cube=1,,hbm=2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CU_ASSERT_EQUAL(tl_hw_preset_parse(&quiet, tl_sv_from(bad[i]), &hw), TL_INVALID_ARGUMENT);
  CU_ASSERT_EQUAL(quiet.errors, sizeof bad / sizeof *bad);
}

static void rows_are_sorted(void) {
  for (uint32_t i = 1; tl_cost_row_name(i); i++)
    CU_ASSERT_TRUE(strcmp(tl_cost_row_name(i - 1), tl_cost_row_name(i)) < 0);
}

static const char graph[] =
    "graph @g(%a: f16[2,3,4], %b: f16[2,4,5], %x: f32[1,6,9,9], "
    "%w: f32[8,3,3,3], %t: f32[4,3], %n: f32[?,7]) -> (%y) {\n"
    "  %mm = MatMul(%a, %b) : f16[2,3,5]\n"
    "  %ge = Gemm(%t, %t) {transA=1, transB=1} : f32[3,4]\n"
    "  %cv = Conv(%x, %w) {group=2} : f32[1,8,7,7]\n"
    "  %ad = Add(%t, %t) : f32[4,3]\n"
    "  %ex = Exp(%t) : f32[4,3]\n"
    "  %rs = Reshape(%t, %t) : f32[12]\n"
    "  %rd = ReduceSum(%t) : f32[3]\n"
    "  %un = Relu(%n) : f32[?,7]\n"
    "  %tr = Transpose(%t) : f32[3,4]\n"
    "  %ar = npu::HcomAllReduce(%t) {reduction=\"sum\", group=\"g\"} : f32[4,3]\n"
    "  %y = Identity(%ar) : f32[4,3]\n"
    "}\n";

/* The cost of the node that makes a value. */
static tl_node_cost cost_of(const tl_costs *c, const tl_module *m, const char *name) {
  TL_FOR_NODES(m, tl_module_main(m), n)
    if (tl_sv_is(tl_value_name(m, tl_result(m, n, 0)), name))
      return tl_cost_node(c, m, n);
  CU_FAIL("no such value");
  return (tl_node_cost){0};
}

static void takes(const tl_costs *c, const tl_module *m, const char *name, double flops,
                  double bytes) {
  tl_node_cost k = cost_of(c, m, name);
  CU_ASSERT_DOUBLE_EQUAL(k.flops, flops, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(k.bytes, bytes, 1e-9);
}

static void nodes(void) {
  tl_hw_preset hw;
  tl_costs c;
  tl_module *m;
  tl_diag quiet = {0};
  CU_ASSERT_EQUAL_FATAL(tl_hw_preset_parse(&quiet, TL_SV("unit:event=2"), &hw), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&quiet, "", tl_sv_from(graph), &m), TL_OK);
  tl_costs_init(&c, &hw, 4);
  takes(&c, m, "mm", 2 * (2 * 3 * 5 * 4), 2 * (24 + 40 + 30));
  takes(&c, m, "ge", 2 * (3 * 4 * 4), 4 * (12 + 12));
  takes(&c, m, "cv", 2 * (7 * 7 * 8 * 3 * 9), 4 * (486 + 216 + 392));
  takes(&c, m, "ad", 12, 4 * 24);
  takes(&c, m, "ex", 10 * 12, 4 * 24);
  takes(&c, m, "rs", 0, 0);
  takes(&c, m, "rd", 12, 4 * 15);
  takes(&c, m, "un", 7, 4 * 14);
  takes(&c, m, "tr", 0, 4 * 24);
  takes(&c, m, "ar", 0, 48);
  CU_ASSERT_DOUBLE_EQUAL(cost_of(&c, m, "mm").us, 240, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(cost_of(&c, m, "ad").us, 96, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(cost_of(&c, m, "rs").us, 0, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(cost_of(&c, m, "ar").us, 48, 1e-9);
  CU_ASSERT_TRUE(cost_of(&c, m, "ar").comm);
  CU_ASSERT_EQUAL(cost_of(&c, m, "ar").engine, TL_ENGINE_LINK0);
  CU_ASSERT_EQUAL_FATAL(
      tl_costs_read_profile(&quiet, &c, "p", TL_SV("name,us\n# measured\nad, 5.5\nar,7\n")), TL_OK);
  CU_ASSERT_EQUAL(cost_of(&c, m, "ad").us, 5.5);
  CU_ASSERT_TRUE(cost_of(&c, m, "ad").profiled);
  CU_ASSERT_EQUAL(cost_of(&c, m, "ar").us, 7);
  CU_ASSERT_FALSE(cost_of(&c, m, "ex").profiled);
  tl_costs_release(&c);
  c.ge = true; /* 1 x 1 x 1 blocks twice; 3 cycles an element */
  CU_ASSERT_DOUBLE_EQUAL(cost_of(&c, m, "mm").us, 2, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(cost_of(&c, m, "ad").us, 3 * 12, 1e-9);
  tl_module_destroy(m);
}

static void profiles_that_are_refused(void) {
  tl_hw_preset hw = *tl_hw_preset_at(0);
  tl_costs c;
  static const char *const bad[] = {"a",     "a,",    ",1",     "a,x",      "a,-1",
                                    "a,nan", "a,inf", "a,1\nb", "a,1\na,2", "a,1,"};
  tl_costs_init(&c, &hw, 8);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tl_diag quiet = {0};
    CU_ASSERT_EQUAL(tl_costs_read_profile(&quiet, &c, "p", tl_sv_from(bad[i])),
                    TL_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(quiet.errors, 1);
    CU_ASSERT_EQUAL(c.n_profile, 0);
  }
  tl_diag quiet = {0};
  double us = 0; /* a comma in a name */
  CU_ASSERT_EQUAL_FATAL(tl_costs_read_profile(&quiet, &c, "p", TL_SV("a,b,3\r\n")), TL_OK);
  CU_ASSERT_TRUE(tl_cost_profile_find(&c, TL_SV("a,b"), &us));
  CU_ASSERT_EQUAL(us, 3);
  tl_costs_release(&c);
}

static const unit_test tests[] = {
    {"example 36", example_36},
    {"collectives", collectives},
    {"presets", presets},
    {"rows are sorted", rows_are_sorted},
    {"nodes", nodes},
    {"profiles that are refused", profiles_that_are_refused},
    {NULL, NULL},
};

const unit_suite unit_suite_cost = {"cost", tests};
