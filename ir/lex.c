/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer of the textual IR. */
#include "ir/lex.h"

/* What a character may be part of; a table of 256 classes is faster than comparisons. */
enum { DIGIT = 1, LETTER = 2, HEX = 4, IN_WORD = 8, IN_NAME = 16, MARK = 32, RULE_MARK = 64 };

#define OF_IDENTIFIER (IN_WORD | IN_NAME)
#define FOUR(c, f) [(c)] = (f), [(c) + 1] = (f), [(c) + 2] = (f), [(c) + 3] = (f)
#define THIRTEEN(c, f) FOUR(c, f), FOUR((c) + 4, f), FOUR((c) + 8, f), [(c) + 12] = (f)

static const uint8_t classes[256] = {FOUR('0', DIGIT | HEX | OF_IDENTIFIER),
                                     FOUR('4', DIGIT | HEX | OF_IDENTIFIER),
                                     ['8'] = DIGIT | HEX | OF_IDENTIFIER,
                                     ['9'] = DIGIT | HEX | OF_IDENTIFIER,
                                     FOUR('a', LETTER | HEX | OF_IDENTIFIER),
                                     ['e'] = LETTER | HEX | OF_IDENTIFIER,
                                     ['f'] = LETTER | HEX | OF_IDENTIFIER,
                                     FOUR('g', LETTER | OF_IDENTIFIER),
                                     FOUR('k', LETTER | OF_IDENTIFIER),
                                     FOUR('o', LETTER | OF_IDENTIFIER),
                                     FOUR('s', LETTER | OF_IDENTIFIER),
                                     FOUR('w', LETTER | OF_IDENTIFIER),
                                     THIRTEEN('A', LETTER | OF_IDENTIFIER),
                                     THIRTEEN('N', LETTER | OF_IDENTIFIER),
                                     ['_'] = LETTER | OF_IDENTIFIER,
                                     ['.'] = OF_IDENTIFIER,
                                     ['-'] = OF_IDENTIFIER | RULE_MARK,
                                     ['/'] = IN_NAME | RULE_MARK,
                                     [':'] = IN_NAME | MARK,
                                     ['('] = MARK,
                                     [')'] = MARK,
                                     ['['] = MARK,
                                     [']'] = MARK,
                                     ['{'] = MARK,
                                     ['}'] = MARK,
                                     [','] = MARK,
                                     ['='] = MARK,
                                     ['?'] = MARK,
                                     ['*'] = MARK,
                                     ['~'] = RULE_MARK,
                                     ['|'] = RULE_MARK,
                                     ['!'] = RULE_MARK,
                                     ['<'] = RULE_MARK,
                                     ['>'] = RULE_MARK,
                                     ['+'] = RULE_MARK};

/* True when the character may be part of one of the wanted things. */
static bool is(char c, unsigned wanted) { return (classes[(unsigned char)c] & wanted) != 0; }
static bool is_digit(char c) { return is(c, DIGIT); }
static bool is_letter(char c) { return is(c, LETTER); }

bool tl_lex_is_plain_name(tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    if (!is(s.p[i], IN_NAME))
      return false;
  return s.n > 0 && s.p[s.n - 1] != ':'; /* in "%x: f32" the name ends at the colon */
}

bool tl_lex_is_word(tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    if (!is(s.p[i], IN_WORD))
      return false;
  return s.n > 0 && is_letter(s.p[0]);
}

tl_lexer tl_lex_start(tl_sv text) {
  const char *p = text.n ? text.p : "";
  return (tl_lexer){p, p + text.n, p, 1, false};
}

tl_lexer tl_lex_start_rules(tl_sv text) {
  tl_lexer lexer = tl_lex_start(text);
  lexer.rules = true;
  return lexer;
}

/* Skips comments too, and counts lines. */
static void skip_blanks(tl_lexer *lexer) {
  for (; lexer->at < lexer->end; lexer->at++) {
    if (*lexer->at == '#') {
      const char *end = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
      lexer->at = end ? end : lexer->end;
      if (!end)
        return;
    }
    if (*lexer->at == '\n') {
      lexer->line++;
      lexer->line_start = lexer->at + 1;
    } else if (*lexer->at != ' ' && *lexer->at != '\t' && *lexer->at != '\r') {
      return;
    }
  }
}

/* Begins a token here, with no text yet. */
static tl_token token_at(const tl_lexer *lexer, tl_token_kind kind) {
  return (tl_token){.kind = (uint8_t)kind,
                    .line = lexer->line,
                    .column = (uint32_t)(lexer->at - lexer->line_start) + 1};
}

/* The parser reports the problem at the place of the token. */
static tl_token bad(tl_token t, const char *problem) {
  t.kind = TL_TOKEN_BAD;
  t.problem = problem;
  return t;
}

/* Returns the length of the escape whose backslash is at p, 0 when it is none. */
static size_t escape_length(const char *p, const char *end) {
  if (end - p >= 2 && (p[1] == '"' || p[1] == '\\' || p[1] == 'n' || p[1] == 't'))
    return 2;
  return end - p >= 4 && p[1] == 'x' && is(p[2], HEX) && is(p[3], HEX) ? 4 : 0;
}

/* Returns the number of bytes before a quote, 0 when there are escapes or line ends among them. */
static size_t plain_length(const tl_lexer *lexer) {
  const char *end = memchr(lexer->at, '"', (size_t)(lexer->end - lexer->at));
  size_t n = end ? (size_t)(end - lexer->at) : 0;
  return n && !memchr(lexer->at, '\\', n) && !memchr(lexer->at, '\n', n) ? n : 0;
}

/* Reads a quoted text; x->at is at the opening quote. */
static tl_token lex_quoted(tl_lexer *lexer, tl_token t) {
  const char *start = ++lexer->at;
  lexer->at += plain_length(lexer); /* most texts are plain to the end */
  while (lexer->at < lexer->end && *lexer->at != '"') {
    if (*lexer->at == '\n')
      return bad(t, "the quoted text does not end on its line");
    size_t step = *lexer->at == '\\' ? escape_length(lexer->at, lexer->end) : 1;
    if (step == 0)
      return bad(t, "unknown escape in quoted text (use \\\" \\\\ \\n \\t \\xhh)");
    lexer->at += step;
  }
  if (lexer->at == lexer->end)
    return bad(t, "the quoted text does not end");
  t.text = (tl_sv){start, (size_t)(lexer->at - start)};
  t.quoted = true;
  lexer->at++;
  return t;
}

/* Takes the longest run of characters of the wanted classes. */
static tl_sv munch(tl_lexer *lexer, unsigned wanted) {
  const char *start = lexer->at;
  const char *at = start;
  while (at < lexer->end && is(*at, wanted))
    at++;
  lexer->at = at;
  return (tl_sv){start, (size_t)(at - start)};
}

/* More than nine digits would not fit 32 bits in all cases. */
static tl_token lex_number_after(tl_lexer *lexer, tl_token t, char sigil) {
  t.text = munch(lexer, DIGIT);
  if (t.text.n == 0 || t.text.n > 9)
    return bad(t, sigil == '%' ? "'%$' needs a number" : "'$' needs a number");
  return t;
}

/* Reads the name behind a sigil. A colon at the end belongs to what follows; in rules so do
 * dots. */
static tl_token lex_name(tl_lexer *lexer, tl_token t, char sigil) {
  if (lexer->at < lexer->end && *lexer->at == '"')
    return lex_quoted(lexer, t);
  if (sigil == '%' && lexer->at < lexer->end && *lexer->at == '$') {
    lexer->at++;
    t.kind = TL_TOKEN_ANONYMOUS;
    return lex_number_after(lexer, t, '%');
  }
  t.text = munch(lexer, IN_NAME);
  while (t.text.n && (t.text.p[t.text.n - 1] == ':' ||
                      (lexer->rules && t.text.p[t.text.n - 1] == '.'))) { /* "%rest..." */
    t.text.n--;
    lexer->at--;
  }
  if (t.text.n == 0)
    return bad(t, sigil == '%' ? "'%' needs a value name" : "'@' needs a name");
  return t;
}

/* Takes letters too, so that a wrong number is one token, which the parser reports as a whole. */
static tl_token lex_number(tl_lexer *lexer, tl_token t) {
  const char *start = lexer->at++;
  while (lexer->at < lexer->end) {
    bool exponent_sign = (*lexer->at == '+' || *lexer->at == '-') &&
                         (lexer->at[-1] == 'e' || lexer->at[-1] == 'E');
    if (!is(*lexer->at, DIGIT | LETTER) && *lexer->at != '.' && !exponent_sign)
      break;
    lexer->at++;
  }
  t.text = (tl_sv){start, (size_t)(lexer->at - start)};
  return t;
}

/* "nan(0x7fc00001)" is a number: a NaN with its bits. */
static tl_token lex_word(tl_lexer *lexer, tl_token t) {
  static const char marked_nan[] = "nan(0x";
  if ((size_t)(lexer->end - lexer->at) >= sizeof marked_nan - 1 &&
      memcmp(lexer->at, marked_nan, sizeof marked_nan - 1) == 0) {
    const char *start = lexer->at;
    lexer->at += sizeof marked_nan - 1;
    munch(lexer, HEX);
    if (lexer->at == lexer->end || *lexer->at != ')')
      return bad(t, "nan(0x...) needs lower-case hex digits and ')'");
    lexer->at++;
    t.kind = TL_TOKEN_NUMBER;
    t.text = (tl_sv){start, (size_t)(lexer->at - start)};
    return t;
  }
  t.text = munch(lexer, IN_WORD);
  return t;
}

/* Returns the length of an operator that only rules have, 0 for none. */
static size_t rule_punct(const tl_lexer *lexer) {
  size_t left = (size_t)(lexer->end - lexer->at);
  char c = *lexer->at, next = left >= 2 ? lexer->at[1] : '\0';
  if (left >= 3 && c == '.' && next == '.' && lexer->at[2] == '.')
    return 3;
  bool pair = next == '=' ? c == '=' || c == '!' || c == '<' || c == '>'
                          : (c == '&' || c == '|') && next == c;
  return pair ? 2 : is(c, RULE_MARK);
}

/* An arrow is one token in rules as well. */
static tl_token lex_punct(tl_lexer *lexer, tl_token t) {
  char c = *lexer->at, next = lexer->end - lexer->at >= 2 ? lexer->at[1] : '\0';
  size_t n = 0;
  if (lexer->rules && !(c == '-' && next == '>'))
    n = rule_punct(lexer);
  if (n)
    ;
  else if ((c == '-' && next == '>') || (c == ':' && next == ':'))
    n = 2;
  else if (is(c, MARK))
    n = 1;
  if (n == 0)
    return bad(t, "unexpected character");
  t.text = (tl_sv){lexer->at, n};
  lexer->at += n;
  return t;
}

/* The first character tells the kind of token. */
tl_token tl_lex_next(tl_lexer *lexer) {
  skip_blanks(lexer);
  if (lexer->at == lexer->end)
    return token_at(lexer, TL_TOKEN_END);
  char c = *lexer->at;
  bool more = lexer->end - lexer->at > 1;
  if (c == '"')
    return lex_quoted(lexer, token_at(lexer, TL_TOKEN_STRING));
  if (c == '%' || c == '@' || c == '$') {
    tl_token t = token_at(lexer, c == '%'   ? TL_TOKEN_VALUE
                                 : c == '@' ? TL_TOKEN_NODE
                                            : TL_TOKEN_LABEL);
    lexer->at++;
    if (c == '$' && lexer->rules && lexer->at < lexer->end && is_letter(*lexer->at)) {
      t.text = munch(lexer, LETTER | DIGIT);
      return t;
    }
    return c == '$' ? lex_number_after(lexer, t, c) : lex_name(lexer, t, c);
  }
  if (is_letter(c))
    return lex_word(lexer, token_at(lexer, TL_TOKEN_WORD));
  bool signs = (c == '-' || c == '+') && more && lexer->at[1] != '>' &&
               (!lexer->rules || is_digit(lexer->at[1])); /* in rules "-len(x)" is an expression */
  if (is_digit(c) || signs)
    return lex_number(lexer, token_at(lexer, TL_TOKEN_NUMBER));
  return lex_punct(lexer, token_at(lexer, TL_TOKEN_PUNCT));
}

/* HEX has lower-case letters only. */
static unsigned hex_value(char c) { return (unsigned)(is_digit(c) ? c - '0' : c - 'a' + 10); }

/* The lexer has checked the escapes. */
void tl_lex_unquote(tl_sv text, tl_buf *out) {
  if (text.n == 0 || !memchr(text.p, '\\', text.n)) {
    tl_buf_add_sv(out, text);
    return;
  }
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

/* No strlen: rules are read in every run, and the first byte answers most questions. */
bool tl_token_is(const tl_token *t, const char *text) {
  if (t->kind != TL_TOKEN_PUNCT && t->kind != TL_TOKEN_WORD)
    return false;
  size_t i = 0;
  while (i < t->text.n && text[i] && t->text.p[i] == text[i])
    i++;
  return i && i == t->text.n && !text[i];
}
