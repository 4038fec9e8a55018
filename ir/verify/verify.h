/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier: invariants of a module, in levels of small named checks. It reports every
 * finding through m->diag, each with its node, and changes nothing. Linear in the module. */
#ifndef TL_IR_VERIFY_VERIFY_H
#define TL_IR_VERIFY_VERIFY_H

#include "ir/module.h"

enum {
  TL_VERIFY_STRUCTURAL = 1 << 0, /* links, order, scopes, names */
  TL_VERIFY_TYPED = 1 << 1,      /* nodes agree with the op table */
  TL_VERIFY_STAGE = 1 << 2,      /* only what the module's form allows */
  TL_VERIFY_SHAPES = 1 << 3,     /* types agree with inference; holds once it has run */
  TL_VERIFY_ALL = 15
};

/* Runs the checks of the given levels. Levels after STRUCTURAL run only when it found nothing, as
 * they follow links. TL_INVALID_MODEL when there were findings, TL_NO_MEMORY. */
tl_status tl_module_verify(tl_module *m, unsigned levels) TL_NODISCARD;

#endif
