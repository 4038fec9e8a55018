/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a pipeline: loaded when the first pass asks, kept until the pipeline ends. */
#ifndef TL_PASSES_ENGINE_RULESET_H
#define TL_PASSES_ENGINE_RULESET_H

#include "passes/edit/pass.h"
#include "passes/engine/rule.h"

/* What the rule engine keeps while a pipeline runs. All zero to begin with. */
typedef struct tl_engine_state {
  tl_ruleset *sets[3]; /* owned; NULL: no pass has asked for these */
  bool unfused;        /* graph-fusion ran and changed nothing */
} tl_engine_state;

/* The rules of a kind (and others) for the module of the running pipeline: built-in ones and those
 * of --rules files, as switches and numerics class leave them. Reports errors of rule files. */
tl_status tl_pass_rules(tl_pass *p, tl_module *m, tl_rule_kind kind, tl_ruleset **out) TL_NODISCARD;
/* Frees what tl_pass_rules loaded. */
void tl_engine_state_release(tl_engine_state *e);

#endif
