/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the C function of every pass in passes/passes.tbl. */
#ifndef TL_PASSES_EDIT_PASSES_H
#define TL_PASSES_EDIT_PASSES_H

#include "passes/edit/pass.h"

#define PASS(c_name, name, file, level, stage, summary)                                            \
  tl_status tl_pass_##c_name(tl_pass *p, tl_module *m);
#include "passes/passes.tbl"

#endif
