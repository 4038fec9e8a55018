/* SPDX-License-Identifier: Apache-2.0 */
/* Rule parser: tokens, names, expressions. Precedence, loosest first: ||, &&, comparisons and in,
 * + -, * /, ! and unary -, indexing. */
#include "passes/engine/parse.h"

#include "passes/engine/match.h"

enum { MAX_EXPR_DEPTH = 64, MAX_EXPRS = 1024, MAX_LIST = 64 };

/* ---- errors --------------------------------------------------------------------------------- */

tl_status tl_rule_fail(tl_rule_parser *p, tl_token at, const char *fmt, ...) {
  va_list ap;
  tl_buf text;
  tl_buf_init(&text);
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  tl_location where = {.file = p->path, .line = at.line, .column = at.column};
  tl_sv shown = text.failed ? TL_SV("out of memory") : tl_buf_view(&text);
  tl_status status =
      tl_fail(p->set->m->diag, TL_INVALID_ARGUMENT, where, "%.*s", TL_SV_ARG(shown));
  tl_buf_release(&text);
  return status;
}

tl_status tl_rule_expected(tl_rule_parser *p, const char *what) {
  if (p->at.kind == TL_TOKEN_BAD)
    return tl_rule_fail(p, p->at, "%s", p->at.problem);
  if (p->at.kind == TL_TOKEN_END)
    return tl_rule_fail(p, p->at, "expected %s, but the text ends", what);
  return tl_rule_fail(p, p->at, "expected %s, found '%.*s'", what,
                      TL_SV_ARG(tl_sv_shown(p->at.text)));
}

tl_status tl_rule_memory(tl_rule_parser *p) {
  return tl_fail_memory(p->set->m->diag, TL_AT_FILE(p->path));
}

/* ---- the parts of a rule, while it is parsed and after --------------------------------------- */

void tl_rule_enter_room(tl_rule_parser *p, tl_rule *r) {
  tl_rule_room *room = p->room;
  memset(room, 0, sizeof *room);
  p->rule = r;
  r->values = room->values;
  r->names = room->names;
  r->let_index = room->let_index;
  r->lets = room->lets;
  r->steps = room->steps;
}

static void *moved(tl_rule_parser *p, const void *from, size_t n, size_t size, bool *lost) {
  void *to = tl_arena_calloc(&p->set->arena, n, size);
  if (to && n)
    memcpy(to, from, n * size);
  *lost = *lost || !to;
  return to;
}

tl_status tl_rule_leave_room(tl_rule_parser *p, tl_rule *r) {
  bool lost = false;
  r->values = moved(p, r->values, r->n_values, sizeof *r->values, &lost);
  r->names = moved(p, r->names, r->n_names, sizeof *r->names, &lost);
  r->let_index = moved(p, r->let_index, r->n_lets, sizeof *r->let_index, &lost);
  r->lets = moved(p, r->lets, r->n_lets, sizeof *r->lets, &lost);
  r->steps = moved(p, r->steps, r->n_steps, sizeof *r->steps, &lost);
  return lost ? tl_rule_memory(p) : TL_OK;
}

/* ---- tokens --------------------------------------------------------------------------------- */

void tl_rule_advance(tl_rule_parser *p) { p->at = tl_lex_next(&p->lexer); }

bool tl_rule_at(const tl_rule_parser *p, const char *s) {
  if (p->at.kind != TL_TOKEN_PUNCT && p->at.kind != TL_TOKEN_WORD)
    return false;
  /* rules are read in every run, and most questions are answered by the first byte */
  tl_sv text = p->at.text;
  size_t i = 0;
  while (i < text.n && s[i] && text.p[i] == s[i])
    i++;
  return i && i == text.n && !s[i];
}

bool tl_rule_accept(tl_rule_parser *p, const char *s) {
  if (!tl_rule_at(p, s))
    return false;
  tl_rule_advance(p);
  return true;
}

tl_status tl_rule_expect(tl_rule_parser *p, const char *s) {
  char what[32];
  if (tl_rule_accept(p, s))
    return TL_OK;
  size_t n = strlen(s) < sizeof what - 3 ? strlen(s) : sizeof what - 3;
  what[0] = '\'';
  memcpy(what + 1, s, n);
  what[n + 1] = '\'';
  what[n + 2] = '\0';
  return tl_rule_expected(p, what);
}

tl_status tl_rule_skip(tl_rule_parser *p) {
  uint32_t open = 0;
  do {
    if (p->at.kind == TL_TOKEN_BAD || p->at.kind == TL_TOKEN_END)
      return tl_rule_expected(p, "'}'");
    if (tl_rule_at(p, "{"))
      open++;
    else if (tl_rule_at(p, "}") && --open == 0)
      break;
    tl_rule_advance(p);
  } while (true);
  tl_rule_advance(p);
  return TL_OK;
}

/* What a token says; valid until the next one in quotes. */
static tl_status text_of(tl_rule_parser *p, tl_token t, tl_sv *out) {
  *out = t.text;
  if (!t.quoted || !memchr(t.text.p, '\\', t.text.n))
    return TL_OK;
  tl_buf_clear(&p->text);
  tl_lex_unquote(t.text, &p->text);
  if (p->text.failed)
    return tl_rule_memory(p);
  *out = tl_buf_view(&p->text);
  return TL_OK;
}

tl_status tl_rule_symbol(tl_rule_parser *p, tl_token t, tl_symbol *out) {
  tl_sv text;
  TL_TRY(text_of(p, t, &text));
  *out = tl_module_intern(p->set->m, text);
  return *out == TL_NO_SYMBOL ? tl_rule_memory(p) : TL_OK;
}

tl_status tl_rule_op(tl_rule_parser *p, tl_op_id *out) {
  tl_symbol first, second = 0;
  tl_token t = p->at;
  if (t.kind != TL_TOKEN_WORD && t.kind != TL_TOKEN_STRING)
    return tl_rule_expected(p, "an op");
  TL_TRY(tl_rule_symbol(p, t, &first));
  tl_rule_advance(p);
  bool qualified = tl_rule_accept(p, "::");
  if (qualified) {
    if (p->at.kind != TL_TOKEN_WORD && p->at.kind != TL_TOKEN_STRING)
      return tl_rule_expected(p, "an op behind '::'");
    TL_TRY(tl_rule_symbol(p, p->at, &second));
    tl_rule_advance(p);
  }
  if (!qualified && tl_op_find(0, first) == UINT32_MAX)
    return tl_rule_fail(p, t, "unknown op '%.*s'", TL_SV_ARG(t.text));
  *out = tl_op_intern(p->set->m, qualified ? first : 0, qualified ? second : first);
  return *out == UINT32_MAX ? tl_rule_memory(p) : TL_OK;
}

/* %name or $name is not there; with alternatives, it may be in another spelling. */
static tl_status unbound(tl_rule_parser *p, char sign) {
  tl_sv name = p->at.text;
  if (p->n_eithers)
    return tl_rule_fail(p, p->at, "%c%.*s is not bound by the pattern in spelling %u", sign,
                        TL_SV_ARG(name), p->spelling);
  return tl_rule_fail(p, p->at, "%c%.*s is not bound by the pattern", sign, TL_SV_ARG(name));
}

tl_status tl_rule_value_index(tl_rule_parser *p, bool create, uint8_t *out) {
  tl_sv name;
  tl_rule *r = p->rule;
  if (p->at.kind != TL_TOKEN_VALUE)
    return tl_rule_expected(p, "a value");
  TL_TRY(text_of(p, p->at, &name));
  for (uint8_t i = 0; i < r->n_values; i++)
    if (tl_sv_eq(r->values[i].name, name)) {
      *out = i;
      tl_rule_advance(p);
      return TL_OK;
    }
  if (!create)
    return unbound(p, '%');
  if (r->n_values == TL_RULE_VALUES)
    return tl_rule_fail(p, p->at, "a rule has at most %d values", TL_RULE_VALUES);
  if (p->at.quoted) {
    name.p = tl_arena_copy(&p->set->arena, name.p, name.n);
    if (!name.p)
      return tl_rule_memory(p);
  }
  *out = r->n_values;
  r->values[r->n_values++] = (tl_rule_value){
      .name = name, .node = TL_RULE_NODES, .built = TL_RULE_NODES};
  tl_rule_advance(p);
  return TL_OK;
}

tl_status tl_rule_name_index(tl_rule_parser *p, bool create, uint8_t *out) {
  tl_rule *r = p->rule;
  if (p->at.kind != TL_TOKEN_LABEL)
    return tl_rule_expected(p, "a name such as $axis");
  tl_sv name = p->at.text; /* never in quotes */
  for (uint8_t i = 0; i < r->n_names; i++)
    if (tl_sv_eq(r->names[i], name)) {
      *out = i;
      tl_rule_advance(p);
      return TL_OK;
    }
  if (!create)
    return unbound(p, '$');
  if (r->n_names == TL_RULE_NAMES)
    return tl_rule_fail(p, p->at, "a rule has at most %d names", TL_RULE_NAMES);
  *out = r->n_names;
  r->names[r->n_names++] = name;
  tl_rule_advance(p);
  return TL_OK;
}

tl_status tl_rule_number(tl_rule_parser *p, double *out) {
  bool negative = false;
  if (tl_rule_at(p, "-")) {
    negative = true;
    tl_rule_advance(p);
  }
  if (p->at.kind == TL_TOKEN_WORD && (tl_sv_is(p->at.text, "inf") || tl_sv_is(p->at.text, "nan")))
    p->at.kind = TL_TOKEN_NUMBER;
  if (p->at.kind != TL_TOKEN_NUMBER || !tl_parse_f64(p->at.text, out))
    return tl_rule_expected(p, "a number");
  if (negative)
    *out = -*out;
  tl_rule_advance(p);
  return TL_OK;
}

/* ---- expressions ---------------------------------------------------------------------------- */

static tl_status new_expr(tl_rule_parser *p, tl_expr_kind kind, const char *start, tl_expr **args,
                          uint32_t n, tl_expr **out) {
  if (++p->exprs > MAX_EXPRS)
    return tl_rule_fail(p, p->at, "the expressions of a rule have more than %d parts", MAX_EXPRS);
  tl_expr *e = tl_arena_calloc(&p->set->arena, 1, sizeof *e);
  tl_expr **copy = n ? tl_arena_calloc(&p->set->arena, n, sizeof *copy) : NULL;
  if (!e || (n && !copy))
    return tl_rule_memory(p);
  for (uint32_t i = 0; i < n; i++)
    copy[i] = args[i];
  e->kind = (uint8_t)kind;
  e->n = (uint16_t)n;
  e->args = copy;
  /* the last token read is the one that follows the expression */
  const char *end = p->at.text.p ? p->at.text.p - (p->at.quoted ? 1 : 0) : p->lexer.at;
  if (p->at.kind == TL_TOKEN_VALUE || p->at.kind == TL_TOKEN_LABEL)
    end--;
  e->text = tl_sv_trim((tl_sv){start, end > start ? (size_t)(end - start) : 0});
  *out = e;
  return TL_OK;
}

static const char *start_of(const tl_rule_parser *p) {
  const char *at = p->at.text.p ? p->at.text.p : p->lexer.at;
  if (p->at.quoted)
    at--;
  return p->at.kind == TL_TOKEN_VALUE || p->at.kind == TL_TOKEN_LABEL ? at - 1 : at;
}

static tl_status list_of(tl_rule_parser *p, const char *close, tl_expr **items, uint32_t most,
                         uint32_t *n) {
  *n = 0;
  while (!tl_rule_at(p, close)) {
    if (*n == most)
      return tl_rule_fail(p, p->at, "more than %u elements", most);
    TL_TRY(tl_rule_expr(p, &items[*n]));
    ++*n;
    if (!tl_rule_accept(p, ","))
      break;
  }
  return tl_rule_expect(p, close);
}

static tl_status number(tl_rule_parser *p, const char *start, tl_expr **out) {
  tl_token t = p->at;
  int64_t i;
  double f = 0;
  tl_sv text = t.text;
  if (text.n && text.p[0] == '+')
    text = (tl_sv){text.p + 1, text.n - 1};
  bool integer = tl_parse_i64(text, &i);
  if (!integer && !tl_parse_f64(text, &f))
    return tl_rule_expected(p, "a number");
  tl_rule_advance(p);
  TL_TRY(new_expr(p, integer ? TL_EXPR_INT : TL_EXPR_FLOAT, start, NULL, 0, out));
  if (integer)
    (*out)->u.i = i;
  else
    (*out)->u.f = f;
  return TL_OK;
}

static tl_status value_arg(tl_rule_parser *p, tl_expr **out) {
  const char *start = start_of(p);
  uint8_t index;
  TL_TRY(tl_rule_value_index(p, false, &index));
  TL_TRY(new_expr(p, TL_EXPR_VALUE, start, NULL, 0, out));
  (*out)->u.i = index;
  return TL_OK;
}

static tl_status call(tl_rule_parser *p, tl_token name, const char *start, tl_expr **out) {
  uint32_t n_functions, which = 0, n = 0;
  const tl_rule_function *functions = tl_rule_functions(&n_functions);
  while (which < n_functions && (functions[which].name[0] != name.text.p[0] ||
                                 !tl_sv_is(name.text, functions[which].name)))
    which++;
  if (which == n_functions)
    return tl_rule_fail(p, name, "unknown function '%.*s'", TL_SV_ARG(name.text));
  tl_expr *args[TL_RULE_ARGS];
  while (!tl_rule_at(p, ")")) {
    if (n == TL_RULE_ARGS)
      return tl_rule_fail(p, p->at, "too many arguments");
    if (p->at.kind == TL_TOKEN_VALUE)
      TL_TRY(value_arg(p, &args[n]));
    else
      TL_TRY(tl_rule_expr(p, &args[n]));
    n++;
    if (!tl_rule_accept(p, ","))
      break;
  }
  TL_TRY(tl_rule_expect(p, ")"));
  if (n < functions[which].min_args || n > functions[which].max_args)
    return tl_rule_fail(p, name, "the function is %s, it has no form with %u argument%s",
                        functions[which].signature, n, n == 1 ? "" : "s");
  TL_TRY(new_expr(p, TL_EXPR_CALL, start, args, n, out));
  (*out)->function = (uint8_t)which;
  return TL_OK;
}

/* A word: true, false, a dtype, or a function. */
static tl_status word(tl_rule_parser *p, const char *start, tl_expr **out) {
  tl_token t = p->at;
  tl_rule_advance(p);
  if (tl_rule_accept(p, "("))
    return call(p, t, start, out);
  bool truth = tl_sv_is(t.text, "true");
  if (truth || tl_sv_is(t.text, "false")) {
    TL_TRY(new_expr(p, TL_EXPR_BOOL, start, NULL, 0, out));
    (*out)->u.i = truth;
    return TL_OK;
  }
  tl_dtype d = tl_dtype_from_name(t.text);
  if (d == TL_DTYPE_NONE)
    return tl_rule_fail(p, t, "'%.*s' is neither a dtype nor a function", TL_SV_ARG(t.text));
  TL_TRY(new_expr(p, TL_EXPR_DTYPE, start, NULL, 0, out));
  (*out)->u.i = d;
  return TL_OK;
}

static tl_status primary(tl_rule_parser *p, tl_expr **out) {
  const char *start = start_of(p);
  tl_expr *items[MAX_LIST];
  uint32_t n;
  uint8_t index;
  tl_token t = p->at;
  switch ((tl_token_kind)t.kind) {
  case TL_TOKEN_NUMBER: return number(p, start, out);
  case TL_TOKEN_WORD: return word(p, start, out);
  case TL_TOKEN_STRING:
    tl_rule_advance(p);
    TL_TRY(new_expr(p, TL_EXPR_STRING, start, NULL, 0, out));
    return tl_rule_symbol(p, t, &(*out)->u.s);
  case TL_TOKEN_LABEL:
    TL_TRY(tl_rule_name_index(p, false, &index));
    TL_TRY(new_expr(p, TL_EXPR_NAME, start, NULL, 0, out));
    (*out)->u.i = index;
    return TL_OK;
  default: break;
  }
  if (tl_rule_accept(p, "[")) {
    TL_TRY(list_of(p, "]", items, MAX_LIST, &n));
    return new_expr(p, TL_EXPR_LIST, start, items, n, out);
  }
  if (!tl_rule_accept(p, "("))
    return tl_rule_expected(p, "an expression");
  TL_TRY(tl_rule_expr(p, out));
  return tl_rule_expect(p, ")");
}

static tl_status postfix(tl_rule_parser *p, tl_expr **out) {
  const char *start = start_of(p);
  TL_TRY(primary(p, out));
  while (tl_rule_accept(p, "[")) {
    tl_expr *args[2] = {*out};
    TL_TRY(tl_rule_expr(p, &args[1]));
    TL_TRY(tl_rule_expect(p, "]"));
    TL_TRY(new_expr(p, TL_EXPR_INDEX, start, args, 2, out));
  }
  return TL_OK;
}

static tl_status unary(tl_rule_parser *p, tl_expr **out) {
  const char *start = start_of(p);
  tl_expr_kind kind = tl_rule_at(p, "!") ? TL_EXPR_NOT : TL_EXPR_MINUS;
  if (!tl_rule_accept(p, "!") && !tl_rule_accept(p, "-"))
    return postfix(p, out);
  if (++p->depth > MAX_EXPR_DEPTH)
    return tl_rule_fail(p, p->at, "the expression is nested more than %d deep", MAX_EXPR_DEPTH);
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
    {"||", TL_EXPR_OR, 0},  {"&&", TL_EXPR_AND, 1}, {"==", TL_EXPR_EQ, 2}, {"!=", TL_EXPR_NE, 2},
    {"<=", TL_EXPR_LE, 2},  {">=", TL_EXPR_GE, 2},  {"<", TL_EXPR_LT, 2},  {">", TL_EXPR_GT, 2},
    {"in", TL_EXPR_IN, 2},  {"+", TL_EXPR_ADD, 3},  {"-", TL_EXPR_SUB, 3}, {"*", TL_EXPR_MUL, 4},
    {"/", TL_EXPR_DIV, 4},
};

enum { TIGHTEST = 5 };

static const binary_operator *operator_at(const tl_rule_parser *p) {
  if (p->at.kind == TL_TOKEN_PUNCT && strchr("(){}[],", p->at.text.p[0]))
    return NULL; /* behind most expressions */
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (tl_rule_at(p, operators[i].text))
      return &operators[i];
  return NULL;
}

/* "$a -1": the lexer reads a signed number where an operator belongs. */
static bool split_sign(tl_rule_parser *p) {
  if (p->at.kind != TL_TOKEN_NUMBER || (p->at.text.p[0] != '-' && p->at.text.p[0] != '+'))
    return false;
  p->lexer.at = p->at.text.p + 1;
  p->at.kind = TL_TOKEN_PUNCT;
  p->at.text.n = 1;
  return true;
}

static tl_status binary(tl_rule_parser *p, unsigned level, tl_expr **out) {
  if (level == TIGHTEST)
    return unary(p, out);
  const char *start = start_of(p);
  TL_TRY(binary(p, level + 1, out));
  for (;;) {
    if (level == 3)
      split_sign(p);
    const binary_operator *o = operator_at(p);
    if (!o || o->level != level)
      return TL_OK;
    tl_rule_advance(p);
    tl_expr *args[2] = {*out};
    TL_TRY(binary(p, level + 1, &args[1]));
    TL_TRY(new_expr(p, (tl_expr_kind)o->kind, start, args, 2, out));
  }
}

tl_status tl_rule_expr(tl_rule_parser *p, tl_expr **out) {
  if (++p->depth > MAX_EXPR_DEPTH)
    return tl_rule_fail(p, p->at, "the expression is nested more than %d deep", MAX_EXPR_DEPTH);
  TL_TRY(binary(p, 0, out));
  p->depth--;
  return TL_OK;
}
