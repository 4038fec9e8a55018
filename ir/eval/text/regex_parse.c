/* SPDX-License-Identifier: Apache-2.0 */
/* Parses patterns into trees by recursive descent. */
#include "ir/eval/text/regex_tree.h"

enum { MAX_DEPTH = 200, MAX_REPEAT = 1000 };

/* What the parser is doing; p is the next character. */
typedef struct parser {
  tl_arena *a;
  const char *p;
  const char *end;
  const char *why;
  bool failed;
  int depth;
} parser;

/* Notes the first failure; all functions then return quickly, and the caller reports it. */
static void *refuse(parser *p, const char *why) {
  if (!p->failed)
    p->why = why;
  p->failed = true;
  return NULL;
}

/* Without memory there is a failure without a reason. */
static void *allocate(parser *p, size_t n, size_t size) {
  void *at = tl_arena_calloc(p->a, n, size);
  return at ? at : refuse(p, NULL);
}

static tl_regex_node *new_node(parser *p, tl_regex_kind kind) {
  tl_regex_node *n = allocate(p, 1, sizeof *n);
  if (n)
    n->kind = kind;
  return n;
}

/* Damaged UTF-8 is read byte by byte as U+FFFD: overlong forms, surrogates and numbers beyond
 * U+10FFFF too. */
uint32_t tl_regex_rune(const char **at, const char *end) {
  static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
  const unsigned char *s = (const unsigned char *)*at;
  int more = s[0] >= 0xf0 && s[0] < 0xf8 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc2 ? 1 : 0;
  (*at)++;
  if (s[0] < 0x80)
    return s[0];
  if (!more || s[0] >= 0xf8 || end - (const char *)s <= more)
    return 0xfffd;
  uint32_t v = s[0] & (0x3fu >> more);
  for (int i = 1; i <= more; i++) {
    if ((s[i] & 0xc0) != 0x80)
      return 0xfffd;
    v = v << 6 | (s[i] & 0x3fu);
  }
  if (v < least[more] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
    return 0xfffd;
  *at += more;
  return v;
}

/* Skips a text when it comes next. */
static bool accept(parser *p, const char *text) {
  size_t n = strlen(text);
  if ((size_t)(p->end - p->p) < n || memcmp(p->p, text, n) != 0)
    return false;
  p->p += n;
  return true;
}

/* ---- sets ----------------------------------------------------------------------------------- */

static void add_range(parser *p, tl_regex_node *set, uint32_t low, uint32_t high) {
  if ((set->n_ranges & (set->n_ranges - 1)) == 0) { /* the list is full at 0, 1, 2, 4 ... */
    tl_regex_range *wide = allocate(p, set->n_ranges ? 2 * (size_t)set->n_ranges : 1, sizeof *wide);
    if (!wide)
      return;
    if (set->n_ranges)
      memcpy(wide, set->ranges, set->n_ranges * sizeof *wide);
    set->ranges = wide;
  }
  set->ranges[set->n_ranges++] = (tl_regex_range){low, high};
}

/* Adds what lies between the ranges of a sorted list. */
static void add_complement(parser *p, tl_regex_node *set, const tl_regex_range *r, size_t n) {
  uint32_t from = 0;
  for (size_t i = 0; i < n; i++) {
    if (r[i].low > from)
      add_range(p, set, from, r[i].low - 1);
    from = r[i].high + 1;
  }
  add_range(p, set, from, 0x10ffff);
}

/* Adds \d \w \s or, for a capital letter, the opposite; false for any other letter. */
static bool add_perl_class(parser *p, tl_regex_node *set, char c) {
  static const tl_regex_range digits[] = {{'0', '9'}};
  static const tl_regex_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  static const tl_regex_range blanks[] = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
  const tl_regex_range *r = digits;
  size_t n = 1;
  switch (c) {
  case 'd':
  case 'D': break;
  case 'w':
  case 'W':
    r = words;
    n = 4;
    break;
  case 's':
  case 'S':
    r = blanks;
    n = 3;
    break;
  default: return false;
  }
  if (c < 'a') /* a capital letter */
    add_complement(p, set, r, n);
  else
    for (size_t i = 0; i < n; i++)
      add_range(p, set, r[i].low, r[i].high);
  return true;
}

/* Adds [:alpha:] and its like; the parser is behind "[:". */
static bool add_posix_class(parser *p, tl_regex_node *set) {
  static const struct {
    const char *name;
    uint8_t n;
    tl_regex_range r[4];
  } classes[] = {
      {"alnum:]", 3, {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha:]", 2, {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii:]", 1, {{0, 0x7f}}},
      {"blank:]", 2, {{'\t', '\t'}, {' ', ' '}}},
      {"cntrl:]", 2, {{0, 0x1f}, {0x7f, 0x7f}}},
      {"digit:]", 1, {{'0', '9'}}},
      {"graph:]", 1, {{'!', '~'}}},
      {"lower:]", 1, {{'a', 'z'}}},
      {"print:]", 1, {{' ', '~'}}},
      {"punct:]", 4, {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space:]", 2, {{'\t', '\r'}, {' ', ' '}}},
      {"upper:]", 1, {{'A', 'Z'}}},
      {"word:]", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit:]", 3, {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    if (!accept(p, classes[i].name))
      continue;
    for (size_t k = 0; k < classes[i].n; k++)
      add_range(p, set, classes[i].r[k].low, classes[i].r[k].high);
    return true;
  }
  return false;
}

static int hex_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Parses \xHH or \x{H...}; the parser is behind the x. */
static uint32_t parse_hex(parser *p) {
  uint32_t v = 0;
  bool braces = accept(p, "{");
  int digits = 0;
  while (p->p < p->end && hex_value(*p->p) >= 0 && digits < (braces ? 6 : 2)) {
    v = v * 16 + (uint32_t)hex_value(*p->p++);
    digits++;
  }
  if ((braces && !accept(p, "}")) || digits < (braces ? 1 : 2) || v > 0x10ffff)
    refuse(p, "a damaged \\x escape");
  return v;
}

/* Parses a single character; the parser is behind the backslash. */
static uint32_t parse_escape(parser *p) {
  if (p->p == p->end) {
    refuse(p, "a backslash at the end");
    return 0;
  }
  const char *names = "aftnrv", *values = "\a\f\t\n\r\v";
  char c = *p->p;
  const char *known = c ? strchr(names, c) : NULL;
  if (known) {
    p->p++;
    return (uint32_t)values[known - names];
  }
  if (c == 'x') {
    p->p++;
    return parse_hex(p);
  }
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
    refuse(p, "an unknown escape");
  return tl_regex_rune(&p->p, p->end);
}

/* A character of a class, which may be escaped. */
static uint32_t class_character(parser *p) {
  return accept(p, "\\") ? parse_escape(p) : tl_regex_rune(&p->p, p->end);
}

/* Parses one member of a class: a character, a range, or a class inside. */
static void parse_class_item(parser *p, tl_regex_node *set) {
  if (accept(p, "[:")) {
    if (!add_posix_class(p, set))
      refuse(p, "an unknown class");
    return;
  }
  if (p->end - p->p >= 2 && p->p[0] == '\\' && add_perl_class(p, set, p->p[1])) {
    p->p += 2;
    return;
  }
  uint32_t low = class_character(p), high = low;
  if (p->end - p->p >= 2 && p->p[0] == '-' && p->p[1] != ']') {
    p->p++;
    high = class_character(p);
  }
  if (high < low)
    refuse(p, "a range that ends before it begins");
  add_range(p, set, low, high);
}

/* Parses a class; the parser is behind "[". A ] that comes first is a member. */
static tl_regex_node *parse_class(parser *p) {
  tl_regex_node *set = new_node(p, TL_REGEX_SET);
  if (p->failed)
    return NULL;
  set->negated = accept(p, "^");
  bool first = true;
  while (!p->failed && p->p < p->end && (first || *p->p != ']')) {
    parse_class_item(p, set);
    first = false;
  }
  if (!accept(p, "]"))
    return refuse(p, "a class without ]");
  return set;
}

/* ---- tree ----------------------------------------------------------------------------------- */

static tl_regex_node *parse_choice(parser *p);

/* Makes a set of one range. */
static tl_regex_node *single(parser *p, uint32_t low, uint32_t high, bool negated) {
  tl_regex_node *set = new_node(p, TL_REGEX_SET);
  if (p->failed)
    return NULL;
  set->negated = negated;
  add_range(p, set, low, high);
  return set;
}

static tl_regex_node *assertion(parser *p, char which) {
  tl_regex_node *n = new_node(p, TL_REGEX_ASSERT);
  if (n)
    n->assertion = which;
  return n;
}

/* Parses a group; the parser is behind "(". Names are skipped: no group is captured. */
static tl_regex_node *parse_group(parser *p) {
  if (accept(p, "?P<") ||
      (p->end - p->p > 2 && p->p[2] != '=' && p->p[2] != '!' && accept(p, "?<"))) {
    while (p->p < p->end && *p->p != '>')
      p->p++;
    if (!accept(p, ">"))
      return refuse(p, "a damaged group name");
  } else if (!accept(p, "?:") && p->p < p->end && *p->p == '?')
    return refuse(p, "flags or assertions in (?...)");
  if (++p->depth > MAX_DEPTH)
    return refuse(p, "groups nested too deep");
  tl_regex_node *n = parse_choice(p);
  p->depth--;
  if (!p->failed && !accept(p, ")"))
    return refuse(p, "a group without )");
  return n;
}

/* A class or a character outside of brackets, or an assertion. */
static tl_regex_node *parse_backslash(parser *p) {
  char c = p->p < p->end ? *p->p : 0;
  if (c == 'b' || c == 'B' || c == 'A' || c == 'z') {
    p->p++;
    return assertion(p, c == 'A' ? '^' : c == 'z' ? '$' : c);
  }
  tl_regex_node *set = new_node(p, TL_REGEX_SET);
  if (p->failed)
    return NULL;
  if (add_perl_class(p, set, c)) {
    p->p++;
    return set;
  }
  uint32_t rune = parse_escape(p);
  add_range(p, set, rune, rune);
  return set;
}

/* The caller has seen that there is another character. */
static tl_regex_node *parse_atom(parser *p) {
  if (accept(p, "("))
    return parse_group(p);
  if (accept(p, "["))
    return parse_class(p);
  if (accept(p, "\\"))
    return parse_backslash(p);
  if (accept(p, "."))
    return single(p, '\n', '\n', true);
  if (accept(p, "^"))
    return assertion(p, '^');
  if (accept(p, "$"))
    return assertion(p, '$');
  if (*p->p == '*' || *p->p == '+' || *p->p == '?')
    return refuse(p, "a repetition of nothing");
  uint32_t rune = tl_regex_rune(&p->p, p->end);
  return single(p, rune, rune, false);
}

/* Stops behind a number that is too large, which the caller refuses. */
static bool parse_count(parser *p, int *out) {
  const char *start = p->p;
  *out = 0;
  while (p->p < p->end && *p->p >= '0' && *p->p <= '9' && *out <= MAX_REPEAT)
    *out = *out * 10 + (*p->p++ - '0');
  return p->p > start;
}

/* Parses {n} {n,} {n,m}. Anything else in braces is literal text, and nothing is consumed. */
static bool parse_braces(parser *p, int *least, int *most) {
  const char *start = p->p;
  *least = 0;
  bool ok = accept(p, "{") && parse_count(p, least);
  *most = *least;
  if (ok && accept(p, ","))
    if (!parse_count(p, most))
      *most = TL_REGEX_INFINITE;
  if (ok && accept(p, "}"))
    return true;
  p->p = start;
  return false;
}

static bool parse_repetition(parser *p, int *least, int *most) {
  if (!accept(p, "*") && !accept(p, "+") && !accept(p, "?"))
    return parse_braces(p, least, most);
  char c = p->p[-1];
  *least = c == '+';
  *most = c == '?' ? 1 : TL_REGEX_INFINITE;
  return true;
}

/* An atom with at most one repetition. */
static tl_regex_node *parse_piece(parser *p) {
  tl_regex_node *n = parse_atom(p);
  int least, most;
  for (int depth = 0; !p->failed && parse_repetition(p, &least, &most); depth++) {
    (void)accept(p, "?"); /* lazy or not, the same strings match */
    if (depth > 0)
      return refuse(p, "a repetition of a repetition");
    if (least > MAX_REPEAT || most > MAX_REPEAT || (most != TL_REGEX_INFINITE && most < least))
      return refuse(p, "a repetition count");
    tl_regex_node *repeat = new_node(p, TL_REGEX_REPEAT);
    if (!repeat)
      return NULL;
    repeat->child = n;
    repeat->least = least;
    repeat->most = most;
    n = repeat;
  }
  return n;
}

/* A sequence ends before | or ), or with the pattern. */
static tl_regex_node *parse_sequence(parser *p) {
  tl_regex_node *sequence = new_node(p, TL_REGEX_SEQUENCE);
  tl_regex_node **tail = sequence ? &sequence->child : NULL;
  while (!p->failed && p->p < p->end && *p->p != '|' && *p->p != ')') {
    *tail = parse_piece(p);
    if (*tail)
      tail = &(*tail)->next;
  }
  return sequence;
}

/* At least one sequence, which may be empty. */
static tl_regex_node *parse_choice(parser *p) {
  tl_regex_node *choice = new_node(p, TL_REGEX_CHOICE);
  tl_regex_node **tail = choice ? &choice->child : NULL;
  do {
    if (p->failed)
      return NULL;
    *tail = parse_sequence(p);
    if (*tail)
      tail = &(*tail)->next;
  } while (!p->failed && accept(p, "|"));
  return choice;
}

tl_regex_node *tl_regex_parse(tl_arena *a, tl_sv pattern, const char **why) {
  const char *start = pattern.n ? pattern.p : "";
  parser p = {.a = a, .p = start, .end = start + pattern.n};
  tl_regex_node *tree = parse_choice(&p);
  if (!p.failed && p.p < p.end)
    refuse(&p, "a ) without (");
  *why = p.why;
  return p.failed ? NULL : tree;
}
