/* SPDX-License-Identifier: Apache-2.0 */
/* What NPU ops compute: definitions and kernels. Values are from the ops' descriptions, by hand;
 * that they are what canonical ops compute, tests/conformance/npu.py says. */
#include "ir/eval/eval.h"
#include "ir/op.h"
#include "passes/engine/rule.h"
#include "tests/unit/eval_check.h"

/* Candidates whose meaning nobody has told us well enough to state it, that read the chip, or (with
 * heads that no attribute counts) the shapes of their own results. */
static const char *const unknown[] = {"AttentionLnQKV",
                                      "BatchMultiClassNonMaxSuppression",
                                      "Iou",
                                      "QuantConv2D",
                                      "NPUAllocFloatStatus",
                                      "NPUClearFloatStatus",
                                      "NPUGetFloatStatus"};

static bool is_unknown(const char *type) {
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    if (strcmp(type, unknown[i]) == 0)
      return true;
  return false;
}

static bool is_defined(const tl_ruleset *set, tl_op_id op) {
  for (uint32_t i = 0; i < set->rules.n; i++)
    if (set->rules.at[i]->kind == TL_RULE_DEFINE && set->rules.at[i]->match->ops[0] == op)
      return true;
  return false;
}

static bool makes_nodes(const tl_npu_candidate *c) {
  return c->kind != TL_LOWER_EXPAND && c->kind != TL_LOWER_NONE;
}

/* What lowering can make, the evaluator can run. */
static void every_candidate_means_something(void) {
  tl_diag diag = {0};
  tl_module *m = tl_module_create(&diag, "ops", 0);
  tl_ruleset set;
  CU_ASSERT_PTR_NOT_NULL_FATAL(m);
  tl_ruleset_init(&set, m);
  set.kinds = TL_RULE_NPU_BIT;
  CU_ASSERT_EQUAL_FATAL(tl_rules_add_builtin(&set), TL_OK);
  tl_symbol npu = tl_module_intern(m, TL_SV("npu"));
  for (tl_op_id op = 0; op < tl_n_op_rows; op++)
    for (uint8_t i = 0; i < tl_op_row(op)->n_npu; i++) {
      const tl_npu_candidate *c = &tl_op_row(op)->npu[i];
      if (!makes_nodes(c))
        continue;
      tl_op_id type = tl_op_find(npu, tl_module_intern(m, tl_sv_from(c->npu_type)));
      CU_ASSERT_FATAL(type != UINT32_MAX);
      bool known = tl_eval_has_kernel(type) || is_defined(&set, type);
      if (known == is_unknown(c->npu_type))
        printf("\n  npu::%s has %s meaning\n", c->npu_type, known ? "a" : "no");
      CU_ASSERT(known != is_unknown(c->npu_type));
    }
  tl_ruleset_release(&set);
  tl_module_destroy(m);
}

/* The definitions, or the ops that they are made of, refuse. */
static void refused(const char *body, const char *part) {
  char text[512];
  eval_run r;
  snprintf(text, sizeof text, "graph @g() -> (%%z) {\n%s\n}\n", body);
  eval_run_open(&r, text, true, NULL, NULL);
  if (!strstr(r.message, part))
    printf("\n  %s: %s\n", text, r.message);
  CU_ASSERT(r.status != TL_OK);
  CU_ASSERT_PTR_NOT_NULL(strstr(r.message, part));
  eval_run_close(&r);
}

static void arithmetic(void) {
  eval_same("const %a = f32[2] [-1.5, 1.5]  const %b = f32[] 1.0  %z = npu::FloorMod(%a, %b)\n"
            "const %want = f32[2] [0.5, 0.5]");
  eval_same("const %a = i32[2] [-3, 3]  const %b = i32[] 2  %z = npu::FloorMod(%a, %b)\n"
            "const %want = i32[2] [1, 1]");
  eval_same("const %a = f32[2] [-1.5, 1.5]  const %b = f32[] 1.0  %z = npu::Mod(%a, %b)\n"
            "const %want = f32[2] [-0.5, 0.5]");
  eval_same("const %a = i32[2] [-7, 7]  const %b = i32[] 2  %z = npu::Div(%a, %b)\n"
            "const %want = i32[2] [-3, 3]");
  eval_same("const %x = f32[3] [-5.0, 1.0, 9.0]  const %l = f32[3] [0.0, 2.0, 0.0]\n"
            "const %h = f32[] 4.0  %z = npu::ClipByValue(%x, %l, %h)\n"
            "const %want = f32[3] [0.0, 2.0, 4.0]");
  eval_same("const %x = f32[2] [1.0, 2.0]  %z = npu::Power(%x) {power=2.0, scale=3.0, shift=1.0}\n"
            "const %want = f32[2] [16.0, 49.0]");
  eval_same("const %a = f32[2,1] [1.0, 2.0]  const %b = f32[2,1] [3.0, 4.0]\n"
            "%z = npu::BatchMatMulV2(%a, %b) {adj_x1=true}  const %want = f32[1,1] [11.0]");
  eval_same("const %a = f32[2,1] [1.0, 2.0]  const %b = f32[2,1] [3.0, 4.0]\n"
            "const %c = f32[1] [0.5]  %z = npu::BatchMatMulV2(%a, %b, %c) {adj_x1=true}\n"
            "const %want = f32[1,1] [11.5]");
  eval_same("const %a = f32[1,2] [1.0, 2.0]  const %b = f32[1,2] [3.0, 4.0]\n"
            "const %c = f32[1] [0.5]  %z = npu::BatchMatMulV2(%a, %b, %c) {adj_x2=true}\n"
            "const %want = f32[1,1] [11.5]");
  /* an operation that no definition speaks of */
  refused("const %x = f32[1] [1.0]  %z = npu::Exp(%x) {base=2.0}", "no kernel for npu::Exp");
  refused("const %x = i32[1] [1]  %z = npu::RealDiv(%x, %x)", "no kernel for npu::RealDiv");
}

static void activations(void) {
  /* one weight a channel, dim 1 */
  eval_same("const %x = f32[1,2,2] [-1.0, -2.0, -3.0, 4.0]  const %w = f32[2] [0.5, 2.0]\n"
            "%z = npu::PRelu(%x, %w)  const %want = f32[1,2,2] [-0.5, -1.0, -6.0, 4.0]");
  eval_same("const %x = f32[1,4] [3.0, 5.0, 0.0, 0.0]  %z, %g = npu::GeGluV2(%x)\n"
            "const %want = f32[1,2] [0.0, 0.0]");
  eval_near("const %x = f32[1,2] [2.0, 1.0]  %y, %z = npu::GeGluV2(%x) {activate_left=true}\n"
            "const %want = f32[1,1] [1.9545977]",
            1e-6, 0);
  eval_near("const %x = f32[1] [1.0]  %z = npu::FastGelu(%x)  const %want = f32[1] [0.8457958]",
            1e-6, 0);
  /* the last two dims: mean square 2.5 */
  eval_near("const %x = f32[1,2,2] [1.0, 1.0, 2.0, 2.0]  const %g = f32[2,2] [1.0, 1.0, 1.0, 2.0]\n"
            "%z, %r = npu::RmsNorm(%x, %g) {epsilon=0.0}\n"
            "const %want = f32[1,2,2] [0.6324555, 0.6324555, 1.2649111, 2.5298221]",
            1e-6, 0);
}

static void images(void) {
  /* with half_pixel_centers places 0.5 and 1.5 of pairs: the second of each */
  eval_same("const %x = f32[1,1,1,4] [0.0, 1.0, 2.0, 3.0]  const %s = i32[2] [1, 2]\n"
            "%z = npu::ResizeNearestNeighborV2(%x, %s) {half_pixel_centers=true}\n"
            "const %want = f32[1,1,1,2] [1.0, 3.0]");
  eval_same("const %x = f32[1,1,1,4] [0.0, 1.0, 2.0, 3.0]  const %s = i32[2] [1, 2]\n"
            "%z = npu::ResizeNearestNeighborV2(%x, %s)  const %want = f32[1,1,1,2] [0.0, 2.0]");
  /* corners stay, the middle of three is rounded up: 1.5 */
  eval_same("const %x = f32[1,1,1,4] [0.0, 1.0, 2.0, 3.0]  const %s = i32[2] [1, 3]\n"
            "%z = npu::ResizeNearestNeighborV2(%x, %s) {align_corners=true}\n"
            "const %want = f32[1,1,1,3] [0.0, 2.0, 3.0]");
  eval_same("const %x = f32[1,1,2,4] [1.0, 3.0, 0.0, 0.0, 5.0, 7.0, 0.0, 8.0]\n"
            "%z = npu::AdaptiveAvgPool2d(%x) {output_size=[1, 2]}\n"
            "const %want = f32[1,1,1,2] [4.0, 2.0]");
}

static void indices(void) {
  eval_same("const %x = f32[3] [1.0, 2.0, 3.0]  const %i = i64[1,1] [-1]\n"
            "%z = npu::GatherNd(%x, %i) {negative_index_support=true}\n"
            "const %want = f32[1] [3.0]");
  refused("const %x = f32[3] [1.0, 2.0, 3.0]  const %i = i64[1,1] [-1]\n"
          "%z = npu::GatherNd(%x, %i)",
          "is outside");
  eval_same("const %x = f32[1,2] [0.0, 1.0]  %z = npu::NonZero(%x)  const %want = i64[1,2] [0, 1]");
  eval_same("const %x = f32[1,2] [0.0, 1.0]  %z = npu::NonZero(%x) {transpose=true}\n"
            "const %want = i64[2,1] [0, 1]");
  /* pads in pairs: in front of and behind the first axis; else in front of both */
  eval_same("const %x = f32[1,1] [5.0]  const %p = i32[4] [1, 1, 0, 0]  %z = npu::PadV3(%x, %p)\n"
            "const %want = f32[3,1] [0.0, 5.0, 0.0]");
  eval_same("const %x = f32[1,1] [5.0]  const %p = i32[4] [1, 1, 0, 0]\n"
            "%z = npu::PadV3(%x, %p) {paddings_contiguous=false}\n"
            "const %want = f32[2,2] [0.0, 0.0, 0.0, 5.0]");
  eval_same("const %x = f32[3] [1.0, 3.0, 2.0]  const %k = i32[] 2  %v, %z = npu::TopK(%x, %k)\n"
            "const %want = i32[2] [1, 2]");
}

static void splits(void) {
  eval_same_pairs("const %a = i32[] -1  const %x = f32[2,2] [1.0, 2.0, 3.0, 4.0]\n"
                  "%z0, %z1 = npu::Split(%a, %x) {num_split=2}\n"
                  "const %want0 = f32[2,1] [1.0, 3.0]  const %want1 = f32[2,1] [2.0, 4.0]",
                  2);
  eval_same_pairs("const %a = i32[] 0  const %s = i64[2] [2, 1]\n"
                  "const %x = f32[3] [1.0, 2.0, 3.0]\n"
                  "%z0, %z1 = npu::SplitV(%x, %s, %a) {num_split=2}\n"
                  "const %want0 = f32[2] [1.0, 2.0]  const %want1 = f32[1] [3.0]",
                  2);
  eval_refused("const %a = i32[] 1  const %x = f32[2] [1.0, 2.0]\n"
               "%z, %y = npu::Split(%a, %x) {num_split=2}",
               "outside [-1, 0]");
  eval_refused("const %a = i32[] 0  const %s = i64[2] [2, 2]  const %x = f32[3] [1.0, 2.0, 3.0]\n"
               "%z, %y = npu::SplitV(%x, %s, %a) {num_split=2}",
               "does not fit");
  eval_refused("const %a = i32[2] [0, 0]  const %x = f32[2] [1.0, 2.0]\n"
               "%z, %y = npu::Split(%a, %x) {num_split=2}",
               "");
}

/* 1056964608 are the bits of 0.5f, 1048576000 those of 0.25f. */
static void quantization(void) {
  eval_same("const %x = i32[2] [10, -20]  const %s = u64[1] [1056964608]\n"
            "%z = npu::AscendDequant(%x, %s)  const %want = f32[2] [5.0, -10.0]");
  eval_same("const %x = i32[2] [16, -16]  const %s = u64[2] [1056964608, 1048576000]\n"
            "%z = npu::AscendDequant(%x, %s) {sqrt_mode=true, relu_flag=true}\n"
            "const %want = f32[2] [4.0, 0.0]");
  eval_same("const %x = i32[6] [3, 5, -3, -5, 600, -600]  const %s = u64[] 1056964608\n"
            "%z = npu::AscendRequant(%x, %s)  const %want = i8[6] [2, 2, -2, -2, 127, -128]");
  eval_same("const %x = i32[1,2,1,2] [4, -4, 4, -4]  const %s = u64[2] [1056964608, 1048576000]\n"
            "%z = npu::AscendRequant(%x, %s) {relu_flag=true}\n"
            "const %want = i8[1,2,1,2] [2, 0, 1, 0]");
  eval_refused("const %x = i32[2] [10, -20]  const %s = u64[3] [1, 2, 3]\n"
               "%z = npu::AscendRequant(%x, %s)",
               "there are 3 scales");
  eval_refused("const %x = i32[2] [10, -20]  const %s = u64[3] [1, 2, 3]\n"
               "%z = npu::AscendDequant(%x, %s)",
               "there are 3 scales");
  eval_refused("const %x = i32[] 10  const %s = u64[0] []  %z = npu::AscendDequant(%x, %s)",
               "there are 0 scales");
  eval_same("const %x = f32[3] [0.25, 0.75, 100.0]\n"
            "%z = npu::AscendQuant(%x) {scale=2.0, offset=1.0}\n"
            "const %want = i8[3] [2, 2, 127]"); /* 1.5 and 2.5, to even */
  eval_same("const %x = f16[1,3] [1.0, -2.0, 4.0]  %z, %s = npu::DynamicQuant(%x)\n"
            "const %want = i8[1,3] [32, -64, 127]");
  eval_near("const %x = f16[1,3] [1.0, -2.0, 4.0]  %y, %z = npu::DynamicQuant(%x)\n"
            "const %want = f32[1] [0.031496063]",
            1e-6, 0);
  eval_same("const %x = f16[1,2] [0.0, 255.0]  %z, %s, %o = npu::DynamicQuantV2(%x)\n"
            "const %want = i8[1,2] [-128, 127]");
  eval_same("const %x = f32[2,2] [1.0, 2.0, 1.0, 2.0]  const %s = f32[2] [0.5, 0.25]\n"
            "const %o = i32[2] [0, 1]\n"
            "%z = npu::Quantize(%x, %s, %o) {dtype=\"torch.qint8\", axis=0}\n"
            "const %want = i8[2,2] [2, 4, 5, 9]");
  eval_same("const %x = f16[1,2] [1.0, 2.0]  const %w = i8[2,1] [3, 4]  const %s = f16[1] [0.5]\n"
            "const %o = f16[1] [1.0]  %z = npu::WeightQuantBatchMatmulV2(%x, %w, %s, %o)\n"
            "const %want = f16[1,1] [7.0]");
}

/* 2 4 + 3 5 = 23; 1056964608 are the bits of 0.5f. */
static void products_of_few_bits(void) {
  eval_same("const %a = i8[1,2] [2, 3]  const %b = i8[2,1] [4, 5]  const %s = f32[1] [0.5]\n"
            "const %i = i32[1] [1]  %z = npu::QuantBatchMatmulV3(%a, %b, %s, _, %i) {dtype=1}\n"
            "const %want = f16[1,1] [12.0]");
  eval_same("const %a = i8[1,2] [2, 3]  const %b = i8[1,2] [4, 5]  const %s = u64[1] [1056964608]\n"
            "const %o = f32[1] [3.0]\n"
            "%z = npu::QuantBatchMatmulV3(%a, %b, %s, %o) {dtype=2, transpose_x2=true}\n"
            "const %want = i8[1,1] [14]"); /* 14.5, to even */
  eval_same("const %a = i8[2,1] [2, 3]  const %b = i8[2,1] [4, 5]  const %s = bf16[1] [0.5]\n"
            "const %f = f32[1] [0.25]\n"
            "%z = npu::QuantBatchMatmulV3(%a, %b, %s, _, %f) {dtype=0, transpose_x1=true}\n"
            "const %want = f32[1,1] [11.75]");
  eval_same("const %c = f32[1,2] [2.0, 3.0]  %a = Cast(%c) {to=17}\n"
            "const %d = f32[2,1] [4.0, 5.0]  %b = Cast(%d) {to=17}\n"
            "const %s = f32[1] [0.5]  const %i = i32[1] [1]\n"
            "%z = npu::QuantBatchMatmulV3(%a, %b, %s, _, %i) {dtype=1}\n"
            "const %want = f16[1,1] [12.0]");
  /* how scales apply to sums that stay integers, nobody has told us */
  refused("const %a = i8[1,2] [2, 3]  const %b = i8[2,1] [4, 5]  const %s = f32[1] [0.5]\n"
          "%z = npu::QuantBatchMatmulV3(%a, %b, %s) {dtype=3}",
          "no kernel for npu::QuantBatchMatmulV3");
}

static void absent_operands(void) {
  eval_same("const %x = f32[1,2] [1.0, 2.0]  const %s = f32[1] [0.5]\n"
            "%z = npu::Quantize(%x, %s) {dtype=\"torch.qint8\", axis=0}\n"
            "const %want = i8[1,2] [2, 4]");
  eval_same("const %x = f32[1,2] [1.0, 2.0]  const %s = f32[1] [2.0]\n"
            "%z = npu::AscendQuantV2(%x, %s)  const %want = i8[1,2] [2, 4]");
  eval_near("const %x = f32[1,2,2] [1.0, 3.0, 2.0, 2.0]\n"
            "%z = npu::GroupNormSilu(%x) {num_groups=1, eps=0.0}\n"
            "const %want = f32[1,2,2] [-0.2765782, 1.1376354, 0.0, 0.0]",
            1e-6, 0);
  eval_near("const %x = f32[1,2,2] [1.0, 3.0, 2.0, 2.0]  const %b = f32[2] [0.0, 1.0]\n"
            "%y, %m, %z = npu::GroupNormSilu(%x, _, %b) {num_groups=1, eps=0.0}\n"
            "const %want = f32[1,1] [1.4142135]",
            1e-6, 0);
  eval_same("const %x = f32[1,2,2] [1.0, 3.0, 2.0, 2.0]\n"
            "%y, %z, %r = npu::GroupNormSilu(%x) {num_groups=2, eps=0.0001}\n"
            "const %want = f32[1,2] [2.0, 2.0]");
  eval_same("const %a = f16[1,2] [1.0, 0.0]  const %b = f16[1,2] [0.0, 1.0]\n"
            "const %g = f16[2] [1.0, 1.0]  const %s = f16[2] [0.5, 2.0]\n"
            "%y, %z = npu::MultiAddRmsNormDynamicQuant(%a, %b, %g, _, %s)\n"
            "const %want = i8[1,2] [32, 127]"); /* 31.75 */
}

static void branches_take_their_inputs(void) {
  eval_run r;
  eval_run_open(&r,
                "graph @g() -> (%z) {\n"
                "  const %c = bool[] true\n  const %x = f32[1] [3.0]\n"
                "  %z = npu::If(%c, %x) {\n"
                "    then_branch=graph @t(%a: f32[1]) -> (%p) {\n"
                "      %p = npu::Neg(%a)\n    },\n"
                "    else_branch=graph @e(%b: f32[1]) -> (%q) {\n"
                "      %q = npu::Abs(%b)\n    }\n  }\n}\n",
                true, NULL, NULL);
  CU_ASSERT_EQUAL_FATAL(r.status, TL_OK);
  CU_ASSERT(((const float *)r.outputs[0]->data)[0] < -2.9F);
  eval_run_close(&r);
}

static const unit_test tests[] = {
    {"every candidate means something", every_candidate_means_something},
    {"arithmetic", arithmetic},
    {"activations", activations},
    {"images", images},
    {"indices", indices},
    {"splits", splits},
    {"quantization", quantization},
    {"products of few bits", products_of_few_bits},
    {"absent operands", absent_operands},
    {"branches take their inputs", branches_take_their_inputs},
    {NULL, NULL}};
const unit_suite unit_suite_npu_meanings = {"npu_meanings", tests};
