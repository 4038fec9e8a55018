/* SPDX-License-Identifier: Apache-2.0 */
/* What tailor test-rules finds out about one rule, and the parts that find it. */
#ifndef TL_TOOLS_RULES_FINDINGS_H
#define TL_TOOLS_RULES_FINDINGS_H

#include "passes/engine/index.h"
#include "tools/rules/trial.h"

enum { TL_KEPT = 24, TL_OTHERS = 24 };

/* One condition of a rule. */
typedef struct tl_condition {
  tl_sv text;
  uint32_t near;   /* graphs in which it alone does not hold */
  uint32_t needed; /* of them: without it the rewrite computes something else */
  uint32_t spared; /* of them: without it the rewrite computes the same */
} tl_condition;

/* Another rule at the graphs of this one. */
typedef struct tl_other {
  const tl_rule *rule; /* NULL: the pass `pass` */
  const char *pass;
  uint32_t n; /* graphs */
} tl_other;

/* A graph that is kept, and how it came about. */
typedef struct tl_positive {
  tl_module *m;     /* owned */
  tl_module *after; /* owned; behind the rewrite */
  tl_node_id root;
  const tl_rule *rule; /* the spelling */
  tl_genes genes;
  tl_node_id nodes[TL_RULE_NODES];
} tl_positive;

/* All about one rule, its spellings together. Texts are owned. */
typedef struct tl_findings {
  const tl_rule *rule; /* the first spelling */
  uint32_t spellings;
  uint32_t reached; /* spellings for which a graph was found */
  uint32_t graphs;  /* different graphs that the rule takes */
  uint32_t open;    /* of them: with open dims as well */
  uint32_t same, wrong, unjudged;
  tl_buf why;     /* of the smallest wrong graph */
  tl_buf why_not; /* why a graph could not be judged */
  tl_buf culprit; /* the smallest wrong graph as text; of a model, the name of the root */
  tl_buf nearest; /* no graph was found: what stood in the way most often */
  tl_condition conditions[UINT8_MAX];
  tl_other overlaps[TL_OTHERS]; /* rules that fit the same nodes */
  uint32_t n_overlaps;
  uint32_t piped, fired; /* graphs that went through the pipeline; where the rule fired there */
  tl_other takers[TL_OTHERS]; /* who took its nodes there */
  uint32_t n_takers;
  uint32_t loops; /* graphs on which rewriting comes to no end */
  tl_buf loop;    /* how */
  tl_positive kept[TL_KEPT];
  uint32_t n_kept;
} tl_findings;

void tl_findings_release(tl_findings *f);

/* What is asked for. */
typedef struct tl_quest {
  const tl_bench *bench;
  const tl_module *empty; /* of tl_soil; or the model that was given */
  uint32_t count;         /* graphs wanted for a rule */
} tl_quest;

/* Makes graphs that the rule takes, rewrites and judges them, and keeps some (search.c). */
tl_status tl_find_positives(const tl_quest *q, tl_findings *f) TL_NODISCARD;
/* Takes the places of a model that the rule takes, in its main graph (given.c). */
tl_status tl_find_in_model(const tl_quest *q, tl_findings *f) TL_NODISCARD;
/* Makes graphs in which one condition alone does not hold (near.c). */
tl_status tl_find_near_misses(const tl_quest *q, tl_findings *f) TL_NODISCARD;
/* Takes another graph that the rule takes: judges it, and keeps it if there is room. *s is taken
 * over. */
tl_status tl_add_positive(const tl_quest *q, tl_findings *f, const tl_rule *spelling,
                          const tl_genes *genes, tl_sample *s, tl_trial *t) TL_NODISCARD;

/* Returns genes that differ from `from` in a few parts, if possible in those that an expression
 * mentions; e NULL: in any. `key` decides. */
tl_genes tl_genes_change(const tl_rule *r, const tl_genes *from, const tl_expr *e, uint64_t key);

/* Finds other rules that fit the kept graphs (neighbours.c). */
tl_status tl_find_overlaps(const tl_quest *q, tl_findings *f) TL_NODISCARD;
/* Runs the pipeline over the kept graphs: does the rule fire there, and if not, who was first? */
tl_status tl_find_takers(const tl_quest *q, tl_findings *f) TL_NODISCARD;
/* Applies all rules of the kind again and again to the kept graphs behind the rewrite (loops.c). */
tl_status tl_find_loops(const tl_quest *q, tl_findings *f) TL_NODISCARD;

/* Returns true if something is wrong with the rule: results differ, or rewriting does not end. */
static inline bool tl_findings_bad(const tl_findings *f) { return f->wrong || f->loops; }

#endif
