/* SPDX-License-Identifier: Apache-2.0 */
/* Node statements: results = Op(operands) @name {attributes} : types, then clauses. */
#include "ir/ops_gen.h"
#include "ir/text/parse_internal.h"

/* ---- the op ---------------------------------------------------------------------------------- */

/* Closest table op of the domain, NULL when nothing is close. */
static const char *nearest_op(tl_symbol domain, tl_sv name) {
  const char *best = NULL;
  size_t limit = 3;
  for (uint32_t i = 0; i < tl_n_op_rows; i++) {
    if (tl_op_rows[i].domain_symbol != domain)
      continue;
    size_t distance = tl_edit_distance(name, tl_sv_from(tl_op_rows[i].name), limit);
    if (distance > limit || (best && distance == limit))
      continue;
    best = tl_op_rows[i].name;
    limit = distance;
  }
  return best;
}

static tl_status unknown_op(tl_parser *p, tl_token at, tl_symbol domain, tl_symbol name) {
  const char *nearest = nearest_op(domain, tl_sym(p->m, name));
  int shown = at.text.n > 200 ? 200 : (int)at.text.n;
  if (nearest)
    return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "unknown op '%.*s'\vdid you mean '%s'?", shown,
                            at.text.p, nearest);
  return tl_parse_fail_at(p, at, TL_INVALID_MODEL,
                          "unknown op '%.*s'\vops of other domains are written domain::Name", shown,
                          at.text.p);
}

static tl_status parse_op(tl_parser *p, tl_op_id *op) {
  tl_symbol domain = 0;
  tl_symbol name;
  tl_token at = p->at;
  TL_TRY(tl_parse_word_or_string(p, "an op", &name));
  if (tl_parse_accept(p, "::")) {
    domain = name;
    at = p->at;
    TL_TRY(tl_parse_word_or_string(p, "the op's name", &name));
  }
  bool said = domain == TL_SYM_ai_onnx; /* then a custom op may have no domain of its own */
  if (said)
    domain = 0;
  if (domain == 0 && !said && tl_op_find(domain, name) == UINT32_MAX)
    return unknown_op(p, at, domain, name);
  *op = tl_op_intern(p->m, domain, name);
  return *op == UINT32_MAX ? tl_parse_memory(p) : TL_OK;
}

/* ---- clauses --------------------------------------------------------------------------------- */

static bool is_npu_type(const char *type, tl_sv word) {
  return tl_sv_is(word, *type ? type : "none");
}

/* judged TYPE: follows from the candidate, and may be left out. */
static tl_status parse_judged(tl_parser *p, const char *judged) {
  tl_symbol word;
  if (!tl_parse_is(p, "judged") || tl_parse_starts_op(p))
    return TL_OK;
  tl_parse_advance(p);
  tl_token at = p->at;
  TL_TRY(tl_parse_word_or_string(p, "the NPU op type that precision judges", &word));
  if (tl_sv_is(tl_sym(p->m, word), judged))
    return TL_OK;
  return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "this candidate is judged as '%s'", judged);
}

/* npu TYPE [INDEX] [judged TYPE]: the first candidate of that type unless the index says which. */
static tl_status parse_candidate(tl_parser *p, tl_node *node) {
  tl_token at = p->at;
  const tl_op *row = tl_op_row(node->op);
  tl_symbol word;
  int64_t index = 0;
  TL_TRY(tl_parse_word_or_string(p, "an NPU op type or 'none'", &word));
  tl_sv type = tl_sym(p->m, word);
  bool indexed = p->at.kind == TL_TOKEN_NUMBER;
  if (indexed)
    TL_TRY(tl_parse_int(p, "the number of a candidate", &index));
  node->selected = true;
  if (tl_sv_is(type, "none") && !indexed)
    return TL_OK;
  int64_t n = row ? row->n_npu : 0;
  while (!indexed && index < n && !is_npu_type(row->npu[index].npu_type, type))
    index++;
  if (index < 0 || index >= n || !is_npu_type(row->npu[index].npu_type, type))
    return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "'%.*s' is not an NPU candidate of this op",
                            (int)(at.text.n > 200 ? 200 : at.text.n), at.text.p);
  node->candidate = (int16_t)index;
  return parse_judged(p, row->npu[index].judged);
}

static tl_control_origin parse_origin(tl_parser *p) {
  for (int i = 0; i < TL_N_CONTROL_ORIGINS; i++) {
    const char *word = tl_control_origin_name((tl_control_origin)i);
    if (tl_parse_is(p, word) && !tl_parse_starts_op(p)) {
      tl_parse_advance(p);
      return (tl_control_origin)i;
    }
  }
  return TL_CONTROL_USER;
}

/* after %result|$label [origin] */
static tl_status parse_after(tl_parser *p, tl_node_id n) {
  tl_token at = p->at;
  uint32_t from;
  if (at.kind == TL_TOKEN_LABEL) {
    TL_TRY(tl_parse_lookup(p, at, &from));
    tl_parse_advance(p);
  } else {
    TL_TRY(tl_parse_value_ref(p, false, &from));
    from = tl_value_producer(p->m, from);
  }
  if (from == TL_NO_NODE || tl_node_get(p->m, from)->graph != tl_node_get(p->m, n)->graph)
    return tl_parse_fail_at(p, at, TL_INVALID_MODEL,
                            "a node can only run after another node of its own graph");
  return tl_control_add(p->m, from, n, parse_origin(p)) ? TL_OK : tl_parse_memory(p);
}

static tl_status parse_label(tl_parser *p, tl_node_id n) {
  if (p->at.kind != TL_TOKEN_LABEL)
    return tl_parse_expected(p, "a label ($1)");
  TL_TRY(tl_parse_bind(p, p->at, n));
  tl_parse_advance(p);
  return TL_OK;
}

static tl_status parse_stream(tl_parser *p, tl_node *node) {
  tl_token at = p->at;
  int64_t v;
  TL_TRY(tl_parse_int(p, "a stream number", &v));
  if (v < 0 || v > INT32_MAX)
    return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "a stream is a number from 0 to 2147483647");
  node->stream = (int32_t)v;
  return TL_OK;
}

static bool accept_clause(tl_parser *p, const char *word) {
  if (!tl_parse_is(p, word) || tl_parse_starts_op(p))
    return false;
  tl_parse_advance(p);
  return true;
}

static tl_status parse_clauses(tl_parser *p, tl_node_id n) {
  tl_node *node = tl_node_get(p->m, n);
  for (;;) {
    tl_token at = p->at;
    if (accept_clause(p, "scope")) {
      TL_TRY(tl_parse_once(p, at, node->scope, "scope"));
      TL_TRY(tl_parse_string(p, "a scope, quoted", &node->scope));
    } else if (accept_clause(p, "stream")) {
      TL_TRY(tl_parse_once(p, at, node->stream >= 0, "stream"));
      TL_TRY(parse_stream(p, node));
    } else if (accept_clause(p, "npu")) {
      TL_TRY(tl_parse_once(p, at, node->selected, "npu"));
      TL_TRY(parse_candidate(p, node));
    } else if (accept_clause(p, "mixed")) {
      node->mixed = true;
    } else if (accept_clause(p, "label")) {
      TL_TRY(parse_label(p, n));
    } else if (accept_clause(p, "after")) {
      TL_TRY(parse_after(p, n));
    } else {
      return tl_parse_extra(p, &node->extra);
    }
  }
}

/* ---- extras ---------------------------------------------------------------------------------- */

static tl_status parse_extra_items(tl_parser *p, tl_extra *e, tl_u32_vec *pairs) {
  for (;;) {
    tl_pair pair;
    tl_token at = p->at;
    if (accept_clause(p, "doc")) {
      TL_TRY(tl_parse_once(p, at, e->doc, "doc"));
      TL_TRY(tl_parse_string(p, "a quoted text", &e->doc));
    } else if (accept_clause(p, "raw")) {
      TL_TRY(tl_parse_once(p, at, e->raw, "raw"));
      TL_TRY(tl_parse_string(p, "quoted bytes", &e->raw));
    } else if (accept_clause(p, "denotation")) {
      TL_TRY(tl_parse_once(p, at, e->denotation, "denotation"));
      TL_TRY(tl_parse_string(p, "a quoted text", &e->denotation));
    } else if (accept_clause(p, "meta")) {
      TL_TRY(tl_parse_string(p, "a quoted key", &pair.key));
      TL_TRY(tl_parse_string(p, "a quoted value", &pair.value));
      if (!tl_u32_vec_push(pairs, pair.key) || !tl_u32_vec_push(pairs, pair.value))
        return tl_parse_memory(p);
    } else {
      return TL_OK;
    }
  }
}

static tl_status store_extra(tl_parser *p, tl_extra e, const tl_u32_vec *pairs, uint32_t *slot) {
  tl_pair *metadata = tl_arena_calloc(&p->m->arena, pairs->n / 2, sizeof *metadata);
  tl_extra *out = metadata ? tl_module_extra(p->m, slot) : NULL;
  if (!out)
    return tl_parse_memory(p);
  e.n_metadata = pairs->n / 2;
  e.metadata = metadata;
  for (uint32_t i = 0; i < e.n_metadata; i++)
    metadata[i] = (tl_pair){pairs->at[2 * (size_t)i], pairs->at[2 * (size_t)i + 1]};
  *out = e;
  return TL_OK;
}

tl_status tl_parse_extra(tl_parser *p, uint32_t *slot) {
  if (p->at.kind != TL_TOKEN_WORD)
    return TL_OK;
  tl_token at = p->at;
  tl_extra e = {0};
  tl_u32_vec pairs = {0};
  tl_status status = parse_extra_items(p, &e, &pairs);
  if (status == TL_OK && *slot && at.text.p != p->at.text.p)
    status = tl_parse_fail_at(p, at, TL_INVALID_MODEL,
                              "this would replace what is said before\v"
                              "write doc, meta, raw and denotation of one thing in one place");
  if (status == TL_OK && (e.doc || e.raw || e.denotation || pairs.n))
    status = store_extra(p, e, &pairs, slot);
  tl_u32_vec_release(&pairs);
  return status;
}

/* ---- the statement --------------------------------------------------------------------------- */

/* "%a, _, %b =" onto the stack of results. */
static tl_status parse_results(tl_parser *p) {
  do {
    bool named = p->at.kind == TL_TOKEN_VALUE || p->at.kind == TL_TOKEN_ANONYMOUS;
    if (!named && !tl_parse_is(p, "_"))
      return tl_parse_expected(p, "a result (%name or '_')");
    if (!tl_token_vec_push(&p->results, p->at))
      return tl_parse_memory(p);
    tl_parse_advance(p);
  } while (tl_parse_accept(p, ","));
  return tl_parse_expect(p, "=");
}

static tl_status parse_operands(tl_parser *p) {
  tl_value_id v;
  p->ids.n = 0;
  TL_TRY(tl_parse_expect(p, "("));
  while (!tl_parse_accept(p, ")")) {
    if (p->ids.n)
      TL_TRY(tl_parse_expect(p, ","));
    TL_TRY(tl_parse_value_ref(p, true, &v));
    if (!tl_u32_vec_push(&p->ids, v))
      return tl_parse_memory(p);
  }
  return TL_OK;
}

/* Operands are the first n_operands of p->ids; the names of results go behind them. */
static tl_status create_node(tl_parser *p, tl_graph_id g, tl_node_spec *spec, uint32_t base,
                             tl_node_id *out) {
  spec->n_operands = p->ids.n;
  spec->n_results = p->results.n - base;
  for (uint32_t i = 0; i < spec->n_results; i++) {
    tl_token t = p->results.at[base + i];
    tl_symbol name = 0;
    if (t.kind == TL_TOKEN_VALUE)
      TL_TRY(tl_parse_symbol_of(p, t, &name));
    if (!tl_u32_vec_push(&p->ids, name))
      return tl_parse_memory(p);
  }
  spec->operands = p->ids.at;
  spec->results = p->ids.at ? p->ids.at + spec->n_operands : NULL;
  *out = tl_graph_append(p->m, g, spec);
  return *out ? TL_OK : tl_parse_memory(p);
}

static tl_status bind_results(tl_parser *p, tl_node_id n, uint32_t base) {
  const tl_node *node = tl_node_get(p->m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (p->results.at[base + i].kind != TL_TOKEN_WORD)
      TL_TRY(tl_parse_bind(p, p->results.at[base + i], node->results + i));
  return TL_OK;
}

static tl_status parse_types(tl_parser *p, tl_node_id n) {
  const tl_node *node = tl_node_get(p->m, n);
  tl_token at = p->at;
  uint32_t i = 0;
  do {
    tl_type_id type;
    TL_TRY(tl_parse_type(p, &type));
    if (i == node->n_results)
      return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "more types than results (%u)", i);
    tl_value_set_type(p->m, node->results + i++, type);
  } while (tl_parse_accept(p, ","));
  return TL_OK;
}

/* The node exists before its attributes are read, because bodies need an owner; its results become
 * visible only after them. */
static tl_status parse_statement(tl_parser *p, tl_graph_id g, uint32_t base) {
  tl_node_spec spec = {0};
  tl_node_id n;
  if (p->at.kind != TL_TOKEN_WORD || tl_parse_is(p, "_") || !tl_parse_starts_op(p)) {
    if (p->at.kind != TL_TOKEN_STRING)
      TL_TRY(parse_results(p));
  }
  TL_TRY(parse_op(p, &spec.op));
  TL_TRY(parse_operands(p));
  if (p->at.kind == TL_TOKEN_NODE) {
    TL_TRY(tl_parse_symbol_of(p, p->at, &spec.name));
    tl_parse_advance(p);
  }
  TL_TRY(create_node(p, g, &spec, base, &n));
  if (tl_parse_is(p, "{"))
    TL_TRY(tl_parse_attrs(p, n));
  if (tl_parse_accept(p, ":"))
    TL_TRY(parse_types(p, n));
  TL_TRY(parse_clauses(p, n));
  return bind_results(p, n, base);
}

tl_status tl_parse_node(tl_parser *p, tl_graph_id g) {
  uint32_t base = p->results.n;
  tl_status status = parse_statement(p, g, base);
  p->results.n = base;
  return status;
}
