/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what rules do in one run of the engine, for those who ask (tl_rule_watch). */
#ifndef TL_PASSES_ENGINE_TALLY_H
#define TL_PASSES_ENGINE_TALLY_H

#include "passes/edit/pass.h"
#include "passes/engine/rule.h"

/* Counts of one rule, all spellings together. */
typedef struct tl_tally {
  const tl_rule *rule; /* NULL: it was not tried */
  tl_rule_count count;
  tl_refusal refused[TL_MOST_REFUSALS];
} tl_tally;

/* Counts of a run; by index of the rule. Zero-initialise it but for watch. */
typedef struct tl_tallies {
  const tl_rule_watch *watch; /* NULL: nobody asks; nothing else here may then be called */
  tl_tally *at;               /* owned */
  uint32_t n;
  bool no_memory;
} tl_tallies;

/* Counts that a rule was tried at a node. code: why it does not fit there, NULL: it fits. */
void tl_tally_try(tl_tallies *t, const tl_rule *rule, bool structural, const char *code);
/* Counts that a rule that fitted was not applied, for the reason `code`. */
void tl_tally_refuse(tl_tallies *t, const tl_rule *rule, const char *code);
/* Counts that a rule was applied, and since when: 0 if times are not wanted. */
void tl_tally_fire(tl_tallies *t, const tl_pass *p, const tl_rule *rule, uint64_t start);
/* Adds the time since `start` to what a rule took. */
void tl_tally_time(tl_tallies *t, const tl_rule *rule, uint64_t start);
/* Hands the counts over and releases them. TL_NO_MEMORY, unreported. */
tl_status tl_tallies_end(tl_tallies *t, const tl_pass *p, const tl_module *m) TL_NODISCARD;

#endif
