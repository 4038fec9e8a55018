/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of classical machine learning (ai.onnx.ml). Data are rows [N, features]; a plain
 * [features] is one row. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* Returns an attribute that is set; an empty list counts as not set. */
static const tl_attr *given(tl_infer *ctx, tl_symbol name) {
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, name);
  return a && (a->count > 0 || !tl_attr_kind_is_list((tl_attr_kind)a->kind)) ? a : NULL;
}

static uint32_t count_of(tl_infer *ctx, tl_symbol name) {
  const tl_attr *a = given(ctx, name);
  return a ? a->count : 0;
}

/* Returns the dtype that the op's table fixes for result 0, else that of operand 0. */
static tl_dtype result_dtype(tl_infer *ctx) {
  const tl_op *row = tl_op_row(tl_node_get(ctx->m, ctx->node)->op);
  const tl_op_port *port = row ? tl_op_result_port(row, 0) : NULL;
  if (port && port->var != TL_ANY_TYPE)
    for (int d = 1; d < TL_N_DTYPES; d++)
      if (row->vars[port->var].dtypes == TL_DTYPE_BIT(d))
        return (tl_dtype)d;
  return tl_infer_dtype(ctx, 0);
}

static tl_dim rows(tl_infer *ctx) {
  int rank = tl_infer_rank(ctx, 0);
  return rank == 0 || rank == 1 ? 1 : tl_infer_dim(ctx, 0, 0);
}

tl_status tl_infer_ml_like(tl_infer *ctx, uint32_t node) {
  (void)node;
  return tl_infer_put_like(ctx, 0, result_dtype(ctx), 0);
}

/* LabelEncoder, CategoryMapper: the attribute with the values decides; without one, names become
 * numbers and numbers names. */
tl_status tl_infer_ml_label(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype = tl_infer_dtype(ctx, 0) == TL_DTYPE_STRING ? TL_DTYPE_I64
                   : tl_infer_dtype(ctx, 0) == TL_DTYPE_NONE ? TL_DTYPE_NONE
                                                             : TL_DTYPE_STRING;
  const tl_attr *tensor = given(ctx, TL_SYM_values_tensor);
  (void)node;
  if (tensor && tensor->kind == TL_ATTR_TENSOR)
    dtype = (tl_dtype)tl_tensor_get(ctx->m, tensor->u.t)->dtype;
  else if (given(ctx, TL_SYM_values_strings))
    dtype = TL_DTYPE_STRING;
  else if (given(ctx, TL_SYM_values_int64s))
    dtype = TL_DTYPE_I64;
  else if (given(ctx, TL_SYM_values_floats))
    dtype = TL_DTYPE_F32;
  return tl_infer_put_like(ctx, 0, dtype, 0);
}

/* Classifiers: rows -> label [N], scores [N, classes]. One class label does not tell how many
 * scores there are. */
tl_status tl_infer_ml_classifier(tl_infer *ctx, uint32_t node) {
  uint32_t strings = count_of(ctx, TL_SYM_classlabels_strings);
  uint32_t ints = count_of(ctx, TL_SYM_classlabels_ints) + count_of(ctx, TL_SYM_classlabels_int64s);
  uint32_t classes = strings > 0 ? strings : ints;
  tl_dim dims[2] = {rows(ctx), classes > 1 ? (tl_dim)classes : TL_DIM_UNKNOWN};
  (void)node;
  TL_TRY(tl_infer_put(ctx, 0, strings > 0 ? TL_DTYPE_STRING : TL_DTYPE_I64, 1, dims));
  return tl_infer_put(ctx, 1, TL_DTYPE_F32, 2, dims);
}

/* Regressors: rows -> [N, targets]. */
tl_status tl_infer_ml_regressor(tl_infer *ctx, uint32_t node) {
  int64_t targets = tl_node_attr_int(ctx->m, node, TL_SYM_n_targets,
                                     tl_node_attr_int(ctx->m, node, TL_SYM_targets, 1));
  tl_dim dims[2] = {rows(ctx), targets > 0 ? targets : TL_DIM_UNKNOWN};
  return tl_infer_put(ctx, 0, result_dtype(ctx), 2, dims);
}

/* OneHotEncoder: [...] -> [..., categories]. */
tl_status tl_infer_ml_one_hot(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK + 1];
  tl_dtype d = tl_infer_dtype(ctx, 0);
  uint32_t categories = d == TL_DTYPE_NONE     ? 0
                        : d == TL_DTYPE_STRING ? count_of(ctx, TL_SYM_cats_strings)
                                               : count_of(ctx, TL_SYM_cats_int64s);
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 0, TL_MAX_RANK - 1));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank != TL_RANK_UNKNOWN)
    dims[rank++] = categories > 0 ? (tl_dim)categories : TL_DIM_UNKNOWN;
  return tl_infer_put(ctx, 0, TL_DTYPE_F32, rank, dims);
}

/* FeatureVectorizer: [N, d_i] each -> [N, sum of inputdimensions]. */
tl_status tl_infer_ml_features(tl_infer *ctx, uint32_t node) {
  tl_int_list sizes = tl_node_attr_ints(ctx->m, node, TL_SYM_inputdimensions);
  tl_dim dims[2] = {rows(ctx), sizes.n > 0 ? 0 : TL_DIM_UNKNOWN};
  for (uint32_t i = 0; i < sizes.n; i++) {
    if (sizes.at[i] < 0)
      return tl_infer_fail(ctx, "attribute inputdimensions: %lld is negative",
                           (long long)sizes.at[i]);
    dims[1] = tl_dim_add(ctx->m, dims[1], sizes.at[i]);
  }
  return tl_infer_put(ctx, 0, TL_DTYPE_F32, 2, dims);
}

/* ArrayFeatureExtractor: X [..., features], Y indices -> [..., number of indices]. */
tl_status tl_infer_ml_extract(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK + 1];
  uint64_t n;
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 1, TL_MAX_RANK));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank == 1) {
    dims[0] = 1;
    rank = 2;
  }
  tl_type_id indices = tl_value_type(ctx->m, tl_operand(ctx->m, ctx->node, 1));
  bool known = tl_type_elements(ctx->m, indices, &n) && n <= INT32_MAX;
  if (rank > 0)
    dims[rank - 1] = known ? (tl_dim)n : TL_DIM_UNKNOWN;
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}
