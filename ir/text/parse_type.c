/* SPDX-License-Identifier: Apache-2.0 */
/* Types: f32[2,n,?], f32[*], ?, seq(T), optional(T), map(K,T), sparse(T), opaque("d","n"). */
#include "ir/text/parse_internal.h"

static tl_status parse_at_depth(tl_parser *p, uint32_t depth, tl_type_id *out);

static tl_status interned(tl_parser *p, const tl_type *t, tl_type_id *out) {
  *out = tl_type_intern(p->m, t);
  return *out == TL_NO_TYPE ? tl_parse_memory(p) : TL_OK;
}

static tl_status parse_dim(tl_parser *p, tl_dim *out) {
  uint64_t size;
  tl_symbol name;
  if (tl_parse_accept(p, "?")) {
    *out = TL_DIM_UNKNOWN;
    return TL_OK;
  }
  if (p->at.kind == TL_TOKEN_NUMBER) {
    tl_token at = p->at;
    TL_TRY(tl_parse_count(p, "a dimension", &size));
    if (size > INT64_MAX)
      return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "the dimension exceeds 2^63 - 1");
    *out = (tl_dim)size;
    return TL_OK;
  }
  TL_TRY(tl_parse_word_or_string(p, "a dimension (size, name, \"text\" or '?')", &name));
  *out = name ? tl_dim_from_symbol(name) : TL_DIM_UNKNOWN;
  return TL_OK;
}

/* "[...]" behind a dtype. */
static tl_status parse_shape(tl_parser *p, tl_type_kind kind, tl_dtype dtype, tl_type_id *out) {
  tl_dim dims[TL_MAX_RANK];
  int rank = 0;
  tl_type t = {.kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .dims = dims};
  TL_TRY(tl_parse_expect(p, "["));
  if (tl_parse_accept(p, "*")) {
    rank = TL_RANK_UNKNOWN;
    TL_TRY(tl_parse_expect(p, "]"));
  } else {
    while (!tl_parse_accept(p, "]")) {
      if (rank == TL_MAX_RANK)
        return tl_parse_fail_at(p, p->at, TL_LIMIT, "more than %d dimensions", TL_MAX_RANK);
      if (rank)
        TL_TRY(tl_parse_expect(p, ","));
      TL_TRY(parse_dim(p, &dims[rank++]));
    }
  }
  t.rank = (int16_t)rank;
  return interned(p, &t, out);
}

tl_status tl_parse_dtype(tl_parser *p, tl_dtype *out) {
  *out = TL_DTYPE_NONE;
  if (tl_parse_accept(p, "?"))
    return TL_OK;
  if (p->at.kind == TL_TOKEN_WORD)
    *out = tl_dtype_from_name(p->at.text);
  if (*out == TL_DTYPE_NONE)
    return tl_parse_expected(p, "an element type (f32, i64, bool ...)");
  tl_parse_advance(p);
  return TL_OK;
}

static tl_status parse_tensor_type(tl_parser *p, tl_type_kind kind, tl_type_id *out) {
  tl_dtype dtype;
  TL_TRY(tl_parse_dtype(p, &dtype));
  return parse_shape(p, kind, dtype, out);
}

static tl_status parse_nested(tl_parser *p, tl_type_kind kind, uint32_t depth, tl_type_id *out) {
  tl_type t = {.kind = (uint8_t)kind};
  tl_dtype key;
  TL_TRY(tl_parse_expect(p, "("));
  if (kind == TL_KIND_SPARSE_TENSOR) {
    TL_TRY(parse_tensor_type(p, kind, out));
    return tl_parse_expect(p, ")");
  }
  if (kind == TL_KIND_OPAQUE) {
    TL_TRY(tl_parse_string(p, "the domain of the type, quoted", &t.domain));
    TL_TRY(tl_parse_expect(p, ","));
    TL_TRY(tl_parse_string(p, "the name of the type, quoted", &t.name));
  } else {
    if (kind == TL_KIND_MAP) {
      TL_TRY(tl_parse_dtype(p, &key));
      TL_TRY(tl_parse_expect(p, ","));
      t.dtype = (uint8_t)key;
    }
    TL_TRY(parse_at_depth(p, depth + 1, &t.element));
  }
  TL_TRY(tl_parse_expect(p, ")"));
  return interned(p, &t, out);
}

static tl_type_kind nested_kind(const tl_parser *p) {
  static const struct {
    const char *word;
    tl_type_kind kind;
  } kinds[] = {{"seq", TL_KIND_SEQUENCE},
               {"optional", TL_KIND_OPTIONAL},
               {"map", TL_KIND_MAP},
               {"sparse", TL_KIND_SPARSE_TENSOR},
               {"opaque", TL_KIND_OPAQUE}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (tl_parse_is(p, kinds[i].word))
      return kinds[i].kind;
  return TL_KIND_UNKNOWN;
}

static tl_status parse_at_depth(tl_parser *p, uint32_t depth, tl_type_id *out) {
  if (depth > TL_MAX_TYPE_DEPTH)
    return tl_parse_fail_at(p, p->at, TL_LIMIT, "types nest more than %d deep", TL_MAX_TYPE_DEPTH);
  tl_type_kind kind = nested_kind(p);
  if (kind != TL_KIND_UNKNOWN) {
    tl_parse_advance(p);
    return parse_nested(p, kind, depth, out);
  }
  *out = TL_NO_TYPE;
  if (tl_parse_is(p, "?")) {
    tl_token next = tl_parse_peek(p);
    if (next.kind != TL_TOKEN_PUNCT || !tl_sv_is(next.text, "[")) {
      tl_parse_advance(p);
      return TL_OK;
    }
  } else if (p->at.kind != TL_TOKEN_WORD) {
    return tl_parse_expected(p, "a type (f32[2,3], seq(...), '?' ...)");
  }
  return parse_tensor_type(p, TL_KIND_TENSOR, out);
}

tl_status tl_parse_type(tl_parser *p, tl_type_id *out) { return parse_at_depth(p, 0, out); }

bool tl_parse_starts_tensor_type(const tl_parser *p) {
  if (p->at.kind != TL_TOKEN_WORD || tl_dtype_from_name(p->at.text) == TL_DTYPE_NONE)
    return false;
  tl_token next = tl_parse_peek(p);
  return next.kind == TL_TOKEN_PUNCT && tl_sv_is(next.text, "[");
}
