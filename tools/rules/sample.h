/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a graph that the pattern of a rule may fit. Everything that is chosen - ops, shapes,
 * dtypes, attributes, contents of constants - follows from genes: random numbers, one for each part
 * of the pattern. The same genes give the same graph, and another number for one part gives a graph
 * that differs there. */
#ifndef TL_TOOLS_RULES_SAMPLE_H
#define TL_TOOLS_RULES_SAMPLE_H

#include "ir/host.h"
#include "tools/rules/hints.h"

/* Where the gene of a part is. WORLD: what all parts have in common, and what surrounds them. */
enum {
  TL_GENE_WORLD = 0,
  TL_GENE_NODE = 1,                                /* + pattern node: op, order of operands */
  TL_GENE_ATTRS = TL_GENE_NODE + TL_RULE_NODES,    /* + pattern node */
  TL_GENE_NUMBERS = TL_GENE_ATTRS + TL_RULE_NODES, /* + pattern node: shapes of `const 0.5` */
  TL_GENE_VALUE = TL_GENE_NUMBERS + TL_RULE_NODES, /* + value of the rule */
  TL_N_GENES = TL_GENE_VALUE + TL_RULE_VALUES
};

typedef struct tl_genes {
  uint64_t at[TL_N_GENES];
} tl_genes;

/* What graphs are made from; everything is borrowed. */
typedef struct tl_soil {
  const tl_ruleset *set;
  const tl_rule *rule;
  const tl_hints *hints;
  const tl_module *empty; /* the module of the rules, with one empty graph */
  tl_diag *quiet;         /* sink of the graphs */
  tl_host_heap *heap;
  tl_arena *scratch;
} tl_soil;

/* A graph. */
typedef struct tl_sample {
  tl_module *m;    /* the caller destroys it; NULL when the operands of a node did not come out */
  tl_node_id root; /* where the pattern should fit */
  uint8_t unfit;   /* m == NULL: the pattern node whose operands did not come out */
} tl_sample;

/* Makes a graph. TL_NO_MEMORY, unreported. */
tl_status tl_sample_make(const tl_soil *soil, const tl_genes *genes, tl_sample *out) TL_NODISCARD;

#endif
