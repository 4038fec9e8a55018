/* SPDX-License-Identifier: Apache-2.0 */
/* Checks JSON by the grammar of RFC 8259, with bounds on depth and on the length of numbers. */
#include "frontend/config/json_scan.h"

/* The depth bounds the recursion of this scanner and of cJSON; the length fits the buffer for
 * numbers in cJSON. */
enum { MAX_DEPTH = 64, MAX_NUMBER = 60 };

typedef struct scanner {
  const char *p;
  size_t n;
  size_t at;
  size_t line_start;
  uint32_t line;
  const char *problem;  /* NULL: none so far */
  tl_place_vec *places; /* NULL: not wanted */
} scanner;

/* Keeps the first problem, which is the one at the scanner's place. Returns false. */
static bool fail(scanner *s, const char *problem) {
  if (!s->problem)
    s->problem = problem;
  return false;
}

static tl_place here(const scanner *s) {
  return (tl_place){s->line, (uint32_t)(s->at - s->line_start) + 1};
}

/* Records the place of a value, in document order. */
static bool note(scanner *s, tl_place place) {
  return !s->places || tl_place_vec_push(s->places, place) || fail(s, "out of memory");
}

/* The next byte, or -1 at the end. */
static int peek(const scanner *s) { return s->at < s->n ? (unsigned char)s->p[s->at] : -1; }

static bool accept(scanner *s, char c) {
  if (peek(s) != (unsigned char)c)
    return false;
  s->at++;
  return true;
}

/* Skips blanks and counts lines. Strings hold no line feeds, so only this function counts. */
static void skip_blanks(scanner *s) {
  for (; s->at < s->n; s->at++) {
    char c = s->p[s->at];
    if (c == '\n') {
      s->line++;
      s->line_start = s->at + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

static bool skip_digits(scanner *s) {
  size_t start = s->at;
  while (peek(s) >= '0' && peek(s) <= '9')
    s->at++;
  return s->at > start;
}

/* Scans a number: no leading zeros, and digits on both sides of a decimal point. */
static bool scan_number(scanner *s) {
  size_t start = s->at;
  (void)accept(s, '-');
  if (!accept(s, '0') && !skip_digits(s))
    return fail(s, "expected a value");
  if (accept(s, '.') && !skip_digits(s))
    return fail(s, "expected a digit after the decimal point");
  if (accept(s, 'e') || accept(s, 'E')) {
    (void)(accept(s, '+') || accept(s, '-'));
    if (!skip_digits(s))
      return fail(s, "expected a digit of the exponent");
  }
  return s->at - start <= MAX_NUMBER || fail(s, "a number of more than 60 characters");
}

/* Scans four hexadecimal digits into *unit, a unit of UTF-16. */
static bool scan_hex(scanner *s, unsigned *unit) {
  *unit = 0;
  for (int i = 0; i < 4; i++, s->at++) {
    int c = peek(s);
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                            : 16;
    if (digit > 15)
      return fail(s, "expected four hexadecimal digits after \\u");
    *unit = *unit * 16 + digit;
  }
  return true;
}

/* Scans \uXXXX behind the 'u'. A high surrogate must be followed by a low one. U+0000 is refused,
 * because readers take strings as C strings. */
static bool scan_unit(scanner *s) {
  unsigned unit;
  if (!scan_hex(s, &unit))
    return false;
  if (unit == 0)
    return fail(s, "a string with a NUL character");
  if (unit >= 0xdc00 && unit < 0xe000)
    return fail(s, "half of a surrogate pair");
  if (unit < 0xd800 || unit >= 0xdc00)
    return true;
  if (!accept(s, '\\') || !accept(s, 'u') || !scan_hex(s, &unit) || unit < 0xdc00 || unit > 0xdfff)
    return fail(s, "half of a surrogate pair");
  return true;
}

/* Scans an escape behind the backslash. */
static bool scan_escape(scanner *s) {
  int c = peek(s);
  if (c < 0)
    return fail(s, "the string does not end");
  if (c == 'u') {
    s->at++;
    return scan_unit(s);
  }
  if (!strchr("\"\\/bfnrt", c) || c == 0)
    return fail(s, "an escape that JSON does not have");
  s->at++;
  return true;
}

/* Scans a string behind its opening quote, up to and including the closing one. */
static bool scan_string(scanner *s) {
  for (;;) {
    int c = peek(s);
    if (c < 0 || c == '\n')
      return fail(s, "the string does not end");
    if (c < 0x20)
      return fail(s, "a control character in a string");
    size_t length = tl_utf8_length((tl_sv){s->p + s->at, s->n - s->at});
    if (length == 0)
      return fail(s, "a byte that is not UTF-8");
    s->at += length;
    if (c == '"')
      return true;
    if (c == '\\' && !scan_escape(s))
      return false;
  }
}

static bool scan_value(scanner *s, unsigned depth);

/* Scans "name": value. The place of a member is that of its name. */
static bool scan_member(scanner *s, unsigned depth) {
  skip_blanks(s);
  if (!note(s, here(s)))
    return false;
  if (!accept(s, '"'))
    return fail(s, "expected a name in double quotes");
  if (!scan_string(s))
    return false;
  skip_blanks(s);
  if (!accept(s, ':'))
    return fail(s, "expected ':'");
  skip_blanks(s);
  return scan_value(s, depth);
}

/* Scans members or elements behind the opening bracket, up to and including `close`. */
static bool scan_items(scanner *s, char close, unsigned depth) {
  if (depth == MAX_DEPTH)
    return fail(s, "nested more than 64 deep");
  skip_blanks(s);
  if (accept(s, close))
    return true;
  do {
    skip_blanks(s);
    /* A member records the place of its key itself; an element has only its value. */
    bool element = close == ']';
    if (element && !note(s, here(s)))
      return false;
    if (element ? !scan_value(s, depth + 1) : !scan_member(s, depth + 1))
      return false;
    skip_blanks(s);
  } while (accept(s, ','));
  return accept(s, close) || fail(s, close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
}

static bool scan_word(scanner *s, const char *word) {
  size_t n = strlen(word);
  if (s->n - s->at < n || memcmp(s->p + s->at, word, n) != 0)
    return fail(s, "expected a value");
  s->at += n;
  return true;
}

/* Scans a value by its first byte; whatever is no other value must be a number. */
static bool scan_value(scanner *s, unsigned depth) {
  switch (peek(s)) {
  case '{': s->at++; return scan_items(s, '}', depth);
  case '[': s->at++; return scan_items(s, ']', depth);
  case '"': s->at++; return scan_string(s);
  case 't': return scan_word(s, "true");
  case 'f': return scan_word(s, "false");
  case 'n': return scan_word(s, "null");
  default: return scan_number(s);
  }
}

bool tl_json_scan(tl_sv text, tl_place_vec *places, tl_json_error *error) {
  scanner s = {.p = text.p, .n = text.n, .line = 1, .places = places};
  /* A byte order mark counts for no column. */
  if (tl_sv_starts_with(text, "\xef\xbb\xbf"))
    s.at = s.line_start = 3;
  skip_blanks(&s);
  bool good = note(&s, here(&s)) && scan_value(&s, 0);
  skip_blanks(&s);
  if (good && s.at < s.n)
    good = fail(&s, "text after the end of the value");
  *error = (tl_json_error){s.problem, here(&s)};
  return good;
}
