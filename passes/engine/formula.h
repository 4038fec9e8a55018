/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas: arithmetic that passes make, written as `define formula::NAME` in
 * passes/definitions/formulas.tlr. Rules that expand the same ops use the same formulas, so that
 * each is written once.
 *
 *   tl_formula f = {.set = formulas, .k = &k, .name = "AdamStep", .in = {rate, x, g, v, h},
 *                   .numbers = {{"alpha", 0.9}, {"beta", 0.999}, {"epsilon", 1e-8}}};
 *   tl_formula_make(&f);  // new weights are f.out[0]
 *
 * Nodes are made in the order of the text. Constants have rank 0; those without a dtype in the text
 * have that of the first operand of their node. */
#ifndef TL_PASSES_ENGINE_FORMULA_H
#define TL_PASSES_ENGINE_FORMULA_H

#include "passes/edit/maker.h"
#include "passes/engine/ruleset.h"

enum { TL_FORMULA_OPERANDS = 10, TL_FORMULA_NUMBERS = 6, TL_FORMULA_RESULTS = 8 };

/* An attribute of a formula. */
typedef struct tl_formula_number {
  const char *name; /* without the '$'; NULL ends a list */
  double value;
} tl_formula_number;

/* One use of a formula. */
typedef struct tl_formula {
  tl_ruleset *set; /* of tl_pass_formulas */
  tl_maker *k;
  const char *name;                    /* without "formula::" */
  tl_value_id in[TL_FORMULA_OPERANDS]; /* in the order of the definition */
  tl_formula_number numbers[TL_FORMULA_NUMBERS];
  tl_value_id out[TL_FORMULA_RESULTS]; /* results, once all is made */
  /* The rest is kept between the two calls. */
  const tl_rule *rule;
  tl_value_id made[TL_RULE_VALUES]; /* by value of the definition */
} tl_formula;

/* Makes the nodes that need no operand which is TL_NO_VALUE so far; the others follow when `in` is
 * complete and tl_formula_make is called. */
void tl_formula_make_early(tl_formula *f);
/* Makes all nodes, or those that tl_formula_make_early left, and fills f->out. On failure, which
 * the maker keeps, results are TL_NO_VALUE. O(nodes of the formula). */
void tl_formula_make(tl_formula *f);
/* Makes a formula of n operands and no numbers; returns its first result. */
tl_value_id tl_make_formula(tl_ruleset *set, tl_maker *k, const char *name, const tl_value_id *in,
                            uint32_t n);

#endif
