/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of dims (dim_sum.h): adding terms, reading the text of a symbol, writing the text of a
 * sum. */
#include "ir/dim_sum.h"

#include "ir/module.h"

/* ---- adding terms ---------------------------------------------------------------------------- */

static bool add_constant(tl_sum *sum, int64_t value, int64_t times) {
  int64_t product;
  return !__builtin_mul_overflow(value, times, &product) &&
         !__builtin_add_overflow(sum->constant, product, &sum->constant);
}

static void remove_term(tl_sum *sum, uint32_t at) {
  memmove(&sum->terms[at], &sum->terms[at + 1], (--sum->n - at) * sizeof *sum->terms);
}

/* Terms are kept sorted by text, so that equal sums have equal texts; a factor of 0 vanishes. */
static bool add_term(tl_sum *sum, tl_sv text, int64_t factor) {
  uint32_t at = 0;
  while (at < sum->n && tl_sv_compare(sum->terms[at].text, text) < 0)
    at++;
  if (at < sum->n && tl_sv_eq(sum->terms[at].text, text)) {
    if (__builtin_add_overflow(sum->terms[at].factor, factor, &sum->terms[at].factor))
      return false;
    if (sum->terms[at].factor == 0)
      remove_term(sum, at);
    return true;
  }
  if (sum->n == TL_MAX_SUM_TERMS || factor == 0)
    return factor == 0;
  memmove(&sum->terms[at + 1], &sum->terms[at], (sum->n++ - at) * sizeof *sum->terms);
  sum->terms[at] = (tl_sum_term){text, factor};
  return true;
}

/* ---- reading texts --------------------------------------------------------------------------- */

static bool is_balanced(tl_sv s) {
  int depth = 0;
  for (size_t i = 0; i < s.n && depth >= 0; i++)
    depth += (s.p[i] == '(') - (s.p[i] == ')');
  return depth == 0;
}

/* Returns the position of the sign of the first " + " or " - " outside of parentheses, 0 for
 * none. */
static size_t find_sign(tl_sv s) {
  int depth = 0;
  for (size_t i = 0; i + 2 < s.n; i++) {
    depth += (s.p[i] == '(') - (s.p[i] == ')');
    bool sign = s.p[i + 1] == '+' || s.p[i + 1] == '-';
    if (i && depth == 0 && sign && s.p[i] == ' ' && s.p[i + 2] == ' ')
      return i + 1;
  }
  return 0;
}

/* Returns the position of the first or last `c` outside of parentheses, 0 for none. */
static size_t find_outside(tl_sv s, char c, bool last) {
  int depth = 0;
  size_t found = 0;
  for (size_t i = 0; i < s.n; i++) {
    depth += (s.p[i] == '(') - (s.p[i] == ')');
    if (s.p[i] == c && depth == 0 && (last || !found))
      found = i;
  }
  return found;
}

static tl_sv part(tl_sv s, size_t from, size_t to) { return (tl_sv){s.p + from, to - from}; }

static bool is_number(tl_sv s, int64_t *out) {
  return s.n && s.p[0] >= '0' && s.p[0] <= '9' && tl_parse_i64(s, out);
}

/* Returns true when one pair of parentheses holds all of s. */
static bool is_enclosed(tl_sv s) {
  int depth = 0;
  if (s.n < 3 || s.p[0] != '(')
    return false;
  for (size_t i = 0; i < s.n; i++) {
    depth += (s.p[i] == '(') - (s.p[i] == ')');
    if (depth == 0)
      return i == s.n - 1;
  }
  return false;
}

/* Takes a factor off a term and returns it: "n*2" as it is printed, "2*n" as people write it. With
 * a division only a factor at the end counts: 2*n/3 is not twice n/3. */
static int64_t take_factor(tl_sv *term) {
  int64_t factor = 1;
  size_t last = find_outside(*term, '*', true);
  size_t first = find_outside(*term, '*', false);
  if (last && is_number(part(*term, last + 1, term->n), &factor))
    *term = part(*term, 0, last);
  else if (first && !find_outside(*term, '/', false) && is_number(part(*term, 0, first), &factor))
    *term = part(*term, first + 1, term->n);
  else
    factor = 1;
  return factor;
}

static bool add_text(tl_sum *sum, tl_sv text, int64_t times);

static bool add_product(tl_sum *sum, tl_sv term, int64_t times) {
  int64_t value;
  if (term.n == 0)
    return false; /* "n + ": a name, not a sum */
  if (is_number(term, &value))
    return add_constant(sum, value, times);
  if (__builtin_mul_overflow(times, take_factor(&term), &times))
    return false;
  if (is_enclosed(term))
    return add_text(sum, part(term, 1, term.n - 1), times);
  return add_term(sum, term, times);
}

/* Adds a text of terms. Each level of recursion takes a pair of parentheses off a text of at most
 * TL_MAX_DIM_TEXT bytes, so the depth is bounded. */
static bool add_text(tl_sum *sum, tl_sv text, int64_t times) {
  int64_t sign = 1;
  for (size_t at; (at = find_sign(text)) != 0; text = part(text, at + 2, text.n)) {
    if (!add_product(sum, part(text, 0, at - 1), sign * times))
      return false;
    sign = text.p[at] == '-' ? -1 : 1;
  }
  return add_product(sum, text, sign * times);
}

bool tl_sum_add(const tl_module *m, tl_sum *sum, tl_dim d, int64_t times) {
  if (d >= 0)
    return add_constant(sum, d, times);
  tl_sv text = tl_sym(m, tl_dim_symbol(d));
  if (text.n > TL_MAX_DIM_TEXT || !is_balanced(text))
    return add_term(sum, text, times);
  return add_text(sum, text, times);
}

bool tl_sum_divide(tl_sum *sum, int64_t by) {
  for (uint32_t i = 0; i < sum->n; i++)
    if (sum->terms[i].factor % by)
      return false;
  for (uint32_t i = 0; i < sum->n; i++)
    sum->terms[i].factor /= by;
  int64_t rest = sum->constant % by;
  sum->constant = sum->constant / by - (rest < 0);
  return true;
}

/* ---- writing texts --------------------------------------------------------------------------- */

static bool is_plain(tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] == ' ' || s.p[i] == '*' || s.p[i] == '/')
      return false;
  return true;
}

void tl_dim_add_operand(tl_buf *out, tl_sv text) {
  bool wrap = !is_plain(text) && !is_enclosed(text);
  if (wrap)
    tl_buf_add_char(out, '(');
  tl_buf_add_sv(out, text);
  if (wrap)
    tl_buf_add_char(out, ')');
}

/* Writes a term; a text that the reader would split is put in parentheses. */
static void write_term(tl_buf *out, const tl_sum_term *t) {
  uint64_t factor = t->factor < 0 ? 0 - (uint64_t)t->factor : (uint64_t)t->factor;
  if (factor == 1) {
    tl_buf_add_sv(out, t->text);
    return;
  }
  tl_dim_add_operand(out, t->text);
  tl_buf_add_char(out, '*');
  tl_buf_add_u64(out, factor);
}

static void write_terms(tl_buf *out, const tl_sum *sum, bool negative) {
  for (uint32_t i = 0; i < sum->n; i++) {
    if ((sum->terms[i].factor < 0) != negative)
      continue;
    if (out->n)
      tl_buf_add_z(out, negative ? " - " : " + ");
    write_term(out, &sum->terms[i]);
  }
}

/* Writes what is added, then what is subtracted, then the constant. The constant leads when nothing
 * else is added. */
static void write_sum(tl_buf *out, const tl_sum *sum) {
  int64_t constant = sum->constant;
  write_terms(out, sum, false);
  if (out->n == 0) {
    tl_buf_add_i64(out, constant > 0 ? constant : 0);
    constant = constant > 0 ? 0 : constant;
  }
  write_terms(out, sum, true);
  if (constant) {
    tl_buf_add_z(out, constant < 0 ? " - " : " + ");
    tl_buf_add_u64(out, constant < 0 ? 0 - (uint64_t)constant : (uint64_t)constant);
  }
}

tl_dim tl_sum_dim(tl_module *m, const tl_sum *sum) {
  if (sum->n == 0)
    return sum->constant >= 0 ? sum->constant : TL_DIM_UNKNOWN;
  tl_buf text;
  tl_buf_init(&text);
  write_sum(&text, sum);
  tl_dim d = text.failed || text.n > TL_MAX_DIM_TEXT ? TL_DIM_UNKNOWN
                                                     : tl_dim_named(m, tl_buf_view(&text));
  tl_buf_release(&text);
  return d;
}
