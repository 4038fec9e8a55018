/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of convolutions: plain, integer, quantized, transposed, channels-last, and the
 * causal one with a state. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/window.h"
#include "ir/ops_gen.h"

/* Where an op has its data and weight. */
typedef struct conv_form {
  uint32_t x;         /* operand of the data */
  uint32_t w;         /* operand of the weight [M, C/group, k...] */
  bool channels_last; /* data only */
} conv_form;

/* Gives the rank of data and weight, which must agree; TL_RANK_UNKNOWN when nothing tells it. */
static tl_status conv_rank(tl_infer *ctx, const conv_form *f, int *rank) {
  TL_TRY(tl_infer_check_rank(ctx, f->x, 2, TL_MAX_RANK));
  TL_TRY(tl_infer_check_rank(ctx, f->w, 2, TL_MAX_RANK));
  int data = tl_infer_rank(ctx, f->x);
  int weight = tl_infer_rank(ctx, f->w);
  tl_int_list kernel = tl_node_attr_ints(ctx->m, ctx->node, TL_SYM_kernel_shape);
  if (data != TL_RANK_UNKNOWN && weight != TL_RANK_UNKNOWN && data != weight)
    return tl_infer_fail(ctx, "data has rank %d, but the weight has rank %d", data, weight);
  *rank = data != TL_RANK_UNKNOWN ? data : weight;
  if (*rank == TL_RANK_UNKNOWN && kernel.n > 0 && kernel.n <= TL_MAX_RANK - 2)
    *rank = (int)kernel.n + 2;
  return TL_OK;
}

/* Gives the size of the kernel along a spatial axis, from the attribute or the weight. */
static tl_status kernel_dim(tl_infer *ctx, const tl_window *w, uint32_t weight, uint32_t axis,
                            tl_dim *out) {
  *out = tl_infer_dim(ctx, weight, (int)axis + 2);
  if (!w->kernel.at)
    return TL_OK;
  TL_TRY(tl_infer_check_dim(ctx, "kernel_shape and the weight's shape", w->kernel.at[axis], *out));
  *out = w->kernel.at[axis];
  return TL_OK;
}

/* Reads the attribute group, which must be positive: it is divided by. */
static tl_status read_group(tl_infer *ctx, int64_t *group) {
  *group = tl_node_attr_int(ctx->m, ctx->node, TL_SYM_group, 1);
  if (*group < 1)
    return tl_infer_fail(ctx, "attribute group is %lld, expected at least 1", (long long)*group);
  return TL_OK;
}

/* Checks channels, as far as they are known: the weight [M, C/group, ...] has the input channels of
 * one group, and M is a multiple of the groups. */
static tl_status check_channels(tl_infer *ctx, const conv_form *f) {
  int64_t group;
  TL_TRY(read_group(ctx, &group));
  tl_dim channels = tl_infer_dim(ctx, f->x, f->channels_last ? -1 : 1);
  tl_dim per_group = tl_infer_dim(ctx, f->w, 1);
  tl_dim out = tl_infer_dim(ctx, f->w, 0);
  if (per_group >= 0)
    TL_TRY(tl_infer_check_dim(ctx, "channels of the data and of the weight times group", channels,
                              tl_dim_mul(ctx->m, per_group, group)));
  if (out >= 0 && out % group != 0)
    return tl_infer_fail(ctx, "%lld output channels are not a multiple of group %lld",
                         (long long)out, (long long)group);
  return TL_OK;
}

/* Infers a convolution: batch of the data, output channels of the weight, spatial dims of the
 * window. */
static tl_status conv(tl_infer *ctx, conv_form f, tl_dtype dtype) {
  tl_dim dims[TL_MAX_RANK];
  tl_window w;
  int rank;
  TL_TRY(conv_rank(ctx, &f, &rank));
  if (rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, dtype, TL_RANK_UNKNOWN, NULL);
  TL_TRY(check_channels(ctx, &f));
  TL_TRY(tl_window_read(ctx, (uint32_t)rank - 2, &w));
  int first = f.channels_last ? 1 : 2;
  dims[0] = tl_infer_dim(ctx, f.x, 0);
  dims[f.channels_last ? rank - 1 : 1] = tl_infer_dim(ctx, f.w, 0);
  for (int i = 0; i < rank - 2; i++) {
    tl_dim kernel;
    TL_TRY(kernel_dim(ctx, &w, f.w, (uint32_t)i, &kernel));
    TL_TRY(tl_window_output(ctx, &w, (uint32_t)i, tl_infer_dim(ctx, f.x, first + i), kernel,
                            &dims[first + i]));
  }
  return tl_infer_put(ctx, 0, dtype, rank, dims);
}

tl_status tl_infer_conv(tl_infer *ctx, uint32_t node) {
  (void)node;
  return conv(ctx, (conv_form){0, 1, false}, tl_infer_dtype(ctx, 0));
}

tl_status tl_infer_conv_integer(tl_infer *ctx, uint32_t node) {
  (void)node;
  return conv(ctx, (conv_form){0, 1, false}, TL_DTYPE_I32);
}

tl_status tl_infer_qlinear_conv(tl_infer *ctx, uint32_t node) {
  bool last = tl_node_attr_int(ctx->m, node, TL_SYM_channels_last, 0) != 0;
  return conv(ctx, (conv_form){0, 3, last}, tl_infer_dtype(ctx, 7));
}

tl_status tl_infer_conv_nhwc(tl_infer *ctx, uint32_t node) {
  /* Producers disagree on where a channels-last weight keeps its channels: only the count of output
   * channels and the kernel_shape attribute are certain. */
  tl_dim dims[TL_MAX_RANK];
  tl_window w;
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 3, TL_MAX_RANK));
  int rank = tl_infer_rank(ctx, 0);
  if (rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  TL_TRY(tl_window_read(ctx, (uint32_t)rank - 2, &w));
  dims[0] = tl_infer_dim(ctx, 0, 0);
  dims[rank - 1] = tl_infer_dim(ctx, 1, 0);
  for (int i = 0; i < rank - 2; i++)
    TL_TRY(tl_window_output(ctx, &w, (uint32_t)i, tl_infer_dim(ctx, 0, i + 1),
                            w.kernel.at ? w.kernel.at[i] : TL_DIM_UNKNOWN, &dims[i + 1]));
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* Reads a spatial list of ConvTranspose; .at is NULL when it is absent. */
static tl_status spatial_list(tl_infer *ctx, tl_symbol name, uint32_t n, tl_int_list *out) {
  *out = tl_node_attr_ints(ctx->m, ctx->node, name);
  if (out->n == 0)
    out->at = NULL;
  if (out->at && out->n != n)
    return tl_infer_fail(ctx, "attribute %.*s has %u values, expected %u",
                         TL_SV_ARG(tl_sym(ctx->m, name)), out->n, n);
  for (uint32_t i = 0; out->at && i < n; i++)
    if (out->at[i] < 0 || out->at[i] > INT32_MAX)
      return tl_infer_fail(ctx, "attribute %.*s: %lld is out of range",
                           TL_SV_ARG(tl_sym(ctx->m, name)), (long long)out->at[i]);
  return TL_OK;
}

/* Infers the spatial dims of ConvTranspose. output_shape decides if it is given; the pads follow
 * from it. */
static tl_status transposed_spatial(tl_infer *ctx, int rank, tl_dim *dims) {
  uint32_t n = (uint32_t)rank - 2;
  tl_int_list shape;
  tl_window w;
  TL_TRY(tl_window_read(ctx, n, &w));
  TL_TRY(spatial_list(ctx, TL_SYM_output_padding, n, &w.extra));
  TL_TRY(spatial_list(ctx, TL_SYM_output_shape, n, &shape));
  for (uint32_t i = 0; i < n; i++) {
    tl_dim kernel;
    TL_TRY(kernel_dim(ctx, &w, 1, i, &kernel));
    if (shape.at)
      dims[i + 2] = shape.at[i];
    else
      TL_TRY(
          tl_window_transposed(ctx, &w, i, tl_infer_dim(ctx, 0, (int)i + 2), kernel, &dims[i + 2]));
  }
  return TL_OK;
}

tl_status tl_infer_conv_transpose(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  conv_form f = {0, 1, false};
  int64_t group;
  int rank;
  (void)node;
  TL_TRY(conv_rank(ctx, &f, &rank));
  if (rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  TL_TRY(read_group(ctx, &group));
  TL_TRY(tl_infer_check_dim(ctx, "channels of the data and of the weight", tl_infer_dim(ctx, 0, 1),
                            tl_infer_dim(ctx, 1, 0)));
  dims[0] = tl_infer_dim(ctx, 0, 0);
  dims[1] = tl_dim_mul(ctx->m, tl_infer_dim(ctx, 1, 1), group);
  TL_TRY(transposed_spatial(ctx, rank, dims));
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* CausalConvWithState: input [B,C,L], weight [C,1,k], bias, past_state -> output [B,C,L],
 * present_state [B,C,k-1]. */
tl_status tl_infer_causal_conv(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 3, TL_MAX_RANK));
  TL_TRY(tl_infer_put_same(ctx, 0, 0));
  if (tl_infer_has(ctx, 3))
    return tl_infer_put_same(ctx, 1, 3);
  tl_dim kernel = tl_infer_dim(ctx, 1, 2);
  tl_dim dims[3] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 1),
                    tl_dim_offset(ctx->m, kernel, -1)};
  return tl_infer_put(ctx, 1, tl_infer_dtype(ctx, 0),
                      tl_infer_rank(ctx, 0) == 3 ? 3 : TL_RANK_UNKNOWN, dims);
}
