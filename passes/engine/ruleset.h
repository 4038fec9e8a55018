/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a pipeline: loaded when the first pass needs them, kept until the pipeline ends. */
#ifndef TL_PASSES_ENGINE_RULESET_H
#define TL_PASSES_ENGINE_RULESET_H

#include "passes/edit/pass.h"
#include "passes/engine/rule.h"

/* State of the rule engine during a pipeline. All zero at the start. */
typedef struct tl_engine_state {
  tl_ruleset *sets[4]; /* owned; NULL: not loaded yet */
  bool unfused;        /* the pass graph-fusion ran and changed nothing */
  bool turned;         /* the pass sink-transposes changed something */
} tl_engine_state;

/* Returns in *out the set with the rules of a kind, for the module of the running pipeline:
 * built-in ones and those of --rules files, as switches and the numerics class leave them. The
 * state owns the set. Errors of rule files are reported. */
tl_status tl_pass_rules(tl_pass *p, tl_module *m, tl_rule_kind kind, tl_ruleset **out) TL_NODISCARD;
/* Returns in *out the formulas (formula.h), likewise. */
tl_status tl_pass_formulas(tl_pass *p, tl_module *m, tl_ruleset **out) TL_NODISCARD;
/* Releases all sets that tl_pass_rules and tl_pass_formulas loaded. */
void tl_engine_state_release(tl_engine_state *e);

#endif
