/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of expressions by recursive descent. Precedence, loosest first: ||, &&, comparisons and
 * "in", + and -, * and /, ! and unary -, indexing. Depth and number of parts are bounded, so that
 * evaluating a tree by recursion is safe. */
#include "passes/expr/expr.h"

enum { MAX_DEPTH = 64, MAX_LIST = 64 }; /* nesting of an expression; elements of a list */

/* ---- errors and tokens ----------------------------------------------------------------------- */

static tl_status fail(tl_expr_parser *p, tl_token at, const char *fmt, ...) TL_PRINTF(3, 4);
static tl_status fail(tl_expr_parser *p, tl_token at, const char *fmt, ...) {
  va_list ap;
  tl_buf text;
  tl_buf_init(&text);
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  tl_status status = p->fail(p, at, text.failed ? TL_SV("out of memory") : tl_buf_view(&text));
  tl_buf_release(&text);
  return status;
}

/* Reports that the token at hand is not what must stand here. A token that the lexer refused has
 * its own message. */
static tl_status expected(tl_expr_parser *p, const char *what) {
  if (p->at.kind == TL_TOKEN_BAD)
    return fail(p, p->at, "%s", p->at.problem);
  if (p->at.kind == TL_TOKEN_END)
    return fail(p, p->at, "expected %s, but the text ends", what);
  return fail(p, p->at, "expected %s, found '%.*s'", what, TL_SV_ARG(tl_sv_shown(p->at.text)));
}

static tl_status no_memory(const tl_expr_parser *p) { return tl_no_memory(p->m); }

static void advance(tl_expr_parser *p) { p->at = tl_lex_next(&p->lexer); }

static bool is_at(const tl_expr_parser *p, const char *s) { return tl_token_is(&p->at, s); }

static bool accept(tl_expr_parser *p, const char *s) {
  bool found = is_at(p, s);
  if (found)
    advance(p);
  return found;
}

static tl_status expect(tl_expr_parser *p, const char *s) {
  char what[8] = {'\'', s[0], '\''};
  return accept(p, s) ? TL_OK : expected(p, what);
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* Returns where the token at hand starts in the text: quotes and the signs % and $ are not part of
 * its view. */
static const char *start_of(const tl_expr_parser *p) {
  const char *at = p->at.text.p ? p->at.text.p : p->lexer.at;
  if (p->at.quoted)
    at--;
  return p->at.kind == TL_TOKEN_VALUE || p->at.kind == TL_TOKEN_LABEL ? at - 1 : at;
}

/* Makes a tree of n copied arguments. Its text runs from `start` to the token at hand, the first
 * behind the expression. */
static tl_status new_expr(tl_expr_parser *p, tl_expr_kind kind, const char *start, tl_expr **args,
                          uint32_t n, tl_expr **out) {
  if (++p->parts > TL_EXPR_PARTS)
    return fail(p, p->at, "the expressions of a rule have more than %d parts", TL_EXPR_PARTS);
  tl_expr *e = tl_arena_calloc(p->arena, 1, sizeof *e);
  tl_expr **copy = n ? tl_arena_calloc(p->arena, n, sizeof *copy) : NULL;
  if (!e || (n && !copy))
    return no_memory(p);
  for (uint32_t i = 0; i < n; i++)
    copy[i] = args[i];
  e->kind = (uint8_t)kind;
  e->n = (uint16_t)n;
  e->args = copy;
  const char *end = start_of(p);
  e->text = tl_sv_trim((tl_sv){start, end > start ? (size_t)(end - start) : 0});
  *out = e;
  return TL_OK;
}

static tl_status new_index(tl_expr_parser *p, tl_expr_kind kind, const char *start, int64_t index,
                           tl_expr **out) {
  TL_TRY(new_expr(p, kind, start, NULL, 0, out));
  (*out)->u.i = index;
  return TL_OK;
}

static tl_status new_symbol(tl_expr_parser *p, tl_expr_kind kind, const char *start, tl_sv text,
                            tl_expr **out) {
  TL_TRY(new_expr(p, kind, start, NULL, 0, out));
  (*out)->u.s = tl_module_intern(p->m, text);
  return (*out)->u.s == TL_NO_SYMBOL ? no_memory(p) : TL_OK;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* Reads an integer if the text is one and fits 64 bits, else a float. */
static tl_status number(tl_expr_parser *p, const char *start, tl_expr **out) {
  int64_t i = 0;
  double f = 0;
  tl_sv text = p->at.text;
  if (text.n && text.p[0] == '+')
    text = (tl_sv){text.p + 1, text.n - 1};
  bool integer = tl_parse_i64(text, &i);
  if (!integer && !tl_parse_f64(text, &f))
    return expected(p, "a number");
  advance(p);
  TL_TRY(new_index(p, integer ? TL_EXPR_INT : TL_EXPR_FLOAT, start, i, out));
  if (!integer)
    (*out)->u.f = f;
  return TL_OK;
}

static tl_status string(tl_expr_parser *p, const char *start, tl_expr **out) {
  tl_token t = p->at;
  tl_sv text = t.text;
  if (t.quoted && memchr(text.p, '\\', text.n)) {
    tl_buf_clear(p->text);
    tl_lex_unquote(text, p->text);
    if (p->text->failed)
      return no_memory(p);
    text = tl_buf_view(p->text);
  }
  advance(p);
  return new_symbol(p, TL_EXPR_STRING, start, text, out);
}

/* Reads %x or $x, which only rules have. */
static tl_status bound(tl_expr_parser *p, tl_expr_kind kind, const char *start, tl_expr **out) {
  uint8_t index;
  if (!p->bound)
    return fail(p, p->at,
                "only rules bind names: an attribute is written as it is called, an "
                "operand in0");
  TL_TRY(p->bound(p, &index));
  return new_index(p, kind, start, index, out);
}

static tl_status list_of(tl_expr_parser *p, tl_expr **items, uint32_t *n) {
  *n = 0;
  while (!is_at(p, "]")) {
    if (*n == MAX_LIST)
      return fail(p, p->at, "more than %d elements", MAX_LIST);
    TL_TRY(tl_expr_parse(p, &items[*n]));
    ++*n;
    if (!accept(p, ","))
      break;
  }
  return expect(p, "]");
}

/* Reads a list. If all elements are dtypes, a bit mask of them makes "in" one test. */
static tl_status list(tl_expr_parser *p, const char *start, tl_expr **out) {
  tl_expr *items[MAX_LIST];
  uint32_t n;
  uint64_t mask = 0;
  bool dtypes = true;
  advance(p);
  TL_TRY(list_of(p, items, &n));
  for (uint32_t i = 0; i < n; i++) {
    dtypes = dtypes && items[i]->kind == TL_EXPR_DTYPE;
    mask |= dtypes ? UINT64_C(1) << items[i]->u.i : 0;
  }
  TL_TRY(new_expr(p, TL_EXPR_LIST, start, items, n, out));
  (*out)->u.mask = dtypes ? mask : 0;
  return TL_OK;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Finds a function by bisection, since rows are in the order of names. TL_N_FUNCTIONS if there is
 * none, or none that may be used in this place. */
static unsigned find_function(const tl_expr_parser *p, tl_sv name) {
  unsigned low = 0, high = TL_N_FUNCTIONS;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    const char *z = tl_functions[middle].name;
    int order = strncmp(name.p, z, name.n);
    order = order == 0 && z[name.n] ? -1 : order;
    if (order == 0)
      return tl_functions[middle].places & p->place ? middle : TL_N_FUNCTIONS;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return TL_N_FUNCTIONS;
}

/* Reads an argument. Only here may %x stand, a value of the graph, which functions alone can
 * ask. */
static tl_status argument(tl_expr_parser *p, tl_expr **out) {
  if (p->at.kind == TL_TOKEN_VALUE)
    return bound(p, TL_EXPR_VALUE, start_of(p), out);
  return tl_expr_parse(p, out);
}

/* Reads arguments behind "(" and checks their number against the row of the function. */
static tl_status call(tl_expr_parser *p, tl_token name, const char *start, tl_expr **out) {
  tl_expr *args[TL_FUNCTION_ARGS];
  uint32_t n = 0;
  unsigned which = find_function(p, name.text);
  if (which == TL_N_FUNCTIONS)
    return fail(p, name, "unknown function '%.*s'", TL_SV_ARG(name.text));
  while (!is_at(p, ")")) {
    if (n == TL_FUNCTION_ARGS)
      return fail(p, p->at, "too many arguments");
    TL_TRY(argument(p, &args[n]));
    n++;
    if (!accept(p, ","))
      break;
  }
  TL_TRY(expect(p, ")"));
  const tl_function_row *row = &tl_functions[which];
  if (n < row->least || n > row->most)
    return fail(p, name, "the function is %s, it has no form with %u argument%s", row->signature, n,
                n == 1 ? "" : "s");
  TL_TRY(new_expr(p, TL_EXPR_CALL, start, args, n, out));
  (*out)->function = (uint8_t)which;
  return TL_OK;
}

/* in*, in0, in0?, out1; *found is false when the word is something else. */
static tl_status port(tl_expr_parser *p, tl_sv word, const char *start, tl_expr **out,
                      bool *found) {
  bool in = tl_sv_starts_with(word, "in");
  size_t prefix = in ? 2 : tl_sv_starts_with(word, "out") ? 3 : word.n;
  int64_t index;
  *found = true;
  if (in && word.n == 2 && accept(p, "*"))
    return new_expr(p, TL_EXPR_OPERANDS, start, NULL, 0, out);
  *found = prefix < word.n && word.p[prefix] >= '0' && word.p[prefix] <= '9' &&
           tl_parse_i64((tl_sv){word.p + prefix, word.n - prefix}, &index);
  if (!*found)
    return TL_OK;
  bool optional = in && accept(p, "?");
  TL_TRY(new_index(p, in ? TL_EXPR_OPERAND : TL_EXPR_RESULT, start, index, out));
  (*out)->optional = optional;
  return TL_OK;
}

/* Takes a word of the op table that is nothing else as the name of an attribute. Words may contain
 * "-", so that a-b would be such a name by mistake. */
static tl_status attribute(tl_expr_parser *p, tl_token t, const char *start, tl_expr **out) {
  if (memchr(t.text.p, '-', t.text.n))
    return fail(p, t, "'%.*s' is one word: blanks stand on both sides of a minus",
                TL_SV_ARG(t.text));
  return new_symbol(p, TL_EXPR_ATTR, start, t.text, out);
}

/* Reads a word: true, false, a dtype or a function; in the op table also a port or an attribute. */
static tl_status word(tl_expr_parser *p, const char *start, tl_expr **out) {
  tl_token t = p->at;
  advance(p);
  if (accept(p, "("))
    return call(p, t, start, out);
  bool is_port = false;
  if (p->place != TL_IN_RULES)
    TL_TRY(port(p, t.text, start, out, &is_port));
  if (is_port)
    return TL_OK;
  bool truth = tl_sv_is(t.text, "true");
  if (truth || tl_sv_is(t.text, "false"))
    return new_index(p, TL_EXPR_BOOL, start, truth, out);
  tl_dtype d = tl_dtype_from_name(t.text);
  if (d != TL_DTYPE_NONE)
    return new_index(p, TL_EXPR_DTYPE, start, d, out);
  unsigned which = find_function(p, t.text);
  if (which < TL_N_FUNCTIONS && tl_functions[which].least == 0) {
    TL_TRY(new_expr(p, TL_EXPR_CALL, start, NULL, 0, out));
    (*out)->function = (uint8_t)which;
    return TL_OK;
  }
  if (p->place != TL_IN_RULES)
    return attribute(p, t, start, out);
  return fail(p, t, "'%.*s' is neither a dtype nor a function", TL_SV_ARG(t.text));
}

/* ---- operators ------------------------------------------------------------------------------- */

static tl_status primary(tl_expr_parser *p, tl_expr **out) {
  const char *start = start_of(p);
  switch ((tl_token_kind)p->at.kind) {
  case TL_TOKEN_NUMBER: return number(p, start, out);
  case TL_TOKEN_WORD: return word(p, start, out);
  case TL_TOKEN_STRING: return string(p, start, out);
  case TL_TOKEN_LABEL: return bound(p, TL_EXPR_NAME, start, out);
  default: break;
  }
  if (is_at(p, "["))
    return list(p, start, out);
  if (!accept(p, "("))
    return expected(p, "an expression");
  TL_TRY(tl_expr_parse(p, out));
  return expect(p, ")");
}

static tl_status postfix(tl_expr_parser *p, tl_expr **out) {
  const char *start = start_of(p);
  TL_TRY(primary(p, out));
  while (accept(p, "[")) {
    tl_expr *args[2] = {*out};
    TL_TRY(tl_expr_parse(p, &args[1]));
    TL_TRY(expect(p, "]"));
    TL_TRY(new_expr(p, TL_EXPR_INDEX, start, args, 2, out));
  }
  return TL_OK;
}

static tl_status unary(tl_expr_parser *p, tl_expr **out) {
  const char *start = start_of(p);
  tl_expr_kind kind = is_at(p, "!") ? TL_EXPR_NOT : TL_EXPR_MINUS;
  if (!accept(p, "!") && !accept(p, "-"))
    return postfix(p, out);
  if (++p->depth > MAX_DEPTH)
    return fail(p, p->at, "the expression is nested more than %d deep", MAX_DEPTH);
  tl_expr *arg;
  TL_TRY(unary(p, &arg));
  p->depth--;
  return new_expr(p, kind, start, &arg, 1, out);
}

typedef struct binary_operator {
  const char *text;
  uint8_t kind;
  uint8_t level; /* binds tighter when larger */
} binary_operator;

static const binary_operator operators[] = {
    {"||", TL_EXPR_OR, 0}, {"&&", TL_EXPR_AND, 1}, {"==", TL_EXPR_EQ, 2}, {"!=", TL_EXPR_NE, 2},
    {"<=", TL_EXPR_LE, 2}, {">=", TL_EXPR_GE, 2},  {"<", TL_EXPR_LT, 2},  {">", TL_EXPR_GT, 2},
    {"in", TL_EXPR_IN, 2}, {"+", TL_EXPR_ADD, 3},  {"-", TL_EXPR_SUB, 3}, {"*", TL_EXPR_MUL, 4},
    {"/", TL_EXPR_DIV, 4},
};

enum { COMPARISON = 2 };

/* Returns the operator at hand, or NULL. What follows most expressions is a bracket or a comma,
 * which is told first. */
static const binary_operator *operator_at(const tl_expr_parser *p) {
  bool ends = p->at.kind == TL_TOKEN_END ||
              (p->at.kind == TL_TOKEN_PUNCT && strchr("(){}[],", p->at.text.p[0]));
  if (ends)
    return NULL;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (is_at(p, operators[i].text))
      return &operators[i];
  return NULL;
}

/* Splits "-1" into "-" and 1 behind an operand: in "$a -1" the lexer reads a signed number where an
 * operator belongs. */
static void split_sign(tl_expr_parser *p) {
  if (p->at.kind != TL_TOKEN_NUMBER || (p->at.text.p[0] != '-' && p->at.text.p[0] != '+'))
    return;
  p->lexer.at = p->at.text.p + 1;
  p->at.kind = TL_TOKEN_PUNCT;
  p->at.text.n = 1;
}

/* Returns true for a call of dtype(). */
static bool is_dtype(const tl_expr *e) {
  return e->kind == TL_EXPR_CALL && e->function == TL_FN_dtype;
}

/* Returns true for an expression that is never a dtype. */
static bool is_other(const tl_expr *e) {
  return e->kind == TL_EXPR_INT || e->kind == TL_EXPR_FLOAT || e->kind == TL_EXPR_STRING ||
         e->kind == TL_EXPR_BOOL || e->kind == TL_EXPR_ATTR ||
         (e->kind == TL_EXPR_CALL &&
          (e->function == TL_FN_rank || e->function == TL_FN_dim || e->function == TL_FN_numel));
}

/* Refuses a comparison of a dtype with a number or a name: it would never hold, and a rule would
 * silently never match. */
static tl_status check_comparison(tl_expr_parser *p, tl_token at, tl_expr *const *args) {
  bool wrong = (is_dtype(args[0]) && is_other(args[1])) || (is_dtype(args[1]) && is_other(args[0]));
  for (uint16_t i = 0; is_dtype(args[0]) && args[1]->kind == TL_EXPR_LIST && i < args[1]->n; i++)
    wrong = wrong || is_other(args[1]->args[i]);
  return wrong ? fail(p, at, "a dtype is compared with dtypes, such as f32") : TL_OK;
}

/* Reads operands joined by operators of this level and of tighter ones (precedence climbing);
 * operators of one level group from the left. */
static tl_status binary(tl_expr_parser *p, unsigned level, tl_expr **out) {
  const char *start = start_of(p);
  TL_TRY(unary(p, out));
  for (;;) {
    split_sign(p);
    const binary_operator *o = operator_at(p);
    if (!o || o->level < level)
      return TL_OK;
    tl_token at = p->at;
    advance(p);
    tl_expr *args[2] = {*out};
    TL_TRY(binary(p, o->level + 1u, &args[1]));
    if (o->level == COMPARISON)
      TL_TRY(check_comparison(p, at, args));
    TL_TRY(new_expr(p, (tl_expr_kind)o->kind, start, args, 2, out));
  }
}

tl_status tl_expr_parse(tl_expr_parser *p, tl_expr **out) {
  if (++p->depth > MAX_DEPTH)
    return fail(p, p->at, "the expression is nested more than %d deep", MAX_DEPTH);
  TL_TRY(binary(p, 0, out));
  p->depth--;
  return TL_OK;
}
