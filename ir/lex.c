/* SPDX-License-Identifier: Apache-2.0 */
/* Lexer of the textual IR. */
#include "ir/lex.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
static bool is_word_char(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-'; }
static bool is_name_char(char c) { return is_word_char(c) || c == '/' || c == ':'; }

bool tl_lex_is_plain_name(tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    if (!is_name_char(s.p[i]))
      return false;
  return s.n > 0 && s.p[s.n - 1] != ':'; /* "%x: f32" ends the name at the colon */
}

bool tl_lex_is_word(tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    if (!is_word_char(s.p[i]))
      return false;
  return s.n > 0 && is_letter(s.p[0]);
}

static bool is_identifier_char(char c) { return is_letter(c) || is_digit(c); }

tl_lexer tl_lex_start(tl_sv text) {
  const char *p = text.n ? text.p : "";
  return (tl_lexer){p, p + text.n, p, 1, false};
}

tl_lexer tl_lex_start_rules(tl_sv text) {
  tl_lexer x = tl_lex_start(text);
  x.rules = true;
  return x;
}

static void skip_blanks(tl_lexer *x) {
  for (; x->at < x->end; x->at++) {
    if (*x->at == '#') {
      const char *end = memchr(x->at, '\n', (size_t)(x->end - x->at));
      x->at = end ? end : x->end;
      if (!end)
        return;
    }
    if (*x->at == '\n') {
      x->line++;
      x->line_start = x->at + 1;
    } else if (*x->at != ' ' && *x->at != '\t' && *x->at != '\r') {
      return;
    }
  }
}

static tl_token token_at(const tl_lexer *x, tl_token_kind kind) {
  return (tl_token){.kind = (uint8_t)kind,
                    .line = x->line,
                    .column = (uint32_t)(x->at - x->line_start) + 1};
}

static tl_token bad(tl_token t, const char *problem) {
  t.kind = TL_TOKEN_BAD;
  t.problem = problem;
  return t;
}

/* Length of the escape at p (after the backslash is p[1]), 0 when it is none. */
static size_t escape_length(const char *p, const char *end) {
  if (end - p >= 2 && (p[1] == '"' || p[1] == '\\' || p[1] == 'n' || p[1] == 't'))
    return 2;
  return end - p >= 4 && p[1] == 'x' && is_hex(p[2]) && is_hex(p[3]) ? 4 : 0;
}

/* x->at is at the opening quote. */
static tl_token lex_quoted(tl_lexer *x, tl_token t) {
  const char *start = ++x->at;
  while (x->at < x->end && *x->at != '"') {
    if (*x->at == '\n')
      return bad(t, "the quoted text does not end on its line");
    size_t step = *x->at == '\\' ? escape_length(x->at, x->end) : 1;
    if (step == 0)
      return bad(t, "unknown escape in quoted text (use \\\" \\\\ \\n \\t \\xhh)");
    x->at += step;
  }
  if (x->at == x->end)
    return bad(t, "the quoted text does not end");
  t.text = (tl_sv){start, (size_t)(x->at - start)};
  t.quoted = true;
  x->at++;
  return t;
}

static tl_sv munch(tl_lexer *x, bool (*member)(char)) {
  const char *start = x->at;
  while (x->at < x->end && member(*x->at))
    x->at++;
  return (tl_sv){start, (size_t)(x->at - start)};
}

static tl_token lex_number_after(tl_lexer *x, tl_token t, char sigil) {
  t.text = munch(x, is_digit);
  if (t.text.n == 0 || t.text.n > 9)
    return bad(t, sigil == '%' ? "'%$' needs a number" : "'$' needs a number");
  return t;
}

/* x->at is behind the sigil. */
static tl_token lex_name(tl_lexer *x, tl_token t, char sigil) {
  if (x->at < x->end && *x->at == '"')
    return lex_quoted(x, t);
  if (sigil == '%' && x->at < x->end && *x->at == '$') {
    x->at++;
    t.kind = TL_TOKEN_ANONYMOUS;
    return lex_number_after(x, t, '%');
  }
  t.text = munch(x, is_name_char);
  while (t.text.n && (t.text.p[t.text.n - 1] == ':' ||
                      (x->rules && t.text.p[t.text.n - 1] == '.'))) { /* "%rest..." */
    t.text.n--;
    x->at--;
  }
  if (t.text.n == 0)
    return bad(t, sigil == '%' ? "'%' needs a value name" : "'@' needs a name");
  return t;
}

static tl_token lex_number(tl_lexer *x, tl_token t) {
  const char *start = x->at++;
  while (x->at < x->end) {
    bool exponent_sign = (*x->at == '+' || *x->at == '-') && (x->at[-1] == 'e' || x->at[-1] == 'E');
    if (!is_digit(*x->at) && !is_letter(*x->at) && *x->at != '.' && !exponent_sign)
      break;
    x->at++;
  }
  t.text = (tl_sv){start, (size_t)(x->at - start)};
  return t;
}

static tl_token lex_word(tl_lexer *x, tl_token t) {
  static const char marked_nan[] = "nan(0x";
  if ((size_t)(x->end - x->at) >= sizeof marked_nan - 1 &&
      memcmp(x->at, marked_nan, sizeof marked_nan - 1) == 0) {
    const char *start = x->at;
    x->at += sizeof marked_nan - 1;
    munch(x, is_hex);
    if (x->at == x->end || *x->at != ')')
      return bad(t, "nan(0x...) needs lower-case hex digits and ')'");
    x->at++;
    t.kind = TL_TOKEN_NUMBER;
    t.text = (tl_sv){start, (size_t)(x->at - start)};
    return t;
  }
  t.text = munch(x, is_word_char);
  return t;
}

/* Length of an operator that only rules have, 0 when there is none. */
static size_t rule_punct(const tl_lexer *x) {
  static const char *const pairs[] = {"==", "!=", "<=", ">=", "&&", "||"};
  size_t left = (size_t)(x->end - x->at);
  if (left >= 3 && memcmp(x->at, "...", 3) == 0)
    return 3;
  for (size_t i = 0; left >= 2 && i < sizeof pairs / sizeof *pairs; i++)
    if (memcmp(x->at, pairs[i], 2) == 0)
      return 2;
  return *x->at && strchr("~|!<>+-/", *x->at) ? 1 : 0;
}

static tl_token lex_punct(tl_lexer *x, tl_token t) {
  size_t left = (size_t)(x->end - x->at);
  size_t n = 0;
  if (x->rules && (left < 2 || memcmp(x->at, "->", 2) != 0))
    n = rule_punct(x);
  if (n)
    ;
  else if (left >= 2 && (memcmp(x->at, "->", 2) == 0 || memcmp(x->at, "::", 2) == 0))
    n = 2;
  else if (*x->at && strchr("()[]{},:=?*", *x->at))
    n = 1;
  if (n == 0)
    return bad(t, "unexpected character");
  t.text = (tl_sv){x->at, n};
  x->at += n;
  return t;
}

tl_token tl_lex_next(tl_lexer *x) {
  skip_blanks(x);
  if (x->at == x->end)
    return token_at(x, TL_TOKEN_END);
  char c = *x->at;
  bool more = x->end - x->at > 1;
  if (c == '"')
    return lex_quoted(x, token_at(x, TL_TOKEN_STRING));
  if (c == '%' || c == '@' || c == '$') {
    tl_token t = token_at(x, c == '%' ? TL_TOKEN_VALUE : c == '@' ? TL_TOKEN_NODE : TL_TOKEN_LABEL);
    x->at++;
    if (c == '$' && x->rules && x->at < x->end && is_letter(*x->at)) {
      t.text = munch(x, is_identifier_char);
      return t;
    }
    return c == '$' ? lex_number_after(x, t, c) : lex_name(x, t, c);
  }
  if (is_letter(c))
    return lex_word(x, token_at(x, TL_TOKEN_WORD));
  bool signs = (c == '-' || c == '+') && more && x->at[1] != '>' &&
               (!x->rules || is_digit(x->at[1])); /* in rules "-len(x)" is an expression */
  if (is_digit(c) || signs)
    return lex_number(x, token_at(x, TL_TOKEN_NUMBER));
  return lex_punct(x, token_at(x, TL_TOKEN_PUNCT));
}

static unsigned hex_value(char c) { return (unsigned)(is_digit(c) ? c - '0' : c - 'a' + 10); }

void tl_lex_unquote(tl_sv text, tl_buf *out) {
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    if (c == '\\') {
      c = text.p[++i];
      if (c == 'x') {
        c = (char)(hex_value(text.p[i + 1]) << 4 | hex_value(text.p[i + 2]));
        i += 2;
      } else {
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
      }
    }
    tl_buf_add_char(out, c);
  }
}
