/* SPDX-License-Identifier: Apache-2.0 */
/* The engine over rules: finds candidates of all rules in one sweep, applies them in
 * the order (priority, rule, position), each matched again just before, and looks again where
 * something changed, for a bounded number of rounds. Deterministic: the order of work follows from
 * the module and the rules alone. */
#ifndef TL_PASSES_ENGINE_REWRITE_H
#define TL_PASSES_ENGINE_REWRITE_H

#include "passes/edit/pass.h"
#include "passes/engine/rule.h"

typedef struct tl_rewriter {
  tl_pass *pass;
  tl_module *m;
  tl_ruleset *set;   /* rules that it skimmed are completed where they fit */
  tl_rule_kind kind; /* rules of this kind */
  uint32_t rounds;   /* at most; 0: one sweep */
  bool (*wants)(void *user, tl_node_id root); /* whether a root may be rewritten; NULL: any */
  void *user;
  struct tl_scopes *scopes; /* for rules that ask where nodes are; NULL: none does */
} tl_rewriter;

/* Runs the rules of a kind over every graph of the module. What fired, and under explain what
 * nearly did, goes to the pass's remarks; counts to its statistics. Cost: one sweep, plus work in
 * proportion to what changed. */
tl_status tl_rewrite(const tl_rewriter *r) TL_NODISCARD;

#endif
