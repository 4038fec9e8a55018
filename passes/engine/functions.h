/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that define the functions of rules, and nobody else: arguments and results.
 * A function returns a value of kind NONE for what it cannot tell. */
#ifndef TL_PASSES_ENGINE_FUNCTIONS_H
#define TL_PASSES_ENGINE_FUNCTIONS_H

#include "passes/engine/match.h"

enum {
  TL_RULE_LONGEST = 1024,      /* list */
  TL_RULE_LONGEST_SUMS = 65536 /* list of sums, and what becomes a constant */
};

#define RULE_FUNCTION(name, least, most, signature, summary) \
  tl_rv tl_rule_fn_##name(tl_match *x, const tl_expr *e);
#include "passes/engine/functions.tbl"

static inline tl_rv tl_rv_none(void) { return (tl_rv){0}; }
static inline tl_rv tl_rv_truth(bool v) { return (tl_rv){.kind = TL_RV_BOOL, .i = v}; }
static inline tl_rv tl_rv_int(int64_t v) { return (tl_rv){.kind = TL_RV_INT, .i = v}; }
static inline tl_rv tl_rv_list(const int64_t *at, uint32_t n) {
  return (tl_rv){.kind = TL_RV_INTS, .is = {at, n}};
}

static inline tl_rv tl_rule_arg(tl_match *x, const tl_expr *e, uint32_t i) {
  return tl_expr_eval(x, e->args[i]);
}
/* Value of an argument written %x; TL_NO_VALUE when it is absent. */
static inline tl_value_id tl_rule_value_arg(const tl_match *x, const tl_expr *e, uint32_t i) {
  const tl_expr *a = e->args[i];
  return a->kind == TL_EXPR_VALUE && (x->bound >> a->u.i & 1) ? x->values[a->u.i] : TL_NO_VALUE;
}
static inline const tl_type *tl_rule_type_arg(const tl_match *x, const tl_expr *e, uint32_t i) {
  return tl_type_get(x->m, tl_value_type(x->m, tl_rule_value_arg(x, e, i)));
}
static inline bool tl_rule_int_arg(tl_match *x, const tl_expr *e, uint32_t i, int64_t *out) {
  tl_rv v = tl_rule_arg(x, e, i);
  *out = v.i;
  return v.kind == TL_RV_INT;
}
static inline bool tl_rule_list_arg(tl_match *x, const tl_expr *e, uint32_t i, tl_int_list *out) {
  tl_rv v = tl_rule_arg(x, e, i);
  *out = v.is;
  return v.kind == TL_RV_INTS;
}
/* Scratch for a list; NULL when it would be too long or memory is out. */
static inline int64_t *tl_rule_room(tl_match *x, uint64_t n) {
  if (n > TL_RULE_LONGEST)
    return NULL;
  return tl_arena_alloc(x->scratch, (n ? n : 1) * sizeof(int64_t));
}
/* Place i of a list of n, negative ones from the end; false outside. */
static inline bool tl_rule_place(int64_t i, int64_t n, int64_t *out) {
  *out = i < 0 ? i + n : i;
  return *out >= 0 && *out < n;
}
static inline bool tl_rule_known_rank(const tl_type *t) {
  return t->kind == TL_KIND_TENSOR && t->rank >= 0;
}

/* True when p names each place below its length once. */
static inline bool tl_rule_is_permutation(tl_int_list p) {
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
