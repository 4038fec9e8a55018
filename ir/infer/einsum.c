/* SPDX-License-Identifier: Apache-2.0 */
/* The shape function of Einsum: reads the equation, gives every label the size of the axes that it
 * names, and writes the result's labels back as dims. Axes of an ellipsis broadcast from the
 * right. */
#include "ir/infer/infer.h"
#include "ir/infer/infer_gen.h"
#include "ir/ops_gen.h"

enum { N_LABELS = 128 }; /* labels are letters of ASCII */

/* What the left side says about labels. */
typedef struct einsum {
  tl_dim size[N_LABELS];    /* by letter */
  uint32_t times[N_LABELS]; /* occurrences on the left side */
  tl_dim wide[TL_MAX_RANK]; /* axes of the ellipsis */
  int n_wide;               /* TL_RANK_UNKNOWN: an operand with an ellipsis has unknown rank */
  bool has_wide;
} einsum;

/* One term of the equation: its letters in order, and where the ellipsis stands. */
typedef struct term {
  char letters[TL_MAX_RANK];
  int n;
  int wide_at; /* letters before the ellipsis, -1 none */
} term;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Reads one term: letters, blanks, and at most one ellipsis. */
static tl_status read_term(tl_infer *ctx, tl_sv text, term *t) {
  t->n = 0;
  t->wide_at = -1;
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    if (c == ' ')
      continue;
    bool dots = i + 2 < text.n && memcmp(text.p + i, "...", 3) == 0 && t->wide_at < 0;
    if (dots) {
      t->wide_at = t->n;
      i += 2;
    } else if (is_letter(c) && t->n < TL_MAX_RANK) {
      t->letters[t->n++] = c;
    } else {
      return tl_infer_fail(ctx, "the equation has an unexpected character at '%.*s'",
                           (int)(text.n - i), text.p + i);
    }
  }
  return TL_OK;
}

/* Adds an axis of a label. All axes of a label have one size, or 1, which is stretched to it. */
static tl_status add_axis(tl_infer *ctx, einsum *e, char letter, tl_dim d) {
  tl_dim *size = &e->size[(unsigned char)letter];
  if (e->times[(unsigned char)letter]++ == 0 || *size == 1) {
    *size = d;
    return TL_OK;
  }
  tl_dim known = *size;
  if (d != 1 && !tl_dim_merge(known, d, size))
    return tl_infer_fail(ctx, "label '%c' names sizes %lld and %lld", letter, (long long)known,
                         (long long)d);
  return TL_OK;
}

/* Adds the n axes under an operand's ellipsis, which broadcast with those of the others. n < 0:
 * their number is unknown. */
static tl_status add_ellipsis(tl_infer *ctx, einsum *e, int n, const tl_dim *dims) {
  tl_dim merged[TL_MAX_RANK];
  e->has_wide = true;
  if (n < 0 || e->n_wide < 0) {
    e->n_wide = TL_RANK_UNKNOWN;
    return TL_OK;
  }
  TL_TRY(tl_infer_broadcast_dims(ctx, (tl_infer_view){e->n_wide, e->wide}, (tl_infer_view){n, dims},
                                 &e->n_wide, merged));
  for (int i = 0; i < e->n_wide; i++)
    e->wide[i] = merged[i];
  return TL_OK;
}

/* Adds the axes of an operand: letters before the ellipsis count from the left, those behind it
 * from the right. */
static tl_status add_operand(tl_infer *ctx, einsum *e, uint32_t operand, const term *t) {
  int rank = tl_infer_rank(ctx, operand);
  const tl_dim *dims = tl_infer_dims(ctx, operand);
  int wide = rank - t->n; /* axes under the ellipsis */
  if (rank >= 0 && (wide < 0 || (wide > 0 && t->wide_at < 0)))
    return tl_infer_fail(ctx, "operand %u has rank %d, but its term names %d axes", operand, rank,
                         t->n);
  for (int i = 0; i < t->n; i++) {
    int axis = t->wide_at >= 0 && i >= t->wide_at ? i + wide : i;
    TL_TRY(add_axis(ctx, e, t->letters[i], rank >= 0 ? dims[axis] : TL_DIM_UNKNOWN));
  }
  if (t->wide_at < 0)
    return TL_OK;
  return add_ellipsis(ctx, e, rank < 0 ? TL_RANK_UNKNOWN : wide,
                      wide > 0 ? dims + t->wide_at : NULL);
}

/* Cuts the equation at "->" and returns the left side; *explicit_result tells whether it was
 * there. */
static tl_sv cut_arrow(tl_sv equation, tl_sv *right, bool *explicit_result) {
  *explicit_result = false;
  for (size_t i = 0; i + 1 < equation.n; i++) {
    if (equation.p[i] != '-' || equation.p[i + 1] != '>')
      continue;
    *explicit_result = true;
    *right = (tl_sv){equation.p + i + 2, equation.n - i - 2};
    return (tl_sv){equation.p, i};
  }
  return equation;
}

/* Reads the left side of the equation, which has one term for each operand. */
static tl_status read_left(tl_infer *ctx, einsum *e, tl_sv left) {
  uint32_t n = tl_infer_n_operands(ctx);
  uint32_t operand = 0;
  while (left.p != NULL) {
    term t;
    tl_sv text = tl_sv_split(&left, ',');
    if (operand == n)
      return tl_infer_fail(ctx, "the equation has more terms than the %u operands", n);
    TL_TRY(read_term(ctx, text, &t));
    TL_TRY(add_operand(ctx, e, operand++, &t));
  }
  if (operand != n)
    return tl_infer_fail(ctx, "the equation has %u terms for %u operands", operand, n);
  return TL_OK;
}

/* Without "->" the result is the ellipsis, then the labels that occur once, in the order of the
 * alphabet. */
static void implicit_result(const einsum *e, term *t) {
  t->n = 0;
  t->wide_at = e->has_wide ? 0 : -1;
  for (int c = 'A'; c <= 'z'; c++)
    if (e->times[c] == 1)
      t->letters[t->n++] = (char)c;
}

/* States the result: the sizes of its labels, with the axes of the ellipsis at its place. */
static tl_status set_result(tl_infer *ctx, const einsum *e, const term *t) {
  tl_dim dims[TL_MAX_RANK];
  int n = 0;
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  if (t->wide_at >= 0 && e->n_wide < 0)
    return tl_infer_set(ctx, 0, dtype, TL_RANK_UNKNOWN, NULL);
  if (t->n + (t->wide_at >= 0 ? e->n_wide : 0) > TL_MAX_RANK)
    return tl_infer_fail(ctx, "the result has a rank above %d", TL_MAX_RANK);
  for (int i = 0; i <= t->n; i++) {
    for (int k = 0; i == t->wide_at && k < e->n_wide; k++)
      dims[n++] = e->wide[k];
    if (i == t->n)
      break;
    if (e->times[(unsigned char)t->letters[i]] == 0)
      return tl_infer_fail(ctx, "label '%c' of the result names no axis of an operand",
                           t->letters[i]);
    dims[n++] = e->size[(unsigned char)t->letters[i]];
  }
  return tl_infer_set(ctx, 0, dtype, n, dims);
}

tl_status tl_infer_einsum(tl_infer *ctx, uint32_t node) {
  einsum e = {.n_wide = 0};
  term t;
  tl_sv right = TL_SV("");
  bool explicit_result;
  tl_sv left =
      cut_arrow(tl_node_attr_string(ctx->m, node, TL_SYM_equation), &right, &explicit_result);
  TL_TRY(read_left(ctx, &e, left));
  if (explicit_result)
    TL_TRY(read_term(ctx, right, &t));
  else
    implicit_result(&e, &t);
  return set_result(ctx, &e, &t);
}
