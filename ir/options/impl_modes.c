/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/options/impl_modes.h"

/* Numbers: op_impl_mode_enum of the operator library. */
static const tl_impl_mode modes[] = {
    {"high_performance", 0x2},
    {"high_precision", 0x4},
    {"super_performance", 0x8},
    {"support_out_of_bound_index", 0x10},
    {"enable_float_32_execution", 0x20},
    {"enable_hi_float_32_execution", 0x40},
    {"keep_fp16", 0},
    {"norm_class", 0},
};

const tl_impl_mode *tl_impl_mode_find(tl_sv name) {
  for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
    if (tl_sv_is(name, modes[i].name))
      return &modes[i];
  return NULL;
}
