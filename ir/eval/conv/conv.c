/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Conv, and what every convolution does first: sizes, choice of the way, bias. */
#include "ir/eval/conv/conv.h"
#include "ir/eval/linear/gemm.h"

enum { FEW_CHANNELS = 4, FILL_GRAIN = 8 }; /* fewer channels of a group fill too little of a tile */

/* ---- sizes ---------------------------------------------------------------------------------- */

/* False for types that no convolution takes. */
static bool source_of(const tl_host *t, uint8_t *out) {
  switch (t->dtype) {
  case TL_DTYPE_F32: *out = TL_CONV_F32; return true;
  case TL_DTYPE_F64: *out = TL_CONV_F64; return true;
  case TL_DTYPE_U8: *out = TL_CONV_U8; return true;
  case TL_DTYPE_I8: *out = TL_CONV_I8; return true;
  default: return false;
  }
}

/* Checks channels and groups. A weight is [M, C/group, k...], with taps_first [M, k...,
 * C/group]. */
static tl_status read_channels(tl_eval *ctx, const tl_host *data, const tl_host *weight,
                               tl_conv *c) {
  int64_t group = tl_eval_int(ctx, TL_SYM_group, 1);
  int64_t channels = data->dims[c->channels_last ? data->rank - 1 : 1];
  int64_t per_group = weight->dims[c->taps_first ? weight->rank - 1 : 1];
  if (group < 1 || channels % group || weight->dims[0] % group || channels / group != per_group)
    return tl_eval_fail(ctx,
                        "%lld channels in %lld groups do not fit a weight for %lld channels and "
                        "%lld results",
                        (long long)channels, (long long)group, (long long)per_group,
                        (long long)weight->dims[0]);
  c->batch = data->dims[0];
  c->groups = group;
  c->in_channels = per_group;
  c->out_channels = weight->dims[0] / group;
  return TL_OK;
}

/* Finds where a channels-last weight has its channels: at axis 1 or last, whichever size fits. The
 * op has no attribute for it. */
static void guess_layout(tl_eval *ctx, const tl_host *data, const tl_host *weight, tl_conv *c) {
  int64_t group = tl_eval_int(ctx, TL_SYM_group, 1), channels = data->dims[data->rank - 1];
  int64_t per_group = group > 0 ? channels / group : 0;
  c->taps_first = weight->dims[1] != per_group && weight->dims[weight->rank - 1] == per_group;
}

tl_status tl_conv_open(tl_eval *ctx, uint32_t x_at, uint32_t w_at, bool channels_last, tl_conv *c) {
  *c = (tl_conv){.channels_last = channels_last};
  TL_TRY(tl_eval_need_rank(ctx, x_at, 2, TL_MAX_RANK));
  const tl_host *data = tl_eval_in(ctx, x_at), *weight = tl_eval_in(ctx, w_at);
  TL_TRY(tl_eval_need_rank(ctx, w_at, data->rank, data->rank));
  if (!source_of(data, &c->x_source) || !source_of(weight, &c->w_source))
    return tl_eval_unsupported(ctx, "a convolution of these types is not supported");
  if (channels_last)
    guess_layout(ctx, data, weight, c);
  TL_TRY(read_channels(ctx, data, weight, c));
  int n = data->rank - 2;
  TL_TRY(tl_window_open(ctx, n, data->dims + (channels_last ? 1 : 2),
                        weight->dims + (c->taps_first ? 1 : 2), &c->window));
  c->x = data->data;
  c->w = weight->data;
  return TL_OK;
}

void tl_conv_dims(const tl_conv *c, int64_t *dims) {
  int n = c->window.n;
  dims[0] = c->batch;
  dims[c->channels_last ? n + 1 : 1] = c->groups * c->out_channels;
  for (int i = 0; i < n; i++)
    dims[i + (c->channels_last ? 1 : 2)] = c->window.out[i];
}

/* ---- bias ----------------------------------------------------------------------------------- */

/* A bias that is spread over the result. */
typedef struct filling {
  const tl_conv *c;
  const char *bias;
  size_t size;
} filling;

/* Numbers of 4 or 8 bytes, as bits. */
static void fill_run(char *to, const char *value, int64_t n, size_t size) {
  uint32_t four;
  uint64_t eight;
  if (size == 4) {
    memcpy(&four, value, sizeof four);
    for (int64_t i = 0; i < n; i++)
      ((uint32_t *)(void *)to)[i] = four;
  } else {
    memcpy(&eight, value, sizeof eight);
    for (int64_t i = 0; i < n; i++)
      ((uint64_t *)(void *)to)[i] = eight;
  }
}

/* Fills planes of one channel, or with channels last places of all channels. */
static void fill_range(void *user, uint64_t begin, uint64_t end) {
  const filling *f = user;
  uint64_t channels = (uint64_t)(f->c->groups * f->c->out_channels);
  size_t plane = (size_t)f->c->window.out_plane * f->size;
  for (uint64_t i = begin; i < end; i++)
    if (f->c->channels_last)
      memcpy((char *)f->c->y + i * channels * f->size, f->bias, (size_t)channels * f->size);
    else
      fill_run((char *)f->c->y + i * plane, f->bias + i % channels * f->size,
               f->c->window.out_plane, f->size);
}

void tl_conv_fill(const tl_eval *ctx, const tl_conv *c) {
  filling f = {c, c->bias, c->x_source == TL_CONV_F64 ? 8 : 4};
  int64_t n = c->batch * (c->channels_last ? c->window.out_plane : c->groups * c->out_channels);
  tl_eval_for(ctx, (uint64_t)n, FILL_GRAIN, fill_range, &f);
}

/* ---- the two ways --------------------------------------------------------------------------- */

/* Returns true when the windows are the input itself (a 1x1 kernel), which then needs no packing
 * function. */
static bool is_pointwise(const tl_conv *c) {
  const tl_windows *w = &c->window;
  for (int i = 0; i < w->n; i++)
    if (w->kernel[i] != 1 || w->stride[i] != 1 || w->begin[i] != 0 || w->out[i] != w->in[i])
      return false;
  return c->x_source == TL_CONV_F32 || c->x_source == TL_CONV_F64;
}

/* Describes the weights of each image and group to the product; rows are output channels. */
static void side_of_weights(const tl_conv *c, int64_t *at, uint64_t products, tl_gemm_side *s) {
  int64_t length = c->in_channels * c->window.taps;
  *s = (tl_gemm_side){.data = c->w, .lane_stride = length, .k_stride = 1, .at = at};
  for (uint64_t i = 0; i < products; i++)
    at[i] = (int64_t)i % c->groups * c->out_channels * length;
  if (c->x_source != TL_CONV_F32 && c->x_source != TL_CONV_F64) {
    s->pack = tl_conv_pack_weights;
    s->user = c;
  }
}

/* Describes the windows of each image and group to the product; columns are windows. */
static void side_of_windows(const tl_conv *c, int64_t *at, uint64_t products, tl_gemm_side *s) {
  *s = (tl_gemm_side){.pack = tl_conv_pack_windows, .user = c};
  if (!is_pointwise(c))
    return;
  int64_t plane = c->window.in_plane, channels = c->groups * c->in_channels;
  *s = (tl_gemm_side){.data = c->x, .lane_stride = 1, .k_stride = plane, .at = at};
  if (c->channels_last) {
    s->lane_stride = channels;
    s->k_stride = 1;
  }
  for (uint64_t i = 0; i < products; i++) {
    int64_t image = (int64_t)i / c->groups, group = (int64_t)i % c->groups;
    at[i] = image * channels * plane + group * c->in_channels * (c->channels_last ? 1 : plane);
  }
}

/* Computes the product of each image and group: [channels][windows], or with channels last
 * [windows][channels], so that the result is written in its own layout. */
static tl_status by_product(tl_eval *ctx, const tl_conv *c) {
  uint64_t products = (uint64_t)(c->batch * c->groups);
  int64_t *at = tl_eval_scratch(ctx, products, 4 * sizeof *at);
  if (!at)
    return tl_eval_no_memory(ctx);
  int64_t *at_w = at, *at_x = at + products, *at_y = at + 2 * products;
  int64_t *at_start = at + 3 * products;
  int64_t plane = c->window.out_plane, channels = c->groups * c->out_channels;
  tl_gemm g = {.type = c->x_source == TL_CONV_F32   ? TL_GEMM_F32
                       : c->x_source == TL_CONV_F64 ? TL_GEMM_F64
                                                    : TL_GEMM_U32,
               .batches = products,
               .k = c->in_channels * c->window.taps,
               .c = c->y,
               .c_at = at_y,
               .accumulate = c->channels_last && c->bias,
               .start = c->channels_last ? NULL : c->bias,
               .start_at = at_start};
  side_of_weights(c, at_w, products, c->channels_last ? &g.b : &g.a);
  side_of_windows(c, at_x, products, c->channels_last ? &g.a : &g.b);
  g.m = c->channels_last ? plane : c->out_channels;
  g.n = c->channels_last ? c->out_channels : plane;
  g.c_stride = c->channels_last ? channels : plane;
  for (uint64_t i = 0; i < products; i++) {
    int64_t image = (int64_t)i / c->groups, group = (int64_t)i % c->groups;
    at_y[i] = image * channels * plane + group * c->out_channels * (c->channels_last ? 1 : plane);
    at_start[i] = group * c->out_channels;
  }
  return tl_gemm_run(ctx, &g);
}

/* Few output channels would leave most rows of a tile empty. A product whose rows are channels
 * begins its sums at the bias itself. */
tl_status tl_conv_run(tl_eval *ctx, const tl_conv *c) {
  if (c->batch == 0 || c->out_channels == 0 || c->window.out_plane == 0)
    return TL_OK;
  bool directly = c->out_channels < FEW_CHANNELS && !c->channels_last;
  if (c->bias && (directly || c->channels_last))
    tl_conv_fill(ctx, c);
  if (directly) {
    tl_conv_direct(ctx, c);
    return TL_OK;
  }
  return by_product(ctx, c);
}

/* ---- Conv ----------------------------------------------------------------------------------- */

tl_status tl_conv_float(tl_eval *ctx, bool channels_last, tl_host **y) {
  int64_t dims[TL_MAX_RANK];
  tl_conv c;
  TL_TRY(tl_conv_open(ctx, 0, 1, channels_last, &c));
  const tl_host *data = tl_eval_in(ctx, 0), *bias = tl_eval_in(ctx, 2);
  if (c.x_source != c.w_source || (c.x_source != TL_CONV_F32 && c.x_source != TL_CONV_F64))
    return tl_eval_unsupported(ctx, "a convolution of these types is not supported");
  if (bias && (bias->kind != TL_HOST_TENSOR || bias->dtype != data->dtype ||
               bias->n != (uint64_t)(c.groups * c.out_channels)))
    return tl_eval_fail(ctx, "the bias does not have one number for each of %lld channels",
                        (long long)(c.groups * c.out_channels));
  tl_conv_dims(&c, dims);
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)data->dtype, data->rank, dims, y));
  if ((*y)->n == 0)
    return TL_OK;
  c.y = (*y)->data;
  c.bias = bias ? bias->data : NULL;
  return tl_conv_run(ctx, &c);
}

tl_status tl_eval_conv(tl_eval *ctx) {
  tl_host *y;
  return tl_conv_float(ctx, false, &y);
}
