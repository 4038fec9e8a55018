/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise kernels: values worked out by hand, and what must be refused. */
#include <stdio.h>

#include "tests/unit/eval_check.h"

static void arithmetic_broadcasts(void) {
  eval_same("const %x = f32[2,1,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
            "const %y = f32[2,1] [10.0, 20.0]  %z = Add(%x, %y)\n"
            "const %want = f32[2,2,3] [11.0, 12.0, 13.0, 21.0, 22.0, 23.0,\n"
            "                          14.0, 15.0, 16.0, 24.0, 25.0, 26.0]");
  eval_same("const %x = f16[3] [1.5, -2.0, 65504.0]  const %y = f16[] 2.0  %z = Mul(%x, %y)\n"
            "const %want = f16[3] [3.0, -4.0, inf]");
  eval_same("const %x = f32[0,3] []  const %y = f32[3] [1.0, 2.0, 3.0]  %z = Sub(%x, %y)\n"
            "const %want = f32[0,3] []");
  eval_same("const %x = f32[1,1,1,1,1,1,1,2] [1.0, 2.0]\n"
            "const %y = f32[2,1,1,1,1,1,1,1] [1.0, 3.0]\n"
            "%z = Mul(%x, %y)  const %want = f32[2,1,1,1,1,1,1,2] [1.0, 2.0, 3.0, 6.0]");
}

static void integers_wrap_and_divide_safely(void) {
  eval_same("const %x = i8[3] [127, -128, 100]  const %y = i8[3] [1, -1, 100]  %z = Add(%x, %y)\n"
            "const %want = i8[3] [-128, 127, -56]");
  eval_same("const %x = u16[1] [65535]  %z = Mul(%x, %x)  const %want = u16[1] [1]");
  eval_same("const %x = i32[4] [-7, 7, 5, -2147483648]  const %y = i32[4] [2, -2, 0, -1]\n"
            "%z = Div(%x, %y)  const %want = i32[4] [-3, -3, 0, -2147483648]");
  eval_same("const %x = u8[2] [200, 7]  const %y = u8[2] [0, 2]  %z = Div(%x, %y)\n"
            "const %want = u8[2] [0, 3]");
  eval_same("const %x = i64[5] [-4, 7, 5, -8, 3]  const %y = i64[5] [3, -3, 8, 0, -1]\n"
            "%z = Mod(%x, %y)  const %want = i64[5] [2, -2, 5, 0, 0]");
  eval_same("const %x = i64[2] [-4, 7]  const %y = i64[2] [3, -3]  %z = Mod(%x, %y) {fmod=1}\n"
            "const %want = i64[2] [-1, 1]");
  eval_same("const %x = i8[2] [-128, 5]  %z = Abs(%x)  const %want = i8[2] [-128, 5]");
  eval_same("const %x = i32[2] [-2147483648, 5]  %z = Neg(%x)\n"
            "const %want = i32[2] [-2147483648, -5]");
}

static void floats_follow_their_rules(void) {
  eval_same("const %x = f32[4] [1.0, -1.0, 0.0, 5.5]  const %y = f32[4] [0.0, 0.0, 0.0, 2.0]\n"
            "%a = Div(%x, %y)  %b = IsNaN(%a)  %c = IsInf(%a) {detect_negative=0}\n"
            "%z = Or(%b, %c)  const %want = bool[4] [true, false, true, false]");
  eval_same("const %x = f32[3] [nan, 1.0, 2.0]  const %y = f32[3] [1.0, nan, 3.0]\n"
            "%a = Max(%x, %y)  %z = IsNaN(%a)  const %want = bool[3] [true, true, false]");
  eval_same("const %x = f32[6] [0.5, 1.5, 2.5, -0.5, -1.5, 0.9]  %z = Round(%x)\n"
            "const %want = f32[6] [0.0, 2.0, 2.0, -0.0, -2.0, 1.0]");
  eval_same("const %x = f32[3] [-5.3, 4.0, 5.0]  const %y = f32[3] [2.0, -3.0, 8.0]\n"
            "%z = Mod(%x, %y) {fmod=1}  const %want = f32[3] [-1.3000002, 1.0, 5.0]");
  eval_same("const %a = f32[2] [1.0, 2.0]  const %b = f32[2,1] [3.0, 5.0]  const %c = f32[] 4.0\n"
            "%z = Sum(%a, %b, %c)  const %want = f32[2,2] [8.0, 9.0, 10.0, 11.0]");
  eval_same("const %a = f32[] 1.0  const %b = f32[] 2.0  const %c = f32[2] [3.0, 6.0]\n"
            "%z = Mean(%a, %b, %c)  const %want = f32[2] [2.0, 3.0]");
  eval_same("const %x = f64[2] [4.0, 2.0]  %z = Sqrt(%x)\n"
            "const %want = f64[2] [2.0, 1.4142135623730951]");
}

static void powers_mix_types(void) {
  eval_same("const %x = f32[4] [1.0, 2.0, 3.0, -2.0]  const %y = i64[4] [0, 3, 2, 3]\n"
            "%z = Pow(%x, %y)  const %want = f32[4] [1.0, 8.0, 9.0, -8.0]");
  eval_same("const %x = i32[5] [2, -3, 5, -1, 0]  const %y = i32[5] [10, 3, -1, -3, 0]\n"
            "%z = Pow(%x, %y)  const %want = i32[5] [1024, -27, 0, -1, 1]");
  eval_same("const %x = i64[2] [2, 9]  const %y = f32[2] [-1.0, 0.5]  %z = Pow(%x, %y)\n"
            "const %want = i64[2] [0, 3]");
  eval_same("const %x = f16[2] [3.0, -4.0]  const %y = f32[] 2.0  %z = Pow(%x, %y)\n"
            "const %want = f16[2] [9.0, 16.0]");
}

static void comparisons_and_bits(void) {
  eval_same("const %x = str[2] [\"a\", \"bc\"]  const %y = str[1] [\"bc\"]  %z = Equal(%x, %y)\n"
            "const %want = bool[2] [false, true]");
  eval_same("const %x = f32[3] [1.0, nan, 3.0]  const %y = f32[3] [2.0, 2.0, 3.0]\n"
            "%z = GreaterOrEqual(%x, %y)  const %want = bool[3] [false, false, true]");
  eval_same("const %x = u64[2] [18446744073709551615, 1]  const %y = u64[] 2\n"
            "%z = Less(%x, %y)  const %want = bool[2] [false, true]");
  eval_same("const %x = u8[3] [1, 129, 255]  const %y = u8[3] [3, 1, 8]\n"
            "%z = BitShift(%x, %y) {direction=\"LEFT\"}  const %want = u8[3] [8, 2, 0]");
  eval_same("const %x = i16[2] [5, -1]  %z = BitwiseNot(%x)  const %want = i16[2] [-6, 0]");
  eval_same("const %c = bool[2,1] [true, false]  const %x = str[2] [\"a\", \"b\"]\n"
            "const %y = str[] \"z\"  %z = Where(%c, %x, %y)\n"
            "const %want = str[2,2] [\"a\", \"b\", \"z\", \"z\"]");
  eval_same("const %x = i32[4] [-5, 0, 5, 9]  const %lo = i32[] 1  const %hi = i32[] 6\n"
            "%z = Clip(%x, %lo, %hi)  const %want = i32[4] [1, 1, 5, 6]");
}

static void activations_at_known_points(void) {
  eval_near("const %x = f32[3] [-1.0, 0.0, 1.0]  %z = Gelu(%x)\n"
            "const %want = f32[3] [-0.15865525, 0.0, 0.8413447]",
            1e-6, 1e-7);
  eval_near("const %x = f32[3] [-inf, 0.0, 20.0]  %z = Sigmoid(%x)\n"
            "const %want = f32[3] [0.0, 0.5, 1.0]",
            1e-6, 1e-7);
  eval_near("const %x = f32[3] [-inf, -100.0, 1.0]  %z = Swish(%x)\n"
            "const %want = f32[3] [0.0, 0.0, 0.7310586]",
            1e-6, 1e-7);
  eval_near("const %x = f32[3] [-1.0, 0.0, 2.0]  %z = Elu(%x) {alpha=2.0}\n"
            "const %want = f32[3] [-1.2642411, 0.0, 2.0]",
            1e-6, 0);
  eval_near("const %x = f64[2] [1000.0, -1000.0]  %z = Softplus(%x)\n"
            "const %want = f64[2] [1000.0, 0.0]",
            1e-15, 0);
  eval_same("const %x = f32[3] [-4.0, 0.0, 4.0]  %z = HardSwish(%x)\n"
            "const %want = f32[3] [-0.0, 0.0, 4.0]");
  eval_same("const %x = i8[3] [-4, 0, 4]  %z = Shrink(%x) {lambd=1.5, bias=1.0}\n"
            "const %want = i8[3] [-3, 0, 3]");
  eval_same("const %x = f32[2,2] [-1.0, 1.0, -2.0, 2.0]  const %s = f32[2] [0.5, 3.0]\n"
            "%z = PRelu(%x, %s)  const %want = f32[2,2] [-0.5, 1.0, -1.0, 2.0]");
}

static void casts_state_their_rules(void) {
  eval_same("const %x = f32[6] [1.9, -1.9, 3e9, nan, -1.0, 300.0]  %z = Cast(%x) {to=6}\n"
            "const %want = i32[6] [1, -1, 2147483647, 0, -1, 300]");
  eval_same("const %x = f32[3] [-1.0, 300.0, 1.5]  %z = Cast(%x) {to=2}\n"
            "const %want = u8[3] [255, 44, 1]");
  eval_same("const %x = i64[2] [4294967297, -1]  %z = Cast(%x) {to=6}\n"
            "const %want = i32[2] [1, -1]");
  eval_same("const %x = f32[4] [1.0, 0.1, 1e-5, 3e20]  %z = Cast(%x) {to=8}\n"
            "const %want = str[4] [\"1.0\", \"0.1\", \"1e-05\", \"3e+20\"]");
  eval_same("const %x = f64[3] [123456.789, -inf, nan]  %z = Cast(%x) {to=8}\n"
            "const %want = str[3] [\"123456.789\", \"-inf\", \"nan\"]");
  eval_same("const %x = str[4] [\"-2.5\", \" +INF \", \"1E3\", \"7\"]  %z = Cast(%x) {to=1}\n"
            "const %want = f32[4] [-2.5, inf, 1000.0, 7.0]");
  eval_same("const %x = str[2] [\"-12\", \"100.5\"]  %z = Cast(%x) {to=7}\n"
            "const %want = i64[2] [-12, 100]");
  /* just above the midpoint of two halves: through f32 it would become the midpoint */
  eval_same("const %x = f64[1] [1.00048828125000001]  %z = Cast(%x) {to=10}\n"
            "const %want = f16[1] [1.0]");
  eval_same("const %x = f64[1] [1.0004882812500002]  %z = Cast(%x) {to=10}\n"
            "const %want = f16[1] [1.0009766]");
  eval_same("const %x = f32[5] [500.0, -500.0, 1.0, 0.0, 448.0]  %z = Cast(%x) {to=17}\n"
            "const %want = f8e4m3fn[5] hex(\"7efe38007e\")");
  eval_same("const %x = f32[2] [500.0, inf]  %z = Cast(%x) {to=17, saturate=0}\n"
            "const %want = f8e4m3fn[2] hex(\"7f7f\")");
  eval_same("const %x = f32[3] [-9.0, 7.0, 1.7]  %z = Cast(%x) {to=22}\n"
            "const %want = i4[3] hex(\"7801\")");
  eval_same("const %x = i4[3] hex(\"7801\")  %z = Cast(%x) {to=1}\n"
            "const %want = f32[3] [-8.0, 7.0, 1.0]");
  eval_same("const %x = i32[2] [1, 2]  %z = BitCast(%x) {to=1}\n"
            "const %want = f32[2] hex(\"0100000002000000\")");
}

static void quantization_rounds_and_saturates(void) {
  eval_same("const %x = f32[6] [0.0, 1.0, 3.0, 1000.0, -254.0, -1000.0]  const %s = f32[] 2.0\n"
            "const %o = u8[] 128  %z = QuantizeLinear(%x, %s, %o)\n"
            "const %want = u8[6] [128, 128, 130, 255, 1, 0]");
  eval_same("const %x = f32[2,2] [1.0, 10.0, -3.0, 25.0]  const %s = f32[2] [1.0, 10.0]\n"
            "const %o = i8[2] [0, 1]  %z = QuantizeLinear(%x, %s, %o) {axis=-1}\n"
            "const %want = i8[2,2] [1, 2, -3, 3]");
  eval_same("const %x = i8[2,3] [1, 2, 3, 4, 5, 6]  const %s = f32[2,2] [1.0, 10.0, 2.0, 20.0]\n"
            "%z = DequantizeLinear(%x, %s) {axis=1, block_size=2}\n"
            "const %want = f32[2,3] [1.0, 2.0, 30.0, 8.0, 10.0, 120.0]");
  eval_same("const %x = i8[3,2] [1, 2, 3, 4, 5, 6]  const %s = f32[2,2] [1.0, 10.0, 2.0, 20.0]\n"
            "%z = DequantizeLinear(%x, %s) {axis=0, block_size=2}\n"
            "const %want = f32[3,2] [1.0, 20.0, 3.0, 40.0, 10.0, 120.0]");
  eval_same("const %x = i32[2] [1000000001, -5]  const %s = f32[] 1.0  const %o = i32[] 1\n"
            "%z = DequantizeLinear(%x, %s, %o)  const %want = f32[2] [1e9, -6.0]");
  eval_same("const %x = f32[3] [0.0, 2.0, -3.0]  %z, %s, %o = DynamicQuantizeLinear(%x)\n"
            "const %want = u8[3] [153, 255, 0]");
}

static void bytes_are_computed_in_f32(void) {
  const char *scales = "const %s = f32[] 0.5  const %o = u8[] 10\n";
  char text[1024];
  /* (20 - 10) / 2 + (12 - 10) / 2 = 6, stored as 6 / 0.5 + 10 */
  snprintf(text, sizeof text, "%s%s", scales,
           "const %a = u8[2] [20, 255]  const %b = u8[1] [12]\n"
           "%z = com.microsoft::QLinearAdd(%a, %s, %o, %b, %s, %o, %s, %o)\n"
           "const %want = u8[2] [22, 255]");
  eval_same(text);
  snprintf(text, sizeof text, "%s%s", scales,
           "const %a = u8[2] [8, 14]  %z = com.microsoft::QLinearLeakyRelu(%a, %s, %o, %s, %o) "
           "{alpha=0.5}\nconst %want = u8[2] [9, 14]");
  eval_same(text);
}

static void gradients_at_known_points(void) {
  eval_near("const %d = f32[3] [2.0, 2.0, 2.0]  const %x = f32[3] [-1.0, 0.0, 1.0]\n"
            "%z = com.microsoft::GeluGrad(%d, %x)\n"
            "const %want = f32[3] [-0.16663118, 1.0, 2.1666312]",
            1e-5, 0);
  eval_same("const %d = f16[2] [2.0, 3.0]  const %x = f16[2] [-1.0, 1.0]\n"
            "%z = com.microsoft::ReluGrad(%d, %x)  const %want = f16[2] [0.0, 3.0]");
}

static void bad_input_is_refused(void) {
  eval_refused("const %x = f32[2] [1.0, 2.0]  const %y = f32[3] [1.0, 2.0, 3.0]\n"
               "%z = Add(%x, %y)",
               "cannot be broadcast");
  eval_refused("const %x = f32[2] [1.0, 2.0]  const %y = f32[2] [1.0, 2.0]\n"
               "%z = Cast(%x) {to=77}",
               "not an element type");
  eval_refused("const %x = str[1] [\"abc\"]  %z = Cast(%x) {to=1}", "not a number");
  eval_refused("const %x = u8[1] [1]  %z = BitShift(%x, %x) {direction=\"UP\"}", "direction");
  eval_refused("const %x = f32[2] [1.0, 2.0]  %z = QuantizeLinear(%x, %x) {axis=7}", "axis 7");
  eval_refused("const %x = i8[2] [1, 2]  const %s = f32[3] [1.0, 1.0, 1.0]\n"
               "%z = DequantizeLinear(%x, %s) {axis=0}",
               "one per index");
  eval_refused("const %x = i8[2] [1, 2]  const %s = f32[2] [1.0, 1.0]\n"
               "%z = DequantizeLinear(%x, %s) {axis=0, block_size=2}",
               "do not cover");
  eval_refused("const %x = f32[1] [1.0]  const %s = f32[2] [1.0, 1.0]  %z = PRelu(%x, %s)",
               "slope");
  eval_refused("const %x = i32[2] [1, 2]  %z = BitCast(%x) {to=7}", "differ in width");
}

static const unit_test tests[] = {
    {"arithmetic broadcasts", arithmetic_broadcasts},
    {"integers wrap and divide safely", integers_wrap_and_divide_safely},
    {"floats follow their rules", floats_follow_their_rules},
    {"powers mix types", powers_mix_types},
    {"comparisons and bits", comparisons_and_bits},
    {"activations at known points", activations_at_known_points},
    {"casts state their rules", casts_state_their_rules},
    {"quantization rounds and saturates", quantization_rounds_and_saturates},
    {"bytes are computed in f32", bytes_are_computed_in_f32},
    {"gradients at known points", gradients_at_known_points},
    {"bad input is refused", bad_input_is_refused},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_elementwise = {"eval_elementwise", tests};
