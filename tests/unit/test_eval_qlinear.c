/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized rows, products of pairs, gates of image models. */
#include "tests/unit/eval_check.h"

static void softmax_of_bytes(void) {
  /* Equal values share 1; 1/2 over 1/256 is 128. Neither zero point nor sign matters. */
  eval_same("const %x = u8[1,2] [7, 7]  const %s = f32[] 1.0  const %p = u8[] 3\n"
            "const %t = f32[] 0.00390625  const %o = u8[] 0\n"
            "%z = com.microsoft::QLinearSoftmax(%x, %s, %p, %t, %o) {axis=-1, opset=13}\n"
            "const %want = u8[1,2] [128, 128]");
  eval_same("const %x = i8[2,1] [-128, -128]  const %s = f32[] 1.0  const %p = i8[] 0\n"
            "const %t = f32[] 0.00390625  const %o = i8[] -128\n"
            "%z = com.microsoft::QLinearSoftmax(%x, %s, %p, %t, %o) {axis=0, opset=13}\n"
            "const %want = i8[2,1] [0, 0]");
  /* Before opset 13 the axes from the given one on are one line of four. */
  eval_same("const %x = u8[2,2] [7, 7, 7, 7]  const %s = f32[] 1.0  const %p = u8[] 3\n"
            "const %t = f32[] 0.00390625  const %o = u8[] 0\n"
            "%z = com.microsoft::QLinearSoftmax(%x, %s, %p, %t, %o) {axis=0, opset=12}\n"
            "const %want = u8[2,2] [64, 64, 64, 64]");
}

static void means_of_bytes(void) {
  /* (2.5 - 1) * 2 = 3; 3 / 0.5 + 10 = 16 */
  eval_same("const %x = u8[1,1,2,2] [1, 2, 3, 4]  const %s = f32[] 2.0  const %p = u8[] 1\n"
            "const %t = f32[] 0.5  const %o = u8[] 10\n"
            "%z = com.microsoft::QLinearGlobalAveragePool(%x, %s, %p, %t, %o)\n"
            "const %want = u8[1,1,1,1] [16]");
  eval_same("const %x = u8[1,2,1,2] [1, 2, 3, 4]  const %s = f32[] 2.0  const %p = u8[] 1\n"
            "const %t = f32[] 0.5  const %o = u8[] 10\n"
            "%z = com.microsoft::QLinearGlobalAveragePool(%x, %s, %p, %t, %o) {channels_last=1}\n"
            "const %want = u8[1,1,1,2] [14, 18]");
}

static void bytes_side_by_side(void) {
  eval_same("const %t = f32[] 1.0  const %o = u8[] 0\n"
            "const %a = u8[2] [2, 4]  const %as = f32[] 0.5  const %ap = u8[] 0\n"
            "const %b = u8[1] [3]  const %bs = f32[] 2.0  const %bp = u8[] 1\n"
            "%z = com.microsoft::QLinearConcat(%t, %o, %a, %as, %ap, %b, %bs, %bp) {axis=0}\n"
            "const %want = u8[3] [1, 2, 4]");
  eval_refused("const %t = f32[] 1.0  const %o = u8[] 0  const %a = u8[2] [2, 4]\n"
               "%z = com.microsoft::QLinearConcat(%t, %o, %a) {axis=0}",
               "each part takes a tensor, a scale and a zero point");
}

static void products_of_bytes(void) {
  eval_same("const %a = u8[2] [3, 5]  const %ap = u8[] 1  const %b = u8[1] [10]\n"
            "const %bp = u8[] 4\n"
            "%z = com.microsoft::MulInteger(%a, %ap, %b, %bp)  const %want = i32[2] [12, 24]");
}

/* (1 + 2i)(3 + 4i) = -5 + 10i, (1 + 2i)(3 - 4i) = 11 + 2i */
static void complex_products(void) {
  eval_same("const %a = f32[1,2] [1.0, 2.0]  const %b = f32[2] [3.0, 4.0]\n"
            "%z = com.microsoft::ComplexMul(%a, %b)  const %want = f32[1,2] [-5.0, 10.0]");
  eval_same("const %a = f16[1,2] [1.0, 2.0]  const %b = f16[2] [3.0, 4.0]\n"
            "%z = com.microsoft::ComplexMulConj(%a, %b)  const %want = f16[1,2] [11.0, 2.0]");
  eval_refused("const %a = f32[3] [1.0, 2.0, 3.0]\n"
               "%z = com.microsoft::ComplexMul(%a, %a)",
               "the last dim of both operands must be 2");
}

/* 2 * Gelu(1), where Gelu(1) = 0.841344746 */
static void gates_and_shifts(void) {
  eval_near("const %x = f32[1,1,2] [1.0, 0.5]  const %b = f32[2] [1.0, 0.5]\n"
            "%z = com.microsoft::BiasSplitGelu(%x, %b)  const %want = f32[1,1,1] [1.6826895]",
            1e-6, 0);
  eval_same("const %x = f32[1,2,1,2] [1.0, 2.0, 3.0, 4.0]\n"
            "%z = ImageScaler(%x) {scale=2.0, bias=[0.5, -1.0]}\n"
            "const %want = f32[1,2,1,2] [2.5, 4.5, 5.0, 7.0]");
}

static const unit_test tests[] = {
    {"softmax of bytes", softmax_of_bytes},
    {"means of bytes", means_of_bytes},
    {"bytes side by side", bytes_side_by_side},
    {"products of bytes", products_of_bytes},
    {"complex products", complex_products},
    {"gates and shifts", gates_and_shifts},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_qlinear = {"eval_qlinear", tests};
