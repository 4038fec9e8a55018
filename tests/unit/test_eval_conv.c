/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pooling. */
#include "tests/unit/eval_check.h"

#include <stdio.h>

#define IOTA9 "[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]"

static void sums_windows(void) {
  /* a kernel of ones sums the window: 1+2+4+5, 2+3+5+6, ... */
  eval_same("const %x = f32[1,1,3,3] " IOTA9 "  const %w = f32[1,1,2,2] [1.0, 1.0, 1.0, 1.0]\n"
            "%z = Conv(%x, %w)  const %want = f32[1,1,2,2] [12.0, 16.0, 24.0, 28.0]");
  /* padding of one at the begin only, stride 2: windows begin at -1 and 1 */
  eval_same("const %x = f32[1,1,3,3] " IOTA9 "  const %w = f32[1,1,2,2] [1.0, 1.0, 1.0, 1.0]\n"
            "const %b = f32[1] [100.0]\n"
            "%z = Conv(%x, %w, %b) {pads=[1, 1, 0, 0], strides=[2, 2]}\n"
            "const %want = f32[1,1,2,2] [101.0, 105.0, 111.0, 128.0]");
  /* negative padding crops */
  eval_same("const %x = f64[1,1,3] [1.0, 2.0, 3.0]  const %w = f64[1,1,1] [2.0]\n"
            "%z = Conv(%x, %w) {pads=[-1, -1]}  const %want = f64[1,1,1] [4.0]");
}

static void groups_see_their_channels(void) {
  eval_same("const %x = f32[1,2,2] [1.0, 2.0, 3.0, 4.0]  const %w = f32[2,1,1] [10.0, 100.0]\n"
            "%z = Conv(%x, %w) {group=2}\n"
            "const %want = f32[1,2,2] [10.0, 20.0, 300.0, 400.0]");
  /* ten results of two groups: the way by the product */
  eval_same("const %x = f32[1,2,1] [1.0, 2.0]\n"
            "const %w = f32[10,1,1] [1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0, 4.0, 5.0]\n"
            "%z = Conv(%x, %w) {group=2}\n"
            "const %want = f32[1,10,1] [1.0, 2.0, 3.0, 4.0, 5.0, 2.0, 4.0, 6.0, 8.0, 10.0]");
}

static void same_padding_splits(void) {
  /* 4 elements, kernel 3, stride 2: one element of padding, at the end or at the begin */
  eval_same("const %x = f32[1,1,4] [1.0, 2.0, 3.0, 4.0]  const %w = f32[1,1,3] [1.0, 1.0, 1.0]\n"
            "%z = Conv(%x, %w) {auto_pad=\"SAME_UPPER\", strides=[2]}\n"
            "const %want = f32[1,1,2] [6.0, 7.0]");
  eval_same("const %x = f32[1,1,4] [1.0, 2.0, 3.0, 4.0]  const %w = f32[1,1,3] [1.0, 1.0, 1.0]\n"
            "%z = Conv(%x, %w) {auto_pad=\"SAME_LOWER\", strides=[2]}\n"
            "const %want = f32[1,1,2] [3.0, 9.0]");
  eval_same("const %x = f32[1,1,5] [1.0, 2.0, 3.0, 4.0, 5.0]  const %w = f32[1,1,2] [1.0, 10.0]\n"
            "%z = Conv(%x, %w) {auto_pad=\"VALID\", dilations=[3]}\n"
            "const %want = f32[1,1,2] [41.0, 52.0]");
}

static void empty_convolutions(void) {
  eval_same("const %x = f32[0,1,3] []  const %w = f32[1,1,2] [1.0, 1.0]\n"
            "%z = Conv(%x, %w)  const %want = f32[0,1,2] []");
  eval_same("const %x = f32[1,0,3] []  const %w = f32[4,0,2] []\n"
            "%z = Conv(%x, %w)  const %want = f32[1,4,2] [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]");
}

static void bad_convolutions_are_refused(void) {
  eval_refused("const %x = f32[1,1] [1.0]  const %w = f32[1,1,1] [1.0]  %z = Conv(%x, %w)",
               "operand 1 has rank 3, expected 2");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [1.0]\n"
               "%z = Conv(%x, %w) {group=0}",
               "0 groups");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,4] [1.0, 1.0, 1.0, 1.0]\n"
               "%z = Conv(%x, %w)",
               "does not fit");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [1.0]\n"
               "%z = Conv(%x, %w) {pads=[2147483647, 2147483647]}",
               "memory limit");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [1.0]\n"
               "%z = Conv(%x, %w) {strides=[0]}",
               "out of range");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [1.0]\n"
               "const %b = f32[2] [1.0, 2.0]  %z = Conv(%x, %w, %b)",
               "bias");
}

static void integer_convolutions(void) {
  /* padding is the zero point: (1-1)+(3-1) at the begin */
  eval_same("const %x = u8[1,1,2] [3, 5]  const %w = i8[1,1,2] [1, 1]  const %zx = u8[] 1\n"
            "%z = ConvInteger(%x, %w, %zx) {pads=[1, 0]}  const %want = i32[1,1,2] [2, 6]");
  /* four channels, a weight zero point each: the way by the product; 2 * (w - zero) */
  eval_same("const %x = u8[1,1,1] [2]  const %w = u8[4,1,1] [1, 2, 3, 4]\n"
            "const %zx = u8[] 0  const %zw = u8[4] [0, 1, 0, 1]\n"
            "%z = ConvInteger(%x, %w, %zx, %zw)  const %want = i32[1,4,1] [2, 2, 6, 6]");
  eval_same("const %x = u8[1,1,1] [10]  const %w = i8[2,1,1] [3, -3]  const %s = f32[] 0.5\n"
            "const %zx = u8[] 0  const %sw = f32[2] [1.0, 0.5]  const %zw = i8[] 0\n"
            "const %sy = f32[] 1.0  const %zy = u8[] 7  const %b = i32[2] [1, 0]\n"
            "%z = QLinearConv(%x, %s, %zx, %w, %sw, %zw, %sy, %zy, %b)\n"
            "const %want = u8[1,2,1] [23, 0]"); /* 15.5 to 16, halves to even */
  eval_same("const %x = u8[1,2,1] [10, 20]  const %w = i8[2,1,1] [3, 1]  const %s = f32[] 1.0\n"
            "const %zx = u8[] 0  const %zw = i8[] 0  const %zy = u8[] 0\n"
            "%z = com.microsoft::QLinearConv(%x, %s, %zx, %w, %s, %zw, %s, %zy) "
            "{channels_last=1}\n"
            "const %want = u8[1,2,2] [30, 10, 60, 20]");
}

static void fused_convolutions(void) {
  eval_same("const %x = f32[1,1,2] [1.0, -2.0]  const %w = f32[1,1,1] [1.0]\n"
            "const %b = f32[1] [0.5]  const %s = f32[1,1,2] [1.0, 1.0]\n"
            "%z = com.microsoft::FusedConv(%x, %w, %b, %s) {activation=\"Relu\"}\n"
            "const %want = f32[1,1,2] [2.5, 0.0]");
  eval_same("const %x = f32[1,2,1,2] [1.0, 2.0, 3.0, 4.0]  const %w = f32[1,2,1,1] [1.0, 10.0]\n"
            "%z = com.microsoft::NhwcConv(%x, %w) {kernel_shape=[1, 1]}\n"
            "const %want = f32[1,2,1,1] [21.0, 43.0]");
}

static void transposed_convolutions(void) {
  /* each element spreads the kernel: 1*[1,10] at 0, 2*[1,10] at 2 */
  eval_same("const %x = f32[1,1,2] [1.0, 2.0]  const %w = f32[1,1,2] [1.0, 10.0]\n"
            "const %b = f32[1] [0.5]\n"
            "%z = ConvTranspose(%x, %w, %b) {strides=[2], output_padding=[1]}\n"
            "const %want = f32[1,1,5] [1.5, 10.5, 2.5, 20.5, 0.5]");
  /* stride 1: they overlap; one element of padding is cut at the end by SAME_UPPER */
  eval_same("const %x = f32[1,1,2] [1.0, 2.0]  const %w = f32[1,1,2] [1.0, 10.0]\n"
            "%z = ConvTranspose(%x, %w) {auto_pad=\"SAME_UPPER\"}\n"
            "const %want = f32[1,1,2] [1.0, 12.0]");
  eval_same("const %x = f64[1,2,1] [1.0, 2.0]  const %w = f64[2,1,1] [3.0, 4.0]\n"
            "%z = ConvTranspose(%x, %w) {group=2}  const %want = f64[1,2,1] [3.0, 8.0]");
  eval_refused("const %x = f32[1,1,2] [1.0, 2.0]  const %w = f32[2,1,2] [1.0, 1.0, 1.0, 1.0]\n"
               "%z = ConvTranspose(%x, %w)",
               "do not fit a weight for 2");
  /* blocks of one row, two columns, overlapping at the middle element */
  eval_same("const %x = i64[1,2,2] [1, 2, 3, 4]  const %s = i64[2] [1, 3]\n"
            "const %b = i64[2] [1, 2]\n"
            "%z = Col2Im(%x, %s, %b)  const %want = i64[1,1,1,3] [1, 5, 4]");
}

static void causal_convolutions(void) {
  /* past 5, input 1 2, kernel [1, 10]: 5+10, 1+20; the state is the last input */
  eval_same_pairs("const %x = f32[1,1,2] [1.0, 2.0]  const %w = f32[1,1,2] [1.0, 10.0]\n"
                  "const %p = f32[1,1,1] [5.0]\n"
                  "%z0, %z1 = CausalConvWithState(%x, %w, _, %p)\n"
                  "const %want0 = f32[1,1,2] [15.0, 21.0]  const %want1 = f32[1,1,1] [2.0]",
                  2);
}

static void deformed_windows(void) {
  /* half an element down: the mean of two rows; outside is zero; the mask halves the last */
  eval_same("const %x = f32[1,1,2,1] [2.0, 4.0]  const %w = f32[1,1,1,1] [1.0]\n"
            "const %o = f32[1,2,2,1] [0.5, 0.5, 0.0, 0.0]  const %b = f32[1] [1.0]\n"
            "const %m = f32[1,1,2,1] [1.0, 0.5]\n"
            "%z = DeformConv(%x, %w, %o, %b, %m)  const %want = f32[1,1,2,1] [4.0, 2.0]");
}

static void pools_windows(void) {
  eval_same("const %x = f32[1,1,3,3] " IOTA9 "\n"
            "%z = MaxPool(%x) {kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1}\n"
            "const %want = f32[1,1,2,2] [5.0, 6.0, 8.0, 9.0]");
  eval_same("const %x = i8[1,1,3] [-5, -7, 3]  %z = MaxPool(%x) {kernel_shape=[2]}\n"
            "const %want = i8[1,1,2] [-5, 3]");
  /* the padding counts only where asked for: (1+2)/3 against (1+2)/2 */
  eval_same("const %x = f32[1,1,2] [1.0, 2.0]\n"
            "%z = AveragePool(%x) {kernel_shape=[3], pads=[1, 1], count_include_pad=1}\n"
            "const %want = f32[1,1,2] [1.0, 1.0]");
  eval_same("const %x = f32[1,1,2] [1.0, 2.0]\n"
            "%z = AveragePool(%x) {kernel_shape=[3], pads=[1, 1]}\n"
            "const %want = f32[1,1,2] [1.5, 1.5]");
  eval_same("const %x = f32[1,1,2] [-3.0, 4.0]  %z = LpPool(%x) {kernel_shape=[2]}\n"
            "const %want = f32[1,1,1] [5.0]");
  eval_same("const %x = u8[1,2,2] [1, 8, 7, 2]\n"
            "%z = com.microsoft::NhwcMaxPool(%x) {kernel_shape=[2]}\n"
            "const %want = u8[1,1,2] [7, 8]");
}

static void max_pool_tells_where(void) {
  const char *text = "const %%x = f32[1,2,2,2] [1.0, 4.0, 3.0, 2.0, 5.0, 5.0, 6.0, 5.0]\n"
                     "%%z0, %%z1 = MaxPool(%%x) {kernel_shape=[2, 2], storage_order=%d}\n"
                     "const %%want0 = f32[1,2,1,1] [4.0, 6.0]\n"
                     "const %%want1 = i64[1,2,1,1] [%d, %d]";
  char body[512];
  snprintf(body, sizeof body, text, 0, 1, 6);
  eval_same_pairs(body, 2);
  snprintf(body, sizeof body, text, 1, 2, 5); /* the first axis of a plane is the fastest */
  eval_same_pairs(body, 2);
}

static void pools_whole_channels(void) {
  eval_same("const %x = f32[1,2,2] [1.0, 2.0, -3.0, 4.0]  %z = GlobalAveragePool(%x)\n"
            "const %want = f32[1,2,1] [1.5, 0.5]");
  eval_same("const %x = f32[1,2,2] [1.0, 2.0, -3.0, 4.0]  %z = GlobalLpPool(%x) {p=1}\n"
            "const %want = f32[1,2,1] [3.0, 7.0]");
  eval_same("const %x = f16[1,2,2] [1.0, 2.0, -3.0, 4.0]  %z = GlobalMaxPool(%x)\n"
            "const %want = f16[1,2,1] [2.0, 4.0]");
}

static void bad_pooling_is_refused(void) {
  eval_refused("const %x = f32[1,1,2] [1.0, 2.0]  %z = MaxPool(%x) {kernel_shape=[2, 2]}",
               "expected 1");
  eval_refused("const %x = f32[1,1,2] [1.0, 2.0]  %z = LpPool(%x) {kernel_shape=[1], p=0}",
               "p is 0");
  eval_refused("const %x = f32[1,1,2] [1.0, 2.0]  const %i = i64[1,1,2] [0, 9]\n"
               "%z = MaxUnpool(%x, %i) {kernel_shape=[1]}",
               "index 9 is outside");
  /* a kernel of 2^31 places walks only those that lie in the input */
  eval_same("const %x = f32[1,1,2] [1.0, 2.0]\n"
            "%z = MaxPool(%x) {kernel_shape=[2147483647], pads=[2147483640, 2147483640],\n"
            "  strides=[2147483647]}\n"
            "const %want = f32[1,1,1] [2.0]");
}

static const unit_test tests[] = {
    {"Conv sums windows", sums_windows},
    {"groups see their channels", groups_see_their_channels},
    {"SAME padding splits", same_padding_splits},
    {"empty convolutions", empty_convolutions},
    {"bad convolutions are refused", bad_convolutions_are_refused},
    {"integer convolutions", integer_convolutions},
    {"fused convolutions", fused_convolutions},
    {"transposed convolutions", transposed_convolutions},
    {"causal convolutions", causal_convolutions},
    {"deformed windows", deformed_windows},
    {"pools windows", pools_windows},
    {"MaxPool tells where", max_pool_tells_where},
    {"pools whole channels", pools_whole_channels},
    {"bad pooling is refused", bad_pooling_is_refused},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_conv = {"eval_conv", tests};
