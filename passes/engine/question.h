/* SPDX-License-Identifier: Apache-2.0 */
/* Why did these rules not take this node? The engine answers before and behind each run of rules
 * that were asked about; who asked puts the answers together. */
#ifndef TL_PASSES_ENGINE_QUESTION_H
#define TL_PASSES_ENGINE_QUESTION_H

#include "passes/engine/explain.h"

/* What stands in the way of rules at a node, in one state of the module. Texts live during the call
 * only. */
typedef struct tl_rule_answer {
  const char *pass; /* that runs the rules */
  bool after;       /* state of the module: as the pass left it, not as it found it */
  bool exists;      /* the module has the node; otherwise only the members above are set */
  tl_sv node;       /* its name in messages */
  tl_sv op;
  tl_sv fusion; /* public pass and name of the rule that comes nearest; empty: no rule has a node of
                 * this op, and reason says so */
  tl_sv rule;
  tl_sv root;         /* where that rule was matched; may be empty */
  const char *code;   /* reason code (docs/rules.md); NULL: the rule fits and is on */
  const char *reason; /* in words */
  tl_sv condition;    /* of the rule, that does not hold; empty: another reason */
  const tl_sv *nodes; /* that were compared, the last of which need not fit */
  uint32_t n_nodes;
  uint32_t wanted; /* nodes of the pattern */
} tl_rule_answer;

typedef struct tl_rule_question {
  tl_sv asked; /* public pass, rule, or pass of the pipeline that runs rules */
  tl_sv node;  /* name as in messages, or of one of its results */
  void *user;
  tl_status (*answer)(void *user, const tl_rule_answer *a);
} tl_rule_question;

/* Returns true if the question is about this rule, run by this pass. */
bool tl_rule_is_asked(const tl_rule_question *q, const tl_module *m, const char *pass,
                      const tl_rule *rule);
/* Answers the question of r->pass, unless no rule of the run is asked about. TL_NO_MEMORY,
 * reported; the status of the listener. O(rules asked about * nodes with the op of a root). */
tl_status tl_rule_ask(const tl_rewriter *r, const tl_merge_facts *facts, bool after) TL_NODISCARD;

#endif
