/* SPDX-License-Identifier: Apache-2.0 */
/* The input of one run of the rule engine (rewrite.h). */
#ifndef TL_PASSES_ENGINE_REWRITER_H
#define TL_PASSES_ENGINE_REWRITER_H

#include "passes/edit/pass.h"
#include "passes/engine/rule.h"

/* Input of one run; everything is borrowed. */
typedef struct tl_rewriter {
  tl_pass *pass;
  tl_module *m;
  tl_ruleset *set;   /* of the rules */
  tl_rule_kind kind; /* kind of rules to run */
  uint32_t rounds;   /* upper bound on rounds after the first; 0: one sweep */
  bool (*wants)(void *user, tl_node_id root); /* may this root be rewritten? NULL: any may */
  void *user;
  struct tl_scopes *scopes; /* for rules on scopes; NULL: there are none */
} tl_rewriter;

#endif
