/* SPDX-License-Identifier: Apache-2.0 */
/* Applies one rule once to a copy of a graph, and compares what both compute. */
#ifndef TL_TOOLS_RULES_TRIAL_H
#define TL_TOOLS_RULES_TRIAL_H

#include "passes/engine/build.h"
#include "passes/engine/match.h"
#include "tools/cli/cli.h"
#include "tools/rules/sample.h"

/* What trials need; everything is borrowed. */
typedef struct tl_bench {
  tl_cli *cli;
  tl_ruleset *set;
  tl_diag *quiet;   /* sink of the copies ... */
  const char *said; /* ... and the last error that it got */
  tl_host_heap *heap;
  tl_arena *scratch;
  uint64_t seed; /* of inputs */
} tl_bench;

/* How a rule met a graph. */
typedef struct tl_trial {
  tl_module *after; /* owned; the graph behind the rewrite; NULL: the rule does not fit */
  uint32_t depth;   /* does not fit: larger is nearer */
  int condition;    /* ... number of the condition that does not hold; -1: another reason */
  const char *code; /* ... reason code (docs/rules.md) */
  tl_buf why;       /* ... in words; owned */
  tl_node_id nodes[TL_RULE_NODES]; /* fits: matched nodes, by pattern node */
} tl_trial;

/* Matches the rule with its root at a node and applies it to a copy. Release *out in any case.
 * TL_NO_MEMORY, reported. */
tl_status tl_trial_run(const tl_bench *b, const tl_rule *rule, const tl_module *m, tl_node_id root,
                       tl_trial *out) TL_NODISCARD;
void tl_trial_release(tl_trial *t);

typedef enum tl_judgement {
  TL_JUDGED_SAME,
  TL_JUDGED_WRONG,
  TL_JUDGED_NOT /* it could not be found out */
} tl_judgement;

/* Returns the class that the results of a rule are held against. Expansions say none: kernels of
 * the NPU round as they like. */
static inline tl_numerics tl_judged_as(const tl_rule *r) {
  bool expands = r->kind == TL_RULE_EXPAND && r->numerics == TL_NUMERICS_EXACT;
  return expands ? TL_NUMERICS_REASSOCIATING : (tl_numerics)r->numerics;
}

/* Two graphs that should compute the same; borrowed. */
typedef struct tl_twins {
  const tl_module *before, *after;
  tl_numerics numerics; /* how near their outputs must be */
  unsigned grow;        /* open dims are larger by so many */
} tl_twins;

/* Evaluates both graphs on several sets of random inputs and compares all outputs. *why
 * (initialised) receives a clause unless they are the same. TL_NO_MEMORY, reported. */
tl_status tl_judge(const tl_bench *b, const tl_twins *t, tl_judgement *out,
                   tl_buf *why) TL_NODISCARD;

#endif
