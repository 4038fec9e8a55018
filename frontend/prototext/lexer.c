/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the lexer of protobuf text (lexer.h). */
#include "frontend/prototext/lexer.h"

#include <ctype.h>
#include <math.h>

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '+';
}

char tl_text_next(tl_text_lexer *l) {
  while (l->at < l->end) {
    char c = *l->at;
    if (c == '#') {
      const char *eol = memchr(l->at, '\n', (size_t)(l->end - l->at));
      l->at = eol ? eol : l->end;
      continue;
    }
    if (c == '\n') {
      l->line++;
      l->line_start = l->at + 1;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
      return c;
    }
    l->at++;
  }
  return 0;
}

bool tl_text_take(tl_text_lexer *l, char sign) {
  if (tl_text_next(l) != sign || l->at == l->end)
    return false;
  l->at++;
  return true;
}

/* The sign of an exponent belongs to the word, as in 1e-05. */
static bool is_exponent(const char *start, const char *at) {
  return *at == '-' && at - start >= 2 && (at[-1] == 'e' || at[-1] == 'E') &&
         isdigit((unsigned char)*start) && !(start[1] == 'x' || start[1] == 'X');
}

tl_sv tl_text_word(tl_text_lexer *l) {
  (void)tl_text_next(l);
  const char *start = l->at;
  while (l->at < l->end && (is_word(*l->at) || is_exponent(start, l->at)))
    l->at++;
  return (tl_sv){start, (size_t)(l->at - start)};
}

/* ---- strings --------------------------------------------------------------------------------- */

static int digit_of(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Reads up to `most` digits; false without any. */
static bool digits(tl_text_lexer *l, int base, int most, uint32_t *out) {
  int n = 0;
  for (*out = 0; n < most && l->at < l->end && digit_of(*l->at) < base; n++)
    *out = *out * (uint32_t)base + (uint32_t)digit_of(*l->at++);
  return n > 0;
}

/* Appends a code point as UTF-8. */
static void add_code_point(tl_buf *out, uint32_t c) {
  unsigned char u[4];
  size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = n; i-- > 1; c >>= 6)
    u[i] = (unsigned char)(0x80 | (c & 0x3f));
  u[0] = (unsigned char)(lead[n] | c);
  tl_buf_add(out, u, n);
}

static const char *unicode(tl_text_lexer *l, int n, tl_buf *out) {
  uint32_t c;
  const char *start = l->at;
  if (!digits(l, 16, n, &c) || l->at - start != n || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
    return "an escape is no code point";
  if (out)
    add_code_point(out, c);
  return NULL;
}

/* Reads what follows a backslash. */
static const char *escape(tl_text_lexer *l, tl_buf *out) {
  static const char names[] = "abfnrtv\\'\"?";
  static const char bytes[] = "\a\b\f\n\r\t\v\\'\"?";
  uint32_t value;
  if (l->at == l->end)
    return "a string is not ended";
  char c = *l->at;
  const char *name = c ? strchr(names, c) : NULL;
  if (name) {
    value = (unsigned char)bytes[name - names];
    l->at++;
  } else if (digit_of(c) < 8) {
    (void)digits(l, 8, 3, &value);
    if (value > 0xff)
      return "an escape is larger than a byte";
  } else if (c == 'x' || c == 'X') {
    l->at++;
    if (!digits(l, 16, 2, &value))
      return "\\x without digits";
  } else if (c == 'u' || c == 'U') {
    l->at++;
    return unicode(l, c == 'u' ? 4 : 8, out);
  } else {
    return "an unknown escape";
  }
  if (out)
    tl_buf_add_char(out, (char)value);
  return NULL;
}

static const char *one_string(tl_text_lexer *l, tl_buf *out) {
  char quote = *l->at++;
  for (;;) {
    const char *run = l->at;
    while (l->at < l->end && *l->at != quote && *l->at != '\\' && *l->at != '\n')
      l->at++;
    if (out)
      tl_buf_add(out, run, (size_t)(l->at - run));
    if (l->at == l->end || *l->at == '\n')
      return "a string is not ended on its line";
    if (*l->at++ == quote)
      return NULL;
    const char *fault = escape(l, out);
    if (fault)
      return fault;
  }
}

const char *tl_text_string(tl_text_lexer *l, tl_buf *out) {
  char c = tl_text_next(l);
  if (c != '"' && c != '\'')
    return "a string was expected";
  for (; c == '"' || c == '\''; c = tl_text_next(l)) {
    const char *fault = one_string(l, out);
    if (fault)
      return fault;
  }
  return NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool tl_text_integer(tl_sv word, bool negative, int64_t *out) {
  unsigned base = 10;
  size_t i = 0;
  uint64_t value = 0;
  if (word.n > 2 && word.p[0] == '0' && (word.p[1] == 'x' || word.p[1] == 'X')) {
    base = 16;
    i = 2;
  } else if (word.n > 1 && word.p[0] == '0') {
    base = 8;
    i = 1;
  }
  for (; i < word.n; i++) {
    unsigned digit = (unsigned)digit_of(word.p[i]);
    if (digit >= base || value > (UINT64_MAX - digit) / base)
      return false;
    value = value * base + digit;
  }
  if (word.n == 0 || (negative && value > (uint64_t)INT64_MAX + 1))
    return false;
  *out = (int64_t)(negative ? 0 - value : value);
  return true;
}

/* Compares without regard to case. */
static bool is(tl_sv word, const char *name) {
  if (word.n != strlen(name))
    return false;
  for (size_t i = 0; i < word.n; i++)
    if ((word.p[i] | 0x20) != name[i])
      return false;
  return true;
}

bool tl_text_float(tl_sv word, bool negative, float *out) {
  double value;
  int64_t integer;
  if (is(word, "inf") || is(word, "infinity"))
    value = HUGE_VAL;
  else if (is(word, "nan"))
    value = (double)NAN;
  else if (word.n == 0 || (!isdigit((unsigned char)word.p[0]) && word.p[0] != '.'))
    return false;
  else if (tl_text_integer(word, false, &integer) && word.p[0] == '0')
    value = (double)integer;
  else if ((word.p[word.n - 1] | 0x20) == 'f' ? !tl_parse_f64((tl_sv){word.p, word.n - 1}, &value)
                                              : !tl_parse_f64(word, &value))
    return false;
  *out = (float)(negative ? -value : value);
  return true;
}
