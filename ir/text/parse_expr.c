/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that are computed from other constants. */
#include "ir/tensor_expr.h"
#include "ir/text/parse_internal.h"

static bool find_kind(const tl_parser *p, tl_tensor_expr_kind *kind) {
  for (unsigned k = 0; k < TL_N_TENSOR_EXPR_KINDS; k++) {
    *kind = (tl_tensor_expr_kind)k;
    if (tl_parse_is(p, tl_tensor_expr_kind_name(*kind)))
      return true;
  }
  return false;
}

bool tl_parse_starts_expr(const tl_parser *p) {
  tl_tensor_expr_kind kind;
  return find_kind(p, &kind);
}

static tl_status parse_sources(tl_parser *p, tl_u32_vec *sources) {
  do {
    tl_tensor_id id;
    TL_TRY(tl_parse_tensor(p, TL_NO_TYPE, &id));
    if (!tl_u32_vec_push(sources, id))
      return tl_parse_memory(p);
    tl_token next = tl_parse_peek(p);
    if (tl_parse_is(p, ",") && next.kind == TL_TOKEN_NUMBER) /* the numbers of a view */
      break;
  } while (tl_parse_accept(p, ","));
  return TL_OK;
}

/* "[1, 2]" of a view; *n counts. */
static tl_status parse_list(tl_parser *p, int64_t at[TL_TENSOR_EXPR_MAX_RANK], int *n) {
  *n = 0;
  TL_TRY(tl_parse_expect(p, "["));
  while (!tl_parse_accept(p, "]")) {
    if (*n)
      TL_TRY(tl_parse_expect(p, ","));
    if (*n == TL_TENSOR_EXPR_MAX_RANK)
      return tl_parse_fail_at(p, p->at, TL_LIMIT, "a view has at most %d dims",
                              TL_TENSOR_EXPR_MAX_RANK);
    TL_TRY(tl_parse_int(p, "an integer", &at[*n]));
    ++*n;
  }
  return TL_OK;
}

static tl_status parse_view(tl_parser *p, tl_tensor_expr *e) {
  int n;
  TL_TRY(tl_parse_expect(p, ","));
  TL_TRY(tl_parse_count(p, "the first element", &e->start));
  TL_TRY(tl_parse_expect(p, ","));
  TL_TRY(parse_list(p, e->dims, &e->rank));
  TL_TRY(tl_parse_expect(p, ","));
  tl_token at = p->at;
  TL_TRY(parse_list(p, e->strides, &n));
  if (n != e->rank)
    return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "%d strides for %d dims", n, e->rank);
  return TL_OK;
}

static tl_status parse_arguments(tl_parser *p, tl_tensor_expr *e, tl_u32_vec *sources) {
  if (e->kind == TL_TENSOR_EXPR_CONCAT) {
    TL_TRY(tl_parse_count(p, "the number of pieces of each part", &e->outer));
    TL_TRY(tl_parse_expect(p, ","));
  }
  TL_TRY(parse_sources(p, sources));
  if (e->kind == TL_TENSOR_EXPR_VIEW)
    TL_TRY(parse_view(p, e));
  return tl_parse_expect(p, ")");
}

static tl_status build(tl_parser *p, tl_token at, tl_type_id type, tl_tensor_expr *e,
                       const tl_u32_vec *sources, tl_tensor_id *out) {
  const tl_tensor **list = tl_arena_calloc(&p->m->arena, sources->n, sizeof *list);
  if (!list)
    return tl_parse_memory(p);
  for (uint32_t i = 0; i < sources->n; i++)
    list[i] = tl_tensor_get(p->m, sources->at[i]);
  e->sources = list;
  e->n_sources = sources->n;
  const char *problem = tl_tensor_expr_problem(p->m, type, e);
  if (problem)
    return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "%s", problem);
  *out = tl_tensor_express(p->m, type, e);
  return *out == TL_NO_TENSOR ? tl_parse_memory(p) : TL_OK;
}

tl_status tl_parse_expr(tl_parser *p, tl_type_id type, tl_tensor_id *out) {
  tl_tensor_expr_kind kind = TL_TENSOR_EXPR_CAST;
  tl_tensor_expr e = {.rank = 0};
  tl_u32_vec sources = {0};
  tl_token at = p->at;
  (void)find_kind(p, &kind);
  e.kind = (uint8_t)kind;
  if (p->expressions == TL_TENSOR_EXPR_MAX_DEPTH)
    return tl_parse_fail_at(p, at, TL_LIMIT, "constants nest more than %d deep",
                            TL_TENSOR_EXPR_MAX_DEPTH);
  tl_parse_advance(p);
  p->expressions++;
  tl_status status = tl_parse_expect(p, "(");
  if (status == TL_OK)
    status = parse_arguments(p, &e, &sources);
  if (status == TL_OK)
    status = build(p, at, type, &e, &sources, out);
  p->expressions--;
  tl_u32_vec_release(&sources);
  return status;
}
