/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pooling. */
#include "tests/unit/eval_check.h"

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
               "%z = Conv(%x, %w) {group=0}", "0 groups");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,4] [1.0, 1.0, 1.0, 1.0]\n"
               "%z = Conv(%x, %w)", "does not fit");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [1.0]\n"
               "%z = Conv(%x, %w) {pads=[2147483647, 2147483647]}", "memory limit");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [1.0]\n"
               "%z = Conv(%x, %w) {strides=[0]}", "out of range");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [1.0]\n"
               "const %b = f32[2] [1.0, 2.0]  %z = Conv(%x, %w, %b)", "bias");
}

static const unit_test tests[] = {
    {"Conv sums windows", sums_windows},
    {"groups see their channels", groups_see_their_channels},
    {"SAME padding splits", same_padding_splits},
    {"empty convolutions", empty_convolutions},
    {"bad convolutions are refused", bad_convolutions_are_refused},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_conv = {"eval_conv", tests};
