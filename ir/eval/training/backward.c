/* SPDX-License-Identifier: Apache-2.0 */
/* Computes gradients of convolution and pooling, as training graphs of ONNX Runtime have them. Sums
 * are made in double. Each loop writes what belongs to one channel, so that threads do not
 * matter. */
#include <string.h>

#include "ir/eval/conv/pool.h"
#include "ir/eval/conv/window.h"
#include "ir/eval/kernel/lines.h"

/* ---- windows -------------------------------------------------------------------------------- */

/* Returns the place in the input plane that tap `tap` of window `window` reads, -1 in the
 * padding. */
static int64_t place_of(const tl_windows *w, int64_t window, const int64_t *tap) {
  int64_t at = 0, scale = 1;
  for (int i = w->n - 1; i >= 0; i--) {
    int64_t index = window % w->out[i];
    int64_t v = index * w->stride[i] - w->begin[i] + tap[i] * w->dilation[i];
    window /= w->out[i];
    if (v < 0 || v >= w->in[i])
      return -1;
    at += v * scale;
    scale *= w->in[i];
  }
  return at;
}

/* Finds the shape of result 0 as the model states it; images and channels are those of the
 * gradient. No operand says how large the plane was. */
static tl_status stated_shape(tl_eval *ctx, const tl_host *dy, int64_t *dims) {
  const tl_type *t = tl_type_get(ctx->m, tl_value_type(ctx->m, tl_result(ctx->m, ctx->node, 0)));
  if (t->kind != TL_KIND_TENSOR || t->rank != dy->rank)
    return tl_eval_unsupported(ctx, "the model does not state the shape of the result");
  for (int i = 0; i < dy->rank; i++) {
    dims[i] = i < 2 ? dy->dims[i] : t->dims[i];
    if (dims[i] < 0)
      return tl_eval_unsupported(ctx, "the model does not state the sizes of the result");
  }
  return TL_OK;
}

/* Checks that the gradient has as many windows as the attributes give. */
static tl_status check_windows(tl_eval *ctx, const tl_windows *w, const tl_host *dy) {
  for (int i = 0; i < w->n; i++)
    if (w->out[i] != dy->dims[i + 2])
      return tl_eval_fail(ctx, "the gradient has %lld windows along axis %d, not %lld",
                          (long long)dy->dims[i + 2], i + 2, (long long)w->out[i]);
  return TL_OK;
}

/* ---- convolution ---------------------------------------------------------------------------- */

typedef struct conv_grad {
  tl_windows w;
  int64_t images, groups, in_channels, out_channels; /* channels of a group */
  const tl_host *dy, *x, *weight;
  tl_host *dx, *dw, *db;
} conv_grad;

/* Returns the index of an element of the weight [M, C, taps]. */
static int64_t weight_at(const conv_grad *d, int64_t m, int64_t c, int64_t tap) {
  return (m * d->in_channels + c) * d->w.taps + tap;
}

/* Computes one channel of an image of dX: the sum of what its windows send back. */
static void data_range(void *user, uint64_t begin, uint64_t end) {
  const conv_grad *d = user;
  int64_t channels = d->groups * d->in_channels, tap[TL_MAX_RANK];
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t image = i / channels, c = i % channels, g = c / d->in_channels;
    double *plane = (double *)d->dx->data + i * d->w.in_plane;
    for (int64_t k = 0; k < d->w.taps; k++) {
      tl_window_tap(&d->w, k, tap);
      for (int64_t o = 0; o < d->w.out_plane; o++) {
        int64_t at = place_of(&d->w, o, tap);
        for (int64_t m = g * d->out_channels; at >= 0 && m < (g + 1) * d->out_channels; m++) {
          int64_t from = (image * d->groups * d->out_channels + m) * d->w.out_plane + o;
          plane[at] += tl_cell_at(d->dy, (uint64_t)from) *
                       tl_cell_at(d->weight, (uint64_t)weight_at(d, m, c % d->in_channels, k));
        }
      }
    }
  }
}

/* Computes the weights of a pair of output and input channels: the product of data and gradient,
 * summed over images and windows. */
static void filter_range(void *user, uint64_t begin, uint64_t end) {
  const conv_grad *d = user;
  int64_t all = d->groups * d->out_channels, tap[TL_MAX_RANK];
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t m = i / d->in_channels, c = m / d->out_channels * d->in_channels + i % d->in_channels;
    for (int64_t k = 0; k < d->w.taps; k++) {
      double sum = 0;
      tl_window_tap(&d->w, k, tap);
      for (int64_t image = 0; image < d->images; image++)
        for (int64_t o = 0; o < d->w.out_plane; o++) {
          int64_t at = place_of(&d->w, o, tap);
          int64_t plane = image * d->groups * d->in_channels + c;
          if (at >= 0)
            sum += tl_cell_at(d->x, (uint64_t)(plane * d->w.in_plane + at)) *
                   tl_cell_at(d->dy, (uint64_t)((image * all + m) * d->w.out_plane + o));
        }
      tl_cells_store(d->dw->dtype, &sum, d->dw->data, (uint64_t)(i * d->w.taps + k), 1, 1);
    }
  }
}

/* The gradient of a bias is the sum over images and windows. */
static void bias_range(void *user, uint64_t begin, uint64_t end) {
  const conv_grad *d = user;
  int64_t all = d->groups * d->out_channels;
  for (int64_t m = (int64_t)begin; m < (int64_t)end; m++) {
    double sum = 0;
    for (int64_t image = 0; image < d->images; image++)
      for (int64_t o = 0; o < d->w.out_plane; o++)
        sum += tl_cell_at(d->dy, (uint64_t)((image * all + m) * d->w.out_plane + o));
    tl_cells_store(d->db->dtype, &sum, d->db->data, (uint64_t)m, 1, 1);
  }
}

/* Computes dX in double and rounds it once. */
static tl_status data_gradient(tl_eval *ctx, conv_grad *d, uint32_t result) {
  tl_host *out;
  TL_TRY(tl_eval_result_like(ctx, result, (tl_dtype)d->x->dtype, d->x, &out));
  tl_host *sums = tl_host_new(ctx->heap, TL_DTYPE_F64, d->x->rank, d->x->dims);
  if (!sums)
    return tl_eval_no_memory(ctx);
  memset(sums->data, 0, (size_t)sums->bytes);
  d->dx = sums;
  tl_eval_for(ctx, (uint64_t)(d->images * d->groups * d->in_channels), 1, data_range, d);
  tl_cells_store(out->dtype, sums->data, out->data, 0, 1, out->n);
  tl_host_release(sums);
  return TL_OK;
}

/* Finds the windows of the convolution whose transpose the op is. in: what the transposed
 * convolution made; from: what it was made of. Padding that sizes decide is split as ConvTranspose
 * does. */
static tl_status open_transposed(tl_eval *ctx, const tl_host *in, const tl_host *from,
                                 conv_grad *d) {
  tl_windows *w = &d->w;
  tl_int_list extra, shape;
  tl_sv pad = tl_eval_string(ctx, TL_SYM_auto_pad);
  bool upper = tl_sv_is(pad, "SAME_UPPER");
  TL_TRY(tl_window_attributes(ctx, in->rank - 2, in->dims + 2, d->weight->dims + 2, w));
  TL_TRY(tl_window_list(ctx, TL_SYM_output_padding, (uint32_t)w->n, 0, &extra));
  TL_TRY(tl_window_list(ctx, TL_SYM_output_shape, (uint32_t)w->n, 0, &shape));
  for (int i = 0; i < w->n; i++) {
    int64_t size = (w->kernel[i] - 1) * w->dilation[i] + 1 + (extra.at ? extra.at[i] : 0);
    int64_t total = 0;
    if (__builtin_mul_overflow(from->dims[i + 2] - 1, w->stride[i], &total) ||
        __builtin_add_overflow(total, size - w->in[i], &total))
      return tl_eval_fail(ctx, "spatial axis %d is too large", i);
    total = total > 0 ? total : 0;
    w->begin[i] = upper ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
    w->out[i] = from->dims[i + 2];
  }
  return tl_window_count(ctx, w);
}

/* Returns true when sizes decide the padding of a transposed convolution. */
static bool is_sized(tl_eval *ctx) {
  tl_sv pad = tl_eval_string(ctx, TL_SYM_auto_pad);
  return tl_eval_ints(ctx, TL_SYM_output_shape).n || tl_sv_is(pad, "SAME_UPPER") ||
         tl_sv_is(pad, "SAME_LOWER");
}

/* Reads the sizes of a convolution of `data` whose result has the gradient `dy`. transposed: the op
 * is ConvTranspose, whose data and gradient have changed places. */
static tl_status open_conv(tl_eval *ctx, const tl_host *data, const tl_host *dy, bool transposed,
                           conv_grad *d) {
  int64_t groups = tl_eval_int(ctx, TL_SYM_group, 1);
  int n = data->rank - 2;
  d->x = data;
  d->dy = dy;
  if (dy->rank != data->rank || d->weight->rank != data->rank)
    return tl_eval_fail(ctx, "the operands differ in rank");
  TL_TRY(transposed && is_sized(ctx)
             ? open_transposed(ctx, data, dy, d)
             : tl_window_open(ctx, n, data->dims + 2, d->weight->dims + 2, &d->w));
  TL_TRY(check_windows(ctx, &d->w, dy));
  if (groups < 1 || d->weight->dims[0] % groups != 0 || d->weight->dims[1] > INT64_MAX / groups ||
      data->dims[1] != d->weight->dims[1] * groups || dy->dims[1] != d->weight->dims[0] ||
      dy->dims[0] != data->dims[0])
    return tl_eval_fail(ctx, "channels, groups and images do not fit together");
  d->images = data->dims[0];
  d->groups = groups;
  d->in_channels = d->weight->dims[1];
  d->out_channels = d->weight->dims[0] / groups;
  return TL_OK;
}

/* ConvGrad: dY, X, W -> dX, dW, dB. */
tl_status tl_eval_conv_grad(tl_eval *ctx) {
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 3, TL_MAX_RANK));
  conv_grad d = {.weight = tl_eval_in(ctx, 2)};
  TL_TRY(open_conv(ctx, tl_eval_in(ctx, 1), tl_eval_in(ctx, 0), false, &d));
  TL_TRY(data_gradient(ctx, &d, 0));
  TL_TRY(tl_eval_result_like(ctx, 1, (tl_dtype)d.weight->dtype, d.weight, &d.dw));
  tl_eval_for(ctx, (uint64_t)(d.groups * d.out_channels * d.in_channels), 1, filter_range, &d);
  TL_TRY(tl_eval_result(ctx, 2, (tl_dtype)d.weight->dtype, 1, d.weight->dims, &d.db));
  tl_eval_for(ctx, d.db->n, 1, bias_range, &d);
  return TL_OK;
}

/* Computes one channel of dX of a ConvTranspose: a convolution of dY with W. */
static void gather_range(void *user, uint64_t begin, uint64_t end) {
  const conv_grad *d = user;
  int64_t all = d->groups * d->out_channels, channels = d->groups * d->in_channels;
  int64_t tap[TL_MAX_RANK];
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t image = i / all, m = i % all, first = m / d->out_channels * d->in_channels;
    for (int64_t o = 0; o < d->w.out_plane; o++) {
      double sum = 0;
      for (int64_t k = 0; k < d->w.taps; k++) {
        tl_window_tap(&d->w, k, tap);
        int64_t at = place_of(&d->w, o, tap);
        for (int64_t c = 0; at >= 0 && c < d->in_channels; c++) {
          int64_t from = (image * channels + first + c) * d->w.in_plane + at;
          sum += tl_cell_at(d->x, (uint64_t)from) *
                 tl_cell_at(d->weight, (uint64_t)weight_at(d, m, c, k));
        }
      }
      tl_cells_store(d->dx->dtype, &sum, d->dx->data, (uint64_t)(i * d->w.out_plane + o), 1, 1);
    }
  }
}

/* ConvTransposeGrad: dY, X, W -> dX, dW, dB. dY takes the place of a convolution's data, and X that
 * of its gradient. */
tl_status tl_eval_conv_transpose_grad(tl_eval *ctx) {
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 3, TL_MAX_RANK));
  conv_grad d = {.weight = tl_eval_in(ctx, 2)};
  const tl_host *dy = tl_eval_in(ctx, 0), *data = tl_eval_in(ctx, 1);
  TL_TRY(open_conv(ctx, dy, data, true, &d));
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)data->dtype, data, &d.dx));
  tl_eval_for(ctx, (uint64_t)(d.images * d.groups * d.out_channels), 1, gather_range, &d);
  TL_TRY(tl_eval_result_like(ctx, 1, (tl_dtype)d.weight->dtype, d.weight, &d.dw));
  tl_eval_for(ctx, (uint64_t)(d.groups * d.out_channels * d.in_channels), 1, filter_range, &d);
  TL_TRY(tl_eval_result(ctx, 2, (tl_dtype)d.weight->dtype, 1, dy->dims + 1, &d.db));
  conv_grad bias = {.w = d.w, .images = d.images, .groups = 1, .dy = dy, .db = d.db};
  bias.out_channels = dy->dims[1];
  bias.w.out_plane = d.w.in_plane;
  tl_eval_for(ctx, d.db->n, 1, bias_range, &bias);
  return TL_OK;
}

/* ---- pooling -------------------------------------------------------------------------------- */

/* MaxPoolGrad: dY, and for each of its elements the place in all of dX that it came from. */
tl_status tl_eval_max_pool_grad(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, TL_MAX_RANK));
  const tl_host *dy = tl_eval_in(ctx, 0), *at = tl_eval_in(ctx, 1);
  int64_t dims[TL_MAX_RANK];
  tl_host *out;
  TL_TRY(tl_eval_need_rank(ctx, 1, dy->rank, dy->rank));
  TL_TRY(stated_shape(ctx, dy, dims));
  if (!tl_host_same_shape(dy, at))
    return tl_eval_fail(ctx, "there must be an index for each element of the gradient");
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)dy->dtype, dy->rank, dims, &out));
  tl_host *sums = tl_host_new(ctx->heap, TL_DTYPE_F64, dy->rank, dims);
  if (!sums)
    return tl_eval_no_memory(ctx);
  memset(sums->data, 0, (size_t)sums->bytes);
  tl_status status = TL_OK;
  for (uint64_t i = 0; status == TL_OK && i < dy->n; i++) {
    int64_t place = tl_host_int_at(at, i);
    if (place < 0 || (uint64_t)place >= out->n)
      status = tl_eval_fail(ctx, "index %lld is outside of %llu elements", (long long)place,
                            (unsigned long long)out->n);
    else
      ((double *)sums->data)[place] += tl_cell_at(dy, i);
  }
  if (status == TL_OK)
    tl_cells_store(out->dtype, sums->data, out->data, 0, 1, out->n);
  tl_host_release(sums);
  return status;
}

typedef struct mean_grad {
  tl_windows w;
  const tl_host *dy;
  double *dx;
  bool padding; /* counts */
} mean_grad;

/* Returns how many taps of a window count: those in the input, or in the input and its padding, but
 * not what ceil_mode added behind. */
static int64_t taps_counted(const mean_grad *d, int64_t window) {
  int64_t n = 1;
  for (int i = d->w.n - 1; i >= 0; i--) {
    n *= tl_window_taps_inside(&d->w, i, window % d->w.out[i], d->padding);
    window /= d->w.out[i];
  }
  return n;
}

/* Each window sends an equal part of its gradient to every tap that counts. */
static void mean_range(void *user, uint64_t begin, uint64_t end) {
  const mean_grad *d = user;
  int64_t tap[TL_MAX_RANK];
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++)
    for (int64_t o = 0; o < d->w.out_plane; o++) {
      int64_t count = taps_counted(d, o);
      double part = tl_cell_at(d->dy, (uint64_t)(i * d->w.out_plane + o)) / (double)count;
      for (int64_t k = 0; k < d->w.taps; k++) {
        tl_window_tap(&d->w, k, tap);
        int64_t at = place_of(&d->w, o, tap);
        if (at >= 0)
          d->dx[i * d->w.in_plane + at] += part;
      }
    }
}

tl_status tl_eval_average_pool_grad(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, TL_MAX_RANK));
  mean_grad d = {.dy = tl_eval_in(ctx, 0)};
  int64_t dims[TL_MAX_RANK];
  tl_host *out;
  TL_TRY(stated_shape(ctx, d.dy, dims));
  TL_TRY(tl_window_open(ctx, d.dy->rank - 2, dims + 2, NULL, &d.w));
  TL_TRY(check_windows(ctx, &d.w, d.dy));
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)d.dy->dtype, d.dy->rank, dims, &out));
  tl_host *sums = tl_host_new(ctx->heap, TL_DTYPE_F64, d.dy->rank, dims);
  if (!sums)
    return tl_eval_no_memory(ctx);
  memset(sums->data, 0, (size_t)sums->bytes);
  d.dx = sums->data;
  d.padding = tl_eval_int(ctx, TL_SYM_count_include_pad, 0) != 0;
  tl_eval_for(ctx, (uint64_t)(dims[0] * dims[1]), 1, mean_range, &d);
  tl_cells_store(out->dtype, sums->data, out->data, 0, 1, out->n);
  tl_host_release(sums);
  return TL_OK;
}
