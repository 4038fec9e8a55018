/* SPDX-License-Identifier: Apache-2.0 */
/* Shorthands of shape functions: reading operands, checking, stating results, joining types. */
#include "ir/infer/state.h"

enum { MAX_TYPE_DEPTH = 16 }; /* nesting of sequences and optionals that is compared */

tl_dim tl_infer_dim(tl_infer *ctx, uint32_t i, int axis) {
  int rank = tl_infer_rank(ctx, i);
  if (rank == TL_RANK_UNKNOWN)
    return TL_DIM_UNKNOWN;
  if (axis < 0)
    axis += rank;
  return axis >= 0 && axis < rank ? tl_infer_dims(ctx, i)[axis] : TL_DIM_UNKNOWN;
}

/* An unknown rank passes: whether it fits is only known at run time. */
tl_status tl_infer_check_rank(tl_infer *ctx, uint32_t i, int min, int max) {
  int rank = tl_infer_rank(ctx, i);
  if (rank == TL_RANK_UNKNOWN || (rank >= min && rank <= max))
    return TL_OK;
  if (min == max)
    return tl_infer_fail(ctx, "operand %u has rank %d, expected %d", i, rank, min);
  if (max == TL_MAX_RANK)
    return tl_infer_fail(ctx, "operand %u has rank %d, expected at least %d", i, rank, min);
  return tl_infer_fail(ctx, "operand %u has rank %d, expected %d to %d", i, rank, min, max);
}

/* Only static dims can differ for certain: unknown dims and symbols are negative and pass. */
tl_status tl_infer_check_dim(tl_infer *ctx, const char *what, tl_dim a, tl_dim b) {
  if (a < 0 || b < 0 || a == b)
    return TL_OK;
  return tl_infer_fail(ctx, "%s differ: %lld and %lld", what, (long long)a, (long long)b);
}

/* Optional results that a node leaves out need no type. */
tl_status tl_infer_put(tl_infer *ctx, uint32_t i, tl_dtype dtype, int rank, const tl_dim *dims) {
  return i < tl_infer_n_results(ctx) ? tl_infer_set(ctx, i, dtype, rank, dims) : TL_OK;
}

tl_status tl_infer_put_like(tl_infer *ctx, uint32_t i, tl_dtype dtype, uint32_t like) {
  return tl_infer_put(ctx, i, dtype, tl_infer_rank(ctx, like), tl_infer_dims(ctx, like));
}

tl_status tl_infer_put_same(tl_infer *ctx, uint32_t i, uint32_t like) {
  if (i >= tl_infer_n_results(ctx))
    return TL_OK;
  return tl_infer_set_type(ctx, i, tl_value_type(ctx->m, tl_operand(ctx->m, ctx->node, like)));
}

int tl_infer_copy_dims(tl_infer *ctx, uint32_t i, tl_dim *dims) {
  int rank = tl_infer_rank(ctx, i);
  if (rank > 0)
    memcpy(dims, tl_infer_dims(ctx, i), (size_t)rank * sizeof *dims);
  return rank;
}

tl_dim tl_infer_dim_value(tl_infer *ctx, uint32_t i) {
  if (!tl_infer_has(ctx, i))
    return TL_DIM_UNKNOWN;
  tl_partial p = tl_infer_elems(ctx, i);
  return p.at && p.n == 1 ? tl_elem_dim(p.at[0]) : TL_DIM_UNKNOWN;
}

tl_status tl_infer_attr_dtype(tl_infer *ctx, tl_symbol name, tl_dtype fallback, tl_dtype *out) {
  int64_t number = tl_node_attr_int(ctx->m, ctx->node, name, 0);
  *out = number == 0 ? fallback : tl_dtype_from_onnx(number);
  if (number != 0 && *out == TL_DTYPE_NONE)
    return tl_infer_fail(ctx, "attribute %.*s: %lld is not an element type",
                         TL_SV_ARG(tl_sym(ctx->m, name)), (long long)number);
  return TL_OK;
}

/* Subtracts -c for a negative c. INT64_MIN has no positive counterpart, so that INT64_MAX stands
 * for it. */
tl_dim tl_dim_offset(tl_module *m, tl_dim d, int64_t c) {
  return c >= 0 ? tl_dim_add(m, d, c) : tl_dim_sub(m, d, c == INT64_MIN ? INT64_MAX : -c);
}

tl_status tl_infer_container(tl_infer *ctx, tl_type_kind kind, tl_type_id element,
                             tl_type_id *out) {
  tl_type t = {.kind = (uint8_t)kind, .rank = TL_RANK_UNKNOWN, .element = element};
  *out = tl_type_intern(ctx->m, &t);
  return *out == TL_NO_TYPE ? TL_NO_MEMORY : TL_OK;
}

/* Reports that something would have two types, and names both. */
static tl_status fail_join(tl_infer *ctx, const char *what, tl_type_id a, tl_type_id b) {
  tl_buf text;
  tl_buf_init(&text);
  tl_type_print(ctx->m, a, &text);
  tl_buf_add_z(&text, " and ");
  tl_type_print(ctx->m, b, &text);
  tl_sv shown = text.failed ? TL_SV("two types") : tl_buf_view(&text);
  tl_status status = tl_infer_fail(ctx, "%s cannot be both %.*s", what, TL_SV_ARG(shown));
  tl_buf_release(&text);
  return status;
}

/* Joins two tensor types: what both say stays, what they say differently becomes unknown. A dtype
 * that only one of them knows is kept. */
static tl_status join_tensors(tl_infer *ctx, const tl_type *a, const tl_type *b, tl_type_id *out) {
  tl_dim dims[TL_MAX_RANK];
  tl_type t = *a;
  t.dtype = a->dtype != TL_DTYPE_NONE ? a->dtype : b->dtype;
  t.rank = a->rank == b->rank ? a->rank : TL_RANK_UNKNOWN;
  for (int i = 0; i < t.rank; i++)
    dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : TL_DIM_UNKNOWN;
  t.dims = t.rank > 0 ? dims : NULL;
  *out = tl_type_intern(ctx->m, &t);
  return *out == TL_NO_TYPE ? TL_NO_MEMORY : TL_OK;
}

/* Returns true if the dtypes agree; an unknown one agrees with any. */
static bool same_dtype(const tl_type *a, const tl_type *b) {
  return a->dtype == b->dtype || a->dtype == TL_DTYPE_NONE || b->dtype == TL_DTYPE_NONE;
}

/* Joins two types; an unknown one makes the result unknown. The recursion into elements ends at
 * MAX_TYPE_DEPTH with an unknown type. */
static tl_status join_types(tl_infer *ctx, const char *what, tl_type_id ia, tl_type_id ib,
                            int depth, tl_type_id *out) {
  *out = ia == ib ? ia : TL_NO_TYPE;
  if (ia == ib || ia == TL_NO_TYPE || ib == TL_NO_TYPE || depth == MAX_TYPE_DEPTH)
    return TL_OK;
  tl_type a = *tl_type_get(ctx->m, ia);
  tl_type b = *tl_type_get(ctx->m, ib);
  if (a.kind != b.kind) /* an optional of the other is a legal mixture that no type describes */
    return a.kind == TL_KIND_OPTIONAL || b.kind == TL_KIND_OPTIONAL ? TL_OK
                                                                    : fail_join(ctx, what, ia, ib);
  if (a.kind == TL_KIND_TENSOR || a.kind == TL_KIND_SPARSE_TENSOR)
    return same_dtype(&a, &b) ? join_tensors(ctx, &a, &b, out) : fail_join(ctx, what, ia, ib);
  if (a.kind != TL_KIND_SEQUENCE && a.kind != TL_KIND_OPTIONAL)
    return TL_OK;
  tl_type_id element;
  TL_TRY(join_types(ctx, what, a.element, b.element, depth + 1, &element));
  return tl_infer_container(ctx, (tl_type_kind)a.kind, element, out);
}

tl_status tl_infer_join(tl_infer *ctx, const char *what, tl_type_id a, tl_type_id b,
                        tl_type_id *out) {
  return join_types(ctx, what, a, b, 0, out);
}
