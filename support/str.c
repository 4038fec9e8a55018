/* SPDX-License-Identifier: Apache-2.0 */
/* String views, a growable text buffer, and number conversion that ignores the locale. */
#include "support/str.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/memory.h"

int tl_sv_compare(tl_sv a, tl_sv b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int c = n ? memcmp(a.p, b.p, n) : 0;
  if (c)
    return c;
  return a.n < b.n ? -1 : a.n > b.n;
}

/* Blank, tab, line ends and their kin. */
static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

tl_sv tl_sv_trim(tl_sv s) {
  while (s.n && is_blank(s.p[0])) {
    s.p++;
    s.n--;
  }
  while (s.n && is_blank(s.p[s.n - 1]))
    s.n--;
  return s;
}

tl_sv tl_sv_split(tl_sv *rest, char sep) {
  tl_sv head = *rest;
  const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
  if (!at) {
    *rest = (tl_sv){NULL, 0};
    return head;
  }
  head.n = (size_t)(at - head.p);
  rest->p = at + 1;
  rest->n -= head.n + 1;
  return head;
}

bool tl_sv_starts_with(tl_sv s, const char *prefix) {
  size_t n = strlen(prefix);
  return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

bool tl_sv_ends_with(tl_sv s, const char *suffix) {
  size_t n = strlen(suffix);
  return s.n >= n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

/* Refuses what does not fit, unlike strtoull. */
bool tl_parse_u64(tl_sv s, uint64_t *out) {
  uint64_t v = 0;
  if (s.n == 0)
    return false;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] < '0' || s.p[i] > '9')
      return false;
    if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
        __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
      return false;
  }
  *out = v;
  return true;
}

/* Negative numbers reach one further. */
bool tl_parse_i64(tl_sv s, int64_t *out) {
  bool negative = s.n && s.p[0] == '-';
  uint64_t v;
  if (negative || (s.n && s.p[0] == '+')) {
    s.p++;
    s.n--;
  }
  if (!tl_parse_u64(s, &v) || v > (uint64_t)INT64_MAX + negative)
    return false;
  *out = negative ? (int64_t)(0 - v) : (int64_t)v;
  return true;
}

/* A unit may be written K, KB, Ki or KiB, which all count by 1024. */
bool tl_parse_size(tl_sv text, uint64_t *out) {
  static const char units[] = "KMGT";
  unsigned shift = 0;
  if (tl_sv_ends_with(text, "B"))
    text.n--;
  if (tl_sv_ends_with(text, "i"))
    text.n--;
  const char *unit = text.n ? memchr(units, text.p[text.n - 1], sizeof units - 1) : NULL;
  if (unit) {
    shift = 10 * ((unsigned)(unit - units) + 1);
    text.n--;
  }
  return tl_parse_u64(text, out) && !__builtin_mul_overflow(*out, UINT64_C(1) << shift, out);
}

/* strtod reads the locale's decimal point, so the text is rewritten to that point first.
 * Hexadecimal numbers and nan(...) are refused. */
bool tl_parse_f64(tl_sv s, double *out) {
  char text[64];
  if (s.n == 0 || s.n >= sizeof text || is_blank(s.p[0]))
    return false;
  const char *point = localeconv()->decimal_point;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] == 'x' || s.p[i] == 'X' || s.p[i] == '(')
      return false;
    text[i] = s.p[i] == '.' ? point[0] : s.p[i];
  }
  text[s.n] = '\0';
  char *end;
  *out = strtod(text, &end);
  return end == text + s.n;
}

enum { MAX_DISTANCE_LENGTH = 96 };

static size_t min3(size_t a, size_t b, size_t c) {
  size_t m = a < b ? a : b;
  return m < c ? m : c;
}

/* Damerau-Levenshtein distance over three rows. Texts beyond the bound count as different. */
size_t tl_edit_distance(tl_sv a, tl_sv b, size_t limit) {
  size_t row[3][MAX_DISTANCE_LENGTH + 1];
  size_t gap = a.n > b.n ? a.n - b.n : b.n - a.n;
  if (gap > limit || a.n > MAX_DISTANCE_LENGTH || b.n > MAX_DISTANCE_LENGTH)
    return limit + 1;
  for (size_t j = 0; j <= b.n; j++)
    row[0][j] = j;
  for (size_t i = 1; i <= a.n; i++) {
    size_t *now = row[i % 3];
    const size_t *last = row[(i + 2) % 3];
    const size_t *before = row[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= b.n; j++) {
      size_t swap = a.p[i - 1] != b.p[j - 1]; /* none when they agree */
      now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + swap);
      if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1] &&
          before[j - 2] + 1 < now[j])
        now[j] = before[j - 2] + 1;
    }
  }
  size_t d = row[a.n % 3][b.n];
  return d > limit ? limit + 1 : d;
}

void tl_buf_init(tl_buf *b) { memset(b, 0, sizeof *b); }

tl_buf tl_buf_in(char *room, size_t n) {
  room[0] = '\0';
  return (tl_buf){.p = room, .cap = n, .fixed = true};
}

void tl_buf_release(tl_buf *b) {
  if (!b->fixed)
    free(b->p);
  tl_buf_init(b);
}

/* Keeps the room for the next text. */
void tl_buf_clear(tl_buf *b) {
  b->n = 0;
  b->failed = false;
}

/* Makes room for `more` bytes and a NUL; doubles, so that n bytes cost O(n). */
static bool reserve(tl_buf *b, size_t more) {
  if (b->failed)
    return false;
  if (more < b->cap - b->n)
    return true;
  size_t want = b->cap ? b->cap * 2 : 256;
  if (b->fixed || more > SIZE_MAX / 4 || b->n > SIZE_MAX / 4) {
    b->failed = true;
    return false;
  }
  if (want < b->n + more + 1)
    want = b->n + more + 1;
  char *p = tl_memory_seen(realloc(b->p, want), want);
  if (!p) {
    b->failed = true;
    return false;
  }
  b->p = p;
  b->cap = want;
  return true;
}

void tl_buf_add(tl_buf *b, const void *p, size_t n) {
  if (!reserve(b, n))
    return;
  if (n)
    memcpy(b->p + b->n, p, n);
  b->n += n;
  b->p[b->n] = '\0';
}

void tl_buf_add_sv(tl_buf *b, tl_sv s) { tl_buf_add(b, s.p, s.n); }
void tl_buf_add_z(tl_buf *b, const char *z) { tl_buf_add(b, z, strlen(z)); }
void tl_buf_add_char(tl_buf *b, char c) { tl_buf_add(b, &c, 1); }

void tl_buf_add_u64(tl_buf *b, uint64_t v) {
  char text[20];
  size_t at = sizeof text;
  do {
    text[--at] = (char)('0' + v % 10);
    v /= 10;
  } while (v);
  tl_buf_add(b, text + at, sizeof text - at);
}

/* Negating without a sign: the most negative number has no positive counterpart. */
void tl_buf_add_i64(tl_buf *b, int64_t v) {
  if (v < 0)
    tl_buf_add_char(b, '-');
  tl_buf_add_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Makes the decimal point a '.' and marks a whole number as a float. */
static void add_decimal(tl_buf *b, char *text) {
  bool marked = false;
  for (char *c = text; *c; c++) {
    if (*c == ',')
      *c = '.';
    marked |= *c == '.' || *c == 'e';
  }
  tl_buf_add_z(b, text);
  if (!marked)
    tl_buf_add_z(b, ".0");
}

/* Adds infinity or NaN; false for other numbers. */
static bool add_special(tl_buf *b, double v) {
  if (isfinite(v))
    return false;
  tl_buf_add_z(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
  return true;
}

/* Nine digits always read back as the same float, seventeen as the same double. */
void tl_buf_add_f32(tl_buf *b, float v) {
  char text[48];
  if (add_special(b, (double)v))
    return;
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)v);
    if (strtof(text, NULL) == v)
      break;
  }
  add_decimal(b, text);
}

void tl_buf_add_f64(tl_buf *b, double v) {
  char text[48];
  if (add_special(b, v))
    return;
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, v);
    if (strtod(text, NULL) == v)
      break;
  }
  add_decimal(b, text);
}

/* The format is run into the room that is left, and again if that was too little. */
void tl_buf_vprintf(tl_buf *b, const char *fmt, va_list ap) {
  size_t room = b->failed || !b->p ? 0 : b->cap - b->n;
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(room ? b->p + b->n : NULL, room, fmt, ap);
  if (n < 0) {
    b->failed = true;
  } else if ((size_t)n < room) {
    b->n += (size_t)n;
  } else if (reserve(b, (size_t)n + 1)) {
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
    b->n += (size_t)n;
  } else if (room) {
    b->p[b->n] = '\0';
  }
  va_end(again);
}

void tl_buf_printf(tl_buf *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tl_buf_vprintf(b, fmt, ap);
  va_end(ap);
}

/* The second byte tells overlong forms, surrogates and code points beyond U+10FFFF. */
size_t tl_utf8_length(tl_sv s) {
  const unsigned char *p = (const unsigned char *)s.p;
  unsigned char c = p[0];
  size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : 0;
  if (c >= 0xf0 && c < 0xf5)
    n = 4;
  if (n == 0 || n > s.n)
    return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80)
      return 0;
  unsigned char d = n > 1 ? p[1] : 0;
  bool bad = (c == 0xe0 && d < 0xa0) || (c == 0xed && d >= 0xa0) || (c == 0xf0 && d < 0x90) ||
             (c == 0xf4 && d >= 0x90);
  return bad ? 0 : n;
}

/* The escapes are those that tl_lex_unquote reads. */
static void add_escaped_byte(tl_buf *b, char c) {
  switch (c) {
  case '"': tl_buf_add_z(b, "\\\""); break;
  case '\\': tl_buf_add_z(b, "\\\\"); break;
  case '\n': tl_buf_add_z(b, "\\n"); break;
  case '\t': tl_buf_add_z(b, "\\t"); break;
  default: tl_buf_printf(b, "\\x%02x", (unsigned char)c);
  }
}

/* Returns true when eight bytes stand for themselves between quotes. Each term sets the top bit of
 * a byte that does not: below a blank, a quote, a backslash, 0x7f, or not ASCII. A borrow may mark
 * a plain byte too, which only costs speed. */
static bool are_plain(const char *p) {
  const uint64_t each = UINT64_C(0x0101010101010101), top = each << 7;
  uint64_t w;
  memcpy(&w, p, sizeof w);
  uint64_t marked = w | (w - each * ' ') | ((w ^ each * '"') - each) | ((w ^ each * '\\') - each) |
                    ((w ^ each * 0x7f) - each);
  return (marked & top) == 0;
}

/* Adds the ASCII bytes that stand for themselves between quotes, and returns the rest. Nearly all
 * names are nothing else, and there are many. */
static tl_sv add_plain(tl_buf *b, tl_sv s) {
  size_t n = 0;
  while (s.n - n >= 8 && are_plain(s.p + n))
    n += 8;
  while (n < s.n && s.p[n] >= 0x20 && s.p[n] < 0x7f && s.p[n] != '"' && s.p[n] != '\\')
    n++;
  tl_buf_add(b, s.p, n);
  return (tl_sv){s.p + n, s.n - n};
}

void tl_buf_add_quoted(tl_buf *b, tl_sv s) {
  tl_buf_add_char(b, '"');
  while ((s = add_plain(b, s)).n) {
    unsigned char c = (unsigned char)s.p[0];
    size_t n = tl_utf8_length(s);
    if (n == 0 || c < 0x20 || c == 0x7f || c == '"' || c == '\\') {
      add_escaped_byte(b, s.p[0]);
      n = 1;
    } else {
      tl_buf_add(b, s.p, n);
    }
    s.p += n;
    s.n -= n;
  }
  tl_buf_add_char(b, '"');
}

/* Ends at the first byte that cannot be shown, or before a character would go beyond MOST. */
tl_sv tl_sv_shown(tl_sv text) {
  enum { MOST = 80 };
  tl_sv out = {text.p, 0};
  while (out.n < text.n) {
    tl_sv rest = {text.p + out.n, text.n - out.n};
    size_t length = tl_utf8_length(rest);
    if (length == 0 || *rest.p == 0 || out.n + length > MOST)
      break;
    out.n += length;
  }
  return out;
}

/* JSON must be UTF-8: what is not becomes U+FFFD. */
void tl_buf_add_json(tl_buf *out, tl_sv s) {
  tl_buf_add_char(out, '"');
  while ((s = add_plain(out, s)).n) {
    size_t n = tl_utf8_length(s);
    unsigned char c = (unsigned char)s.p[0];
    if (n == 0)
      tl_buf_add_z(out, "\\ufffd");
    else if (c == '"' || c == '\\')
      tl_buf_printf(out, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      tl_buf_printf(out, "\\u%04x", c);
    else
      tl_buf_add(out, s.p, n);
    n = n ? n : 1;
    s = (tl_sv){s.p + n, s.n - n};
  }
  tl_buf_add_char(out, '"');
}
