/* SPDX-License-Identifier: Apache-2.0 */
/* Dim arithmetic over whole shapes: broadcasting, and quotients of products with common symbolic
 * factors cancelled, so that a -1 in Reshape keeps names. */
#include "ir/infer/infer.h"

enum { MAX_FACTORS = 32, MAX_SPLIT_TEXT = 96 };

/* scale times a product of symbols. */
typedef struct product {
  int64_t scale;
  uint32_t n;
  tl_symbol at[MAX_FACTORS];
  bool known;
} product;

tl_infer_view tl_infer_view_of(tl_infer *ctx, uint32_t i) {
  return (tl_infer_view){tl_infer_rank(ctx, i), tl_infer_dims(ctx, i)};
}

/* A missing axis counts as 1. */
tl_status tl_infer_broadcast_dims(tl_infer *ctx, tl_infer_view a, tl_infer_view b, int *rank,
                                  tl_dim *dims) {
  *rank = TL_RANK_UNKNOWN;
  if (a.rank < 0 || b.rank < 0)
    return TL_OK;
  int most = a.rank > b.rank ? a.rank : b.rank;
  for (int i = 0; i < most; i++) { /* from the last axis to the first */
    tl_dim da = i < a.rank ? a.dims[a.rank - 1 - i] : 1;
    tl_dim db = i < b.rank ? b.dims[b.rank - 1 - i] : 1;
    if (!tl_dim_broadcast(da, db, &dims[most - 1 - i]))
      return tl_infer_fail(ctx, "sizes %lld and %lld of axis -%d cannot be broadcast",
                           (long long)da, (long long)db, i + 1);
  }
  *rank = most;
  return TL_OK;
}

/* ---- factors of expressions ----------------------------------------------------------------- */

/* Digits only: a factor that is a size. */
static bool is_number(tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] < '0' || s.p[i] > '9')
      return false;
  return s.n > 0;
}

/* Returns the position of the last '*' outside of parentheses; s.n when the text is not a
 * product. */
static size_t find_star(tl_sv s) {
  size_t star = s.n;
  int depth = 0;
  for (size_t i = 0; i < s.n; i++) {
    depth += (s.p[i] == '(') - (s.p[i] == ')');
    if (depth < 0 || (depth == 0 && (s.p[i] == ' ' || s.p[i] == '/')))
      return s.n;
    if (depth == 0 && s.p[i] == '*')
      star = i;
  }
  return depth == 0 ? star : s.n;
}

/* Returns "(a + 1)" without its parentheses, when they belong together. */
static tl_sv strip_parentheses(tl_sv s) {
  int depth = 0;
  if (s.n < 3 || s.p[0] != '(' || s.p[s.n - 1] != ')')
    return s;
  for (size_t i = 0; i + 1 < s.n; i++) {
    depth += (s.p[i] == '(') - (s.p[i] == ')');
    if (depth == 0)
      return s;
  }
  return (tl_sv){s.p + 1, s.n - 2};
}

/* Overflow makes the product unknown. */
static void add_scale(product *p, int64_t by) {
  p->known = p->known && !__builtin_mul_overflow(p->scale, by, &p->scale);
}

/* Multiplies by a number, or by what cannot be split further. */
static void add_atom(tl_infer *ctx, product *p, tl_sv text) {
  int64_t number;
  if (is_number(text) && tl_parse_i64(text, &number)) {
    add_scale(p, number);
    return;
  }
  tl_symbol s = tl_module_intern(ctx->m, text);
  if (s == TL_NO_SYMBOL || p->n == MAX_FACTORS)
    p->known = false;
  else
    p->at[p->n++] = s;
}

/* Multiplies by a symbol, whose text is split at its outer '*'. */
static void add_symbol(tl_infer *ctx, product *p, tl_symbol symbol) {
  tl_sv stack[MAX_FACTORS];
  uint32_t n = 0;
  stack[n++] = tl_sym(ctx->m, symbol);
  while (n > 0 && p->known) {
    tl_sv text = strip_parentheses(stack[--n]);
    size_t star = text.n > MAX_SPLIT_TEXT ? text.n : find_star(text);
    bool splits = star > 0 && star + 1 < text.n && n + 2 <= MAX_FACTORS;
    if (splits) {
      stack[n++] = (tl_sv){text.p + star + 1, text.n - star - 1};
      stack[n++] = (tl_sv){text.p, star};
    } else {
      add_atom(ctx, p, text);
    }
  }
}

/* Sizes go into the scale, symbols into the list. */
static product product_of(tl_infer *ctx, const tl_dim *dims, uint32_t n) {
  product p;
  p.scale = 1;
  p.n = 0;
  p.known = true;
  for (uint32_t i = 0; i < n && p.known; i++) {
    if (dims[i] >= 0)
      add_scale(&p, dims[i]);
    else if (dims[i] == TL_DIM_UNKNOWN)
      p.known = false;
    else
      add_symbol(ctx, &p, tl_dim_symbol(dims[i]));
  }
  return p;
}

/* Takes common symbols out of both, then divides both scales by their greatest common divisor. */
static void cancel(product *over, product *under) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < under->n; i++) {
    uint32_t k = 0;
    while (k < over->n && over->at[k] != under->at[i])
      k++;
    if (k == over->n)
      under->at[kept++] = under->at[i];
    else
      over->at[k] = over->at[--over->n];
  }
  under->n = kept;
  int64_t a = over->scale;
  int64_t b = under->scale;
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  over->scale /= a;
  under->scale /= a;
}

/* Sorts symbols by their text, so that equal products get equal names. */
static void sort_symbols(tl_infer *ctx, product *p) {
  for (uint32_t i = 1; i < p->n; i++) {
    tl_symbol s = p->at[i];
    uint32_t k = i;
    for (; k > 0 && tl_sv_compare(tl_sym(ctx->m, p->at[k - 1]), tl_sym(ctx->m, s)) > 0; k--)
      p->at[k] = p->at[k - 1];
    p->at[k] = s;
  }
}

static tl_dim name_product(tl_infer *ctx, product *p) {
  tl_dim d = 1;
  sort_symbols(ctx, p);
  for (uint32_t i = 0; i < p->n; i++)
    d = tl_dim_mul(ctx->m, d, tl_dim_from_symbol(p->at[i]));
  return tl_dim_mul(ctx->m, d, p->scale);
}

tl_dim tl_infer_quotient(tl_infer *ctx, const tl_dim *over, uint32_t n_over, const tl_dim *under,
                         uint32_t n_under, bool *exact) {
  product a = product_of(ctx, over, n_over);
  product b = product_of(ctx, under, n_under);
  *exact = true;
  if (!a.known || !b.known || b.scale == 0)
    return TL_DIM_UNKNOWN;
  if (a.scale == 0)
    return 0;
  cancel(&a, &b);
  if (b.n == 0 && b.scale == 1)
    return name_product(ctx, &a);
  if (a.n == 0 && b.n == 0) {
    *exact = false;
    return TL_DIM_UNKNOWN;
  }
  return tl_dim_div(ctx->m, name_product(ctx, &a), name_product(ctx, &b));
}
