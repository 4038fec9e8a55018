/* SPDX-License-Identifier: Apache-2.0 */
/* Which fusion passes are on, in what order they run, and the report of what they did. The
 * configurations are written by hand here; the readers of files and options have tests of their
 * own. */
#include <limits.h>
#include <stdio.h>

#include "ir/options/fusion_config.h"
#include "ir/options/fusion_stats.h"
#include "tests/unit/unit.h"

#define ON 1
#define OFF 0

static tl_fusion_entry say(const char *pass, int value) {
  return (tl_fusion_entry){.pass = tl_sv_from(pass), .written = tl_sv_from(pass), .value = value};
}

#define LIST(entries) ((tl_fusion_list){entries, sizeof(entries) / sizeof *(entries)})

static bool is_on(const tl_fusion_config *c, const char *pass, tl_fusion_kind kind) {
  const char *why = NULL;
  bool on = tl_fusion_is_on(c, tl_sv_from(pass), kind, &why);
  CU_ASSERT_PTR_NOT_NULL(why);
  return on;
}

static void graph_on(const tl_fusion_config *c, const char *pass) {
  CU_ASSERT_TRUE(is_on(c, pass, TL_FUSION_GRAPH));
}

static void graph_off(const tl_fusion_config *c, const char *pass) {
  CU_ASSERT_FALSE(is_on(c, pass, TL_FUSION_GRAPH));
}

/* Names must be sorted for the search; each alias must lead to a pass, and be none itself. */
static void test_table(void) {
  uint32_t n;
  const tl_fusion_name *rows = tl_fusion_names(&n);
  for (uint32_t i = 0; i < n; i++) {
    tl_sv name = tl_sv_from(rows[i].name);
    CU_ASSERT_PTR_EQUAL(tl_fusion_name_find(name), &rows[i]);
    CU_ASSERT_TRUE(i == 0 || tl_sv_compare(tl_sv_from(rows[i - 1].name), name) < 0);
    CU_ASSERT_PTR_NULL(tl_fusion_alias_get(name, 0));
    CU_ASSERT_TRUE(rows[i].on || rows[i].close == TL_CLOSE_MAY);
  }
  static const char *const aliases[] = {
#define ALIAS(name, pass) #name,
#include "ir/options/fusion_names.tbl"
  };
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    const char *pass = tl_fusion_alias_get(tl_sv_from(aliases[i]), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pass);
    CU_ASSERT_PTR_NOT_NULL(tl_fusion_name_find(tl_sv_from(pass)));
    CU_ASSERT_PTR_NULL(tl_fusion_name_find(tl_sv_from(aliases[i])));
  }
  CU_ASSERT_STRING_EQUAL(tl_fusion_alias_get(TL_SV("RequantFusionPass"), 1),
                         "V200RequantFusionPass");
  CU_ASSERT_PTR_NULL(tl_fusion_alias_get(TL_SV("RequantFusionPass"), 2));
}

static void test_nearest(void) {
  CU_ASSERT_STRING_EQUAL(tl_fusion_name_nearest(TL_SV("SoftmxFusionPass")), "SoftmaxFusionPass");
  CU_ASSERT_STRING_EQUAL(tl_fusion_name_nearest(TL_SV("RequantFusionPas")), "RequantFusionPass");
  CU_ASSERT_PTR_NULL(tl_fusion_name_nearest(TL_SV("SomethingElseAltogether")));
  static const char *const pairs[][2] = {
      {"PoolFusionPass", "PoolingFusionPass"},
      {"DropOutDoMask", "DropOutDoMaskFusionPass"},
      {"LayerNormFusion", "LayerNormFusionPass"},
      {"GELUFusionPass", "GeluFusionPass"},
      {"addlayernormpass", "AddLayerNormFusionPass"},
      {"EltwiseUbFusion", "TbeEltwiseFusionPass"},
      {"Concat", "ZConcatFusionPass"},
      {"SPPPas", "SPPPass"},
      {"KerasMomentumLossscale", "A_KerasMomentumLossscaleFusionPass"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const char *near = tl_fusion_name_nearest(tl_sv_from(pairs[i][0]));
    CU_ASSERT_PTR_NOT_NULL_FATAL(near);
    CU_ASSERT_STRING_EQUAL(near, pairs[i][1]);
  }
  CU_ASSERT_PTR_NULL(tl_fusion_name_nearest(TL_SV("")));
}

/* Rule 10, and the built-in entries of rule 7. */
static void test_defaults(void) {
  graph_on(NULL, "SoftmaxFusionPass");
  graph_off(NULL, "SplitConvFusionPass");
  graph_on(NULL, "ANameNobodyKnows");
  CU_ASSERT_FALSE(is_on(NULL, "AutoSingleNormFusionPass", TL_FUSION_UB));
  CU_ASSERT_TRUE(is_on(NULL, "ScopeLayerNormPass", TL_FUSION_SCOPE));
  CU_ASSERT_FALSE(is_on(NULL, "ScopeROIAlignPass", TL_FUSION_SCOPE));
}

/* Rules 7 and 8: individual beats ALL both ways, built-in individual beats the user's ALL, and the
 * two kinds know nothing of each other. */
static void test_file(void) {
  const tl_fusion_entry off[] = {say("SoftmaxFusionPass", OFF)};
  const tl_fusion_entry on[] = {say("SoftmaxFusionPass", ON), say("SplitConvFusionPass", ON)};
  tl_fusion_config c = {.file_all = {TL_SWITCH_ON}, .file = {LIST(off)}};
  graph_off(&c, "SoftmaxFusionPass");
  graph_on(&c, "MulAddFusionPass");
  graph_off(&c, "SplitConvFusionPass");
  c = (tl_fusion_config){.file_all = {TL_SWITCH_OFF}, .file = {LIST(on)}};
  graph_on(&c, "SoftmaxFusionPass");
  graph_on(&c, "SplitConvFusionPass");
  graph_off(&c, "MulAddFusionPass");
  CU_ASSERT_TRUE(is_on(&c, "TbeEltwiseFusionPass", TL_FUSION_UB));
  CU_ASSERT_TRUE(is_on(&c, "ScopeLayerNormPass", TL_FUSION_SCOPE));
  CU_ASSERT_TRUE(is_on(&c, "PrunePass", TL_FUSION_CLEANUP));
  c = (tl_fusion_config){.file_all = {TL_SWITCH_UNSET, TL_SWITCH_OFF}};
  graph_on(&c, "MulAddFusionPass");
  CU_ASSERT_FALSE(is_on(&c, "TbeEltwiseFusionPass", TL_FUSION_UB));
}

/* Rules 2 and 5: some passes no file switches off. */
static void test_forbidden(void) {
  const tl_fusion_entry off[] = {say("TfMergeSubFusionPass", OFF),
                                 say("ZConcatExt2FusionPass", OFF),
                                 say("ZConcatv2dFusionPass", OFF)};
  const tl_fusion_entry exceptional[] = {say("ZConcatv2dFusionPass", ON)};
  tl_fusion_config c = {.file = {LIST(off)}, .file_all = {TL_SWITCH_OFF}};
  graph_on(&c, "TfMergeSubFusionPass");
  graph_on(&c, "ZConcatExt2FusionPass");
  graph_off(&c, "ZConcatv2dFusionPass");
  c.exceptional = LIST(exceptional);
  graph_on(&c, "ZConcatv2dFusionPass");
}

/* Rules 3 and 4: below O2 only exceptional passes run, and forbidden-close ones if the hidden
 * switch says so, which atc always does. */
static void test_level(void) {
  tl_fusion_config c = {.functional_only = true};
  graph_on(&c, "ZConcatExt2FusionPass");
  graph_off(&c, "TfMergeSubFusionPass");
  graph_off(&c, "SoftmaxFusionPass");
  CU_ASSERT_FALSE(is_on(&c, "TbeEltwiseFusionPass", TL_FUSION_UB));
  CU_ASSERT_FALSE(is_on(&c, "PrunePass", TL_FUSION_CLEANUP));
  c.forbidden_close = TL_SWITCH_ON;
  graph_on(&c, "TfMergeSubFusionPass");
  graph_off(&c, "SoftmaxFusionPass");
  CU_ASSERT_TRUE(is_on(&c, "TbeConvRequantFusionPass", TL_FUSION_UB));
  CU_ASSERT_TRUE(is_on(&c, "ConstantFoldingPass", TL_FUSION_CLEANUP));
  c.nothing = true; /* -O0 */
  graph_off(&c, "TfMergeSubFusionPass");
  graph_off(&c, "ZConcatExt2FusionPass");
  c = (tl_fusion_config){.forbidden_close = TL_SWITCH_OFF};
  graph_off(&c, "TfMergeSubFusionPass");
  graph_on(&c, "ZConcatExt2FusionPass");
}

/* Rule 1 and --fusion above it. */
static void test_options(void) {
  const tl_fusion_entry option[] = {say("PrunePass", OFF), say("SoftmaxFusionPass", ON),
                                    say("TfMergeSubFusionPass", OFF),
                                    say("ZConcatExt2FusionPass", OFF)};
  const tl_fusion_entry direct[] = {say("SoftmaxFusionPass", OFF)};
  tl_fusion_config c = {
      .option = LIST(option), .functional_only = true, .forbidden_close = TL_SWITCH_ON};
  graph_on(&c, "SoftmaxFusionPass");
  graph_off(&c, "TfMergeSubFusionPass");
  graph_off(&c, "ZConcatExt2FusionPass");
  CU_ASSERT_FALSE(is_on(&c, "PrunePass", TL_FUSION_CLEANUP));
  c.direct = LIST(direct);
  graph_off(&c, "SoftmaxFusionPass");
  c = (tl_fusion_config){.direct_all = TL_SWITCH_OFF};
  graph_off(&c, "SoftmaxFusionPass");
  graph_on(&c, "TfMergeSubFusionPass");
  CU_ASSERT_TRUE(is_on(&c, "PrunePass", TL_FUSION_CLEANUP));
}

static tl_fusion_order entry(const char *pass, bool custom, bool rule, int configured) {
  return (tl_fusion_order){
      .pass = tl_sv_from(pass), .custom = custom, .rule = rule, .configured = configured};
}

static void runs_as(const tl_fusion_order *p, uint32_t n, const char *expected) {
  char text[256] = "";
  for (uint32_t i = 0; i < n; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s=%d", i ? " " : "",
             TL_SV_ARG(p[i].pass), p[i].priority);
  CU_ASSERT_STRING_EQUAL(text, expected);
}

/* Bands of built-in passes: configured, passes by name, rules by name, Down behind all of them;
 * equal priorities keep their order. */
static void test_order(void) {
  tl_fusion_order p[] = {
      entry("rz", false, true, TL_NO_PRIORITY),  entry("down", false, true, 5010),
      entry("pb", false, false, TL_NO_PRIORITY), entry("pB", false, false, TL_NO_PRIORITY),
      entry("main2", false, true, 4165),         entry("main1", false, true, 4165),
      entry("ra", false, true, TL_NO_PRIORITY),
  };
  tl_fusion_sort(NULL, TL_FUSION_GRAPH, p, 7);
  runs_as(p, 7, "main2=4165 main1=4165 pB=8000 pb=8001 ra=9000 rz=9001 down=15010");
  tl_fusion_sort(NULL, TL_FUSION_GRAPH, NULL, 0);
}

/* Custom passes come first as registered; a priority for one of them merges all. */
static void test_order_custom(void) {
  tl_fusion_order before[] = {
      entry("built", false, true, 3000),
      entry("z", true, true, TL_NO_PRIORITY),
      entry("a", true, false, TL_NO_PRIORITY),
      entry("b", true, true, TL_NO_PRIORITY),
  };
  tl_fusion_order p[4];
  memcpy(p, before, sizeof p);
  tl_fusion_sort(NULL, TL_FUSION_GRAPH, p, 4);
  runs_as(p, 4, "z=-1 a=-1 b=-1 built=3000");
  const tl_fusion_entry down[] = {say("b", 2001)};
  const tl_fusion_entry top[] = {say("built", 999)};
  tl_fusion_config c = {.priority = {LIST(down)}};
  memcpy(p, before, sizeof p);
  tl_fusion_sort(&c, TL_FUSION_GRAPH, p, 4);
  runs_as(p, 4, "built=3000 a=6000 z=7000 b=12001");
  c.priority[TL_FUSION_GRAPH] = LIST(top);
  memcpy(p, before, sizeof p);
  tl_fusion_sort(&c, TL_FUSION_GRAPH, p, 4);
  runs_as(p, 4, "z=-1 a=-1 b=-1 built=999");
  CU_ASSERT_EQUAL(tl_fusion_priority(&c, TL_SV("built"), TL_FUSION_GRAPH, 3000), 999);
  CU_ASSERT_EQUAL(tl_fusion_priority(&c, TL_SV("built"), TL_FUSION_UB, 5000), 15000);
  CU_ASSERT_EQUAL(tl_fusion_priority(&c, TL_SV("built"), TL_FUSION_SCOPE, TL_NO_PRIORITY),
                  TL_NO_PRIORITY);
}

static void add(tl_fusion_stats *s, uint32_t graph, tl_fusion_kind kind, const char *pass,
                uint32_t matched, uint32_t effective) {
  CU_ASSERT_EQUAL(tl_fusion_stats_add(
                      s, &(tl_fusion_event){kind, tl_sv_from(pass), matched, effective, 0, graph}),
                  TL_OK);
}

static void reports(const tl_fusion_stats *s, const char *expected) {
  tl_buf out;
  tl_buf_init(&out);
  tl_fusion_stats_json(s, &out);
  if (!tl_sv_is(tl_buf_view(&out), expected))
    printf("\ngot:\n%s\nexpected:\n%s", out.p ? out.p : "", expected);
  CU_ASSERT_TRUE(tl_sv_is(tl_buf_view(&out), expected));
  tl_buf_release(&out);
}

/* The example of the device compiler's documents. */
static void test_report(void) {
  tl_fusion_stats s;
  tl_fusion_stats_init(&s);
  reports(&s, "");
  add(&s, 0, TL_FUSION_UB, "TbeEltwiseFusionPass", 3, 3);
  add(&s, 0, TL_FUSION_GRAPH, "ConvBatchnormFusionPass", 20, 19);
  add(&s, 0, TL_FUSION_GRAPH, "ConvBatchnormFusionPass", 1, 1);
  add(&s, 0, TL_FUSION_GRAPH, "NeverMatched", 0, 0);
  add(&s, 0, TL_FUSION_CLEANUP, "PrunePass", 4, 4);
  reports(&s, "{\n"
              "    \"session_and_graph_id_0_0\": {\n"
              "        \"graph_fusion\": {\n"
              "            \"ConvBatchnormFusionPass\": {\n"
              "                \"effect_times\": \"20\",\n"
              "                \"match_times\": \"21\"\n"
              "            }\n"
              "        },\n"
              "        \"ub_fusion\": {\n"
              "            \"TbeEltwiseFusionPass\": {\n"
              "                \"effect_times\": \"3\",\n"
              "                \"match_times\": \"3\",\n"
              "                \"repository_hit_times\": \"0\"\n"
              "            }\n"
              "        }\n"
              "    }\n"
              "}\n");
  tl_fusion_stats_release(&s);
}

/* Keys in byte order, counts that stay at the bound, no kind without an entry. */
static void test_report_order(void) {
  tl_fusion_stats s;
  tl_fusion_stats_init(&s);
  add(&s, 2, TL_FUSION_GRAPH, "b", 1, 0);
  add(&s, 10, TL_FUSION_GRAPH, "x", INT_MAX, INT_MAX);
  add(&s, 10, TL_FUSION_GRAPH, "x", 1, 7);
  add(&s, 2, TL_FUSION_GRAPH, "a", 1, 1);
#define PASS(name, effect, match)                                                                  \
  "            \"" name "\": {\n                \"effect_times\": \"" effect                       \
  "\",\n                \"match_times\": \"" match "\"\n            }"
  reports(
      &s,
      "{\n    \"session_and_graph_id_0_10\": {\n        \"graph_fusion\": {\n" PASS(
          "x", "2147483647",
          "2147483647") "\n        }\n    },\n"
                        "    \"session_and_graph_id_0_2\": {\n        \"graph_fusion\": {\n" PASS(
                            "a", "1", "1") ",\n" PASS("b", "0", "1") "\n        }\n    }\n}\n");
#undef PASS
  tl_fusion_stats_release(&s);
}

static const unit_test tests[] = {
    {"table of names", test_table},
    {"nearest name", test_nearest},
    {"defaults", test_defaults},
    {"switch file", test_file},
    {"passes that cannot be closed", test_forbidden},
    {"level", test_level},
    {"options", test_options},
    {"order", test_order},
    {"order of custom passes", test_order_custom},
    {"report", test_report},
    {"order of the report", test_report_order},
    {NULL, NULL},
};

const unit_suite unit_suite_fusion = {"fusion", tests};
