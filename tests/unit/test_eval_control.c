/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that run bodies. */
#include "tests/unit/eval_check.h"

static void if_takes_one_branch(void) {
  eval_same("const %c = bool[] true\n"
            "%z = If(%c) {then_branch=graph @t() -> (%a) { const %a = f32[2] [1.0, 2.0] },\n"
            "             else_branch=graph @e() -> (%b) { const %b = f32[1] [3.0] }}\n"
            "const %want = f32[2] [1.0, 2.0]");
  eval_same("const %c = bool[1] [false]\n"
            "%z = If(%c) {then_branch=graph @t() -> (%a) { const %a = f32[2] [1.0, 2.0] },\n"
            "             else_branch=graph @e() -> (%b) { const %b = f32[1] [3.0] }}\n"
            "const %want = f32[1] [3.0]");
}

static const unit_test tests[] = {
    {"If takes one branch", if_takes_one_branch},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_control = {"eval_control", tests};
