/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic over dims. A symbolic result is named by the canonical text of its expression, so that
 * equal expressions are equal symbols; operands of + and * are ordered, and sizes are folded. */
#include "ir/module.h"
#include "ir/type.h"

enum { MAX_DIM_TEXT = 96 };

tl_dim tl_dim_named(tl_module *m, tl_sv name) {
  if (name.n == 0)
    return TL_DIM_UNKNOWN;
  tl_symbol s = tl_intern(&m->symbols, name);
  return s == TL_NO_SYMBOL ? TL_DIM_UNKNOWN : tl_dim_from_symbol(s);
}

static bool is_atom(tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] == ' ' || s.p[i] == '*' || s.p[i] == '/')
      return s.p[0] == '(' && s.p[s.n - 1] == ')' && memchr(s.p + 1, '(', s.n - 1) == NULL;
  return true;
}

static void add_term(tl_module *m, tl_buf *out, tl_dim d) {
  if (d >= 0) {
    tl_buf_add_i64(out, d);
    return;
  }
  tl_sv text = tl_sym(m, tl_dim_symbol(d));
  bool wrap = !is_atom(text);
  if (wrap)
    tl_buf_add_char(out, '(');
  tl_buf_add_sv(out, text);
  if (wrap)
    tl_buf_add_char(out, ')');
}

static tl_dim name_expression(tl_module *m, tl_dim a, const char *op, tl_dim b) {
  tl_buf text;
  tl_buf_init(&text);
  add_term(m, &text, a);
  tl_buf_add_z(&text, op);
  add_term(m, &text, b);
  tl_dim d = text.failed || text.n > MAX_DIM_TEXT ? TL_DIM_UNKNOWN
                                                  : tl_dim_named(m, tl_buf_view(&text));
  tl_buf_release(&text);
  return d;
}

/* Symbols before sizes, symbols by text: the order of interning must not show. */
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

static bool either_unknown(tl_dim a, tl_dim b) {
  return a == TL_DIM_UNKNOWN || b == TL_DIM_UNKNOWN;
}

tl_dim tl_dim_add(tl_module *m, tl_dim a, tl_dim b) {
  tl_dim sum;
  if (either_unknown(a, b))
    return TL_DIM_UNKNOWN;
  if (a >= 0 && b >= 0)
    return __builtin_add_overflow(a, b, &sum) ? TL_DIM_UNKNOWN : sum;
  if (a == 0 || b == 0)
    return a == 0 ? b : a;
  order_terms(m, &a, &b);
  return name_expression(m, a, " + ", b);
}

tl_dim tl_dim_sub(tl_module *m, tl_dim a, tl_dim b) {
  if (either_unknown(a, b))
    return TL_DIM_UNKNOWN;
  if (a == b)
    return 0;
  if (a >= 0 && b >= 0)
    return a > b ? a - b : TL_DIM_UNKNOWN;
  return b == 0 ? a : name_expression(m, a, " - ", b);
}

tl_dim tl_dim_mul(tl_module *m, tl_dim a, tl_dim b) {
  tl_dim product;
  if (a == 0 || b == 0)
    return 0;
  if (either_unknown(a, b))
    return TL_DIM_UNKNOWN;
  if (a >= 0 && b >= 0)
    return __builtin_mul_overflow(a, b, &product) ? TL_DIM_UNKNOWN : product;
  if (a == 1 || b == 1)
    return a == 1 ? b : a;
  order_terms(m, &a, &b);
  return name_expression(m, a, "*", b);
}

tl_dim tl_dim_div(tl_module *m, tl_dim a, tl_dim b) {
  if (either_unknown(a, b) || b == 0)
    return TL_DIM_UNKNOWN;
  if (a >= 0 && b >= 0)
    return a / b;
  if (b == 1)
    return a;
  return a == b ? 1 : name_expression(m, a, "/", b);
}

tl_dim tl_dim_ceil_div(tl_module *m, tl_dim a, tl_dim b) {
  if (a >= 0 && b > 0)
    return a / b + (a % b != 0);
  if (b == 1)
    return a;
  return b > 0 ? tl_dim_div(m, tl_dim_add(m, a, b - 1), b) : TL_DIM_UNKNOWN;
}

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

bool tl_dim_merge(tl_dim a, tl_dim b, tl_dim *out) {
  if (a >= 0 && b >= 0 && a != b)
    return false;
  *out = a >= 0 ? a : b >= 0 ? b : a != TL_DIM_UNKNOWN ? a : b;
  return true;
}
