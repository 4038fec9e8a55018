/* SPDX-License-Identifier: Apache-2.0 */
/* Implements hints. */
#include "tools/rules/hints.h"

/* ---- what an expression is about ------------------------------------------------------------- */

/* Returns the expression of a name that `let` computes; NULL: a pattern node captures it. */
static const tl_expr *let_of(const tl_rule *r, uint32_t name) {
  for (uint8_t i = 0; i < r->n_lets; i++)
    if (r->let_index[i] == name)
      return r->lets[i];
  return NULL;
}

/* A `let` uses names before it only, so the recursion ends. */
static void add_mentions(const tl_rule *r, const tl_expr *e, tl_mentions *out) {
  if (e->kind == TL_EXPR_VALUE)
    out->values |= UINT64_C(1) << e->u.i;
  if (e->kind == TL_EXPR_NAME) {
    const tl_expr *let = let_of(r, (uint32_t)e->u.i);
    out->names |= UINT32_C(1) << e->u.i;
    if (let)
      add_mentions(r, let, out);
  }
  for (uint16_t i = 0; i < e->n; i++)
    add_mentions(r, e->args[i], out);
}

tl_mentions tl_hints_mentions(const tl_rule *r, const tl_expr *e) {
  tl_mentions m = {0};
  add_mentions(r, e, &m);
  return m;
}

/* ---- what is written ------------------------------------------------------------------------- */

/* What the number beside a call is. */
static tl_hint_kind kind_beside(const tl_rule *r, const tl_expr *e) {
  if (e->kind == TL_EXPR_NAME) {
    const tl_expr *let = let_of(r, (uint32_t)e->u.i);
    return let ? kind_beside(r, let) : TL_HINT_NUMBER;
  }
  if (e->kind != TL_EXPR_CALL)
    return TL_HINT_NUMBER;
  if (e->function == TL_FN_rank || e->function == TL_FN_len)
    return TL_HINT_RANK;
  return e->function == TL_FN_dim ? TL_HINT_DIM : TL_HINT_NUMBER;
}

static void add(tl_hints *h, tl_hint hint) {
  if (h->n < TL_MOST_HINTS)
    h->at[h->n++] = hint;
}

static void add_number(tl_hints *h, tl_hint_kind kind, tl_mentions about, double v, bool bound) {
  add(h, (tl_hint){.kind = kind, .about = about, .number = v});
  if (!bound)
    return;
  add(h, (tl_hint){.kind = kind, .about = about, .number = v + 1});
  add(h, (tl_hint){.kind = kind, .about = about, .number = v - 1});
  if (v == (double)(int64_t)v)
    return;
  add(h, (tl_hint){.kind = kind, .about = about, .number = v / 4});
  add(h, (tl_hint){.kind = kind, .about = about, .number = v * 4});
}

/* Adds what a literal says of what stands beside it. bound: the literal is a limit. */
static void add_literal(tl_hints *h, const tl_expr *e, tl_hint_kind kind, tl_mentions about,
                        bool bound) {
  double sign = 1;
  if (e->kind == TL_EXPR_MINUS && e->n == 1) {
    sign = -1;
    e = e->args[0];
  }
  if (e->kind == TL_EXPR_INT)
    add_number(h, kind, about, sign * (double)e->u.i, bound);
  else if (e->kind == TL_EXPR_FLOAT)
    add_number(h, kind, about, sign * e->u.f, bound);
  else if (e->kind == TL_EXPR_BOOL)
    add_number(h, TL_HINT_NUMBER, about, (double)e->u.i, false);
  else if (e->kind == TL_EXPR_DTYPE)
    add_number(h, TL_HINT_DTYPE, about, (double)e->u.i, false);
  else if (e->kind == TL_EXPR_STRING)
    add(h, (tl_hint){.kind = TL_HINT_WORD, .about = about, .word = e->u.s});
  else if (e->kind == TL_EXPR_LIST)
    add(h, (tl_hint){.kind = TL_HINT_LIST, .about = about, .list = e});
}

/* What a `let` computes stands for its name. */
static const tl_expr *meaning(const tl_rule *r, const tl_expr *e) {
  const tl_expr *let = e->kind == TL_EXPR_NAME ? let_of(r, (uint32_t)e->u.i) : NULL;
  return let ? let : e;
}

/* [a, b] == [1, 2] says something of a, and of b. */
static bool pair_up(const tl_rule *r, tl_hints *h, const tl_expr *a, const tl_expr *b) {
  a = meaning(r, a);
  if (a->kind != TL_EXPR_LIST || b->kind != TL_EXPR_LIST || a->n != b->n)
    return false;
  for (uint16_t i = 0; i < a->n; i++)
    add_literal(h, b->args[i], kind_beside(r, a->args[i]), tl_hints_mentions(r, a->args[i]), false);
  return true;
}

/* Facts that a call asks for. */
static void add_call(const tl_rule *r, tl_hints *h, const tl_expr *e) {
  tl_mentions about = tl_hints_mentions(r, e);
  if (e->function == TL_FN_half)
    add_number(h, TL_HINT_DTYPE, about, TL_DTYPE_F16, false);
  else if (e->function == TL_FN_feeds)
    add(h, (tl_hint){.kind = TL_HINT_USER, .about = about, .list = e});
}

static bool is_comparison(const tl_expr *e) {
  return (e->kind >= TL_EXPR_EQ && e->kind <= TL_EXPR_IN) && e->n == 2;
}

static bool is_pair(const tl_rule *r, tl_hints *h, const tl_expr *e) {
  return is_comparison(e) &&
         (pair_up(r, h, e->args[0], e->args[1]) || pair_up(r, h, e->args[1], e->args[0]));
}

static void collect(const tl_rule *r, tl_hints *h, const tl_expr *e) {
  tl_mentions about = tl_hints_mentions(r, e);
  if (e->kind == TL_EXPR_CALL)
    add_call(r, h, e);
  if (is_pair(r, h, e)) {
    /* its literals say nothing of one value alone */
  } else if (is_comparison(e)) {
    bool bound = e->kind != TL_EXPR_EQ && e->kind != TL_EXPR_IN;
    for (unsigned side = 0; side < 2; side++) {
      const tl_expr *literal = e->args[side], *other = e->args[1 - side];
      tl_hint_kind kind = kind_beside(r, other);
      add_literal(h, literal, kind, about, bound);
      for (uint16_t i = 0; literal->kind == TL_EXPR_LIST && i < literal->n; i++)
        add_literal(h, literal->args[i], kind, about, bound);
    }
  } else if (e->kind == TL_EXPR_CALL || (e->kind >= TL_EXPR_ADD && e->kind <= TL_EXPR_DIV)) {
    for (uint16_t i = 0; i < e->n; i++)
      add_literal(h, e->args[i], TL_HINT_NUMBER, about, false);
  }
  for (uint16_t i = 0; i < e->n; i++)
    collect(r, h, e->args[i]);
}

/* A rank or a dtype that a result must have is often that of an operand, too. */
static void spread(const tl_rule *r, tl_hint *hint) {
  if (hint->kind != TL_HINT_RANK && hint->kind != TL_HINT_DTYPE)
    return;
  for (int n = r->n_match - 1; n >= 0; n--) {
    const tl_pattern_node *p = &r->match[n];
    bool about = false;
    for (uint8_t i = 0; i < p->n_results; i++)
      about = about || (p->results[i] != TL_RULE_VALUES && hint->about.values >> p->results[i] & 1);
    for (uint8_t i = 0; about && i < p->n_operands; i++)
      if (p->operands[i].kind <= TL_PATTERN_MAYBE)
        hint->about.values |= UINT64_C(1) << p->operands[i].value;
  }
}

void tl_hints_find(const tl_rule *r, tl_hints *out) {
  out->n = 0;
  for (uint8_t i = 0; i < r->n_where; i++)
    collect(r, out, r->where[i]);
  for (uint8_t i = 0; i < r->n_lets; i++)
    collect(r, out, r->lets[i]);
  for (uint32_t i = 0; i < out->n; i++)
    spread(r, &out->at[i]);
}
