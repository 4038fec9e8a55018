/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rules over equations of Einsum. Equations without "->" give NONE, and so do those
 * with "..." but for comparison: their letters depend on the shapes of the operands. */
#include "passes/engine/functions.h"

enum { MOST_LETTERS = 64 }; /* of an equation, commas and arrow included */

/* An equation without blanks: letters, commas and one '>' for the arrow. */
typedef struct equation {
  char at[MOST_LETTERS];
  uint32_t n;
  uint32_t arrow; /* index of '>': operands before it, the result behind it */
} equation;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Reads argument i. Commas may stand between operands only. dots: "..." is one letter, `.`, which
 * is like no other. Returns false for anything else. */
static bool read_equation(tl_site *site, const tl_expr *e, uint32_t i, bool dots, equation *out) {
  tl_rv v = tl_fn_arg(site, e, i);
  if (v.kind != TL_RV_STRING)
    return false;
  tl_sv text = tl_sym(site->m, v.s);
  bool arrow = false;
  out->n = 0;
  for (size_t k = 0; k < text.n; k++) {
    char c = text.p[k];
    if (c == ' ')
      continue;
    if (dots && c == '.' && k + 2 < text.n && text.p[k + 1] == '.' && text.p[k + 2] == '.') {
      if (out->n == MOST_LETTERS)
        return false;
      out->at[out->n++] = c;
      k += 2;
      continue;
    }
    bool arrow_here = c == '-' && k + 1 < text.n && text.p[k + 1] == '>';
    if (out->n == MOST_LETTERS || (arrow_here && arrow) ||
        !(arrow_here || (c == ',' && !arrow) || is_letter(c)))
      return false;
    if (arrow_here) {
      out->arrow = out->n;
      arrow = true;
      c = '>';
      k++;
    }
    out->at[out->n++] = c;
  }
  return arrow;
}

/* Returns true if two equations are equal up to the names of their letters: they have equal letters
 * at the same pairs of places. O(n^2). */
static bool same_form(const equation *a, const equation *b) {
  if (a->n != b->n)
    return false;
  for (uint32_t i = 0; i < a->n; i++) {
    if (is_letter(a->at[i]) != is_letter(b->at[i]) ||
        (!is_letter(a->at[i]) && a->at[i] != b->at[i]))
      return false;
    for (uint32_t k = 0; k < i; k++)
      if ((a->at[i] == a->at[k]) != (b->at[i] == b->at[k]))
        return false;
  }
  return true;
}

tl_rv tl_fn_einsum_is(tl_site *site, const tl_expr *e) {
  equation a, b;
  if (!read_equation(site, e, 0, true, &a) || !read_equation(site, e, 1, true, &b))
    return tl_rv_none();
  return tl_rv_truth(same_form(&a, &b));
}

/* Returns the index of a letter within [from, to), counted from `from`; -1 if it is not there. */
static int64_t place_of(const equation *q, uint32_t from, uint32_t to, char letter) {
  for (uint32_t i = from; i < to; i++)
    if (q->at[i] == letter)
      return (int64_t)i - from;
  return -1;
}

/* Returns true for an equation of one operand without repeated letters on either side: a repeated
 * letter would take a diagonal. */
static bool is_unary(const equation *q) {
  for (uint32_t i = 0; i < q->n; i++) {
    uint32_t from = i < q->arrow ? 0 : q->arrow + 1;
    if (q->at[i] == ',' || (is_letter(q->at[i]) && place_of(q, from, i, q->at[i]) >= 0))
      return false;
  }
  return true;
}

/* Gives, for each axis of the result, the axis of the operand with the same letter. Both sides must
 * have the same number of letters. */
tl_rv tl_fn_einsum_perm(tl_site *site, const tl_expr *e) {
  equation q;
  if (!read_equation(site, e, 0, false, &q) || !is_unary(&q) || q.n != 2 * q.arrow + 1)
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, q.arrow);
  for (uint32_t i = 0; at && i < q.arrow; i++) {
    at[i] = place_of(&q, 0, q.arrow, q.at[q.arrow + 1 + i]);
    if (at[i] < 0)
      return tl_rv_none();
  }
  return at ? tl_rv_list(at, q.arrow) : tl_rv_none();
}

/* Gives the axes whose letters the result lacks. The letters of the result must be in the order of
 * the operand, or a transposition would be needed as well. */
tl_rv tl_fn_einsum_sum(tl_site *site, const tl_expr *e) {
  equation q;
  if (!read_equation(site, e, 0, false, &q) || !is_unary(&q))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, q.arrow);
  uint32_t n = 0, kept = q.arrow + 1; /* the next letter of the result */
  for (uint32_t i = 0; at && i < q.arrow; i++) {
    if (kept < q.n && q.at[i] == q.at[kept])
      kept++;
    else
      at[n++] = i;
  }
  return at && n && kept == q.n ? tl_rv_list(at, n) : tl_rv_none();
}
