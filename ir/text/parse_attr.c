/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes. A value shows its kind; the op table only helps where a person would write less:
 * "1" for a float, "[]" for an empty list. */
#include "ir/text/literal.h"
#include "ir/text/parse_internal.h"

typedef struct attr_context {
  tl_parser *p;
  tl_node_id node;
  tl_attr_kind wanted; /* by the op row, NONE when it does not say */
  tl_attr *out;        /* name is set */
} attr_context;

static bool is_number(const tl_token *t) {
  return t->kind == TL_TOKEN_NUMBER ||
         (t->kind == TL_TOKEN_WORD && (tl_sv_is(t->text, "inf") || tl_sv_is(t->text, "nan")));
}

static bool is_float_text(tl_sv s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] == '.' || (s.p[i] >= 'a' && s.p[i] <= 'z') || s.p[i] == 'E')
      return true;
  return false;
}

static tl_status parse_float(tl_parser *p, float *out) {
  if (!is_number(&p->at) || !tl_literal_parse(TL_DTYPE_F32, p->at.text, out))
    return tl_parse_expected(p, "a float");
  tl_parse_advance(p);
  return TL_OK;
}

static tl_status parse_bool(tl_parser *p, int64_t *out) {
  *out = tl_parse_is(p, "true");
  if (!*out && !tl_parse_is(p, "false"))
    return tl_parse_expected(p, "true or false");
  tl_parse_advance(p);
  return TL_OK;
}

static tl_status parse_number(attr_context *ctx) {
  tl_parser *p = ctx->p;
  if (is_float_text(p->at.text) || ctx->wanted == TL_ATTR_FLOAT) {
    ctx->out->kind = TL_ATTR_FLOAT;
    return parse_float(p, &ctx->out->u.f);
  }
  ctx->out->kind = TL_ATTR_INT;
  return tl_parse_int(p, "an integer", &ctx->out->u.i);
}

static tl_status parse_body(attr_context *ctx, tl_graph_id *out) {
  tl_parser *p = ctx->p;
  if (!tl_parse_accept(p, "graph"))
    return tl_parse_expected(p, "'graph'");
  return tl_parse_graph(p, TL_GRAPH_BODY, ctx->node, out);
}

/* ---- lists: items are gathered in a buffer, then copied into the arena --------------------- */

typedef tl_status (*item_fn)(attr_context *ctx, tl_buf *items);

static tl_status int_item(attr_context *ctx, tl_buf *items) {
  int64_t v;
  TL_TRY(tl_parse_int(ctx->p, "an integer", &v));
  tl_buf_add(items, &v, sizeof v);
  return TL_OK;
}

static tl_status float_item(attr_context *ctx, tl_buf *items) {
  float v;
  TL_TRY(parse_float(ctx->p, &v));
  tl_buf_add(items, &v, sizeof v);
  return TL_OK;
}

static tl_status string_item(attr_context *ctx, tl_buf *items) {
  tl_symbol v;
  TL_TRY(tl_parse_string(ctx->p, "a quoted string", &v));
  tl_buf_add(items, &v, sizeof v);
  return TL_OK;
}

static tl_status tensor_item(attr_context *ctx, tl_buf *items) {
  tl_tensor_id v;
  TL_TRY(tl_parse_tensor(ctx->p, TL_NO_TYPE, &v));
  tl_buf_add(items, &v, sizeof v);
  return TL_OK;
}

static tl_status graph_item(attr_context *ctx, tl_buf *items) {
  tl_graph_id v;
  TL_TRY(parse_body(ctx, &v));
  tl_buf_add(items, &v, sizeof v);
  return TL_OK;
}

static tl_status type_item(attr_context *ctx, tl_buf *items) {
  tl_type_id v;
  TL_TRY(tl_parse_type(ctx->p, &v));
  tl_buf_add(items, &v, sizeof v);
  return TL_OK;
}

static tl_status bool_item(attr_context *ctx, tl_buf *items) {
  int64_t v;
  TL_TRY(parse_bool(ctx->p, &v));
  tl_buf_add(items, &v, sizeof v);
  return TL_OK;
}

static tl_status dtype_item(attr_context *ctx, tl_buf *items) {
  tl_dtype dtype;
  TL_TRY(tl_parse_dtype(ctx->p, &dtype));
  int64_t v = dtype;
  tl_buf_add(items, &v, sizeof v);
  return TL_OK;
}

static tl_status parse_items(attr_context *ctx, item_fn item, tl_buf *items, uint32_t *count) {
  TL_TRY(tl_parse_expect(ctx->p, "["));
  *count = 0;
  while (!tl_parse_accept(ctx->p, "]")) {
    if (*count)
      TL_TRY(tl_parse_expect(ctx->p, ","));
    TL_TRY(item(ctx, items));
    if (items->failed || *count == UINT32_MAX)
      return tl_parse_memory(ctx->p);
    ++*count;
  }
  return TL_OK;
}

static tl_status parse_list(attr_context *ctx, item_fn item, const void **at, uint32_t *count) {
  tl_buf items;
  tl_buf_init(&items);
  tl_status status = parse_items(ctx, item, &items, count);
  if (status == TL_OK) {
    *at = tl_arena_copy(&ctx->p->m->arena, tl_buf_view(&items).p, items.n);
    status = *at ? TL_OK : tl_parse_memory(ctx->p);
  }
  tl_buf_release(&items);
  return status;
}

static tl_status int_list_item(attr_context *ctx, tl_buf *items) {
  tl_int_list v;
  const void *at = NULL;
  TL_TRY(parse_list(ctx, int_item, &at, &v.n));
  v.at = at;
  tl_buf_add(items, &v, sizeof v);
  return TL_OK;
}

static const struct list_kind {
  const char *word;
  tl_attr_kind kind;
  item_fn item;
} list_kinds[] = {
    {"ints", TL_ATTR_INTS, int_item},          {"floats", TL_ATTR_FLOATS, float_item},
    {"strings", TL_ATTR_STRINGS, string_item}, {"tensors", TL_ATTR_TENSORS, tensor_item},
    {"graphs", TL_ATTR_GRAPHS, graph_item},    {"types", TL_ATTR_TYPES, type_item},
    {"sparses", TL_ATTR_SPARSES, string_item}, {"bools", TL_ATTR_BOOLS, bool_item},
    {"dtypes", TL_ATTR_DTYPES, dtype_item},    {"lists", TL_ATTR_INT_LISTS, int_list_item}};

static const struct list_kind *list_kind_of(tl_attr_kind kind) {
  for (size_t i = 0; i < sizeof list_kinds / sizeof list_kinds[0]; i++)
    if (list_kinds[i].kind == kind)
      return &list_kinds[i];
  return NULL;
}

static tl_status parse_list_kind(attr_context *ctx, const struct list_kind *row) {
  const void *at = NULL;
  uint32_t count = 0;
  TL_TRY(parse_list(ctx, row->item, &at, &count));
  ctx->out->kind = (uint8_t)row->kind;
  ctx->out->count = count;
  ctx->out->u.is = at;
  return TL_OK;
}

/* The kind of "[...]": its items show it, unless the op table knows better. */
static tl_attr_kind plain_list_kind(attr_context *ctx) {
  tl_lexer ahead = ctx->p->lexer;
  bool floats = ctx->wanted == TL_ATTR_FLOATS;
  tl_token t = tl_lex_next(&ahead);
  if (t.kind == TL_TOKEN_STRING)
    return TL_ATTR_STRINGS;
  if (tl_sv_is(t.text, "]") || !is_number(&t))
    return ctx->wanted;
  for (; is_number(&t); t = tl_lex_next(&ahead)) {
    floats |= is_float_text(t.text);
    t = tl_lex_next(&ahead); /* the comma */
  }
  return floats ? TL_ATTR_FLOATS : TL_ATTR_INTS;
}

static tl_status parse_plain_list(attr_context *ctx) {
  const struct list_kind *row = list_kind_of(plain_list_kind(ctx));
  if (!row) {
    tl_parse_advance(ctx->p);
    return tl_parse_expected(ctx->p, "numbers or strings\vother lists name their kind: ints[], "
                                     "bools[true], lists[[1, 2], [3]]");
  }
  return parse_list_kind(ctx, row);
}

/* ---- single values -------------------------------------------------------------------------- */

/* type(T), dtype(f32), sparse("..."), carried("...") */
static tl_status parse_wrapped(attr_context *ctx, tl_attr_kind kind) {
  tl_parser *p = ctx->p;
  tl_dtype dtype = TL_DTYPE_NONE;
  ctx->out->kind = (uint8_t)kind;
  tl_parse_advance(p);
  TL_TRY(tl_parse_expect(p, "("));
  if (kind == TL_ATTR_TYPE)
    TL_TRY(tl_parse_type(p, &ctx->out->u.type));
  else if (kind == TL_ATTR_SPARSE || kind == TL_ATTR_CARRIED)
    TL_TRY(tl_parse_string(p, "the bytes of the value, quoted", &ctx->out->u.s));
  else {
    TL_TRY(tl_parse_dtype(p, &dtype));
    ctx->out->u.i = dtype;
  }
  return tl_parse_expect(p, ")");
}

static tl_status parse_word_value(attr_context *ctx) {
  tl_parser *p = ctx->p;
  if (tl_parse_starts_tensor_type(p)) {
    ctx->out->kind = TL_ATTR_TENSOR;
    return tl_parse_tensor(p, TL_NO_TYPE, &ctx->out->u.t);
  }
  for (size_t i = 0; i < sizeof list_kinds / sizeof list_kinds[0]; i++) {
    if (tl_parse_accept(p, list_kinds[i].word))
      return parse_list_kind(ctx, &list_kinds[i]);
  }
  if (tl_parse_is(p, "graph")) {
    ctx->out->kind = TL_ATTR_GRAPH;
    return parse_body(ctx, &ctx->out->u.g);
  }
  if (tl_parse_is(p, "type"))
    return parse_wrapped(ctx, TL_ATTR_TYPE);
  if (tl_parse_is(p, "dtype"))
    return parse_wrapped(ctx, TL_ATTR_DTYPE);
  if (tl_parse_is(p, "sparse"))
    return parse_wrapped(ctx, TL_ATTR_SPARSE);
  if (tl_parse_is(p, "carried"))
    return parse_wrapped(ctx, TL_ATTR_CARRIED);
  if (!tl_parse_is(p, "true") && !tl_parse_is(p, "false"))
    return tl_parse_expected(p, "an attribute value");
  ctx->out->kind = TL_ATTR_BOOL;
  return parse_bool(p, &ctx->out->u.i);
}

static tl_status parse_value(attr_context *ctx) {
  tl_parser *p = ctx->p;
  if (is_number(&p->at))
    return parse_number(ctx);
  if (p->at.kind == TL_TOKEN_STRING) {
    ctx->out->kind = TL_ATTR_STRING;
    return tl_parse_string(p, "a quoted string", &ctx->out->u.s);
  }
  if (tl_parse_is(p, "["))
    return parse_plain_list(ctx);
  if (p->at.kind == TL_TOKEN_WORD)
    return parse_word_value(ctx);
  return tl_parse_expected(p, "an attribute value");
}

static tl_status check_new(tl_parser *p, tl_token at, uint32_t base, tl_symbol name) {
  if (p->attrs.n - base == TL_MAX_NODE_ATTRS)
    return tl_parse_fail_at(p, at, TL_LIMIT, "more than %d attributes", TL_MAX_NODE_ATTRS);
  for (uint32_t i = base; i < p->attrs.n; i++)
    if (p->attrs.at[i].name == name)
      return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "attribute '%.*s' is given twice",
                              (int)(at.text.n > 200 ? 200 : at.text.n), at.text.p);
  return TL_OK;
}

static tl_status parse_one(tl_parser *p, tl_node_id n, uint32_t base) {
  tl_attr attr = {0};
  tl_token at = p->at;
  const tl_op *row = tl_op_row(tl_node_get(p->m, n)->op);
  TL_TRY(tl_parse_word_or_string(p, "an attribute name", &attr.name));
  TL_TRY(check_new(p, at, base, attr.name));
  TL_TRY(tl_parse_expect(p, "="));
  const tl_op_attr *proto = row ? tl_op_attr_find(row, attr.name) : NULL;
  attr_context ctx = {.p = p,
                      .node = n,
                      .wanted = proto ? (tl_attr_kind)proto->value.kind : TL_ATTR_NONE,
                      .out = &attr};
  TL_TRY(parse_value(&ctx));
  return tl_attr_vec_push(&p->attrs, attr) ? TL_OK : tl_parse_memory(p);
}

tl_status tl_parse_attrs(tl_parser *p, tl_node_id n) {
  uint32_t base = p->attrs.n;
  TL_TRY(tl_parse_expect(p, "{"));
  while (!tl_parse_accept(p, "}")) {
    if (p->attrs.n > base)
      TL_TRY(tl_parse_expect(p, ","));
    TL_TRY(parse_one(p, n, base));
  }
  uint32_t count = p->attrs.n - base;
  tl_status status = count ? tl_node_set_attrs(p->m, n, p->attrs.at + base, count) : TL_OK;
  p->attrs.n = base;
  return status == TL_OK ? TL_OK : tl_parse_memory(p);
}
