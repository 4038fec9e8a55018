/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of matrix products: MatMul and its fused, integer and quantized forms, Gemm. */
#include "ir/infer/infer.h"
#include "ir/infer/infer_gen.h"
#include "ir/ops_gen.h"

/* A shape as a product sees it: of an operand, perhaps transposed. */
typedef struct shape {
  int rank;
  tl_dim dims[TL_MAX_RANK];
} shape;

static shape shape_of(tl_infer *ctx, uint32_t i) {
  shape s;
  s.rank = tl_infer_rank(ctx, i);
  for (int k = 0; k < s.rank; k++)
    s.dims[k] = tl_infer_dims(ctx, i)[k];
  return s;
}

static void swap_last(shape *s) {
  tl_dim t = s->dims[s->rank - 1];
  s->dims[s->rank - 1] = s->dims[s->rank - 2];
  s->dims[s->rank - 2] = t;
}

/* [d0, batch..., last] -> [batch..., d0, last] */
static void rotate_batch(shape *s) {
  tl_dim first = s->dims[0];
  for (int i = 0; i + 2 < s->rank; i++)
    s->dims[i] = s->dims[i + 1];
  s->dims[s->rank - 2] = first;
}

/* Sizes that are not known agree with anything. */
static tl_status check_inner(tl_infer *ctx, tl_dim a, tl_dim b) {
  tl_dim inner;
  return tl_dim_merge(a, b, &inner)
             ? TL_OK
             : tl_infer_fail(ctx, "the inner sizes are %lld and %lld, expected the same",
                             (long long)a, (long long)b);
}

/* States the product by numpy's rules: a vector is a row on the left and a column on the right, and
 * its axis goes. */
static tl_status multiply(tl_infer *ctx, const shape *a, const shape *b, tl_dtype dtype) {
  tl_dim dims[TL_MAX_RANK];
  int rank;
  if (a->rank < 0 || b->rank < 0)
    return tl_infer_set(ctx, 0, dtype, TL_RANK_UNKNOWN, NULL);
  if (a->rank == 0 || b->rank == 0)
    return tl_infer_fail(ctx, "an operand is a scalar, expected rank 1 or more");
  tl_dim inner_b = b->rank == 1 ? b->dims[0] : b->dims[b->rank - 2];
  TL_TRY(check_inner(ctx, a->dims[a->rank - 1], inner_b));
  TL_TRY(tl_infer_broadcast_dims(ctx, (tl_infer_view){a->rank > 2 ? a->rank - 2 : 0, a->dims},
                                 (tl_infer_view){b->rank > 2 ? b->rank - 2 : 0, b->dims}, &rank,
                                 dims));
  if (a->rank > 1)
    dims[rank++] = a->dims[a->rank - 2];
  if (b->rank > 1)
    dims[rank++] = b->dims[b->rank - 1];
  return tl_infer_set(ctx, 0, dtype, rank, dims);
}

tl_status tl_infer_matmul(tl_infer *ctx, uint32_t node) {
  (void)node;
  shape a = shape_of(ctx, 0);
  shape b = shape_of(ctx, 1);
  return multiply(ctx, &a, &b, tl_infer_dtype(ctx, 0));
}

/* Returns an operand's shape with transBatch and trans applied; vectors stay as they are. */
static shape oriented(tl_infer *ctx, uint32_t i, bool batch, bool trans) {
  shape s = shape_of(ctx, i);
  if (batch && s.rank > 2)
    rotate_batch(&s);
  if (trans && s.rank > 1)
    swap_last(&s);
  return s;
}

static bool flag(tl_infer *ctx, uint32_t node, tl_symbol name) {
  return tl_node_attr_int(ctx->m, node, name, 0) != 0;
}

tl_status tl_infer_fused_matmul(tl_infer *ctx, uint32_t node) {
  shape a = oriented(ctx, 0, flag(ctx, node, TL_SYM_transBatchA), flag(ctx, node, TL_SYM_transA));
  shape b = oriented(ctx, 1, flag(ctx, node, TL_SYM_transBatchB), flag(ctx, node, TL_SYM_transB));
  return multiply(ctx, &a, &b, tl_infer_dtype(ctx, 0));
}

/* Permutes the dims; false unless perm is a permutation of them. */
static bool permute(shape *s, tl_int_list perm) {
  shape before = *s;
  bool seen[TL_MAX_RANK] = {false};
  if (perm.n != (uint32_t)s->rank)
    return false;
  for (uint32_t i = 0; i < perm.n; i++) {
    int64_t from = perm.at[i];
    if (from < 0 || from >= s->rank || seen[from])
      return false;
    seen[from] = true;
    s->dims[i] = before.dims[from];
  }
  return true;
}

/* TransposeBatchMatMul: perm_x1 applies to the first operand, perm_y to the product. */
tl_status tl_infer_transpose_batch_matmul(tl_infer *ctx, uint32_t node) {
  shape a = shape_of(ctx, 0);
  shape b = shape_of(ctx, 1);
  shape y = {.rank = 3};
  if (a.rank < 0 || b.rank < 0)
    return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  if (a.rank != 3 || b.rank != 3)
    return tl_infer_fail(ctx, "the operands have rank %d and %d, expected 3", a.rank, b.rank);
  if (!permute(&a, tl_node_attr_ints(ctx->m, node, TL_SYM_perm_x1)))
    return tl_infer_fail(ctx, "attribute 'perm_x1' is not a permutation of 3 dims");
  TL_TRY(check_inner(ctx, a.dims[2], b.dims[1]));
  if (!tl_dim_merge(a.dims[0], b.dims[0], &y.dims[0]))
    return tl_infer_fail(ctx, "the batches are %lld and %lld, expected the same",
                         (long long)a.dims[0], (long long)b.dims[0]);
  y.dims[1] = a.dims[1];
  y.dims[2] = b.dims[2];
  if (!permute(&y, tl_node_attr_ints(ctx->m, node, TL_SYM_perm_y)))
    return tl_infer_fail(ctx, "attribute 'perm_y' is not a permutation of 3 dims");
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), y.rank, y.dims);
}

/* MatMulWide: a product in f32, whatever the operands are. */
tl_status tl_infer_matmul_wide(tl_infer *ctx, uint32_t node) {
  (void)node;
  shape a = shape_of(ctx, 0);
  shape b = shape_of(ctx, 1);
  return multiply(ctx, &a, &b, TL_DTYPE_F32);
}

tl_status tl_infer_matmul_integer(tl_infer *ctx, uint32_t node) {
  (void)node;
  shape a = shape_of(ctx, 0);
  shape b = shape_of(ctx, 1);
  return multiply(ctx, &a, &b, TL_DTYPE_I32);
}

/* QLinearMatMul: a, scale, zero point, b, scale, zero point, then scale and zero point of the
 * result. */
tl_status tl_infer_qlinear_matmul(tl_infer *ctx, uint32_t node) {
  (void)node;
  shape a = shape_of(ctx, 0);
  shape b = shape_of(ctx, 3);
  return multiply(ctx, &a, &b, tl_infer_dtype(ctx, 7));
}

/* The result has the dtype of the scale that follows the two matrices. */
tl_status tl_infer_matmul_dynamic(tl_infer *ctx, uint32_t node) {
  (void)node;
  shape a = shape_of(ctx, 0);
  shape b = shape_of(ctx, 1);
  return multiply(ctx, &a, &b, tl_infer_dtype(ctx, 2));
}

/* MatMulNBits: B is packed, and its shape [K, N] comes from attributes. */
tl_status tl_infer_matmul_nbits(tl_infer *ctx, uint32_t node) {
  shape a = shape_of(ctx, 0);
  int64_t k = tl_node_attr_int(ctx->m, node, TL_SYM_K, -1);
  int64_t n = tl_node_attr_int(ctx->m, node, TL_SYM_N, -1);
  shape b;
  b.rank = 2;
  b.dims[0] = k > 0 ? k : TL_DIM_UNKNOWN;
  b.dims[1] = n > 0 ? n : TL_DIM_UNKNOWN;
  return multiply(ctx, &a, &b, tl_infer_dtype(ctx, 0));
}

/* States [M, N] from two matrices; operand b_at is the second one. */
static tl_status gemm(tl_infer *ctx, uint32_t node, uint32_t b_at, tl_dtype dtype) {
  shape a = oriented(ctx, 0, false, flag(ctx, node, TL_SYM_transA));
  shape b = oriented(ctx, b_at, false, flag(ctx, node, TL_SYM_transB));
  if ((a.rank >= 0 && a.rank != 2) || (b.rank >= 0 && b.rank != 2))
    return tl_infer_fail(ctx, "the matrices have ranks %d and %d, expected 2", a.rank, b.rank);
  if (a.rank == 2 && b.rank == 2)
    TL_TRY(check_inner(ctx, a.dims[1], b.dims[0]));
  tl_dim dims[2] = {a.rank == 2 ? a.dims[0] : TL_DIM_UNKNOWN,
                    b.rank == 2 ? b.dims[1] : TL_DIM_UNKNOWN};
  return tl_infer_set(ctx, 0, dtype, 2, dims);
}

/* C is only checked: it must fit the product. */
tl_status tl_infer_gemm(tl_infer *ctx, uint32_t node) {
  TL_TRY(gemm(ctx, node, 1, tl_infer_dtype(ctx, 0)));
  const tl_type *y = tl_type_get(ctx->m, tl_value_type(ctx->m, tl_result(ctx->m, node, 0)));
  tl_dim dims[TL_MAX_RANK];
  int rank;
  if (!tl_infer_has(ctx, 2) || y->rank != 2 || tl_infer_rank(ctx, 2) < 0)
    return TL_OK;
  if (tl_infer_rank(ctx, 2) > 2)
    return tl_infer_fail(ctx, "C has rank %d, expected at most 2", tl_infer_rank(ctx, 2));
  return tl_infer_broadcast_dims(ctx, (tl_infer_view){2, y->dims}, tl_infer_view_of(ctx, 2), &rank,
                                 dims);
}

/* FullyConnection: images by as many kernels as the second operand has, each as large as an
 * image. */
tl_status tl_infer_full_connection(tl_infer *ctx, uint32_t node) {
  (void)node;
  int rank = tl_infer_rank(ctx, 0);
  if (rank < 0 || tl_infer_rank(ctx, 1) < 0)
    return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  const tl_dim *image = tl_infer_dims(ctx, 0), *kernels = tl_infer_dims(ctx, 1);
  if (rank < 2 || tl_infer_rank(ctx, 1) != rank)
    return tl_infer_fail(ctx, "operands have ranks %d and %d, expected one rank above 1", rank,
                         tl_infer_rank(ctx, 1));
  for (int i = 1; i < rank; i++)
    if (image[i] >= 0 && kernels[i] >= 0 && image[i] != kernels[i])
      return tl_infer_fail(ctx, "dim %d is %lld in the images, %lld in the kernels", i,
                           (long long)image[i], (long long)kernels[i]);
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), 2, (tl_dim[]){image[0], kernels[0]});
}

/* QGemm: A, scale, zero point, B, scale, zero point, C, then scale and zero point of the result.
 * Without the last two the result is not quantized. */
tl_status tl_infer_qgemm(tl_infer *ctx, uint32_t node) {
  return gemm(ctx, node, 3, tl_infer_has(ctx, 7) ? tl_infer_dtype(ctx, 8) : TL_DTYPE_F32);
}
