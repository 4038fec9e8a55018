/* SPDX-License-Identifier: Apache-2.0 */
/* Computes DeformConv, where every tap of every window has an offset of its own. The sampled
 * windows of one image are stored, then multiplied with the weights. */
#include <math.h>

#include "ir/eval/conv/conv.h"
#include "ir/eval/linear/gemm.h"

/* The convolution and its maps; `image` is the one at hand. */
typedef struct deform {
  tl_conv c;
  const tl_host *offset; /* [N, offset groups * taps * 2, out] */
  const tl_host *mask;   /* [N, offset groups * taps, out]; NULL: 1 */
  int64_t offset_groups;
  int64_t image;
  void *columns; /* [channels * taps][out] */
} deform;

/* Defines the sampling of a type. NAME_at interpolates between four neighbours, of which those
 * outside are zero; NAME samples one channel and tap of all windows. */
#define DEFINE_SAMPLE(NAME, TYPE)                                                                  \
  static TYPE NAME##_at(const TYPE *x, const tl_windows *w, double h, double v) {                  \
    if (!(h > -1 && v > -1 && h < (double)w->in[0] && v < (double)w->in[1]))                       \
      return 0;                                                                                    \
    int64_t h0 = (int64_t)floor(h), v0 = (int64_t)floor(v);                                        \
    TYPE dh = (TYPE)(h - (double)h0), dv = (TYPE)(v - (double)v0), sum = 0;                        \
    for (int64_t i = 0; i < 4; i++) {                                                              \
      int64_t hi = h0 + i / 2, vi = v0 + i % 2;                                                    \
      TYPE part = (i / 2 ? dh : 1 - dh) * (i % 2 ? dv : 1 - dv);                                   \
      if (hi >= 0 && vi >= 0 && hi < w->in[0] && vi < w->in[1])                                    \
        sum += part * x[hi * w->in[1] + vi];                                                       \
    }                                                                                              \
    return sum;                                                                                    \
  }                                                                                                \
  /* one channel and tap of all windows */                                                         \
  static void NAME(const deform *d, int64_t channel, int64_t tap) {                                \
    const tl_windows *w = &d->c.window;                                                            \
    int64_t channels = d->c.groups * d->c.in_channels, plane = w->out_plane;                       \
    int64_t group = channel / (channels / d->offset_groups);                                       \
    int64_t at = (d->image * d->offset_groups + group) * w->taps + tap;                            \
    const TYPE *x = (const TYPE *)d->c.x + (d->image * channels + channel) * w->in_plane;          \
    const TYPE *dh = (const TYPE *)d->offset->data + 2 * at * plane, *dv = dh + plane;             \
    const TYPE *mask = d->mask ? (const TYPE *)d->mask->data + at * plane : NULL;                  \
    TYPE *to = (TYPE *)d->columns + (channel * w->taps + tap) * plane;                             \
    for (int64_t i = 0; i < plane; i++) {                                                          \
      int64_t h = i / w->out[1] * w->stride[0] - w->begin[0] +                                     \
                  tap / w->kernel[1] * w->dilation[0];                                             \
      int64_t v = i % w->out[1] * w->stride[1] - w->begin[1] +                                     \
                  tap % w->kernel[1] * w->dilation[1];                                             \
      TYPE value = NAME##_at(x, w, (double)h + (double)dh[i], (double)v + (double)dv[i]);          \
      to[i] = mask ? value * mask[i] : value;                                                      \
    }                                                                                              \
  }

DEFINE_SAMPLE(sample_f32, float)
DEFINE_SAMPLE(sample_f64, double)

/* Row i is channel i / taps and tap i % taps. */
static void sample_rows(void *user, uint64_t begin, uint64_t end) {
  const deform *d = user;
  int64_t taps = d->c.window.taps;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++)
    if (d->c.x_source == TL_CONV_F32)
      sample_f32(d, i / taps, i % taps);
    else
      sample_f64(d, i / taps, i % taps);
}

/* Multiplies the sampled windows of one image with the weights, all groups at once. */
static tl_status multiply(tl_eval *ctx, const deform *d, int64_t *at) {
  const tl_conv *c = &d->c;
  int64_t plane = c->window.out_plane, k = c->in_channels * c->window.taps;
  int64_t *at_a = at, *at_b = at + c->groups, *at_y = at + 2 * c->groups;
  for (int64_t g = 0; g < c->groups; g++) {
    at_a[g] = g * c->out_channels * k;
    at_b[g] = g * k * plane;
    at_y[g] = (d->image * c->groups + g) * c->out_channels * plane;
  }
  tl_gemm g = {.type = c->x_source == TL_CONV_F32 ? TL_GEMM_F32 : TL_GEMM_F64,
               .batches = (uint64_t)c->groups,
               .m = c->out_channels,
               .n = plane,
               .k = k,
               .a = {.data = c->w, .lane_stride = k, .k_stride = 1, .at = at_a},
               .b = {.data = d->columns, .lane_stride = 1, .k_stride = plane, .at = at_b},
               .c = c->y,
               .c_at = at_y,
               .c_stride = plane,
               .accumulate = true};
  return tl_gemm_run(ctx, &g);
}

/* Checks the shape of offset (times = 2: a row and a column for each tap) or mask (1). */
static tl_status check_map(tl_eval *ctx, const deform *d, const tl_host *t, int64_t times,
                           const char *what) {
  int64_t dims[4] = {d->c.batch, 0, d->c.window.out[0], d->c.window.out[1]};
  if (__builtin_mul_overflow(d->offset_groups * times, d->c.window.taps, &dims[1]) ||
      t->kind != TL_HOST_TENSOR || t->rank != 4 || t->dtype != tl_eval_in(ctx, 0)->dtype ||
      memcmp(t->dims, dims, sizeof dims) != 0)
    return tl_eval_fail(ctx, "%s must be [%lld,%lld,%lld,%lld] of the data's type", what,
                        (long long)dims[0], (long long)dims[1], (long long)dims[2],
                        (long long)dims[3]);
  return TL_OK;
}

static tl_status open_deform(tl_eval *ctx, deform *d) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  if (tl_eval_in(ctx, 0)->rank != 4)
    return tl_eval_unsupported(ctx, "only images of two axes are supported");
  TL_TRY(tl_conv_open(ctx, 0, 1, false, &d->c));
  if (d->c.x_source != d->c.w_source || d->c.x_source > TL_CONV_F64)
    return tl_eval_unsupported(ctx, "a convolution of these types is not supported");
  d->offset = tl_eval_in(ctx, 2);
  d->mask = tl_eval_in(ctx, 4);
  d->offset_groups = tl_eval_int(ctx, TL_SYM_offset_group, 1);
  int64_t channels = d->c.groups * d->c.in_channels;
  if (!d->offset || d->offset_groups < 1 || d->offset_groups > INT32_MAX ||
      channels % d->offset_groups)
    return tl_eval_fail(ctx, "%lld channels do not fit offset_group %lld", (long long)channels,
                        (long long)d->offset_groups);
  TL_TRY(check_map(ctx, d, d->offset, 2, "offset"));
  return d->mask ? check_map(ctx, d, d->mask, 1, "mask") : TL_OK;
}

/* Makes y, which begins as the bias. */
static tl_status start_result(tl_eval *ctx, deform *d, tl_host **y) {
  int64_t dims[TL_MAX_RANK];
  const tl_host *bias = tl_eval_in(ctx, 3), *data = tl_eval_in(ctx, 0);
  if (bias && (bias->kind != TL_HOST_TENSOR || bias->dtype != data->dtype ||
               bias->n != (uint64_t)(d->c.groups * d->c.out_channels)))
    return tl_eval_fail(ctx, "the bias does not have one number for each channel");
  tl_conv_dims(&d->c, dims);
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)data->dtype, 4, dims, y));
  d->c.y = (*y)->data;
  d->c.bias = bias ? bias->data : NULL;
  if ((*y)->n && bias)
    tl_conv_fill(ctx, &d->c);
  else if ((*y)->n)
    memset((*y)->data, 0, (size_t)(*y)->bytes);
  return TL_OK;
}

/* DeformConv: X, W, offset, B, mask. Images are done one by one to bound the memory of the
 * windows. */
tl_status tl_eval_deform_conv(tl_eval *ctx) {
  deform d = {0};
  tl_host *y;
  TL_TRY(open_deform(ctx, &d));
  TL_TRY(start_result(ctx, &d, &y));
  int64_t rows = d.c.groups * d.c.in_channels, total;
  if (y->n == 0 || rows == 0)
    return TL_OK;
  if (__builtin_mul_overflow(rows, d.c.window.taps, &rows) ||
      __builtin_mul_overflow(rows, d.c.window.out_plane, &total))
    return tl_eval_fail(ctx, "the windows have more elements than can be counted");
  int64_t *at = tl_eval_scratch(ctx, (uint64_t)d.c.groups, 3 * sizeof *at);
  d.columns = tl_eval_scratch(ctx, (uint64_t)total, d.c.x_source == TL_CONV_F32 ? 4 : 8);
  if (!at || !d.columns)
    return tl_eval_no_memory(ctx);
  for (d.image = 0; d.image < d.c.batch; d.image++) {
    tl_eval_for(ctx, (uint64_t)rows, 4, sample_rows, &d);
    TL_TRY(multiply(ctx, &d, at));
  }
  return TL_OK;
}
