/* SPDX-License-Identifier: Apache-2.0 */
/* Every pass of the table as a C function. */
#ifndef TL_PASSES_PASSES_H
#define TL_PASSES_PASSES_H

#include "passes/pass.h"

#define PASS(c_name, name, level, stage, summary) \
  tl_status tl_pass_##c_name(tl_pass *p, tl_module *m);
#include "passes/passes.tbl"

#endif
