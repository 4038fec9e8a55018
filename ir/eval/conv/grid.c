/* SPDX-License-Identifier: Apache-2.0 */
/* Computes GridSample (one to three spatial axes) and AffineGrid. */
#include <math.h>

#include "ir/eval/kernel/lines.h"

enum { MOST_AXES = 3, MOST_TAPS = 4, MOST_POINTS = 64, WORK = 1 << 13 };

/* Values of the attributes mode and padding_mode. */
typedef enum { LINEAR, NEAREST, CUBIC } sampling;
typedef enum { ZEROS, BORDER, REFLECTION } padding;

/* What sampling needs to know. */
typedef struct grid_job {
  const tl_host *in;
  const tl_host *grid;
  tl_host *out;
  int axes;
  bool align;
  sampling mode;
  padding pad;
  uint64_t places; /* of a channel */
  uint64_t points; /* of the grid, per batch */
  uint64_t channels;
} grid_job;

/* What one axis contributes to a sample: elements and their weights. */
typedef struct axis_taps {
  uint32_t n;
  int64_t index[MOST_TAPS]; /* -1: outside, counts as zero */
  double weight[MOST_TAPS];
} axis_taps;

/* Reflects v at both ends of [least, most] until it lies inside: an even number of whole turns
 * leaves the direction, an odd number reverses it. */
static double reflect(double v, double least, double most) {
  double range = most - least;
  if (range <= 0)
    return least;
  double over = v < least ? least - v : v > most ? v - most : -1;
  if (over < 0)
    return v;
  double turns = floor(over / range), rest = over - turns * range;
  bool back = fmod(turns, 2) != 0;
  return (v < least) != back ? least + rest : most - rest;
}

/* Returns the index of an element that may lie outside, by the padding mode; -1 counts as zero. */
static int64_t bring_in(const grid_job *j, double at, double n) {
  double least = j->align ? 0 : -0.5, most = j->align ? n - 1 : n - 0.5;
  if (at >= 0 && at < n)
    return (int64_t)at;
  if (j->pad == ZEROS)
    return -1;
  if (j->pad == REFLECTION)
    at = reflect(at, least, most);
  return at <= 0 ? 0 : at >= n ? (int64_t)n - 1 : (int64_t)at;
}

/* Converts a grid coordinate in [-1, 1] to a position on an axis of n elements. Far coordinates are
 * clamped to where doubles still hold exact integers; NaN is placed outside. */
static double place_on_axis(const grid_job *j, double g, double n) {
  double least = j->align ? 0 : -0.5, most = j->align ? n - 1 : n - 0.5;
  double at = j->align ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
  at = at != at ? -2 : at < -1e12 ? -1e12 : at > 1e12 ? 1e12 : at;
  if (j->mode == NEAREST)
    at = rint(at);
  if (at >= least && at <= most)
    return at;
  if (j->pad == BORDER && j->mode != CUBIC) /* cubic brings in each of its taps */
    return at < 0 ? 0 : n - 1;
  return j->pad == REFLECTION ? reflect(at, least, most) : at;
}

/* Weights of the four taps of cubic convolution (Keys, 1981) with a = -0.75, as ONNX and PyTorch
 * have it. */
static void weigh_cubic(double part, double *w) {
  const double a = -0.75;
  double d[] = {part + 1, part, 1 - part, 2 - part};
  w[0] = ((a * d[0] - 5 * a) * d[0] + 8 * a) * d[0] - 4 * a;
  w[1] = ((a + 2) * d[1] - (a + 3)) * d[1] * d[1] + 1;
  w[2] = ((a + 2) * d[2] - (a + 3)) * d[2] * d[2] + 1;
  w[3] = ((a * d[3] - 5 * a) * d[3] + 8 * a) * d[3] - 4 * a;
}

/* Linear sampling has two taps, cubic four around the place. */
static void take_axis(const grid_job *j, double g, int64_t size, axis_taps *t) {
  double n = (double)size, at = place_on_axis(j, g, n);
  double low = j->mode == NEAREST ? at : floor(at), part = at - low;
  t->n = j->mode == NEAREST ? 1 : j->mode == LINEAR ? 2 : 4;
  t->weight[0] = j->mode == NEAREST ? 1 : 1 - part;
  t->weight[1] = part;
  if (j->mode == CUBIC) {
    weigh_cubic(part, t->weight);
    low -= 1;
  }
  for (uint32_t k = 0; k < t->n; k++)
    t->index[k] = bring_in(j, low + k, n);
}

/* The elements that a point is computed from, within a channel. */
typedef struct sample {
  uint32_t n;
  uint64_t place[MOST_POINTS];
  double weight[MOST_POINTS];
} sample;

/* Combines the axes' taps: every combination that lies inside, with the product of the weights. */
static void combine(const grid_job *j, const axis_taps *taps, sample *s) {
  s->n = 1;
  s->place[0] = 0;
  s->weight[0] = 1;
  for (int a = 0; a < j->axes; a++) {
    sample next = {.n = 0};
    for (uint32_t i = 0; i < s->n; i++)
      for (uint32_t k = 0; k < taps[a].n; k++) {
        if (taps[a].index[k] < 0)
          continue;
        next.place[next.n] = s->place[i] * (uint64_t)j->in->dims[2 + a] +
                             (uint64_t)taps[a].index[k];
        next.weight[next.n++] = s->weight[i] * taps[a].weight[k];
      }
    *s = next;
  }
}

/* plane: where the channel begins. */
static double add_up(const grid_job *j, const sample *s, uint64_t plane) {
  double sum = 0;
  for (uint32_t k = 0; k < s->n; k++)
    sum += s->weight[k] * tl_cell_at(j->in, plane + s->place[k]);
  return sum;
}

/* Finds place and weights of a grid point once, for all channels. */
static void sample_points(void *user, uint64_t begin, uint64_t end) {
  const grid_job *j = user;
  for (uint64_t i = begin; i < end; i++) {
    axis_taps taps[MOST_AXES];
    sample s;
    uint64_t batch = i / j->points, point = i % j->points;
    for (int a = 0; a < j->axes; a++) /* the grid names the last axis first */
      take_axis(j, tl_cell_at(j->grid, (i + 1) * (uint64_t)j->axes - 1 - (uint64_t)a),
                j->in->dims[2 + a], &taps[a]);
    combine(j, taps, &s);
    for (uint64_t c = 0; c < j->channels; c++) {
      uint64_t plane = batch * j->channels + c;
      double v = add_up(j, &s, plane * j->places);
      tl_cells_store(j->out->dtype, &v, j->out->data, plane * j->points + point, 1, 1);
    }
  }
}

/* Names of both versions of the op are known. */
static tl_status read_modes(tl_eval *ctx, grid_job *j) {
  tl_sv mode = tl_eval_string(ctx, TL_SYM_mode), pad = tl_eval_string(ctx, TL_SYM_padding_mode);
  j->align = tl_eval_int(ctx, TL_SYM_align_corners, 0) != 0;
  if (!mode.n || tl_sv_is(mode, "linear") || tl_sv_is(mode, "bilinear"))
    j->mode = LINEAR;
  else if (tl_sv_is(mode, "nearest"))
    j->mode = NEAREST;
  else if (tl_sv_is(mode, "cubic") || tl_sv_is(mode, "bicubic"))
    j->mode = CUBIC;
  else
    return tl_eval_fail(ctx, "attribute mode is '%.*s'", TL_SV_ARG(mode));
  if (!pad.n || tl_sv_is(pad, "zeros"))
    j->pad = ZEROS;
  else if (tl_sv_is(pad, "border"))
    j->pad = BORDER;
  else if (tl_sv_is(pad, "reflection"))
    j->pad = REFLECTION;
  else
    return tl_eval_fail(ctx, "attribute padding_mode is '%.*s'", TL_SV_ARG(pad));
  return TL_OK;
}

tl_status tl_eval_grid_sample(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  TL_TRY(tl_eval_need_rank(ctx, 1, in->rank, in->rank));
  grid_job j = {.in = in, .grid = tl_eval_in(ctx, 1), .axes = in->rank - 2};
  int64_t dims[MOST_AXES + 2] = {in->dims[0], in->dims[1]};
  TL_TRY(read_modes(ctx, &j));
  if (j.axes > MOST_AXES || !tl_cells_are_floats(in->dtype))
    return tl_eval_unsupported(ctx,
                               "samples are taken from f16, bf16, f32 or f64 data with at most "
                               "%d spatial axes",
                               MOST_AXES);
  if (j.grid->dims[0] != in->dims[0] || j.grid->dims[in->rank - 1] != j.axes)
    return tl_eval_fail(ctx, "the grid does not fit the data");
  j.places = j.points = 1;
  for (int a = 0; a < j.axes; a++) {
    dims[2 + a] = j.grid->dims[1 + a];
    j.points *= (uint64_t)dims[2 + a];
    j.places *= (uint64_t)in->dims[2 + a];
  }
  j.channels = (uint64_t)in->dims[1];
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)in->dtype, in->rank, dims, &j.out));
  if (!j.out->n)
    return TL_OK;
  if (!j.places)
    return tl_eval_fail(ctx, "the data has no elements to sample");
  tl_eval_for(ctx, (uint64_t)in->dims[0] * j.points, WORK / (j.channels * 8 + 64) + 1,
              sample_points, &j);
  return TL_OK;
}

/* ---- AffineGrid ----------------------------------------------------------------------------- */

/* Returns coordinate i of n between -1 and 1: at pixel centres, or at the corners with
 * align_corners. */
static double spread_evenly(uint64_t i, int64_t n, bool align) {
  if (!align)
    return (2 * (double)i + 1) / (double)n - 1;
  return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0;
}

/* Multiplies theta [N,axes,axes+1] by the coordinates of each point and 1. */
static void transform(const tl_host *theta, tl_host *out, int axes, bool align) {
  uint64_t points = out->n / (uint64_t)axes / (uint64_t)out->dims[0];
  for (uint64_t i = 0; i < out->n / (uint64_t)axes; i++) {
    double at[MOST_AXES];
    uint64_t left = i;
    for (int a = 0; a < axes; a++) { /* the last axis comes first */
      int64_t n = out->dims[axes - a];
      at[a] = spread_evenly(left % (uint64_t)n, n, align);
      left /= (uint64_t)n;
    }
    for (int row = 0; row < axes; row++) {
      uint64_t first = (i / points * (uint64_t)axes + (uint64_t)row) * (uint64_t)(axes + 1);
      double v = tl_cell_at(theta, first + (uint64_t)axes);
      for (int a = 0; a < axes; a++)
        v += tl_cell_at(theta, first + (uint64_t)a) * at[a];
      tl_cells_store(out->dtype, &v, out->data, i * (uint64_t)axes + (uint64_t)row, 1, 1);
    }
  }
}

tl_status tl_eval_affine_grid(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, 3));
  const tl_host *theta = tl_eval_in(ctx, 0);
  tl_int_list size;
  TL_TRY(tl_eval_operand_ints(ctx, 1, &size));
  int axes = (int)size.n - 2;
  if (size.n < 4 || size.n > 5 || theta->dims[0] != size.at[0] || theta->dims[1] != axes ||
      theta->dims[2] != axes + 1)
    return tl_eval_fail(ctx, "theta and size do not fit together");
  int64_t dims[MOST_AXES + 2] = {size.at[0]};
  for (int a = 0; a < axes; a++)
    dims[1 + a] = size.at[2 + a];
  dims[axes + 1] = axes;
  tl_host *out;
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)theta->dtype, axes + 2, dims, &out));
  if (out->n)
    transform(theta, out, axes, tl_eval_int(ctx, TL_SYM_align_corners, 0) != 0);
  return TL_OK;
}
