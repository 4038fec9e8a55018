/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels on the matrix product. */
#include "tests/unit/eval_check.h"

static void multiplies_vectors_and_batches(void) {
  /* [1 2] [[1 2][3 4]] = [1+6, 2+8] */
  eval_same("const %a = f32[2] [1.0, 2.0]  const %b = f32[2,2] [1.0, 2.0, 3.0, 4.0]\n"
            "%z = MatMul(%a, %b)  const %want = f32[2] [7.0, 10.0]");
  eval_same("const %a = f32[2] [1.0, 2.0]  const %b = f32[2] [3.0, 4.0]\n"
            "%z = MatMul(%a, %b)  const %want = f32[] 11.0");
  /* one matrix on the right for two batches on the left, and the other way round */
  eval_same("const %a = f64[2,1,2] [1.0, 2.0, 3.0, 4.0]  const %b = f64[2,1] [1.0, 10.0]\n"
            "%z = MatMul(%a, %b)  const %want = f64[2,1,1] [21.0, 43.0]");
  eval_same("const %a = f32[1,2] [1.0, 10.0]  const %b = f32[2,2,1] [1.0, 2.0, 3.0, 4.0]\n"
            "%z = MatMul(%a, %b)  const %want = f32[2,1,1] [21.0, 43.0]");
  eval_same("const %a = f32[2,1,1,2] [1.0, 2.0, 3.0, 4.0]\n"
            "const %b = f32[1,2,2,1] [1.0, 0.0, 0.0, 1.0]\n"
            "%z = MatMul(%a, %b)  const %want = f32[2,2,1,1] [1.0, 2.0, 3.0, 4.0]");
}

static void integers_wrap(void) {
  eval_same("const %a = i32[1,2] [2147483647, 1]  const %b = i32[2,1] [2, 3]\n"
            "%z = MatMul(%a, %b)  const %want = i32[1,1] [1]");
  eval_same("const %a = i64[1,2] [-3, 5]  const %b = i64[2,1] [4, 6]\n"
            "%z = MatMul(%a, %b)  const %want = i64[1,1] [18]");
}

static void empty_sums_are_zero(void) {
  eval_same("const %a = f32[2,0] []  const %b = f32[0,2] []\n"
            "%z = MatMul(%a, %b)  const %want = f32[2,2] [0.0, 0.0, 0.0, 0.0]");
  eval_same("const %a = f32[0,3] []  const %b = f32[3,2] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
            "%z = MatMul(%a, %b)  const %want = f32[0,2] []");
}

static void gemm_scales_and_adds(void) {
  /* 2 * ([1 2] [[1][1]]) + 3 * 5 */
  eval_same("const %a = f32[1,2] [1.0, 2.0]  const %b = f32[1,2] [1.0, 1.0]  const %c = f32[] 5.0\n"
            "%z = Gemm(%a, %b, %c) {alpha=2.0, beta=3.0, transB=1}\n"
            "const %want = f32[1,1] [21.0]");
  eval_same("const %a = f32[1,2] [1.0, 2.0]  const %b = f32[1,2] [3.0, 4.0]\n"
            "const %c = f32[2,1] [10.0, 20.0]\n"
            "%z = Gemm(%a, %b, %c) {transA=1}\n"
            "const %want = f32[2,2] [13.0, 14.0, 26.0, 28.0]");
  eval_same("const %a = i32[1,1] [3]  const %b = i32[1,1] [5]  const %c = i32[1] [1]\n"
            "%z = Gemm(%a, %b, %c) {beta=0.5}  const %want = i32[1,1] [15]");
}

static void fused_transposes(void) {
  /* transBatchA: the first axis of A becomes the rows */
  eval_same("const %a = f32[2,1,2] [1.0, 2.0, 3.0, 4.0]  const %b = f32[1,2,1] [1.0, 10.0]\n"
            "%z = com.microsoft::FusedMatMul(%a, %b) {transBatchA=1, alpha=0.5}\n"
            "const %want = f32[1,2,1] [10.5, 21.5]");
}

static void quantized_products(void) {
  /* (10-2) * (3-1) + (4-2) * (5-1) = 24 */
  eval_same("const %a = u8[1,2] [10, 4]  const %b = i8[2,1] [3, 5]\n"
            "const %za = u8[] 2  const %zb = i8[1] [1]\n"
            "%z = MatMulInteger(%a, %b, %za, %zb)  const %want = i32[1,1] [24]");
  /* a zero point by row */
  eval_same("const %a = u8[2,1] [10, 4]  const %b = u8[1,1] [3]  const %za = u8[2] [2, 4]\n"
            "%z = MatMulInteger(%a, %b, %za)  const %want = i32[2,1] [24, 0]");
  /* 24 * 0.5 * 0.25 / 1 = 3 -> 103; 24 * 0.5 * 50 saturates */
  eval_same("const %a = u8[1,2] [10, 4]  const %b = i8[2,2] [3, 3, 5, 5]\n"
            "const %sa = f32[] 0.5  const %za = u8[] 2  const %sb = f32[2] [0.25, 50.0]\n"
            "const %zb = i8[2] [1, 1]  const %sy = f32[] 1.0  const %zy = u8[] 100\n"
            "%z = QLinearMatMul(%a, %sa, %za, %b, %sb, %zb, %sy, %zy)\n"
            "const %want = u8[1,2] [103, 255]");
  eval_same("const %a = i16[1,2] [300, -400]  const %b = i16[2,1] [2, 3]\n"
            "%z = com.microsoft::MatMulInteger16(%a, %b)  const %want = i32[1,1] [-600]");
  eval_same("const %a = u8[1,1] [10]  const %b = u8[1,1] [3]  const %s = f32[] 0.5\n"
            "const %c = i32[1] [4]\n"
            "const %za = u8[] 2  const %zb = u8[] 1\n"
            "%z = com.microsoft::QGemm(%a, %s, %za, %b, %s, %zb, %c)\n"
            "const %want = f32[1,1] [5.0]");
}

static void products_with_activations(void) {
  eval_same("const %a = f32[1,1] [2.0]  const %b = f32[1,2] [1.0, -1.0]\n"
            "%z = com.microsoft::FusedGemm(%a, %b) {activation=\"LeakyRelu\",\n"
            "  activation_alpha=0.5}\n"
            "const %want = f32[1,2] [2.0, -1.0]");
  eval_near("const %a = f32[1,1] [1.0]  const %b = f32[1,1] [0.5]  const %c = f32[1] [0.5]\n"
            "%z = com.microsoft::GemmFastGelu(%a, %b, %c)  const %want = f32[1,1] [0.841192]",
            1e-5, 0);
  eval_refused("const %a = f32[1,1] [2.0]  const %b = f32[1,1] [1.0]\n"
               "%z = com.microsoft::FusedGemm(%a, %b) {activation=\"Nope\"}",
               "'Nope'");
}

#define M23 "f32[2,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]"

static void einsum_contracts(void) {
  eval_same("const %a = " M23 "  %z = Einsum(%a) {equation=\"ij->ji\"}\n"
            "const %want = f32[3,2] [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]");
  eval_same("const %a = " M23 "  %z = Einsum(%a) {equation=\"ij->\"}\n"
            "const %want = f32[] 21.0");
  eval_same("const %a = i32[2,2] [1, 2, 3, 4]  %z = Einsum(%a) {equation=\"ii->i\"}\n"
            "const %want = i32[2] [1, 4]");
  /* without an arrow: labels that occur once, by alphabet */
  eval_same("const %a = f32[1,2] [1.0, 2.0]  const %b = f32[2,1] [3.0, 4.0]\n"
            "%z = Einsum(%a, %b) {equation=\"ba, ac\"}  const %want = f32[1,1] [11.0]");
  /* the result's order differs from rows, columns; a label of one operand alone is summed */
  eval_same("const %a = " M23 "  const %b = f32[2] [1.0, 10.0]\n"
            "%z = Einsum(%a, %b) {equation=\"ij,k->kj\"}\n"
            "const %want = f32[2,3] [5.0, 7.0, 9.0, 50.0, 70.0, 90.0]");
  eval_same("const %a = f64[2,1,2] [1.0, 2.0, 3.0, 4.0]  const %b = f64[2,1] [1.0, 10.0]\n"
            "%z = Einsum(%a, %b) {equation=\"...ij,jk->...ik\"}\n"
            "const %want = f64[2,1,1] [21.0, 43.0]");
  eval_same("const %a = f32[2] [1.0, 2.0]  const %b = f32[2] [3.0, 4.0]\n"
            "const %c = f32[2] [5.0, 6.0]\n"
            "%z = Einsum(%a, %b, %c) {equation=\"i,i,j->j\"}\n"
            "const %want = f32[2] [55.0, 66.0]");
  eval_same("const %a = i8[2] [100, 100]  const %b = i8[2] [2, 3]\n"
            "%z = Einsum(%a, %b) {equation=\"i,i->\"}  const %want = i8[] -12");
  eval_same("const %a = f32[0,2] []  const %b = f32[0] []\n"
            "%z = Einsum(%a, %b) {equation=\"ij,i->j\"}  const %want = f32[2] [0.0, 0.0]");
}

static void bad_equations_are_refused(void) {
  eval_refused("const %a = " M23 "  %z = Einsum(%a) {equation=\"i?->i\"}", "unexpected");
  eval_refused("const %a = " M23 "  %z = Einsum(%a) {equation=\"i->i\"}", "names 1 axes");
  eval_refused("const %a = " M23 "  %z = Einsum(%a) {equation=\"ij->k\"}", "names no operand");
  eval_refused("const %a = " M23 "  %z = Einsum(%a) {equation=\"ii->i\"}", "sizes 3 and 2");
  eval_refused("const %a = " M23 "  %z = Einsum(%a) {equation=\"ij,j\"}", "more terms");
}

static void weights_of_few_bits(void) {
  /* one block of 16: element 0 is 9 (low half), element 1 is 10; less 8, times 2 */
  eval_same("const %a = f32[1,2] [1.0, 10.0]\n"
            "const %b = u8[1,1,8] [169, 0, 0, 0, 0, 0, 0, 0]  const %s = f32[1] [2.0]\n"
            "%z = com.microsoft::MatMulNBits(%a, %b, %s) {K=2, N=1, block_size=16}\n"
            "const %want = f32[1,1] [42.0]");
  /* NF4: 15 is 1, 0 is -1 */
  eval_same("const %a = f32[1,2] [1.0, 10.0]  const %b = u8[1] [240]  const %s = f32[1] [2.0]\n"
            "%z = com.microsoft::MatMulBnb4(%a, %b, %s) {K=2, N=1, block_size=16, quant_type=1}\n"
            "const %want = f32[1,1] [-18.0]");
  eval_refused("const %a = f32[1,2] [1.0, 10.0]  const %b = u8[1] [9]  const %s = f32[1] [2.0]\n"
               "%z = com.microsoft::MatMulNBits(%a, %b, %s) {K=2, N=1, block_size=16}",
               "B must be u8");
}

static void quantized_weights_of_the_npu(void) {
  /* (weight + offset) scale is [[1, -18], [4, 4]] */
  eval_same("const %x = f16[1,2] [1.0, 2.0]  const %w = i8[2,2] [1, -8, 7, 3]\n"
            "const %s = f16[1,2] [0.5, 2.0]  const %o = f16[1,2] [1.0, -1.0]\n"
            "%z = npu::WeightQuantBatchMatmulV2(%x, %w, %s, %o) : f16[1,2]\n"
            "const %want = f16[1,2] [9.0, -10.0]");
  /* numbers of 4 bits, a group for each row, a bias */
  eval_same("const %x = f16[1,2] [1.0, 2.0]  const %w = i4[2,2] hex(\"8137\")\n"
            "const %s = f16[2,2] [0.5, 2.0, 1.0, 4.0]  const %b = f16[2] [0.5, 1.0]\n"
            "%z = npu::WeightQuantBatchMatmulV2(%x, %w, %s, _, _, _, %b) {antiquant_group_size=1}"
            " : f16[1,2]\n"
            "const %want = f16[1,2] [15.0, 9.0]");
  eval_refused("const %x = f16[1,2] [1.0, 2.0]  const %w = i8[2,2] [1, 2, 3, 4]\n"
               "const %s = f16[2,2] [0.5, 2.0, 1.0, 4.0]\n"
               "%z = npu::WeightQuantBatchMatmulV2(%x, %w, %s)",
               "antiquant_scale and antiquant_offset need 1 x 2");
  eval_refused("const %x = f16[1,2] [1.0, 2.0]  const %w = i8[2,2] [1, 2, 3, 4]\n"
               "const %s = f16[1,2] [0.5, 2.0]\n"
               "%z = npu::WeightQuantBatchMatmulV2(%x, %w, %s) {antiquant_group_size=-1}",
               "antiquant_group_size does not fit");
}

static void square_matrices(void) {
  eval_same("const %a = f32[2,2,2] [0.0, 1.0, 1.0, 0.0, 2.0, 0.0, 0.0, 3.0]  %z = Det(%a)\n"
            "const %want = f32[2] [-1.0, 6.0]");
  eval_same("const %a = f64[2,2] [0.0, 2.0, 4.0, 0.0]  %z = com.microsoft::Inverse(%a)\n"
            "const %want = f64[2,2] [0.0, 0.25, 0.5, 0.0]");
  eval_refused("const %a = f32[1,2] [1.0, 2.0]  %z = Det(%a)", "1 rows and 2 columns");
}

static void bad_shapes_are_refused(void) {
  eval_refused("const %a = f32[2,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]  const %b = f32[2] [1.0, 2.0]\n"
               "%z = MatMul(%a, %b)",
               "inner sizes are 3 and 2");
  eval_refused("const %a = f32[] 1.0  const %b = f32[1] [1.0]  %z = MatMul(%a, %b)",
               "operand 0 has rank 0");
  eval_refused("const %a = f32[2,1,1] [1.0, 2.0]  const %b = f32[3,1,1] [1.0, 2.0, 3.0]\n"
               "%z = MatMul(%a, %b)",
               "2 against 3");
  eval_refused("const %a = f32[1,1] [1.0]  const %b = f32[1,1] [1.0]\n"
               "const %c = f32[2] [1.0, 2.0]\n"
               "%z = Gemm(%a, %b, %c)",
               "C has 2 elements");
  /* two empty operands that claim a result of 2^62 elements */
  eval_refused("const %a = f32[2147483648,0] []  const %b = f32[0,2147483648] []\n"
               "%z = MatMul(%a, %b)",
               "more elements than can be counted");
}

static const unit_test tests[] = {
    {"multiplies vectors and batches", multiplies_vectors_and_batches},
    {"integers wrap", integers_wrap},
    {"empty sums are zero", empty_sums_are_zero},
    {"Gemm scales and adds", gemm_scales_and_adds},
    {"fused forms transpose", fused_transposes},
    {"quantized products", quantized_products},
    {"products with activations", products_with_activations},
    {"Einsum contracts", einsum_contracts},
    {"bad equations are refused", bad_equations_are_refused},
    {"weights of few bits", weights_of_few_bits},
    {"quantized weights of the NPU", quantized_weights_of_the_npu},
    {"square matrices", square_matrices},
    {"bad shapes are refused", bad_shapes_are_refused},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_matmul = {"eval_matmul", tests};
