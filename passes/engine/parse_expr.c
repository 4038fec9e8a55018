/* SPDX-License-Identifier: Apache-2.0 */
/* Rule parser: errors, tokens, names of values, and the bridge to the parser of expressions
 * (passes/expr). */
#include "passes/engine/parser.h"

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
  tl_status status = tl_fail(p->set->m->diag, TL_INVALID_ARGUMENT, where, "%.*s", TL_SV_ARG(shown));
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

/* Copies an array into the arena of the set; sets *lost if memory is out. */
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

bool tl_rule_at(const tl_rule_parser *p, const char *s) { return tl_token_is(&p->at, s); }

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

/* Braces nest, since a pattern may have alternatives; braces in strings are part of a string
 * token. */
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

/* Returns the text of a token without its escapes. It is a view of the source, or of p->text, where
 * the next token with escapes replaces it. */
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

/* Reports that no statement of the pattern binds this name. With alternatives, the message says in
 * which spelling. */
static tl_status unbound(tl_rule_parser *p, char sign) {
  tl_sv name = p->at.text;
  if (p->n_eithers)
    return tl_rule_fail(p, p->at, "%c%.*s is not bound by the pattern in spelling %u", sign,
                        TL_SV_ARG(name), p->spelling);
  return tl_rule_fail(p, p->at, "%c%.*s is not bound by the pattern", sign, TL_SV_ARG(name));
}

/* A linear search is enough: a rule has at most TL_RULE_VALUES values. */
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
  if (p->at.quoted) { /* the text may be in p->text, which does not last */
    name.p = tl_arena_copy(&p->set->arena, name.p, name.n);
    if (!name.p)
      return tl_rule_memory(p);
  }
  *out = r->n_values;
  r->values[r->n_values++] =
      (tl_rule_value){.name = name, .node = TL_RULE_NODES, .built = TL_RULE_NODES};
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
  /* To the lexer, inf and nan are words. */
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

/* Reports an error of the expression parser as one of the rule. */
static tl_status fail_expr(tl_expr_parser *e, tl_token at, tl_sv text) {
  return tl_rule_fail(e->user, at, "%.*s", TL_SV_ARG(text));
}

/* Looks up %x or $x for the expression parser. Both parsers read the same text: lexer and token go
 * over to this one and back. */
static tl_status bound(tl_expr_parser *e, uint8_t *index) {
  tl_rule_parser *p = e->user;
  p->lexer = e->lexer;
  p->at = e->at;
  tl_status status = p->at.kind == TL_TOKEN_VALUE ? tl_rule_value_index(p, false, index)
                                                  : tl_rule_name_index(p, false, index);
  e->lexer = p->lexer;
  e->at = p->at;
  return status;
}

tl_status tl_rule_expr(tl_rule_parser *p, tl_expr **out) {
  tl_expr_parser e = {.m = p->set->m,
                      .arena = &p->set->arena,
                      .lexer = p->lexer,
                      .at = p->at,
                      .place = TL_IN_RULES,
                      .parts = p->exprs,
                      .text = &p->text,
                      .fail = fail_expr,
                      .bound = bound,
                      .user = p};
  TL_TRY(tl_expr_parse(&e, out));
  p->lexer = e.lexer;
  p->at = e.at;
  p->exprs = e.parts;
  return TL_OK;
}
