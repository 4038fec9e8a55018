/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of ops that resample images or find things in them. */
#include <math.h>

#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* The axes that sizes and scales are about: all, or those of the attribute. */
typedef struct resize_axes {
  uint32_t at[TL_MAX_RANK];
  uint32_t n;
} resize_axes;

static tl_status read_axes(tl_infer *ctx, int rank, resize_axes *axes) {
  tl_int_list list = tl_node_attr_ints(ctx->m, ctx->node, TL_SYM_axes);
  axes->n = list.n > 0 ? list.n : (uint32_t)rank;
  if (axes->n > (uint32_t)rank)
    return tl_infer_fail(ctx, "attribute axes has %u values for rank %d", axes->n, rank);
  for (uint32_t i = 0; i < axes->n; i++) {
    axes->at[i] = i;
    if (list.n > 0)
      TL_TRY(tl_infer_axis(ctx, list.at[i], rank, &axes->at[i]));
  }
  return TL_OK;
}

/* One value for each axis that is resized. */
static tl_status check_count(tl_infer *ctx, const char *what, uint32_t n, const resize_axes *axes) {
  if (n == axes->n)
    return TL_OK;
  return tl_infer_fail(ctx, "%s has %u values, expected %u", what, n, axes->n);
}

/* Returns floor(d * scale) in float arithmetic, as runtimes compute it; of symbols where that is
 * exact. */
static tl_dim scaled_dim(tl_module *m, tl_dim d, double scale) {
  if (scale == 1.0)
    return d;
  if (tl_dim_is_static(d)) {
    float product = floorf((float)d * (float)scale);
    return product >= 0.0F && product < 9.0e15F ? (tl_dim)product : TL_DIM_UNKNOWN;
  }
  if (scale > 1.0 && scale < 1048576.0 && floor(scale) == scale)
    return tl_dim_mul(m, d, (tl_dim)scale);
  double inverse = scale > 0.0 ? 1.0 / scale : 0.0;
  if (inverse > 1.0 && inverse < 1048576.0 && floor(inverse) == inverse && 1.0 / inverse == scale)
    return tl_dim_div(m, d, (tl_dim)inverse);
  return TL_DIM_UNKNOWN;
}

/* Applies the constant scales in an operand to dims; the listed dims become unknown when the scales
 * are not constant. */
static tl_status apply_scales(tl_infer *ctx, uint32_t operand, const resize_axes *axes,
                              tl_dim *dims) {
  const tl_tensor *t = tl_value_constant(ctx->m, tl_operand(ctx->m, ctx->node, operand));
  if (t)
    TL_TRY(
        check_count(ctx, "scales", (uint32_t)(tl_tensor_elements(ctx->m, t) & UINT32_MAX), axes));
  for (uint32_t i = 0; i < axes->n; i++) {
    double scale;
    tl_dim *d = &dims[axes->at[i]];
    *d = t && tl_tensor_float_at(ctx->m, t, i, &scale) ? scaled_dim(ctx->m, *d, scale)
                                                       : TL_DIM_UNKNOWN;
  }
  return TL_OK;
}

/* The sizes are bounds, and the aspect ratio is kept: the strictest scale serves for all axes. */
static void apply_bounds(const tl_partial *sizes, const resize_axes *axes, bool larger,
                         tl_dim *dims) {
  float scale = 0.0F;
  bool known = true;
  for (uint32_t i = 0; i < axes->n && known; i++) {
    tl_dim d = dims[axes->at[i]];
    tl_dim size = tl_elem_dim(sizes->at[i]);
    known = d > 0 && size >= 0;
    float ratio = known ? (float)size / (float)d : 0.0F;
    if (i == 0 || (larger ? ratio > scale : ratio < scale))
      scale = ratio;
  }
  for (uint32_t i = 0; i < axes->n; i++) {
    tl_dim *d = &dims[axes->at[i]];
    float size = known ? floorf(scale * (float)*d + 0.5F) : -1.0F;
    *d = size >= 0.0F && size < 9.0e15F ? (tl_dim)size : TL_DIM_UNKNOWN;
  }
}

/* Sizes are the dims themselves, unless the aspect ratio is kept. */
static tl_status apply_sizes(tl_infer *ctx, const tl_partial *sizes, const resize_axes *axes,
                             tl_dim *dims) {
  TL_TRY(check_count(ctx, "sizes", sizes->n, axes));
  tl_sv policy = tl_node_attr_string(ctx->m, ctx->node, TL_SYM_keep_aspect_ratio_policy);
  if (policy.n == 0 || tl_sv_is(policy, "stretch")) {
    for (uint32_t i = 0; i < axes->n; i++)
      dims[axes->at[i]] = tl_elem_dim(sizes->at[i]);
    return TL_OK;
  }
  bool larger = tl_sv_is(policy, "not_smaller");
  if (!larger && !tl_sv_is(policy, "not_larger"))
    return tl_infer_fail(ctx,
                         "attribute keep_aspect_ratio_policy: '%.*s' is none of stretch, "
                         "not_larger, not_smaller",
                         TL_SV_ARG(policy));
  apply_bounds(sizes, axes, larger, dims);
  return TL_OK;
}

/* True for an operand that is present and not the empty tensor, which meant "absent" in opset
 * 11. */
static bool is_given(tl_infer *ctx, uint32_t i) {
  return tl_infer_has(ctx, i) && tl_infer_dim(ctx, i, 0) != 0;
}

/* Resize: X, roi?, scales?, sizes? */
tl_status tl_infer_resize(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  resize_axes axes;
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  TL_TRY(read_axes(ctx, rank, &axes));
  tl_sv mode = tl_node_attr_string(ctx->m, node, TL_SYM_coordinate_transformation_mode);
  tl_partial sizes = {0};
  if (is_given(ctx, 2) && is_given(ctx, 3))
    return tl_infer_fail(ctx, "both scales and sizes are given, expected one of them");
  if (is_given(ctx, 3))
    sizes = tl_infer_elems(ctx, 3);
  if (sizes.at) {
    TL_TRY(apply_sizes(ctx, &sizes, &axes, dims));
  } else if (is_given(ctx, 2) && !is_given(ctx, 3) && !tl_sv_is(mode, "tf_crop_and_resize")) {
    TL_TRY(apply_scales(ctx, 2, &axes, dims));
  } else {
    for (uint32_t i = 0; i < axes.n; i++)
      dims[axes.at[i]] = TL_DIM_UNKNOWN;
  }
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* Upsample: X, scales. */
tl_status tl_infer_upsample(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  resize_axes axes;
  (void)node;
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  TL_TRY(read_axes(ctx, rank, &axes));
  TL_TRY(apply_scales(ctx, 1, &axes, dims));
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* GridSample: X [N,C,d...], grid [N,o...,r] -> [N,C,o...]. */
tl_status tl_infer_grid_sample(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 3, TL_MAX_RANK));
  TL_TRY(tl_infer_check_rank(ctx, 1, 3, TL_MAX_RANK));
  int rank = tl_infer_rank(ctx, 0);
  int grid = tl_infer_rank(ctx, 1);
  if (rank != TL_RANK_UNKNOWN && grid != TL_RANK_UNKNOWN && rank != grid)
    return tl_infer_fail(ctx, "data has rank %d, but the grid has rank %d", rank, grid);
  if (rank == TL_RANK_UNKNOWN)
    rank = grid;
  if (rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  TL_TRY(tl_infer_check_dim(ctx, "coordinates per point and spatial axes", tl_infer_dim(ctx, 1, -1),
                            rank - 2));
  if (!tl_dim_merge(tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 1, 0), &dims[0]))
    return tl_infer_check_dim(ctx, "batch sizes", tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 1, 0));
  dims[1] = tl_infer_dim(ctx, 0, 1);
  for (int i = 2; i < rank; i++)
    dims[i] = tl_infer_dim(ctx, 1, i - 1);
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* AffineGrid: theta [N,r,r+1], size [N,C,d...] of r+2 values -> grid [N,d...,r]. */
tl_status tl_infer_affine_grid(tl_infer *ctx, uint32_t node) {
  tl_dim dims[5];
  (void)node;
  tl_partial size = tl_infer_elems(ctx, 1);
  tl_dim axes = tl_infer_dim(ctx, 0, 1);
  if (axes == TL_DIM_UNKNOWN || tl_dim_is_symbol(axes))
    axes = tl_infer_dim(ctx, 1, 0) >= 0 ? tl_infer_dim(ctx, 1, 0) - 2 : TL_DIM_UNKNOWN;
  if (axes != 2 && axes != 3) {
    if (axes >= 0)
      return tl_infer_fail(ctx, "theta transforms %lld axes, expected 2 or 3", (long long)axes);
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  }
  if (size.at && size.n != (uint32_t)axes + 2)
    return tl_infer_fail(ctx, "size has %u values, expected %lld", size.n, (long long)axes + 2);
  dims[0] = size.at ? tl_elem_dim(size.at[0]) : tl_infer_dim(ctx, 0, 0);
  for (tl_dim i = 0; i < axes; i++)
    dims[i + 1] = size.at ? tl_elem_dim(size.at[i + 2]) : TL_DIM_UNKNOWN;
  dims[axes + 1] = axes;
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), (int)axes + 2, dims);
}

/* npu::AffineGrid: theta [N,r,r+1], size [N,C,d...] of r+2 values -> points [N,product of d,r]. */
tl_status tl_infer_grid_points(tl_infer *ctx, uint32_t node) {
  tl_partial size = tl_infer_elems(ctx, 1);
  tl_dim dims[3] = {tl_infer_dim(ctx, 0, 0), TL_DIM_UNKNOWN, tl_infer_dim(ctx, 0, 1)};
  (void)node;
  if (size.at && size.n > 2) {
    dims[0] = tl_elem_dim(size.at[0]);
    dims[1] = 1;
  }
  for (uint32_t i = 2; size.at && i < size.n; i++)
    dims[1] = tl_dim_mul(ctx->m, dims[1], tl_elem_dim(size.at[i]));
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 3, dims);
}

/* MaxRoiPool: X [N,C,H,W], rois [R,5] -> [R,C,pooled...]. */
tl_status tl_infer_roi_pool(tl_infer *ctx, uint32_t node) {
  tl_int_list pooled = tl_node_attr_ints(ctx->m, node, TL_SYM_pooled_shape);
  TL_TRY(tl_infer_check_rank(ctx, 0, 4, 4));
  if (pooled.n != 2 || pooled.at[0] < 1 || pooled.at[1] < 1)
    return tl_infer_fail(ctx, "attribute pooled_shape must have two positive values");
  tl_dim dims[4] = {tl_infer_dim(ctx, 1, 0), tl_infer_dim(ctx, 0, 1), pooled.at[0], pooled.at[1]};
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 4, dims);
}

/* RoiAlign: X [N,C,H,W], rois [R,4], batch indices [R] -> [R,C,height,width]. */
tl_status tl_infer_roi_align(tl_infer *ctx, uint32_t node) {
  tl_dim dims[4];
  int64_t height = tl_node_attr_int(ctx->m, node, TL_SYM_output_height, 1);
  int64_t width = tl_node_attr_int(ctx->m, node, TL_SYM_output_width, 1);
  TL_TRY(tl_infer_check_rank(ctx, 0, 4, 4));
  TL_TRY(tl_infer_check_rank(ctx, 1, 2, 2));
  if (height < 1 || width < 1)
    return tl_infer_fail(ctx, "output_height %lld and output_width %lld must be positive",
                         (long long)height, (long long)width);
  if (!tl_dim_merge(tl_infer_dim(ctx, 1, 0), tl_infer_dim(ctx, 2, 0), &dims[0]))
    return tl_infer_check_dim(ctx, "numbers of rois and batch indices", tl_infer_dim(ctx, 1, 0),
                              tl_infer_dim(ctx, 2, 0));
  dims[1] = tl_infer_dim(ctx, 0, 1);
  dims[2] = height;
  dims[3] = width;
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 4, dims);
}

/* NonMaxSuppression: rows (batch, class, box); how many is known only after the run. */
tl_status tl_infer_nms(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 3, 3));
  TL_TRY(tl_infer_check_rank(ctx, 1, 3, 3));
  return tl_infer_put(ctx, 0, TL_DTYPE_I64, 2, (const tl_dim[]){TL_DIM_UNKNOWN, 3});
}

/* Col2Im: input [N, C*block, L], image_shape, block_shape -> [N, C, image...]. */
tl_status tl_infer_col2im(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 3, 3));
  tl_partial image = tl_infer_elems(ctx, 1);
  tl_partial block = tl_infer_elems(ctx, 2);
  tl_dim n = image.at ? (tl_dim)image.n : tl_infer_dim(ctx, 1, 0);
  if (n < 0)
    n = tl_infer_dim(ctx, 2, 0);
  if (n < 0 || n > TL_MAX_RANK - 2)
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  tl_dim area = block.at ? 1 : TL_DIM_UNKNOWN;
  for (uint32_t i = 0; i < (block.at ? block.n : 0); i++)
    area = tl_dim_mul(ctx->m, area, tl_elem_dim(block.at[i]));
  dims[0] = tl_infer_dim(ctx, 0, 0);
  dims[1] = tl_dim_div(ctx->m, tl_infer_dim(ctx, 0, 1), area);
  for (tl_dim i = 0; i < n; i++)
    dims[i + 2] = image.at ? tl_elem_dim(image.at[i]) : TL_DIM_UNKNOWN;
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), (int)n + 2, dims);
}

/* ImageDecoder: [height, width, channels]. */
tl_status tl_infer_image_decoder(tl_infer *ctx, uint32_t node) {
  tl_sv format = tl_node_attr_string(ctx->m, node, TL_SYM_pixel_format);
  tl_dim dims[3] = {TL_DIM_UNKNOWN, TL_DIM_UNKNOWN, tl_sv_is(format, "Grayscale") ? 1 : 3};
  return tl_infer_put(ctx, 0, TL_DTYPE_U8, 3, dims);
}
