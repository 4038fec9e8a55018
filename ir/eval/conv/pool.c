/* SPDX-License-Identifier: Apache-2.0 */
/* Computes AveragePool and LpPool, and what all pooling over windows shares (pool.h). */
#include "ir/eval/conv/pool.h"

#include <math.h>

#include "ir/eval/math/elementary.h"

enum { WINDOW_GRAIN = 1 << 12 };

/* ---- shared --------------------------------------------------------------------------------- */

/* The attribute kernel_shape is needed, as pooling has no weight. */
tl_status tl_pooling_open(tl_eval *ctx, bool channels_last, tl_pooling *p) {
  *p = (tl_pooling){.channels_last = channels_last};
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  p->x = tl_eval_in(ctx, 0);
  int rank = p->x->rank;
  TL_TRY(tl_window_open(ctx, rank - 2, p->x->dims + (channels_last ? 1 : 2), NULL, &p->window));
  p->images = p->x->dims[0];
  p->channels = p->x->dims[channels_last ? rank - 1 : 1];
  p->place = channels_last ? p->channels : 1;
  return TL_OK;
}

void tl_pooling_dims(const tl_pooling *p, int64_t *dims) {
  int n = p->window.n;
  dims[0] = p->images;
  dims[p->channels_last ? n + 1 : 1] = p->channels;
  for (int i = 0; i < n; i++)
    dims[i + (p->channels_last ? 1 : 2)] = p->window.out[i];
}

tl_status tl_pooling_result(tl_eval *ctx, tl_pooling *p) {
  int64_t dims[TL_MAX_RANK];
  tl_pooling_dims(p, dims);
  return tl_eval_result(ctx, 0, (tl_dtype)p->x->dtype, p->x->rank, dims, &p->y);
}

/* Channels are counted over all images; plane: elements of a channel. */
int64_t tl_pooling_base(const tl_pooling *p, int64_t i, int64_t plane) {
  return p->channels_last ? i / p->channels * p->channels * plane + i % p->channels : i * plane;
}

/* One item is one channel of one image. */
void tl_pooling_for(const tl_eval *ctx, tl_pooling *p, tl_eval_range fn, void *user) {
  if (p->window.out_plane == 0 || p->images == 0 || p->channels == 0)
    return;
  uint64_t grain = WINDOW_GRAIN / (uint64_t)p->window.out_plane + 1;
  tl_eval_for(ctx, (uint64_t)(p->images * p->channels), grain, fn, user);
}

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/* Along the last axis the run's first and last windows bound the taps; along the others all windows
 * of the run have the same index. */
bool tl_tap_box_of(const tl_windows *w, const tl_window_run *r, tl_tap_box *box) {
  for (int i = 0; i < w->n; i++) {
    int64_t first = r->index[i] * w->stride[i] - w->begin[i];
    int64_t last = first + (i == w->n - 1 ? (r->count - 1) * w->stride[i] : 0);
    box->low[i] = last >= 0 ? 0 : ceil_div(-last, w->dilation[i]);
    if (first >= w->in[i])
      return false;
    box->high[i] = (w->in[i] - 1 - first) / w->dilation[i];
    if (box->high[i] > w->kernel[i] - 1)
      box->high[i] = w->kernel[i] - 1;
    if (box->low[i] > box->high[i])
      return false;
  }
  return true;
}

/* With `padding`, taps in the padding count, but none that ceil_mode puts beyond it. */
int64_t tl_window_taps_inside(const tl_windows *w, int axis, int64_t index, bool padding) {
  int64_t at = index * w->stride[axis] - w->begin[axis], d = w->dilation[axis];
  int64_t end = w->in[axis] + (padding ? w->end[axis] : 0);
  int64_t low = padding || at >= 0 ? 0 : ceil_div(-at, d);
  int64_t high = end > at ? (end - 1 - at) / d : -1;
  if (high > w->kernel[axis] - 1)
    high = w->kernel[axis] - 1;
  return high < low ? 0 : high - low + 1;
}

/* ---- sums ----------------------------------------------------------------------------------- */

typedef struct summing {
  tl_pooling p;
  bool count_padding;
  int64_t power; /* 0: the mean; else the norm */
} summing;

/* Norms are over magnitudes. */
static float power_f32(float v, int64_t p) { return (float)tl_pow((double)fabsf(v), (double)p); }
static double power_f64(double v, int64_t p) { return tl_pow(fabs(v), (double)p); }

/* Returns how many elements the mean over a window divides by. */
static int64_t divisor(const summing *s, const int64_t *index) {
  const tl_windows *w = &s->p.window;
  int64_t n = 1;
  for (int i = 0; i < w->n; i++)
    n *= tl_window_taps_inside(w, i, index[i], s->count_padding);
  return n;
}

/* Defines the functions of a type: ADD adds one tap to a row of windows, FINISH makes means or
 * norms of the sums. Powers 1 and 0 need no root, power 2 has the square root. */
#define DEFINE_SUM(TYPE, ADD, POWER, ROOT, FINISH)                                                 \
  static void ADD(const summing *s, const TYPE *from, int64_t stride, int64_t n, TYPE *to) {       \
    if (s->power == 0)                                                                             \
      for (int64_t i = 0; i < n; i++)                                                              \
        to[i] += from[i * stride];                                                                 \
    else if (s->power == 2)                                                                        \
      for (int64_t i = 0; i < n; i++)                                                              \
        to[i] += from[i * stride] * from[i * stride];                                              \
    else                                                                                           \
      for (int64_t i = 0; i < n; i++)                                                              \
        to[i] += POWER(from[i * stride], s->power);                                                \
  }                                                                                                \
  static void FINISH(const summing *s, tl_window_run *r, TYPE *to) {                               \
    int last = s->p.window.n - 1;                                                                  \
    for (int64_t i = 0; i < r->count; i++) {                                                       \
      if (s->power == 0)                                                                           \
        to[i] /= (TYPE)divisor(s, r->index);                                                       \
      else if (s->power == 2)                                                                      \
        to[i] = ROOT(to[i]);                                                                       \
      else if (s->power > 2)                                                                       \
        to[i] = (TYPE)tl_pow((double)to[i], 1.0 / (double)s->power);                               \
      if (last >= 0)                                                                               \
        r->index[last]++;                                                                          \
    }                                                                                              \
  }

DEFINE_SUM(float, add_f32, power_f32, sqrtf, finish_f32)
DEFINE_SUM(double, add_f64, power_f64, sqrt, finish_f64)

/* Adds the taps in order to a whole run of windows. */
static void sum_run(const summing *s, tl_window_run *r, const void *x, int64_t base, void *y) {
  const tl_windows *w = &s->p.window;
  bool is_double = s->p.x->dtype == TL_DTYPE_F64;
  int64_t stride = w->n ? w->stride[w->n - 1] : 1, tap[TL_MAX_RANK];
  tl_tap_box box;
  memset(y, 0, (size_t)r->count * (is_double ? 8 : 4));
  if (tl_tap_box_of(w, r, &box)) {
    memcpy(tap, box.low, (size_t)w->n * sizeof *tap);
    do {
      tl_window_piece p = tl_window_piece_of(w, r, tap);
      if (is_double)
        add_f64(s, (const double *)x + base + p.from, stride, p.count, (double *)y + p.first);
      else
        add_f32(s, (const float *)x + base + p.from, stride, p.count, (float *)y + p.first);
    } while (tl_tap_box_next(w, &box, tap));
  }
  if (is_double)
    finish_f64(s, r, y);
  else
    finish_f32(s, r, y);
}

/* The windows of a channel are cut into runs along the last axis. */
static void sum_channels(void *user, uint64_t begin, uint64_t end) {
  const summing *s = user;
  const tl_windows *w = &s->p.window;
  size_t size = tl_host_element_size((tl_dtype)s->p.x->dtype);
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    tl_window_run r;
    for (int64_t at = 0; at < w->out_plane; at += r.count) {
      tl_window_run_at(w, at, w->out_plane - at, &r);
      sum_run(s, &r, s->p.x->data, i * w->in_plane,
              (char *)s->p.y->data + (size_t)(i * w->out_plane + at) * size);
    }
  }
}

/* Pools operand 0. power: 0 for the mean, else that of the norm. */
static tl_status sum(tl_eval *ctx, bool count_padding, int64_t power) {
  summing s = {.count_padding = count_padding, .power = power};
  TL_TRY(tl_pooling_open(ctx, false, &s.p));
  if (s.p.x->dtype != TL_DTYPE_F32 && s.p.x->dtype != TL_DTYPE_F64)
    return tl_eval_unsupported(ctx, "pooling of %s is not supported",
                               tl_dtype_get((tl_dtype)s.p.x->dtype)->name);
  TL_TRY(tl_pooling_result(ctx, &s.p));
  tl_pooling_for(ctx, &s.p, sum_channels, &s);
  return TL_OK;
}

tl_status tl_eval_average_pool(tl_eval *ctx) {
  return sum(ctx, tl_eval_int(ctx, TL_SYM_count_include_pad, 0) != 0, 0);
}

tl_status tl_eval_lp_pool(tl_eval *ctx) {
  int64_t p = tl_eval_int(ctx, TL_SYM_p, 2);
  if (p < 1)
    return tl_eval_fail(ctx, "attribute p is %lld, expected at least 1", (long long)p);
  return sum(ctx, false, p);
}
