/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of text processing. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* StringSplit: [...] -> pieces [..., most], counts [...]. */
tl_status tl_infer_string_split(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK + 1];
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 0, TL_MAX_RANK - 1));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank != TL_RANK_UNKNOWN)
    dims[rank] = TL_DIM_UNKNOWN;
  TL_TRY(tl_infer_put(ctx, 0, TL_DTYPE_STRING, rank == TL_RANK_UNKNOWN ? rank : rank + 1, dims));
  return tl_infer_put_like(ctx, 1, TL_DTYPE_I64, 0);
}

/* StringNormalizer: [C] or [1,C]; stop words shorten the last axis, but one word always stays. */
tl_status tl_infer_string_normalizer(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  const tl_attr *stopwords = tl_node_attr(ctx->m, node, TL_SYM_stopwords);
  TL_TRY(tl_infer_check_rank(ctx, 0, 1, 2));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank > 0 && stopwords && stopwords->count > 0)
    dims[rank - 1] = TL_DIM_UNKNOWN;
  if (rank > 0 && dims[rank - 1] == 0)
    dims[rank - 1] = 1;
  return tl_infer_put(ctx, 0, TL_DTYPE_STRING, rank, dims);
}

/* TfIdfVectorizer: [C] -> [terms], [N,C] -> [N,terms]; ngram_indexes numbers the terms. */
tl_status tl_infer_tfidf(tl_infer *ctx, uint32_t node) {
  tl_dim dims[2];
  tl_int_list indexes = tl_node_attr_ints(ctx->m, node, TL_SYM_ngram_indexes);
  tl_dim terms = indexes.n > 0 ? 0 : TL_DIM_UNKNOWN;
  TL_TRY(tl_infer_check_rank(ctx, 0, 1, 2));
  for (uint32_t i = 0; i < indexes.n; i++) {
    if (indexes.at[i] < 0 || indexes.at[i] > INT32_MAX)
      return tl_infer_fail(ctx, "attribute ngram_indexes: %lld is out of range",
                           (long long)indexes.at[i]);
    if (indexes.at[i] >= terms)
      terms = indexes.at[i] + 1;
  }
  int rank = tl_infer_rank(ctx, 0);
  dims[0] = rank == 2 ? tl_infer_dim(ctx, 0, 0) : terms;
  dims[1] = terms;
  return tl_infer_put(ctx, 0, TL_DTYPE_F32, rank, dims);
}
