/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that ask for it ("verify") compare what a scope computes with what is to take its place, on
 * random inputs, before anything is changed. */
#ifndef TL_PASSES_SCOPES_VERIFY_H
#define TL_PASSES_SCOPES_VERIFY_H

#include "passes/edit/pass.h"
#include "passes/engine/scope.h"
#include "passes/scopes/body.h"

typedef struct tl_scope_trial {
  const tl_options *options;
  tl_module *m;
  const tl_scope_pattern *pattern;
  const tl_scope_cut *cut;
  tl_module *body; /* what the op means; NULL: the op is of the table and takes `attrs` */
  const tl_attr *attrs;
  uint32_t n_attrs;
} tl_scope_trial;

/* *agree: whether each sample comes out the same within the tolerances; else `why` says which does
 * not, or why nothing could be compared. Sizes without a number are small ones, constants are what
 * they are; the same scope and rule give the same samples. Time is that of running the scope and
 * its counterpart. TL_NO_MEMORY, reported. */
tl_status tl_scope_try(const tl_scope_trial *t, bool *agree, tl_buf *why) TL_NODISCARD;

#endif
