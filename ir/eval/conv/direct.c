/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution without a matrix product: one row of windows at a time, each tap added to the whole
 * row. The order of the sums is that of the product. */
#include "ir/eval/conv/ways.h"

/* A row of results of one output channel. */
typedef struct line {
  const tl_conv *c;
  int64_t image;
  int64_t out; /* output channel, over all groups */
  int64_t at;  /* first window */
  tl_window_run run;
} line;

/* Defines the row function of a pair of types. For each channel and tap: y[i] += w * x[i * stride],
 * for those windows of which the tap lies inside the input. Stride 1 is a loop of its own to
 * vectorise. */
#define DEFINE_LINE(NAME, X, W, Y, XVALUE, WVALUE)                                                 \
  static void NAME(const line *l, Y *restrict y) {                                                 \
    const tl_conv *c = l->c;                                                                       \
    const tl_windows *v = &c->window;                                                              \
    int64_t first = l->out / c->out_channels * c->in_channels, number = 0;                         \
    int64_t stride = v->n ? v->stride[v->n - 1] : 1, tap[TL_MAX_RANK] = {0};                       \
    const X *x = (const X *)c->x + (l->image * c->groups * c->in_channels + first) * v->in_plane;  \
    const char *w = (const char *)c->w + (size_t)(l->out * c->in_channels * v->taps) * sizeof(W);  \
    int32_t wz = c->w_zero ? c->w_zero[l->out] : 0, xz = c->x_zero;                                \
    (void)wz, (void)xz;                                                                            \
    for (int64_t k = 0; k < c->in_channels; k++)                                                   \
      do {                                                                                         \
        tl_window_piece p = tl_window_piece_of(v, &l->run, tap);                                   \
        const X *restrict from = x + k * v->in_plane + p.from;                                     \
        Y *restrict to = y + p.first;                                                              \
        W value;                                                                                   \
        memcpy(&value, w + (size_t)number++ * sizeof value, sizeof value);                         \
        if (stride == 1)                                                                           \
          for (int64_t i = 0; i < p.count; i++)                                                    \
            to[i] += (WVALUE) * (XVALUE(from[i]));                                                 \
        else                                                                                       \
          for (int64_t i = 0; i < p.count; i++)                                                    \
            to[i] += (WVALUE) * (XVALUE(from[i * stride]));                                        \
      } while (tl_window_next_tap(v, tap));                                                        \
  }

/* Integers less their zero points; sums wrap in 32 bits. */
#define AS_IS(v) (v)
#define LESS_ZERO(v) ((uint32_t)((int32_t)(v)-xz))
#define WEIGHT_LESS_ZERO ((uint32_t)((int32_t)value - wz))

DEFINE_LINE(line_f32, float, float, float, AS_IS, value)
DEFINE_LINE(line_f64, double, double, double, AS_IS, value)
DEFINE_LINE(line_uu, uint8_t, uint8_t, uint32_t, LESS_ZERO, WEIGHT_LESS_ZERO)
DEFINE_LINE(line_ui, uint8_t, int8_t, uint32_t, LESS_ZERO, WEIGHT_LESS_ZERO)
DEFINE_LINE(line_iu, int8_t, uint8_t, uint32_t, LESS_ZERO, WEIGHT_LESS_ZERO)
DEFINE_LINE(line_ii, int8_t, int8_t, uint32_t, LESS_ZERO, WEIGHT_LESS_ZERO)

static void add_line(const line *l, void *y) {
  bool signed_w = l->c->w_source == TL_CONV_I8;
  switch (l->c->x_source) {
  case TL_CONV_F32: line_f32(l, y); break;
  case TL_CONV_F64: line_f64(l, y); break;
  case TL_CONV_U8: signed_w ? line_ui(l, y) : line_uu(l, y); break;
  default: signed_w ? line_ii(l, y) : line_iu(l, y); break;
  }
}

/* Computes channels [begin, end), counted over all images. */
static void channels(void *user, uint64_t begin, uint64_t end) {
  const tl_conv *c = user;
  size_t size = c->x_source == TL_CONV_F64 ? 8 : 4;
  int64_t plane = c->window.out_plane, all = c->groups * c->out_channels;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    char *y = (char *)c->y + (size_t)(i * plane) * size;
    line l = {.c = c, .image = i / all, .out = i % all};
    if (!c->bias) /* else y holds it */
      memset(y, 0, (size_t)plane * size);
    for (int64_t at = 0; at < plane; at += l.run.count) {
      tl_window_run_at(&c->window, at, plane - at, &l.run);
      add_line(&l, y + (size_t)at * size);
    }
  }
}

void tl_conv_direct(const tl_eval *ctx, const tl_conv *c) {
  tl_conv own = *c;
  tl_eval_for(ctx, (uint64_t)(c->batch * c->groups * c->out_channels), 1, channels, &own);
}
