/* SPDX-License-Identifier: Apache-2.0 */
/* Computes MaxPool with and without indices, its channels-last form, and MaxUnpool. NaN is greater
 * than every number; of equal numbers the first one counts. */
#include <math.h>

#include "ir/eval/conv/pool.h"

/* A pooling for the greatest elements. */
typedef struct maximum {
  tl_pooling p;
  tl_host *indices; /* NULL: not wanted */
  bool column_major;
} maximum;

/* ---- without indices: a row of windows at a time -------------------------------------------- */

/* Defines the maximum of a type over a run of windows: each tap is compared with the whole run. */
#define DEFINE_MAX(NAME, TYPE, LOWEST)                                                             \
  static void NAME(const tl_pooling *p, const tl_window_run *r, int64_t from_x, int64_t to_y) {    \
    const tl_windows *w = &p->window;                                                              \
    const TYPE *x = (const TYPE *)p->x->data + from_x;                                             \
    TYPE *y = (TYPE *)p->y->data + to_y;                                                           \
    int64_t step = p->place * (w->n ? w->stride[w->n - 1] : 1), tap[TL_MAX_RANK];                  \
    tl_tap_box box;                                                                                \
    for (int64_t i = 0; i < r->count; i++)                                                         \
      y[i * p->place] = LOWEST;                                                                    \
    if (!tl_tap_box_of(w, r, &box))                                                                \
      return;                                                                                      \
    memcpy(tap, box.low, (size_t)w->n * sizeof *tap);                                              \
    do {                                                                                           \
      tl_window_piece piece = tl_window_piece_of(w, r, tap);                                       \
      const TYPE *from = x + piece.from * p->place;                                                \
      TYPE *to = y + piece.first * p->place;                                                       \
      for (int64_t i = 0; i < piece.count; i++) {                                                  \
        TYPE v = from[i * step], old = to[i * p->place];                                           \
        to[i * p->place] = v > old || v != v ? v : old;                                            \
      }                                                                                            \
    } while (tl_tap_box_next(w, &box, tap));                                                       \
  }

DEFINE_MAX(max_f32, float, -INFINITY)
DEFINE_MAX(max_f64, double, (double)-INFINITY)
DEFINE_MAX(max_u8, uint8_t, 0)
DEFINE_MAX(max_i8, int8_t, INT8_MIN)

/* The types that max_pool admits. */
static void max_run(const tl_pooling *p, const tl_window_run *r, int64_t x, int64_t y) {
  switch (p->x->dtype) {
  case TL_DTYPE_F32: max_f32(p, r, x, y); break;
  case TL_DTYPE_F64: max_f64(p, r, x, y); break;
  case TL_DTYPE_U8: max_u8(p, r, x, y); break;
  default: max_i8(p, r, x, y); break;
  }
}

/* A window without any tap inside keeps the lowest number. */
static void max_channels(void *user, uint64_t begin, uint64_t end) {
  const maximum *m = user;
  const tl_windows *w = &m->p.window;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    int64_t x = tl_pooling_base(&m->p, i, w->in_plane), y = tl_pooling_base(&m->p, i, w->out_plane);
    tl_window_run r;
    for (int64_t at = 0; at < w->out_plane; at += r.count) {
      tl_window_run_at(w, at, w->out_plane - at, &r);
      max_run(&m->p, &r, x, y + at * m->p.place);
    }
  }
}

/* ---- with indices: a window at a time ------------------------------------------------------- */

/* Exact for all four types. */
static double number_at(const tl_host *t, int64_t i) {
  switch (t->dtype) {
  case TL_DTYPE_F32: return (double)((const float *)t->data)[i];
  case TL_DTYPE_F64: return ((const double *)t->data)[i];
  case TL_DTYPE_U8: return (double)((const uint8_t *)t->data)[i];
  default: return (double)((const int8_t *)t->data)[i];
  }
}

/* Returns the element of the plane with the greatest number of one window, -1 when no tap is
 * inside. */
static int64_t find_greatest(const tl_pooling *p, const tl_window_run *r, int64_t base) {
  const tl_windows *w = &p->window;
  int64_t tap[TL_MAX_RANK], best = -1;
  double most = 0;
  tl_tap_box box;
  if (!tl_tap_box_of(w, r, &box))
    return -1;
  memcpy(tap, box.low, (size_t)w->n * sizeof *tap);
  do {
    tl_window_piece piece = tl_window_piece_of(w, r, tap);
    if (piece.count == 0)
      continue;
    double v = number_at(p->x, base + piece.from);
    if (best < 0 || v > most || (isnan(v) && !isnan(most))) {
      best = piece.from;
      most = v;
    }
  } while (tl_tap_box_next(w, &box, tap));
  return best;
}

/* Returns the number of the same element when the first axis counts fastest (storage_order 1). */
static int64_t column_major(const tl_windows *w, int64_t at) {
  int64_t index[TL_MAX_RANK], out = 0;
  for (int i = w->n - 1; i >= 0; i--) {
    index[i] = at % w->in[i];
    at /= w->in[i];
  }
  for (int i = w->n - 1; i >= 0; i--)
    out = out * w->in[i] + index[i];
  return out;
}

/* Finds the index of each maximum, counted over the whole operand, as ONNX asks. */
static void index_channels(void *user, uint64_t begin, uint64_t end) {
  const maximum *m = user;
  const tl_windows *w = &m->p.window;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++)
    for (int64_t at = 0; at < w->out_plane; at++) {
      tl_window_run r;
      tl_window_run_at(w, at, 1, &r);
      int64_t best = find_greatest(&m->p, &r, i * w->in_plane);
      if (best >= 0)
        best = i * w->in_plane + (m->column_major ? column_major(w, best) : best);
      ((int64_t *)m->indices->data)[i * w->out_plane + at] = best;
    }
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* Indices are computed on their own, and only when somebody uses them. */
static tl_status max_pool(tl_eval *ctx, bool channels_last) {
  maximum m = {.column_major = tl_eval_int(ctx, TL_SYM_storage_order, 0) != 0};
  TL_TRY(tl_pooling_open(ctx, channels_last, &m.p));
  tl_dtype d = (tl_dtype)m.p.x->dtype;
  if (d != TL_DTYPE_F32 && d != TL_DTYPE_F64 && d != TL_DTYPE_U8 && d != TL_DTYPE_I8)
    return tl_eval_unsupported(ctx, "pooling of %s is not supported", tl_dtype_get(d)->name);
  TL_TRY(tl_pooling_result(ctx, &m.p));
  tl_pooling_for(ctx, &m.p, max_channels, &m);
  if (channels_last || !tl_eval_wants(ctx, 1))
    return TL_OK;
  TL_TRY(tl_eval_result_like(ctx, 1, TL_DTYPE_I64, m.p.y, &m.indices));
  tl_pooling_for(ctx, &m.p, index_channels, &m);
  return TL_OK;
}

tl_status tl_eval_max_pool(tl_eval *ctx) { return max_pool(ctx, false); }

tl_status tl_eval_max_pool_nhwc(tl_eval *ctx) { return max_pool(ctx, true); }

/* ---- MaxUnpool ------------------------------------------------------------------------------ */

/* Computes the shape that a pooling with these attributes would have started from. */
static tl_status unpooled(tl_eval *ctx, const tl_host *t, int64_t *dims) {
  tl_windows w;
  TL_TRY(tl_window_attributes(ctx, t->rank - 2, t->dims + 2, NULL, &w));
  dims[0] = t->dims[0];
  dims[1] = t->dims[1];
  for (int i = 0; i < w.n; i++) {
    int64_t last;
    if (__builtin_mul_overflow(w.in[i] - 1, w.stride[i], &last))
      return tl_eval_fail(ctx, "spatial axis %d has %lld elements", i, (long long)w.in[i]);
    dims[i + 2] = last + (w.kernel[i] - 1) * w.dilation[i] + 1 - w.begin[i] - w.end[i];
  }
  return TL_OK;
}

/* Converts an index, which counts elements of the tensor that was pooled, to one of the result.
 * output_shape may be larger, and an element keeps its position by axis. -1: outside. */
static int64_t place_of(int64_t index, int rank, const int64_t *pooled, const int64_t *dims) {
  int64_t at = 0, step = 1;
  if (index < 0)
    return -1;
  for (int i = rank - 1; i >= 0; i--) {
    int64_t own = pooled[i] > 0 ? index % pooled[i] : 0;
    if (pooled[i] <= 0 || own >= dims[i])
      return -1;
    index /= pooled[i];
    at += own * step;
    step *= dims[i];
  }
  return index ? -1 : at;
}

/* Elements that no index names are 0. */
static tl_status scatter(tl_eval *ctx, const int64_t *pooled, tl_host *y) {
  const tl_host *t = tl_eval_in(ctx, 0), *indices = tl_eval_in(ctx, 1);
  size_t size = tl_host_element_size((tl_dtype)t->dtype);
  if (y->n)
    memset(y->data, 0, (size_t)y->bytes);
  for (uint64_t i = 0; i < t->n; i++) {
    int64_t index = ((const int64_t *)indices->data)[i];
    int64_t at = y->n ? place_of(index, t->rank, pooled, y->dims) : -1;
    if (at < 0)
      return tl_eval_fail(ctx, "index %lld is outside the result", (long long)index);
    memcpy((char *)y->data + (size_t)at * size, (const char *)t->data + i * size, size);
  }
  return TL_OK;
}

tl_status tl_eval_max_unpool(tl_eval *ctx) {
  int64_t dims[TL_MAX_RANK];
  tl_int_list shape;
  tl_host *y;
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  const tl_host *t = tl_eval_in(ctx, 0), *indices = tl_eval_in(ctx, 1);
  TL_TRY(unpooled(ctx, t, dims));
  TL_TRY(tl_eval_operand_ints(ctx, 2, &shape));
  if (!indices || indices->dtype != TL_DTYPE_I64 || indices->n != t->n)
    return tl_eval_fail(ctx, "there must be one index for each of %llu elements",
                        (unsigned long long)t->n);
  if (shape.at && shape.n != (uint32_t)t->rank)
    return tl_eval_fail(ctx, "output_shape has %u values, expected %d", shape.n, t->rank);
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)t->dtype, t->rank, shape.at ? shape.at : dims, &y));
  return scatter(ctx, dims, y);
}
