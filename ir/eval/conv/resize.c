/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Resize and Upsample. Interpolation is separable: one axis after another, in double.
 * Nearest copies elements of any type. */
#include "ir/eval/conv/resize_axes.h"

#include <math.h>

#include "ir/eval/kernel/lines.h"

enum { WORK = 1 << 14 };

/* ---- one axis of an interpolation ----------------------------------------------------------- */

/* The tensor is seen as [outer, axis, inner] before and after the pass. */
typedef struct axis_pass {
  const tl_taps *taps;
  const double *in;
  double *out;
  uint64_t in_n;
  uint64_t out_n;
  uint64_t inner;
} axis_pass;

/* Interpolates along an axis that is not the last: whole inner rows are added with a weight. */
static void interpolate(void *user, uint64_t begin, uint64_t end) {
  const axis_pass *p = user;
  uint64_t taps = p->taps->n;
  for (uint64_t row = begin; row < end; row++) {
    uint64_t i = row % p->out_n;
    const double *from = p->in + row / p->out_n * p->in_n * p->inner;
    double *to = p->out + row * p->inner;
    for (uint64_t j = 0; j < p->inner; j++)
      to[j] = 0;
    for (uint64_t k = 0; k < taps; k++) {
      double weight = p->taps->weight[i * taps + k];
      const double *tap = from + (uint64_t)p->taps->index[i * taps + k] * p->inner;
      if (weight != 0) /* 0 times infinity would be NaN */
        for (uint64_t j = 0; j < p->inner; j++)
          to[j] += weight * tap[j];
    }
  }
}

/* Interpolates along the last axis. */
static void interpolate_last(void *user, uint64_t begin, uint64_t end) {
  const axis_pass *p = user;
  uint64_t taps = p->taps->n;
  for (uint64_t row = begin; row < end; row++) {
    const double *from = p->in + row * p->in_n, *weight = p->taps->weight;
    const int64_t *index = p->taps->index;
    double *to = p->out + row * p->out_n;
    for (uint64_t i = 0; i < p->out_n; i++, weight += taps, index += taps) {
      double sum = 0;
      for (uint64_t k = 0; k < taps; k++)
        sum += weight[k] != 0 ? weight[k] * from[index[k]] : 0;
      to[i] = sum;
    }
  }
}

/* Applies the taps of every axis in turn. *cells is replaced; dims become those of the result. */
static tl_status interpolate_all(tl_eval *ctx, const tl_resize *r, const tl_taps *taps,
                                 int64_t *dims, int rank, double **cells) {
  for (int a = 0; a < rank; a++) {
    if (taps[a].identity) /* the axis keeps its size and its elements */
      continue;
    int64_t n, inner, outer;
    axis_pass p = {.taps = &taps[a], .in = *cells, .in_n = (uint64_t)dims[a]};
    dims[a] = r->out[a];
    p.out_n = (uint64_t)dims[a];
    if (!tl_eval_product(dims, 0, rank, &n) || !tl_eval_product(dims, a + 1, rank, &inner) ||
        !tl_eval_product(dims, 0, a + 1, &outer))
      return tl_eval_no_memory(ctx);
    p.inner = (uint64_t)inner;
    p.out = tl_eval_scratch(ctx, (uint64_t)n, sizeof *p.out);
    if (!p.out)
      return tl_eval_no_memory(ctx);
    if (inner == 1)
      tl_eval_for(ctx, (uint64_t)outer / p.out_n, WORK / (p.out_n * taps[a].n) + 1,
                  interpolate_last, &p);
    else
      tl_eval_for(ctx, (uint64_t)outer, WORK / (p.inner * taps[a].n + 1) + 1, interpolate, &p);
    *cells = p.out;
  }
  return TL_OK;
}

/* ---- between elements and doubles ----------------------------------------------------------- */

typedef struct copying {
  const tl_host *from;
  tl_host *to;
  double *cells;
  bool round; /* integers: else they are truncated */
} copying;

/* The cells of integers are int64; they become doubles in place. */
static void load_range(void *user, uint64_t begin, uint64_t end) {
  const copying *c = user;
  tl_cells_load(c->from->dtype, c->from->data, begin, 1, end - begin, c->cells + begin);
  if (tl_cells_are_floats(c->from->dtype))
    return;
  for (uint64_t i = begin; i < end; i++) {
    int64_t v;
    memcpy(&v, c->cells + i, sizeof v);
    c->cells[i] = c->from->dtype == TL_DTYPE_U64 ? (double)(uint64_t)v : (double)v;
  }
}

/* Converts v to an integer type; it saturates. round: to the nearest, else towards 0. */
static int64_t to_integer(int dtype, double v, bool round) {
  unsigned bits = tl_dtype_get((tl_dtype)dtype)->bits;
  bool is_signed = dtype == TL_DTYPE_I8 || dtype == TL_DTYPE_I16 || dtype == TL_DTYPE_I32 ||
                   dtype == TL_DTYPE_I64;
  double most = ldexp(1, (int)bits - (is_signed ? 1 : 0)), least = is_signed ? -most : 0;
  v = round ? rint(v) : trunc(v);
  if (!(v > least)) /* NaN too */
    return is_signed ? INT64_MIN >> (64 - bits) : 0;
  if (v >= most)
    return (int64_t)(UINT64_MAX >> (64 - bits + (is_signed ? 1 : 0)));
  return dtype == TL_DTYPE_U64 ? (int64_t)(uint64_t)v : (int64_t)v;
}

/* Integers are rounded to the nearest with antialiasing, else towards 0. */
static void store_range(void *user, uint64_t begin, uint64_t end) {
  const copying *c = user;
  if (tl_cells_are_floats(c->to->dtype)) {
    tl_cells_store(c->to->dtype, c->cells + begin, c->to->data, begin, 1, end - begin);
    return;
  }
  for (uint64_t i = begin; i < end; i++) {
    int64_t v = to_integer(c->to->dtype, c->cells[i], c->round);
    tl_cells_store(c->to->dtype, &v, c->to->data, i, 1, 1);
  }
}

/* Floats and integers of whole bytes, no bool. */
static bool can_interpolate(int dtype) {
  return tl_cells_are_floats(dtype) || (dtype >= TL_DTYPE_I8 && dtype <= TL_DTYPE_U64);
}

/* Doubles all the way; rounding happens once, when results are stored. */
static tl_status resize_smooth(tl_eval *ctx, const tl_resize *r, const tl_taps *taps,
                               tl_host *out) {
  const tl_host *in = tl_eval_in(ctx, 0);
  int64_t dims[TL_MAX_RANK];
  if (!can_interpolate(in->dtype))
    return tl_eval_unsupported(ctx, "elements of type %s cannot be interpolated",
                               tl_dtype_get((tl_dtype)in->dtype)->name);
  copying c = {in, out, tl_eval_scratch(ctx, in->n, sizeof *c.cells), r->antialias};
  if (!c.cells)
    return tl_eval_no_memory(ctx);
  memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
  tl_eval_for(ctx, in->n, WORK, load_range, &c);
  TL_TRY(interpolate_all(ctx, r, taps, dims, in->rank, &c.cells));
  tl_eval_for(ctx, out->n, WORK, store_range, &c);
  return TL_OK;
}

/* ---- nearest -------------------------------------------------------------------------------- */

typedef struct nearest_job {
  const tl_host *in;
  tl_host *out;
  const tl_taps *taps;
  uint64_t strides[TL_MAX_RANK]; /* of the operand */
  size_t size;
  uint64_t length; /* of a result row */
} nearest_job;

/* A constant size makes memcpy one move. */
static void copy_taps(const nearest_job *j, const char *from, char *to, const int64_t *index) {
  if (j->size == 4) {
    for (uint64_t i = 0; i < j->length; i++)
      memcpy(to + 4 * i, from + 4 * index[i], 4);
    return;
  }
  for (uint64_t i = 0; i < j->length; i++)
    memcpy(to + i * j->size, from + (uint64_t)index[i] * j->size, j->size);
}

/* Copies rows [begin, end) of the result; the last axis is one list of taps. */
static void copy_rows(void *user, uint64_t begin, uint64_t end) {
  const nearest_job *j = user;
  int last = j->in->rank - 1;
  for (uint64_t row = begin; row < end; row++) {
    uint64_t left = row, at = 0;
    for (int a = last - 1; a >= 0; a--) {
      uint64_t i = left % (uint64_t)j->out->dims[a];
      left /= (uint64_t)j->out->dims[a];
      at += (uint64_t)j->taps[a].index[i] * j->strides[a];
    }
    copy_taps(j, (const char *)j->in->data + at * j->size,
              (char *)j->out->data + row * j->length * j->size, j->taps[last].index);
  }
}

/* Copies elements by the nearest index of each axis. */
static tl_status resize_nearest(tl_eval *ctx, const tl_taps *taps, tl_host *out) {
  const tl_host *in = tl_eval_in(ctx, 0);
  nearest_job j = {.in = in, .out = out, .taps = taps};
  j.size = tl_host_element_size((tl_dtype)in->dtype);
  if (!j.size)
    return tl_eval_unsupported(ctx, "elements of type %s cannot be resized",
                               tl_dtype_get((tl_dtype)in->dtype)->name);
  uint64_t step = 1;
  for (int a = in->rank - 1; a >= 0; a--) {
    j.strides[a] = step;
    step *= (uint64_t)in->dims[a];
  }
  j.length = (uint64_t)out->dims[in->rank - 1];
  tl_eval_for(ctx, out->n / j.length, WORK / j.length + 1, copy_rows, &j);
  return TL_OK;
}

/* ---- cropping ------------------------------------------------------------------------------- */

/* Gives the extrapolation value to result elements that lie outside of the operand. */
static tl_status fill_outside(tl_eval *ctx, const tl_resize *r, const tl_taps *taps, tl_host *out) {
  if (!can_interpolate(out->dtype))
    return tl_eval_unsupported(ctx, "elements of type %s cannot be extrapolated",
                               tl_dtype_get((tl_dtype)out->dtype)->name);
  double value = r->extrapolation;
  int64_t whole = to_integer(out->dtype, value, false);
  const void *cell = tl_cells_are_floats(out->dtype) ? (const void *)&value : &whole;
  for (uint64_t i = 0; i < out->n; i++) {
    uint64_t left = i;
    bool outside = false;
    for (int a = out->rank - 1; a >= 0; a--) {
      outside = outside || taps[a].outside[left % (uint64_t)out->dims[a]];
      left /= (uint64_t)out->dims[a];
    }
    if (outside)
      tl_cells_store(out->dtype, cell, out->data, i, 1, 1);
  }
  return TL_OK;
}

tl_status tl_eval_resize(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  tl_resize r = {0};
  tl_host *out;
  TL_TRY(tl_resize_read(ctx, &r));
  if (!in->rank) /* a scalar has no axis to resize */
    return tl_eval_pass(ctx, 0, in);
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)in->dtype, in->rank, r.out, &out));
  if (!out->n)
    return TL_OK;
  if (!in->n)
    return tl_eval_fail(ctx, "an empty tensor cannot be resized to one that is not empty");
  tl_taps *taps = tl_eval_scratch(ctx, (uint64_t)in->rank, sizeof *taps);
  if (!taps)
    return tl_eval_no_memory(ctx);
  for (int a = 0; a < in->rank; a++)
    TL_TRY(tl_resize_taps(ctx, &r, a, in->dims[a], &taps[a]));
  TL_TRY(r.mode == TL_RESIZE_NEAREST ? resize_nearest(ctx, taps, out)
                                     : resize_smooth(ctx, &r, taps, out));
  return r.map == TL_RESIZE_TF_CROP ? fill_outside(ctx, &r, taps, out) : TL_OK;
}
