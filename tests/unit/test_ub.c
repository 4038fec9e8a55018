/* SPDX-License-Identifier: Apache-2.0 */
/* Buffer fusion: the table of chains and its notation. */
#include <string.h>

#include "passes/ub/chain.h"
#include "tests/unit/unit.h"

static void rows_are_chains_of_known_passes(void) {
  for (uint32_t i = 0; i < tl_ub_n_chains(); i++) {
    tl_ub_chain c = {0};
    CU_ASSERT_TRUE_FATAL(tl_ub_chain_get(i, &c));
    uint32_t least = 0, most = 0;
    for (uint8_t k = 0; k < c.n_steps; k++) {
      least += c.steps[k].least;
      most += c.steps[k].most;
    }
    CU_ASSERT_TRUE(least <= TL_UB_MOST_NODES);
    CU_ASSERT_TRUE(most >= 2);
    CU_ASSERT_TRUE(c.order >= TL_PRIORITY_BUILT_IN && c.order < TL_PRIORITY_CUSTOM_PASS);
    const tl_fusion_name *name = tl_fusion_name_find(tl_sv_from(c.pass));
    CU_ASSERT_PTR_NOT_NULL_FATAL(name);
    CU_ASSERT_EQUAL(name->kind, TL_FUSION_UB);
  }
}

/* Types of a step that no op information knows would never fit. */
static void named_types_are_known(void) {
  for (uint32_t i = 0; i < tl_ub_n_chains(); i++) {
    tl_ub_chain c = {0};
    CU_ASSERT_TRUE_FATAL(tl_ub_chain_get(i, &c));
    for (uint8_t k = 0; k < c.n_steps; k++)
      for (uint8_t t = 0; t < c.steps[k].n_types; t++)
        CU_ASSERT_PTR_NOT_NULL(
            tl_op_info_find(tl_op_info_builtin(TL_SOC_A2), tl_ub_chain_type(&c, &c.steps[k], t))
                .row);
  }
}

static void a_chain_is_read(void) {
  tl_ub_chain c = {.text = "quant? > c=Convolution|MyConv > ElemWise:2*3?+ > Mul(c,c) > Add!"};
  CU_ASSERT_TRUE_FATAL(tl_ub_chain_parse(&c));
  CU_ASSERT_EQUAL(c.n_steps, 5);
  CU_ASSERT_EQUAL(c.n_heads, 2);
  CU_ASSERT_TRUE(c.shared[1]);
  CU_ASSERT_EQUAL(c.steps[1].classes, UINT64_C(1) << TL_UB_CONV);
  CU_ASSERT_EQUAL(c.steps[1].n_types, 1);
  CU_ASSERT_EQUAL(c.steps[2].operands, 2);
  CU_ASSERT_EQUAL(c.steps[2].least, 0);
  CU_ASSERT_EQUAL(c.steps[2].most, 3);
  CU_ASSERT_EQUAL(c.steps[2].outside, TL_UB_AT_WILL);
  CU_ASSERT_EQUAL(c.steps[3].n_args, 2);
  CU_ASSERT_EQUAL(c.steps[3].args[0], 1);
  CU_ASSERT_EQUAL(c.steps[4].outside, TL_UB_SOME);
}

static void other_texts_are_refused(void) {
  static const char *const texts[] = {"",
                                      "a > ",
                                      "Relu >> Exp",
                                      "Relu(c) > Exp",
                                      "c=Relu > Exp(d)",
                                      "c=Relu > Exp(c",
                                      "Relu > Exp)",
                                      "c=Relu > Exp(c,c,c)",
                                      "Relu*0 > Exp",
                                      "Relu Exp",
                                      "Relu|",
                                      "= > Relu",
                                      "A > B > C > D > E > F > G > H > I"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    tl_ub_chain c = {.text = texts[i]};
    CU_ASSERT_FALSE(tl_ub_chain_parse(&c));
  }
}

static void chains_are_counted(void) {
  CU_ASSERT_EQUAL(tl_ub_count_chains(TL_SV("TbeConv2dAddRelu6MulMulFusionPass")), 2);
  CU_ASSERT_EQUAL(tl_ub_count_chains(TL_SV("AutomaticUbFusion")), 1);
  CU_ASSERT_EQUAL(tl_ub_count_chains(TL_SV("AutoSingleNormFusionPass")), 0);
  CU_ASSERT_EQUAL(tl_ub_count_chains(TL_SV("")), 0);
}

static const unit_test tests[] = {
    {"rows are chains of known passes", rows_are_chains_of_known_passes},
    {"named types are known", named_types_are_known},
    {"a chain is read", a_chain_is_read},
    {"other texts are refused", other_texts_are_refused},
    {"chains are counted", chains_are_counted},
    {NULL, NULL}};
const unit_suite unit_suite_ub = {"ub", tests};
