/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of collectives, which talk to the other ranks. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* Each result is like its operand. */
tl_status tl_infer_collective(tl_infer *ctx, uint32_t node) {
  uint32_t n = tl_infer_n_results(ctx);
  (void)node;
  if (n != tl_infer_n_operands(ctx))
    return tl_infer_fail(ctx, "%u operands do not fit %u results", tl_infer_n_operands(ctx), n);
  for (uint32_t i = 0; i < n; i++)
    TL_TRY(tl_infer_put_same(ctx, i, i));
  return TL_OK;
}

/* The first dim times the number of ranks, or (ARG 1) divided by it. */
tl_status tl_infer_gather_ranks(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  int64_t ranks = tl_node_attr_int(ctx->m, node, TL_SYM_rank_size, 0);
  bool scatters = tl_infer_arg(ctx, node) != 0;
  if (ranks < 1 || ranks > INT32_MAX)
    return tl_infer_fail(ctx, "attribute rank_size is %lld, expected a number of ranks",
                         (long long)ranks);
  if (rank == 0)
    return tl_infer_fail(ctx, "a tensor without dims has no rows for ranks");
  if (rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, NULL);
  if (scatters && tl_dim_is_static(dims[0]) && dims[0] % ranks)
    return tl_infer_fail(ctx, "%lld rows cannot be shared among %lld ranks", (long long)dims[0],
                         (long long)ranks);
  dims[0] = scatters ? tl_dim_div(ctx->m, dims[0], ranks) : tl_dim_mul(ctx->m, dims[0], ranks);
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}
