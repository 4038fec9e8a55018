/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, scans along an axis, selections. */
#include "tests/unit/eval_check.h"

#define X6 "const %x = i32[2,3] [1, 2, 3, 4, 5, 6]\n"
#define F6 "const %x = f32[2,3] [1.0, -2.0, 3.0, 4.0, -5.0, 6.0]\n"

static void reduce_takes_axes_as_they_come(void) {
  eval_same(X6 "%z = ReduceSum(%x) {keepdims=0}  const %want = i32[] 21");
  eval_same(X6 "const %a = i64[1] [-1]  %z = ReduceSum(%x, %a)  const %want = i32[2,1] [6, 15]");
  eval_same(X6 "const %a = i64[1] [0]  %z = ReduceSum(%x, %a) {keepdims=0}\n"
               "const %want = i32[3] [5, 7, 9]");
  eval_same(X6 "const %a = i64[2] [1, 0]  %z = ReduceMax(%x, %a)  const %want = i32[1,1] [6]");
  eval_same(X6 "const %a = i64[0] []  %z = ReduceSum(%x, %a) {noop_with_empty_axes=1}\n"
               "const %want = i32[2,3] [1, 2, 3, 4, 5, 6]");
  /* the axes between which kept ones lie: 1+2+5+6 and 3+4+7+8 */
  eval_same("const %x = i32[2,2,2] [1, 2, 3, 4, 5, 6, 7, 8]  const %a = i64[2] [0, 2]\n"
            "%z = ReduceSum(%x, %a)  const %want = i32[1,2,1] [14, 22]");
  eval_same("const %x = f32[] 3.0  %z = ReduceMean(%x)  const %want = f32[] 3.0");
  eval_same("const %x = f32[1,1,1,2,1,1,1,1] [3.0, 5.0]  const %a = i64[1] [3]\n"
            "%z = ReduceMean(%x, %a) {keepdims=0}  const %want = f32[1,1,1,1,1,1,1] [4.0]");
  eval_refused(X6 "const %a = i64[1] [2]  %z = ReduceSum(%x, %a)", "axis 2 is outside [-2, 1]");
  eval_refused(X6 "const %a = i64[1] [-3]  %z = ReduceSum(%x, %a)", "outside");
}

static void each_reduction_has_its_formula(void) {
  eval_same(F6 "const %a = i64[1] [1]  %z = ReduceL1(%x, %a)  const %want = f32[2,1] [6.0, 15.0]");
  eval_same("const %x = f32[2] [3.0, -4.0]  %z = ReduceL2(%x)  const %want = f32[1] [5.0]");
  eval_same(F6 "%z = ReduceSumSquare(%x)  const %want = f32[1,1] [91.0]");
  eval_same(F6 "const %a = i64[1] [0]  %z = ReduceProd(%x, %a)\n"
               "const %want = f32[1,3] [4.0, 10.0, 18.0]");
  eval_same(F6 "const %a = i64[1] [0]  %z = ReduceMin(%x, %a)\n"
               "const %want = f32[1,3] [1.0, -5.0, 3.0]");
  /* log(e^1000 + e^1000): no overflow on the way */
  eval_near("const %x = f32[2] [1000.0, 1000.0]  %z = ReduceLogSumExp(%x)\n"
            "const %want = f32[1] [1000.6931472]",
            1e-7, 0);
  eval_near("const %x = f32[2] [1.0, 1.0]  %z = ReduceLogSum(%x)\n"
            "const %want = f32[1] [0.69314718]",
            1e-7, 0);
  /* in double: in f32 the small addends would be lost */
  eval_same("const %x = f32[5] [16777216.0, 1.0, 1.0, 1.0, 1.0]  %z = ReduceSum(%x)\n"
            "const %want = f32[1] [16777220.0]");
}

static void integers_wrap_and_divide_toward_zero(void) {
  eval_same("const %x = i32[2] [2147483647, 1]  %z = ReduceSum(%x)\n"
            "const %want = i32[1] [-2147483648]");
  eval_same("const %x = i32[2] [-4, -3]  %z = ReduceMean(%x)  const %want = i32[1] [-3]");
  eval_same("const %x = u64[2] [1, 18446744073709551615]  %z = ReduceMax(%x)\n"
            "const %want = u64[1] [18446744073709551615]");
  eval_same("const %x = u64[2] [18446744073709551614, 0]  %z = ReduceMean(%x)\n"
            "const %want = u64[1] [9223372036854775807]");
  eval_same("const %x = bool[2,2] [false, true, false, false]  const %a = i64[1] [1]\n"
            "%z = ReduceMax(%x, %a)  const %want = bool[2,1] [true, false]");
  eval_same("const %x = i8[3] [-128, 3, 5]  %z = ReduceMin(%x)  const %want = i8[1] [-128]");
}

static void reductions_of_nothing_are_neutral(void) {
  eval_same("const %x = f32[2,0] []  const %a = i64[1] [1]  %z = ReduceSum(%x, %a)\n"
            "const %want = f32[2,1] [0.0, 0.0]");
  eval_same("const %x = f32[0,2] []  const %a = i64[1] [0]  %z = ReduceProd(%x, %a)\n"
            "const %want = f32[1,2] [1.0, 1.0]");
  eval_same("const %x = i8[0] []  %z = ReduceMax(%x)  const %want = i8[1] [-128]");
  eval_same("const %x = u8[0] []  %z = ReduceMin(%x)  const %want = u8[1] [255]");
  eval_same("const %x = bool[0] []  %z = ReduceMin(%x)  const %want = bool[1] [true]");
  eval_same("const %x = f32[0,2] []  const %a = i64[1] [1]  %z = ReduceSum(%x, %a)\n"
            "const %want = f32[0,1] []");
  eval_refused("const %x = i32[0] []  %z = ReduceMean(%x)", "the mean of no integers");
}

static void arg_max_breaks_ties(void) {
  eval_same("const %x = f32[4] [1.0, 3.0, 3.0, 2.0]  %z = ArgMax(%x)  const %want = i64[1] [1]");
  eval_same("const %x = f32[4] [1.0, 3.0, 3.0, 2.0]  %z = ArgMax(%x) {select_last_index=1}\n"
            "const %want = i64[1] [2]");
  eval_same(X6 "%z = ArgMin(%x) {axis=-2, keepdims=0}  const %want = i64[3] [0, 0, 0]");
  eval_same("const %x = u64[2] [9223372036854775808, 1]  %z = ArgMax(%x)\n"
            "const %want = i64[1] [0]");
  eval_refused("const %x = f32[0] []  %z = ArgMax(%x)", "no elements to choose from");
  eval_refused(X6 "%z = ArgMax(%x) {axis=2}", "outside");
}

static void running_sums_go_both_ways(void) {
  eval_same(X6 "const %a = i32[] 1  %z = CumSum(%x, %a)\n"
               "const %want = i32[2,3] [1, 3, 6, 4, 9, 15]");
  eval_same(X6 "const %a = i32[] -1  %z = CumSum(%x, %a) {exclusive=1, reverse=1}\n"
               "const %want = i32[2,3] [5, 3, 0, 11, 6, 0]");
  eval_same(X6 "const %a = i64[1] [0]  %z = CumSum(%x, %a)\n"
               "const %want = i32[2,3] [1, 2, 3, 5, 7, 9]");
  eval_same(F6 "const %a = i32[] 1  %z = CumProd(%x, %a)\n"
               "const %want = f32[2,3] [1.0, -2.0, -6.0, 4.0, -20.0, -120.0]");
  eval_refused(X6 "const %a = i32[] 2  %z = CumSum(%x, %a)", "outside");
  eval_refused(X6 "const %a = i32[2] [0, 1]  %z = CumSum(%x, %a)", "exactly one element");
}

static void topk_keeps_the_order_of_equals(void) {
  eval_same_pairs("const %x = f32[5] [2.0, 5.0, 2.0, 5.0, 1.0]  const %k = i64[1] [3]\n"
                  "%z0, %z1 = TopK(%x, %k)  const %want0 = f32[3] [5.0, 5.0, 2.0]\n"
                  "const %want1 = i64[3] [1, 3, 0]",
                  2);
  eval_same_pairs(X6 "const %k = i64[1] [1]  %z0, %z1 = TopK(%x, %k) {axis=0, largest=0}\n"
                     "const %want0 = i32[1,3] [1, 2, 3]  const %want1 = i64[1,3] [0, 0, 0]",
                  2);
  eval_same_pairs("const %x = u64[2] [1, 18446744073709551615]  const %k = i64[1] [1]\n"
                  "%z0, %z1 = TopK(%x, %k)  const %want0 = u64[1] [18446744073709551615]\n"
                  "const %want1 = i64[1] [1]",
                  2);
  eval_same_pairs(X6 "const %k = i64[1] [0]  %z0, %z1 = TopK(%x, %k)\n"
                     "const %want0 = i32[2,0] []  const %want1 = i64[2,0] []",
                  2);
  eval_refused(X6 "const %k = i64[1] [4]  %z, %i = TopK(%x, %k)", "K is 4");
  eval_refused(X6 "const %k = i64[1] [-1]  %z, %i = TopK(%x, %k)", "K is -1");
}

static const unit_test tests[] = {
    {"reductions take axes as they come", reduce_takes_axes_as_they_come},
    {"each reduction has its formula", each_reduction_has_its_formula},
    {"integers wrap and divide toward zero", integers_wrap_and_divide_toward_zero},
    {"reductions of nothing are neutral", reductions_of_nothing_are_neutral},
    {"ArgMax breaks ties", arg_max_breaks_ties},
    {"running sums go both ways", running_sums_go_both_ways},
    {"TopK keeps the order of equals", topk_keeps_the_order_of_equals},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_reduce = {"eval_reduce", tests};
