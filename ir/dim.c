/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic over dims. A symbolic result is named by the canonical text of its expression, so that
 * equal expressions are equal symbols: sums have a normal form (dim_sum.h), factors are ordered,
 * sizes are folded. */
#include "ir/dim_sum.h"
#include "ir/module.h"
#include "ir/type.h"

tl_dim tl_dim_named(tl_module *m, tl_sv name) {
  if (name.n == 0)
    return TL_DIM_UNKNOWN;
  tl_symbol s = tl_intern(&m->symbols, name);
  return s == TL_NO_SYMBOL ? TL_DIM_UNKNOWN : tl_dim_from_symbol(s);
}

/* A sum that is an operand is put in parentheses. */
static void add_operand(tl_module *m, tl_buf *out, tl_dim d) {
  if (d >= 0)
    tl_buf_add_i64(out, d);
  else
    tl_dim_add_operand(out, tl_sym(m, tl_dim_symbol(d)));
}

/* Names the text "a op b"; unknown when it would be too long. */
static tl_dim name_expression(tl_module *m, tl_dim a, const char *op, tl_dim b) {
  tl_buf text;
  tl_buf_init(&text);
  add_operand(m, &text, a);
  tl_buf_add_z(&text, op);
  add_operand(m, &text, b);
  tl_dim d = text.failed || text.n > TL_MAX_DIM_TEXT ? TL_DIM_UNKNOWN
                                                     : tl_dim_named(m, tl_buf_view(&text));
  tl_buf_release(&text);
  return d;
}

/* Puts symbols before sizes and orders symbols by text: the order of interning must not show. */
static void order_terms(tl_module *m, tl_dim *a, tl_dim *b) {
  bool swap = *a >= 0;
  if (*a < 0 && *b < 0)
    swap = tl_sv_compare(tl_sym(m, tl_dim_symbol(*a)), tl_sym(m, tl_dim_symbol(*b))) > 0;
  if (swap) {
    tl_dim t = *a;
    *a = *b;
    *b = t;
  }
}

/* Unknown with anything is unknown. */
static bool either_unknown(tl_dim a, tl_dim b) {
  return a == TL_DIM_UNKNOWN || b == TL_DIM_UNKNOWN;
}

/* Returns a + b * times, where one of them is a symbol. What has too many terms for a sum becomes a
 * text. */
static tl_dim add_symbols(tl_module *m, tl_dim a, tl_dim b, int64_t times) {
  tl_sum sum = {.n = 0};
  if (tl_sum_add(m, &sum, a, 1) && tl_sum_add(m, &sum, b, times))
    return tl_sum_dim(m, &sum);
  if (times < 0)
    return name_expression(m, a, " - ", b);
  order_terms(m, &a, &b);
  return name_expression(m, a, " + ", b);
}

tl_dim tl_dim_add(tl_module *m, tl_dim a, tl_dim b) {
  tl_dim sum;
  if (either_unknown(a, b))
    return TL_DIM_UNKNOWN;
  if (a >= 0 && b >= 0)
    return __builtin_add_overflow(a, b, &sum) ? TL_DIM_UNKNOWN : sum;
  if (a == 0 || b == 0)
    return a == 0 ? b : a;
  return add_symbols(m, a, b, 1);
}

/* Sizes are never negative, so a smaller minus a larger one is unknown. */
tl_dim tl_dim_sub(tl_module *m, tl_dim a, tl_dim b) {
  if (either_unknown(a, b))
    return TL_DIM_UNKNOWN;
  if (a == b)
    return 0;
  if (a >= 0 && b >= 0)
    return a > b ? a - b : TL_DIM_UNKNOWN;
  return b == 0 ? a : add_symbols(m, a, b, -1);
}

/* Zero times anything is zero, even when the other is unknown. A size times a sum is a sum. */
tl_dim tl_dim_mul(tl_module *m, tl_dim a, tl_dim b) {
  tl_dim product;
  if (a == 0 || b == 0)
    return 0;
  if (either_unknown(a, b))
    return TL_DIM_UNKNOWN;
  if (a >= 0 && b >= 0)
    return __builtin_mul_overflow(a, b, &product) ? TL_DIM_UNKNOWN : product;
  order_terms(m, &a, &b);
  if (b == 1)
    return a;
  tl_sum sum = {.n = 0};
  if (b > 0 && tl_sum_add(m, &sum, a, b))
    return tl_sum_dim(m, &sum);
  return name_expression(m, a, "*", b);
}

/* A sum is divided term by term where every factor allows it; else the quotient gets a name. */
tl_dim tl_dim_div(tl_module *m, tl_dim a, tl_dim b) {
  if (either_unknown(a, b) || b == 0)
    return TL_DIM_UNKNOWN;
  if (a >= 0 && b >= 0)
    return a / b;
  if (a == b || b == 1)
    return a == b ? 1 : a;
  tl_sum sum = {.n = 0};
  if (b > 0 && tl_sum_add(m, &sum, a, 1) && tl_sum_divide(&sum, b))
    return tl_sum_dim(m, &sum);
  return name_expression(m, a, "/", b);
}

tl_dim tl_dim_ceil_div(tl_module *m, tl_dim a, tl_dim b) {
  if (a >= 0 && b > 0)
    return a / b + (a % b != 0);
  if (b == 1)
    return a;
  return b > 0 ? tl_dim_div(m, tl_dim_add(m, a, b - 1), b) : TL_DIM_UNKNOWN;
}

/* Of a size above 1 and a symbol the result is the size: the symbol can only be 1 or that size. */
bool tl_dim_broadcast(tl_dim a, tl_dim b, tl_dim *out) {
  if (a == b || b == 1) {
    *out = a;
    return true;
  }
  if (a == 1) {
    *out = b;
    return true;
  }
  if (a >= 0 && b >= 0)
    return false;
  *out = a >= 0 ? a : b >= 0 ? b : TL_DIM_UNKNOWN;
  return true;
}

/* Of two names the first one stays. */
bool tl_dim_merge(tl_dim a, tl_dim b, tl_dim *out) {
  if (a >= 0 && b >= 0 && a != b)
    return false;
  *out = a >= 0 ? a : b >= 0 ? b : a != TL_DIM_UNKNOWN ? a : b;
  return true;
}
