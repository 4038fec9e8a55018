/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates expressions under a match: the table of all functions, and where their names are bound.
 */
#include "passes/engine/rule_values.h"

#include "passes/engine/functions.h"

/* By tl_function; NULL for functions of the op table alone, which the parser refuses in rules. */
static const tl_fn functions[TL_N_FUNCTIONS] = {
#define ROW_EXPR(name) [TL_FN_##name] = tl_fn_##name,
#define ROW_NPU(name)
#define ROW_RULES(name) [TL_FN_##name] = tl_fn_##name,
#define ROW_EACH(name) [TL_FN_##name] = tl_rule_fn_##name,
#define TL_FUNCTION(name, least, most, room, places, signature, summary) ROW_##room(name)
#include "passes/expr/functions.tbl"
};

tl_rv tl_rule_eval(tl_match *match, const tl_expr *e) {
  tl_site site = {.m = match->m,
                  .scratch = match->scratch,
                  .options = match->set->options,
                  .node = match->root,
                  .functions = functions,
                  .values = match->values,
                  .bound = match->bound,
                  .names = match->names,
                  .named = match->named,
                  .owner = match};
  return tl_expr_eval(&site, e);
}
