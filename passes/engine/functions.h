/* SPDX-License-Identifier: Apache-2.0 */
/* For files that define functions which only rules have; nobody else includes it. */
#ifndef TL_PASSES_ENGINE_FUNCTIONS_H
#define TL_PASSES_ENGINE_FUNCTIONS_H

#include "passes/engine/attempt.h"
#include "passes/expr/function.h"

/* Declares tl_fn_<name> of each row of functions.tbl that is evaluated in this room, and
 * tl_rule_fn_<name> of those that passes/npu evaluates in a way of its own. x->owner is the
 * tl_match; e has as many arguments as the row allows. */
#define DECLARE_EXPR(name)
#define DECLARE_RULES(name) tl_rv tl_fn_##name(tl_site *x, const tl_expr *e);
#define DECLARE_NPU(name)
#define DECLARE_EACH(name) tl_rv tl_rule_fn_##name(tl_site *x, const tl_expr *e);
#define TL_FUNCTION(name, least, most, room, places, signature, summary) DECLARE_##room(name)
#include "passes/expr/functions.tbl"
#undef DECLARE_EXPR
#undef DECLARE_RULES
#undef DECLARE_NPU
#undef DECLARE_EACH

#endif
