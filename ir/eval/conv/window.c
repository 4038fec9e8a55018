/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows (window.h). Every number is bounded when it is read, so that positions cannot
 * overflow. */
#include "ir/eval/conv/window.h"

#define MAX_NUMBER INT64_C(0x7fffffff) /* for kernel, strides, dilations and pads */
#define MAX_SIZE (INT64_C(1) << 40)    /* for an axis of the input */

tl_status tl_window_list(tl_eval *ctx, tl_symbol name, uint32_t n, int64_t min, tl_int_list *out) {
  *out = tl_eval_ints(ctx, name);
  if (out->n == 0)
    out->at = NULL; /* exporters write an empty list for the default */
  if (!out->at)
    return TL_OK;
  if (out->n != n)
    return tl_eval_fail(ctx, "attribute %.*s has %u values, expected %u",
                        TL_SV_ARG(tl_sym(ctx->m, name)), out->n, n);
  for (uint32_t i = 0; i < n; i++)
    if (out->at[i] < min || out->at[i] > MAX_NUMBER)
      return tl_eval_fail(ctx, "attribute %.*s: %lld is out of range",
                          TL_SV_ARG(tl_sym(ctx->m, name)), (long long)out->at[i]);
  return TL_OK;
}

/* The weight tells the kernel where there is one; the attribute must agree. */
static tl_status read_kernel(tl_eval *ctx, const int64_t *kernel, tl_windows *w) {
  tl_int_list list;
  TL_TRY(tl_window_list(ctx, TL_SYM_kernel_shape, (uint32_t)w->n, 1, &list));
  if (!kernel && !list.at && w->n)
    return tl_eval_fail(ctx, "attribute kernel_shape is missing");
  for (int i = 0; i < w->n; i++) {
    w->kernel[i] = kernel ? kernel[i] : list.at[i];
    if (list.at && list.at[i] != w->kernel[i])
      return tl_eval_fail(ctx, "kernel_shape is %lld along spatial axis %d, the weight has %lld",
                          (long long)list.at[i], i, (long long)w->kernel[i]);
    if (w->kernel[i] < 1 || w->kernel[i] > MAX_NUMBER)
      return tl_eval_fail(ctx, "a kernel of %lld along spatial axis %d is out of range",
                          (long long)w->kernel[i], i);
  }
  return TL_OK;
}

tl_status tl_window_attributes(tl_eval *ctx, int n, const int64_t *in, const int64_t *kernel,
                               tl_windows *w) {
  tl_int_list strides, dilations, pads;
  *w = (tl_windows){.n = n};
  TL_TRY(read_kernel(ctx, kernel, w));
  TL_TRY(tl_window_list(ctx, TL_SYM_strides, (uint32_t)n, 1, &strides));
  TL_TRY(tl_window_list(ctx, TL_SYM_dilations, (uint32_t)n, 1, &dilations));
  TL_TRY(tl_window_list(ctx, TL_SYM_pads, 2 * (uint32_t)n, -MAX_NUMBER, &pads));
  for (int i = 0; i < n; i++) {
    w->in[i] = in[i];
    if (in[i] > MAX_SIZE)
      return tl_eval_fail(ctx, "spatial axis %d has %lld elements", i, (long long)in[i]);
    w->stride[i] = strides.at ? strides.at[i] : 1;
    w->dilation[i] = dilations.at ? dilations.at[i] : 1;
    w->begin[i] = pads.at ? pads.at[i] : 0;
    w->end[i] = pads.at ? pads.at[i + n] : 0;
  }
  return TL_OK;
}

/* The elements from the first to the last tap along an axis. */
static int64_t extent(const tl_windows *w, int i) {
  return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

/* C's division rounds towards 0. */
static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Returns the number of windows along an axis. ceil_mode may add one, but never one that starts in
 * the padding behind the input. */
static int64_t windows(const tl_windows *w, int i, bool ceil) {
  int64_t room = w->in[i] + w->begin[i] + w->end[i] - extent(w, i), stride = w->stride[i];
  if (!ceil)
    return floor_div(room, stride) + 1;
  int64_t n = -floor_div(-room, stride) + 1;
  if (n > 1 && n - 1 > (w->in[i] + w->begin[i] - 1) / stride)
    n--;
  return n;
}

/* Sets as many windows as strides fit, and the padding that takes, split between both ends. */
static void pad_same(tl_windows *w, int i, bool upper) {
  w->out[i] = (w->in[i] + w->stride[i] - 1) / w->stride[i];
  int64_t total = (w->out[i] - 1) * w->stride[i] + extent(w, i) - w->in[i];
  if (total < 0)
    total = 0;
  w->begin[i] = upper ? total / 2 : total - total / 2;
  w->end[i] = total - w->begin[i];
}

tl_status tl_window_count(tl_eval *ctx, tl_windows *w) {
  if (!tl_eval_product(w->kernel, 0, w->n, &w->taps) ||
      !tl_eval_product(w->in, 0, w->n, &w->in_plane) ||
      !tl_eval_product(w->out, 0, w->n, &w->out_plane))
    return tl_eval_fail(ctx, "a window would have more elements than can be counted");
  return TL_OK;
}

tl_status tl_window_open(tl_eval *ctx, int n, const int64_t *in, const int64_t *kernel,
                         tl_windows *w) {
  TL_TRY(tl_window_attributes(ctx, n, in, kernel, w));
  tl_sv pad = tl_eval_string(ctx, TL_SYM_auto_pad);
  bool ceil = tl_eval_int(ctx, TL_SYM_ceil_mode, 0) != 0;
  bool upper = tl_sv_is(pad, "SAME_UPPER"), lower = tl_sv_is(pad, "SAME_LOWER");
  bool valid = tl_sv_is(pad, "VALID");
  if (!upper && !lower && !valid && pad.n && !tl_sv_is(pad, "NOTSET"))
    return tl_eval_fail(ctx,
                        "attribute auto_pad: '%.*s' is none of NOTSET, SAME_UPPER, SAME_LOWER, "
                        "VALID",
                        TL_SV_ARG(pad));
  for (int i = 0; i < n; i++) {
    if (valid)
      w->begin[i] = w->end[i] = 0;
    if (upper || lower)
      pad_same(w, i, upper);
    else
      w->out[i] = windows(w, i, ceil);
    if (w->out[i] < 0)
      return tl_eval_fail(ctx,
                          "a window of %lld does not fit the padded input of %lld along spatial "
                          "axis %d",
                          (long long)extent(w, i), (long long)(in[i] + w->begin[i] + w->end[i]), i);
  }
  return tl_window_count(ctx, w);
}

/* ---- runs and pieces ------------------------------------------------------------------------ */

void tl_window_run_at(const tl_windows *w, int64_t at, int64_t most, tl_window_run *r) {
  r->at = at;
  r->count = 1;
  for (int i = w->n - 1; i >= 0; i--) {
    r->index[i] = at % w->out[i];
    at /= w->out[i];
  }
  if (w->n) {
    r->count = w->out[w->n - 1] - r->index[w->n - 1];
    if (r->count > most)
      r->count = most;
  }
}

/* All axes but the last have one position in a run: either all its windows see the tap inside, or
 * none. Along the last axis the windows that do are consecutive. */
tl_window_piece tl_window_piece_of(const tl_windows *w, const tl_window_run *r,
                                   const int64_t *tap) {
  tl_window_piece none = {0}, p = {.count = r->count};
  int last = w->n - 1;
  for (int i = 0; i < last; i++) {
    int64_t at = r->index[i] * w->stride[i] - w->begin[i] + tap[i] * w->dilation[i];
    if (at < 0 || at >= w->in[i])
      return none;
    p.from = (p.from + at) * w->in[i + 1];
  }
  if (last < 0)
    return p;
  int64_t stride = w->stride[last];
  int64_t at = r->index[last] * stride - w->begin[last] + tap[last] * w->dilation[last];
  if (at < 0) {
    p.first = stride == 1 ? -at : (stride - 1 - at) / stride;
    at += p.first * stride;
  }
  if (at >= w->in[last] || p.first >= r->count)
    return none;
  int64_t inside = stride == 1 ? w->in[last] - at : (w->in[last] - 1 - at) / stride + 1;
  p.count = r->count - p.first < inside ? r->count - p.first : inside;
  p.from += at;
  return p;
}

void tl_window_tap(const tl_windows *w, int64_t number, int64_t *tap) {
  for (int i = w->n - 1; i >= 0; i--) {
    tap[i] = number % w->kernel[i];
    number /= w->kernel[i];
  }
}
