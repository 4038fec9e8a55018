/* SPDX-License-Identifier: Apache-2.0 */
/* Trace-back of fused nodes (trace.h). */
#include "ir/trace.h"

#include "ir/marks.h"

/* A chain of fusions names what it is made of, not all of a deep network. */
enum { LONGEST_LIST = 16384 };

const char *tl_trace_key(tl_trace what) {
  static const char *const keys[TL_N_TRACES] = {"_datadump_original_op_names",
                                                "_datadump_original_op_types", "pass_name",
                                                "_datadump_is_multiop"};
  return keys[what];
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_punct(tl_token t, const char *text) {
  return t.kind == TL_TOKEN_PUNCT && tl_sv_is(t.text, text);
}

/* Metadata may come from anybody's file. */
static bool is_list(tl_sv text) {
  tl_lexer x = tl_lex_start(text);
  bool more = is_punct(tl_lex_next(&x), "[");
  if (!more)
    return false;
  while (more) {
    if (tl_lex_next(&x).kind != TL_TOKEN_STRING)
      return false;
    tl_token t = tl_lex_next(&x);
    more = is_punct(t, ",");
    if (!more && !is_punct(t, "]"))
      return false;
  }
  return tl_lex_next(&x).kind == TL_TOKEN_END;
}

tl_sv tl_trace_get(const tl_module *m, tl_node_id n, tl_trace what) {
  const tl_extra *e = &m->extras.at[tl_node_get(m, n)->extra];
  for (uint32_t i = 0; i < e->n_metadata; i++) {
    tl_sv value = tl_sym(m, e->metadata[i].value);
    if (!tl_sv_is(tl_sym(m, e->metadata[i].key), tl_trace_key(what)))
      continue;
    bool good = what == TL_TRACE_MULTI ? tl_sv_is(value, "true") : is_list(value);
    return good ? value : TL_SV("");
  }
  return TL_SV("");
}

tl_lexer tl_trace_start(tl_sv list) { return tl_lex_start(list); }

bool tl_trace_next(tl_lexer *at, tl_buf *room, tl_sv *item) {
  tl_token t;
  do
    t = tl_lex_next(at);
  while (t.kind == TL_TOKEN_PUNCT);
  if (t.kind != TL_TOKEN_STRING)
    return false;
  tl_buf_clear(room);
  tl_lex_unquote(t.text, room);
  *item = tl_buf_view(room);
  return !room->failed;
}

/* ---- recording ------------------------------------------------------------------------------ */

static void add_item(tl_buf *out, tl_sv text) {
  if (out->n > LONGEST_LIST)
    return;
  tl_buf_add_z(out, out->n ? ", " : "[");
  tl_buf_add_quoted(out, text);
}

/* The items of a list, as they are quoted. */
static void splice(tl_buf *out, tl_sv list) {
  if (list.n <= 2 || out->n > LONGEST_LIST)
    return;
  tl_buf_add_z(out, out->n ? ", " : "[");
  tl_buf_add(out, list.p + 1, list.n - 2);
}

static void add_node(tl_module *m, tl_node_id n, tl_trace what, tl_buf *out) {
  tl_sv carried = tl_trace_get(m, n, what);
  if (carried.n)
    splice(out, carried);
  else if (what == TL_TRACE_NAMES)
    add_item(out, tl_node_where(m, n).node);
  else if (what == TL_TRACE_TYPES)
    add_item(out, tl_op_name(m, tl_node_get(m, n)->op));
}

static tl_status put(tl_module *m, tl_pair *pairs, uint32_t *n, tl_trace what, tl_sv value) {
  tl_pair p = {tl_module_intern(m, tl_sv_from(tl_trace_key(what))), tl_module_intern(m, value)};
  pairs[(*n)++] = p;
  return p.key == TL_NO_SYMBOL || p.value == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

static tl_status put_list(tl_module *m, const tl_node_id *taken, uint32_t n, tl_trace what,
                          tl_sv last, tl_pair *pairs, uint32_t *n_pairs) {
  tl_buf list;
  tl_buf_init(&list);
  for (uint32_t i = 0; i < n; i++)
    add_node(m, taken[i], what, &list);
  if (last.n)
    add_item(&list, last);
  tl_buf_add_char(&list, ']');
  tl_status status =
      list.failed ? TL_NO_MEMORY : put(m, pairs, n_pairs, what, tl_buf_view(&list));
  tl_buf_release(&list);
  return status;
}

/* The nodes taken agree in their marks. */
static tl_status inherit_marks(tl_module *m, tl_node_id from, tl_pair *pairs, uint32_t *n) {
  for (uint32_t i = 0; i < TL_N_MARKS; i++) {
    tl_sv mark = tl_node_mark(m, from, i);
    if (mark.n == 0)
      continue;
    tl_symbol key = tl_module_intern(m, tl_sv_from(tl_mark_key(i)));
    tl_symbol value = tl_module_intern(m, mark);
    if (key == TL_NO_SYMBOL || value == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    pairs[(*n)++] = (tl_pair){key, value};
  }
  return TL_OK;
}

tl_status tl_trace_record(tl_module *m, tl_node_id made, const tl_node_id *taken, uint32_t n,
                          tl_sv pass, bool several) {
  uint32_t slot = tl_node_get(m, made)->extra, n_pairs = 0;
  tl_pair *pairs = tl_arena_calloc(&m->arena, TL_N_TRACES + TL_N_MARKS, sizeof *pairs);
  if (!pairs || n == 0)
    return pairs ? TL_OK : TL_NO_MEMORY;
  TL_TRY(put_list(m, taken, n, TL_TRACE_NAMES, TL_SV(""), pairs, &n_pairs));
  TL_TRY(put_list(m, taken, n, TL_TRACE_TYPES, TL_SV(""), pairs, &n_pairs));
  TL_TRY(put_list(m, taken, n, TL_TRACE_PASSES, pass, pairs, &n_pairs));
  if (several)
    TL_TRY(put(m, pairs, &n_pairs, TL_TRACE_MULTI, TL_SV("true")));
  TL_TRY(inherit_marks(m, taken[n - 1], pairs, &n_pairs));
  tl_extra *e = tl_module_extra(m, &slot);
  if (!e)
    return TL_NO_MEMORY;
  e->metadata = pairs;
  e->n_metadata = n_pairs;
  tl_node_get(m, made)->extra = slot;
  return TL_OK;
}
