/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a scope with the op that is to replace it on random inputs, before anything is changed.
 * Only rules with the clause "verify" ask for it. */
#ifndef TL_PASSES_SCOPES_VERIFY_H
#define TL_PASSES_SCOPES_VERIFY_H

#include "passes/edit/pass.h"
#include "passes/engine/scope.h"
#include "passes/scopes/body.h"

/* What is compared: the scope of `cut` with a definition or an op of the table. */
typedef struct tl_scope_trial {
  const tl_options *options;
  tl_module *m;
  const tl_scope_pattern *pattern;
  const tl_scope_cut *cut;
  tl_module *body; /* definition of the op; NULL: an op of the table with `attrs` */
  const tl_attr *attrs;
  uint32_t n_attrs;
} tl_scope_trial;

/* Sets *agree: every sample agrees within the tolerances of the rule. Otherwise `why` names the
 * first difference or what could not be run. Open dims get small sizes, constants keep their
 * values; one scope and rule always give the same samples. TL_NO_MEMORY, reported. Time: running
 * the scope and the op once per sample. */
tl_status tl_scope_try(const tl_scope_trial *t, bool *agree, tl_buf *why) TL_NODISCARD;

#endif
