/* SPDX-License-Identifier: Apache-2.0 */
/* Token cursor, errors and scopes of the parser. */
#include "ir/text/parse_internal.h"

void tl_parse_advance(tl_parser *p) { p->at = tl_lex_next(&p->lexer); }

tl_token tl_parse_peek(const tl_parser *p) {
  tl_lexer ahead = p->lexer;
  return tl_lex_next(&ahead);
}

tl_status tl_parse_fail_at(tl_parser *p, tl_token at, tl_status status, const char *fmt, ...) {
  tl_location where = {.file = p->path, .line = at.line, .column = at.column};
  tl_buf text;
  va_list ap;
  tl_buf_init(&text);
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  tl_fail(p->diag, status, where, "%s", text.failed ? "out of memory while reporting" : text.p);
  tl_buf_release(&text);
  return status;
}

tl_status tl_parse_memory(tl_parser *p) {
  return tl_parse_fail_at(p, p->at, TL_NO_MEMORY, "out of memory");
}

enum { SHOWN_BYTES = 40 };

tl_status tl_parse_expected(tl_parser *p, const char *what) {
  tl_token t = p->at;
  if (t.kind == TL_TOKEN_BAD)
    return tl_parse_fail_at(p, t, TL_INVALID_MODEL, "%s", t.problem);
  if (t.kind == TL_TOKEN_END)
    return tl_parse_fail_at(p, t, TL_INVALID_MODEL, "expected %s, found the end of the text", what);
  int shown = t.text.n > SHOWN_BYTES ? SHOWN_BYTES : (int)t.text.n;
  return tl_parse_fail_at(p, t, TL_INVALID_MODEL, "expected %s, found '%.*s%s'", what, shown,
                          t.text.p, t.text.n > SHOWN_BYTES ? "..." : "");
}

bool tl_parse_is(const tl_parser *p, const char *text) { return tl_token_is(&p->at, text); }

bool tl_parse_accept(tl_parser *p, const char *text) {
  if (!tl_parse_is(p, text))
    return false;
  tl_parse_advance(p);
  return true;
}

tl_status tl_parse_expect(tl_parser *p, const char *punct) {
  if (tl_parse_accept(p, punct))
    return TL_OK;
  char what[16] = "'";
  memcpy(what + 1, punct, strlen(punct));
  what[strlen(punct) + 1] = '\'';
  return tl_parse_expected(p, what);
}

bool tl_parse_starts_op(const tl_parser *p) {
  if (p->at.kind != TL_TOKEN_WORD && p->at.kind != TL_TOKEN_STRING)
    return false;
  tl_token next = tl_parse_peek(p);
  return next.kind == TL_TOKEN_PUNCT && (tl_sv_is(next.text, "(") || tl_sv_is(next.text, "::"));
}

tl_status tl_parse_int(tl_parser *p, const char *what, int64_t *out) {
  if (p->at.kind != TL_TOKEN_NUMBER || !tl_parse_i64(p->at.text, out))
    return tl_parse_expected(p, what);
  tl_parse_advance(p);
  return TL_OK;
}

tl_status tl_parse_count(tl_parser *p, const char *what, uint64_t *out) {
  if (p->at.kind != TL_TOKEN_NUMBER || !tl_parse_u64(p->at.text, out))
    return tl_parse_expected(p, what);
  tl_parse_advance(p);
  return TL_OK;
}

tl_status tl_parse_once(tl_parser *p, tl_token at, bool said, const char *what) {
  if (!said)
    return TL_OK;
  return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "%s is given twice", what);
}

static bool has_escape(tl_sv s) { return s.n && memchr(s.p, '\\', s.n); }

tl_status tl_parse_symbol_of(tl_parser *p, tl_token t, tl_symbol *out) {
  tl_sv s = t.text;
  if (t.quoted && has_escape(s)) {
    tl_buf_clear(&p->text);
    tl_lex_unquote(s, &p->text);
    s = tl_buf_view(&p->text);
  }
  *out = p->text.failed ? TL_NO_SYMBOL : tl_module_intern(p->m, s);
  return *out == TL_NO_SYMBOL ? tl_parse_memory(p) : TL_OK;
}

tl_status tl_parse_string(tl_parser *p, const char *what, tl_symbol *out) {
  if (p->at.kind != TL_TOKEN_STRING)
    return tl_parse_expected(p, what);
  TL_TRY(tl_parse_symbol_of(p, p->at, out));
  tl_parse_advance(p);
  return TL_OK;
}

tl_status tl_parse_word_or_string(tl_parser *p, const char *what, tl_symbol *out) {
  if (p->at.kind != TL_TOKEN_STRING && p->at.kind != TL_TOKEN_WORD)
    return tl_parse_expected(p, what);
  TL_TRY(tl_parse_symbol_of(p, p->at, out));
  tl_parse_advance(p);
  return TL_OK;
}

/* Numbered values and labels live among the names, under keys that no model uses. */
static tl_status key_of(tl_parser *p, tl_token t, tl_symbol *key) {
  if (t.kind == TL_TOKEN_VALUE) {
    TL_TRY(tl_parse_symbol_of(p, t, key));
  } else {
    tl_buf_clear(&p->text);
    tl_buf_add_char(&p->text, '\0');
    tl_buf_add_char(&p->text, t.kind == TL_TOKEN_LABEL ? '$' : '%');
    tl_buf_add_sv(&p->text, t.text);
    *key = p->text.failed ? TL_NO_SYMBOL : tl_module_intern(p->m, tl_buf_view(&p->text));
    if (*key == TL_NO_SYMBOL)
      return tl_parse_memory(p);
  }
  while (p->bound.n <= *key)
    if (!tl_u32_vec_push(&p->bound, 0))
      return tl_parse_memory(p);
  return TL_OK;
}

static const char *sigil_of(tl_token t) {
  return t.kind == TL_TOKEN_VALUE ? "%" : t.kind == TL_TOKEN_LABEL ? "$" : "%$";
}

static int shown_bytes(tl_token t) { return t.text.n > 200 ? 200 : (int)t.text.n; }

static tl_graph_id graph_of(const tl_parser *p, tl_token t, uint32_t id) {
  return t.kind == TL_TOKEN_LABEL ? tl_node_get(p->m, id)->graph : tl_value_graph(p->m, id);
}

tl_status tl_parse_bind(tl_parser *p, tl_token t, uint32_t id) {
  tl_symbol key;
  TL_TRY(key_of(p, t, &key));
  uint32_t outer = p->bound.at[key];
  if (outer && graph_of(p, t, outer) == graph_of(p, t, id))
    return tl_parse_fail_at(p, t, TL_INVALID_MODEL, "%s%.*s is defined twice", sigil_of(t),
                            shown_bytes(t), t.text.p);
  if (!tl_undo_vec_push(&p->undo, (tl_undo){key, outer}))
    return tl_parse_memory(p);
  p->bound.at[key] = id;
  return TL_OK;
}

tl_status tl_parse_lookup(tl_parser *p, tl_token t, uint32_t *id) {
  tl_symbol key;
  TL_TRY(key_of(p, t, &key));
  *id = p->bound.at[key];
  if (*id)
    return TL_OK;
  return tl_parse_fail_at(p, t, TL_INVALID_MODEL,
                          "%s%.*s is not defined\vdefine it above its first use, in this graph or "
                          "in one around it",
                          sigil_of(t), shown_bytes(t), t.text.p);
}

void tl_parse_unwind(tl_parser *p, uint32_t mark) {
  while (p->undo.n > mark) {
    tl_undo last = p->undo.at[--p->undo.n];
    p->bound.at[last.key] = last.id;
  }
}

tl_status tl_parse_value_ref(tl_parser *p, bool absent_allowed, tl_value_id *v) {
  *v = TL_NO_VALUE;
  if (absent_allowed && tl_parse_accept(p, "_"))
    return TL_OK;
  if (p->at.kind != TL_TOKEN_VALUE && p->at.kind != TL_TOKEN_ANONYMOUS)
    return tl_parse_expected(p, absent_allowed ? "a value (%name) or '_'" : "a value (%name)");
  TL_TRY(tl_parse_lookup(p, p->at, v));
  tl_parse_advance(p);
  return TL_OK;
}
