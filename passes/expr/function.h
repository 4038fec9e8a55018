/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for files that define functions of expressions: arguments and results. A function returns
 * a value of kind NONE for what it cannot tell. */
#ifndef TL_PASSES_EXPR_FUNCTION_H
#define TL_PASSES_EXPR_FUNCTION_H

#include "passes/expr/expr.h"

enum {
  TL_FN_LONGEST = 1024,      /* list */
  TL_FN_LONGEST_SUMS = 65536 /* list of sums, and what becomes a constant */
};

/* Declares tl_fn_<name> of each row that is evaluated in passes/expr. */
#define DECLARE_EXPR(name) tl_rv tl_fn_##name(tl_site *x, const tl_expr *e);
#define DECLARE_RULES(name)
#define DECLARE_NPU(name)
#define DECLARE_EACH(name)
#define TL_FUNCTION(name, least, most, room, places, signature, summary) DECLARE_##room(name)
#include "passes/expr/functions.tbl"
#undef DECLARE_EXPR
#undef DECLARE_RULES
#undef DECLARE_NPU
#undef DECLARE_EACH

/* Make values: unknown, a truth value, an integer, a list (not copied). */
static inline tl_rv tl_rv_none(void) { return (tl_rv){0}; }
static inline tl_rv tl_rv_truth(bool v) { return (tl_rv){.kind = TL_RV_BOOL, .i = v}; }
static inline tl_rv tl_rv_int(int64_t v) { return (tl_rv){.kind = TL_RV_INT, .i = v}; }
static inline tl_rv tl_rv_list(const int64_t *at, uint32_t n) {
  return (tl_rv){.kind = TL_RV_INTS, .is = {at, n}};
}

/* Evaluates argument i, which must exist. */
static inline tl_rv tl_fn_arg(tl_site *site, const tl_expr *e, uint32_t i) {
  return tl_expr_eval(site, e->args[i]);
}
/* Returns the value of the graph behind an argument written %x or in0; TL_NO_VALUE if it is absent
 * or the argument is something else. */
static inline tl_value_id tl_fn_value(const tl_site *site, const tl_expr *e, uint32_t i) {
  return tl_expr_value(site, e->args[i]);
}
/* Returns the type of that value; of kind unknown if there is none. */
static inline const tl_type *tl_fn_type(const tl_site *site, const tl_expr *e, uint32_t i) {
  return tl_type_get(site->m, tl_value_type(site->m, tl_fn_value(site, e, i)));
}
/* Evaluates argument i as an integer or a list of integers; false if it is none. */
static inline bool tl_fn_int(tl_site *site, const tl_expr *e, uint32_t i, int64_t *out) {
  tl_rv v = tl_fn_arg(site, e, i);
  *out = v.i;
  return v.kind == TL_RV_INT;
}
static inline bool tl_fn_list(tl_site *site, const tl_expr *e, uint32_t i, tl_int_list *out) {
  tl_rv v = tl_fn_arg(site, e, i);
  *out = v.is;
  return v.kind == TL_RV_INTS;
}
/* Returns the tensor of a constant operand, or the one that an attribute holds; NULL if there is
 * none, or if it has strings. */
const tl_tensor *tl_fn_constant(tl_site *site, const tl_expr *e, uint32_t i);
/* Returns scratch for a list of n; NULL if that is too long or memory is out. */
static inline int64_t *tl_fn_room(tl_site *site, uint64_t n) {
  if (n > TL_FN_LONGEST)
    return NULL;
  return tl_arena_alloc(site->scratch, (n ? n : 1) * sizeof(int64_t));
}
/* Returns place i of a list of n in *out, negative ones counted from the end; false outside. */
static inline bool tl_fn_place(int64_t i, int64_t n, int64_t *out) {
  *out = i < 0 ? i + n : i;
  return *out >= 0 && *out < n;
}
/* Returns true for a tensor whose rank is known. */
static inline bool tl_fn_known_rank(const tl_type *t) {
  return t->kind == TL_KIND_TENSOR && t->rank >= 0;
}

/* Returns true if p has each number below its length once. O(n^2), for ranks. */
static inline bool tl_fn_is_permutation(tl_int_list p) {
  for (uint32_t i = 0; i < p.n; i++) {
    bool found = false;
    for (uint32_t k = 0; k < p.n; k++)
      found = found || p.at[k] == i;
    if (!found)
      return false;
  }
  return true;
}

#endif
