/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizes over channels, groups and axes, with statistics made in double. Kernels:
 * BatchNormalization, InstanceNormalization, GroupNormalization, LpNormalization, LRN and
 * MeanVarianceNormalization. */
#include <math.h>

#include "ir/eval/kernel/lines.h"
#include "ir/eval/kernel/vectors.h"
#include "ir/eval/math/elementary.h"

enum { CHUNK = 256, PLANE_WORK = 1 << 15 };

/* Checks that operand i is a list of n parameters. */
static tl_status need_list(tl_eval *ctx, uint32_t i, int64_t n) {
  TL_TRY(tl_eval_need_rank(ctx, i, 1, 1));
  if (tl_eval_in(ctx, i)->dims[0] == n)
    return TL_OK;
  return tl_eval_fail(ctx, "operand %u has %lld elements, expected %lld", i,
                      (long long)tl_eval_in(ctx, i)->dims[0], (long long)n);
}

/* ---- planes: y = x * scale + shift, per channel --------------------------------------------- */

typedef struct planes {
  const tl_host *in;
  tl_host *out;
  uint64_t channels;
  uint64_t size;       /* of a plane */
  const double *scale; /* by channel */
  const double *shift;
} planes;

/* The usual case, for each width of vectors; the bits are the same. */
#define DEFINE_SCALE(NAME, TARGET)                                                                 \
  TARGET static void NAME(const float *in, float *out, uint64_t n, double scale, double shift) {   \
    for (uint64_t i = 0; i < n; i++)                                                               \
      out[i] = (float)((double)in[i] * scale + shift);                                             \
  }

DEFINE_SCALE(scale_f32_128, )
DEFINE_SCALE(scale_f32_256, TL_VECTORS_256)
DEFINE_SCALE(scale_f32_512, TL_VECTORS_512)

static void scale_f32(const float *in, float *out, uint64_t n, double scale, double shift) {
  unsigned level = tl_vector_level();
  (level == 2   ? scale_f32_512
   : level == 1 ? scale_f32_256
                : scale_f32_128)(in, out, n, scale, shift);
}

/* Planes [begin, end), counted over batches and channels. */
static void scale_planes(void *user, uint64_t begin, uint64_t end) {
  const planes *p = user;
  for (uint64_t k = begin; k < end; k++) {
    double scale = p->scale[k % p->channels], shift = p->shift[k % p->channels];
    if (p->in->dtype == TL_DTYPE_F32 && p->out->dtype == TL_DTYPE_F32) {
      scale_f32((const float *)p->in->data + k * p->size, (float *)p->out->data + k * p->size,
                p->size, scale, shift);
      continue;
    }
    for (uint64_t i = 0; i < p->size; i++) {
      double v = tl_cell_at(p->in, k * p->size + i) * scale + shift;
      tl_cells_store(p->out->dtype, &v, p->out->data, k * p->size + i, 1, 1);
    }
  }
}

/* ---- BatchNormalization --------------------------------------------------------------------- */

typedef struct batch_stats {
  const tl_host *in;
  uint64_t batches;
  uint64_t channels;
  uint64_t size;
  double *mean; /* [channels] */
  double *variance;
} batch_stats;

/* Adds up a channel over the batch: v, or (v - about)^2. The order is fixed: planes, then
 * chunks. */
static double sum_channel(const batch_stats *s, uint64_t channel, const double *about) {
  double cells[CHUNK], sum = 0;
  for (uint64_t b = 0; b < s->batches; b++)
    for (uint64_t i = 0; i < s->size; i += CHUNK) {
      uint64_t n = s->size - i < CHUNK ? s->size - i : CHUNK;
      tl_cells_load(s->in->dtype, s->in->data, (b * s->channels + channel) * s->size + i, 1, n,
                    cells);
      sum += about ? tl_cells_sum_of_squares(cells, n, *about) : tl_cells_sum(cells, n);
    }
  return sum;
}

/* Two passes: the mean, then the deviations from it, which do not cancel. */
static void measure_channels(void *user, uint64_t begin, uint64_t end) {
  const batch_stats *s = user;
  double n = (double)s->batches * (double)s->size;
  for (uint64_t c = begin; c < end; c++) {
    s->mean[c] = sum_channel(s, c, NULL) / n;
    s->variance[c] = sum_channel(s, c, &s->mean[c]) / n;
  }
}

/* Makes result i: the running statistic `before`, moved towards the batch's by 1 - momentum. */
static tl_status put_running(tl_eval *ctx, uint32_t i, const tl_host *before, const double *now) {
  double momentum = (double)tl_eval_float(ctx, TL_SYM_momentum, 0.9f);
  tl_host *out;
  TL_TRY(tl_eval_result_like(ctx, i, (tl_dtype)before->dtype, before, &out));
  for (uint64_t c = 0; c < out->n; c++) {
    double v = tl_cell_at(before, c) * momentum + now[c] * (1 - momentum);
    tl_cells_store(out->dtype, &v, out->data, c, 1, 1);
  }
  return TL_OK;
}

/* Finds mean and variance by channel: operands 3 and 4, or in training mode those of this batch. */
static tl_status find_stats(tl_eval *ctx, batch_stats *s) {
  if (!tl_eval_int(ctx, TL_SYM_training_mode, 0)) {
    tl_cells_load(tl_eval_in(ctx, 3)->dtype, tl_eval_in(ctx, 3)->data, 0, 1, s->channels, s->mean);
    tl_cells_load(tl_eval_in(ctx, 4)->dtype, tl_eval_in(ctx, 4)->data, 0, 1, s->channels,
                  s->variance);
    return TL_OK;
  }
  tl_eval_for(ctx, s->channels, PLANE_WORK / (s->batches * s->size + 1) + 1, measure_channels, s);
  TL_TRY(put_running(ctx, 1, tl_eval_in(ctx, 3), s->mean));
  return put_running(ctx, 2, tl_eval_in(ctx, 4), s->variance);
}

/* The four parameters of a channel are folded into one scale and one shift. */
tl_status tl_eval_batch_norm(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  tl_lines g = {(uint64_t)in->dims[0], 1, 1}; /* a list has one channel */
  if (in->rank > 1)
    g = tl_lines_of(in, 1, 2);
  for (uint32_t i = 1; i < 5; i++)
    TL_TRY(need_list(ctx, i, (int64_t)g.n));
  double *memory = tl_eval_scratch(ctx, g.n, 4 * sizeof *memory);
  if (!memory)
    return tl_eval_no_memory(ctx);
  batch_stats s = {in, g.outer, g.n, g.inner, memory, memory + g.n};
  double *scale = memory + 2 * g.n, *shift = memory + 3 * g.n;
  double epsilon = (double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-5f);
  TL_TRY(find_stats(ctx, &s));
  for (uint64_t c = 0; c < g.n; c++) {
    scale[c] = tl_cell_at(tl_eval_in(ctx, 1), c) / sqrt(s.variance[c] + epsilon);
    shift[c] = tl_cell_at(tl_eval_in(ctx, 2), c) - s.mean[c] * scale[c];
  }
  planes p = {in, NULL, g.n, g.inner, scale, shift};
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &p.out));
  if (p.out->n)
    tl_eval_for(ctx, g.outer * g.n, PLANE_WORK / g.inner + 1, scale_planes, &p);
  return TL_OK;
}

/* ---- InstanceNormalization, GroupNormalization ---------------------------------------------- */

typedef struct grouping {
  double epsilon;
  uint64_t groups;
  uint64_t members; /* channels of a group */
  const tl_host *scale;
  const tl_host *shift;
} grouping;

/* Normalizes one group; the cells are the planes of its channels. */
static void group_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  (void)spare;
  const grouping *p = user;
  double *c = cells, mean = tl_cells_sum(c, n) / (double)n;
  double inv = 1 / sqrt(tl_cells_sum_of_squares(c, n, mean) / (double)n + p->epsilon);
  uint64_t channel = line % p->groups * p->members, size = n / p->members;
  for (uint64_t m = 0; m < p->members; m++, c += size) {
    double scale = tl_cell_at(p->scale, channel + m), shift = tl_cell_at(p->shift, channel + m);
    for (uint64_t i = 0; i < size; i++)
      c[i] = (c[i] - mean) * inv * scale + shift;
  }
}

/* The channels of a group lie side by side, so a group is one line of the tensor. */
static tl_status run_groups(tl_eval *ctx, int64_t groups) {
  const tl_host *in = tl_eval_in(ctx, 0);
  int64_t channels = in->dims[1];
  if (groups < 1 || channels % groups)
    return tl_eval_fail(ctx, "%lld channels cannot be divided into %lld groups",
                        (long long)channels, (long long)groups);
  TL_TRY(need_list(ctx, 1, channels));
  TL_TRY(need_list(ctx, 2, channels));
  grouping p = {(double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-5f), (uint64_t)groups,
                (uint64_t)(channels / groups), tl_eval_in(ctx, 1), tl_eval_in(ctx, 2)};
  tl_host *out;
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  if (!out->n)
    return TL_OK;
  uint64_t lines = (uint64_t)in->dims[0] * p.groups;
  return tl_eval_lines(ctx, in, (tl_lines){lines, in->n / lines, 1}, out,
                       (tl_line_work){group_line, &p, 0});
}

/* Every channel is a group of its own. */
tl_status tl_eval_instance_norm(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  int64_t channels = tl_eval_in(ctx, 0)->dims[1];
  return run_groups(ctx, channels ? channels : 1);
}

tl_status tl_eval_group_norm(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  return run_groups(ctx, tl_eval_int(ctx, TL_SYM_num_groups, 0));
}

/* ---- LpNormalization ------------------------------------------------------------------------ */

/* Divides a line by its norm. A line of zeros stays as it is. */
static void lp_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  (void)line, (void)spare;
  double *c = cells, norm = 0;
  if (*(const int64_t *)user == 1)
    for (uint64_t i = 0; i < n; i++)
      norm += fabs(c[i]);
  else
    norm = sqrt(tl_cells_sum_of_squares(c, n, 0));
  for (uint64_t i = 0; i < n && norm != 0; i++)
    c[i] /= norm;
}

tl_status tl_eval_lp_norm(tl_eval *ctx) {
  int64_t p = tl_eval_int(ctx, TL_SYM_p, 2);
  if (p != 1 && p != 2)
    return tl_eval_fail(ctx, "p is %lld, expected 1 or 2", (long long)p);
  return tl_eval_along(ctx, tl_eval_int(ctx, TL_SYM_axis, -1), lp_line, &p);
}

/* ---- LRN ------------------------------------------------------------------------------------ */

typedef struct response {
  double alpha; /* divided by size */
  double beta;
  double bias;
  uint64_t before; /* neighbours of a channel */
  uint64_t after;
} response;

/* Divides each channel by (bias + alpha/size * sum of squares)^beta over its neighbours. beta is
 * 0.75 in nearly all models: square roots then replace pow. */
static void lrn_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  (void)line;
  const response *r = user;
  double *c = cells, *in = spare;
  memcpy(in, c, (size_t)n * sizeof *c);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t from = i > r->before ? i - r->before : 0;
    uint64_t to = r->after < n - 1 - i ? i + r->after : n - 1;
    double base = r->bias + r->alpha * tl_cells_sum_of_squares(in + from, to - from + 1, 0);
    double power = r->beta == 0.75 ? sqrt(base) * sqrt(sqrt(base)) : tl_pow(base, r->beta);
    c[i] = in[i] / power;
  }
}

/* An even size has one more neighbour after the channel than before it, as ONNX says. */
tl_status tl_eval_lrn(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  int64_t size = tl_eval_int(ctx, TL_SYM_size, 0);
  tl_host *out;
  if (size < 1)
    return tl_eval_fail(ctx, "size is %lld, expected at least 1", (long long)size);
  response r = {.alpha = (double)tl_eval_float(ctx, TL_SYM_alpha, 1e-4f) / (double)size,
                .beta = (double)tl_eval_float(ctx, TL_SYM_beta, 0.75f),
                .bias = (double)tl_eval_float(ctx, TL_SYM_bias, 1.0f),
                .before = (uint64_t)(size - 1) / 2,
                .after = (uint64_t)size / 2};
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  tl_lines g = tl_lines_of(in, 1, 2);
  return out->n ? tl_eval_lines(ctx, in, g, out, (tl_line_work){lrn_line, &r, g.n}) : TL_OK;
}

/* ---- MeanVarianceNormalization -------------------------------------------------------------- */

typedef struct sharing {
  const tl_host *in;
  int64_t strides[TL_MAX_RANK]; /* of the statistics; 0 along normalized axes */
  double *sum;                  /* [groups] */
  double *squares;
  uint64_t groups;
} sharing;

/* Returns the number of the group, and so of the statistics, that element i belongs to. */
static uint64_t group_of(const sharing *s, uint64_t i) {
  uint64_t at = 0;
  for (int k = s->in->rank - 1; k >= 0; k--) {
    at += i % (uint64_t)s->in->dims[k] * (uint64_t)s->strides[k];
    i /= (uint64_t)s->in->dims[k];
  }
  return at;
}

/* Reads the axes and gives the statistics strides: 0 along normalized axes, so that elements that
 * differ only there share a group. */
static tl_status share_axes(tl_eval *ctx, sharing *s) {
  static const int64_t usual[] = {0, 2, 3};
  tl_int_list axes = tl_eval_ints(ctx, TL_SYM_axes);
  bool cut[TL_MAX_RANK] = {false};
  uint32_t axis;
  int64_t step = 1;
  if (!axes.at)
    axes = (tl_int_list){usual, 3};
  for (uint32_t i = 0; i < axes.n; i++) {
    TL_TRY(tl_eval_axis(ctx, axes.at[i], s->in->rank, &axis));
    cut[axis] = true;
  }
  for (int k = s->in->rank - 1; k >= 0 && s->in->n; k--) {
    s->strides[k] = cut[k] ? 0 : step;
    step *= cut[k] ? 1 : s->in->dims[k];
  }
  s->groups = (uint64_t)step;
  return TL_OK;
}

/* Normalizes in three passes: mean, deviation, result. ONNX's function body adds 1e-9 to the
 * deviation. */
static void shift_and_scale(sharing *s, tl_host *out) {
  double n = (double)(s->in->n / s->groups);
  for (uint64_t i = 0; i < s->in->n; i++)
    s->sum[group_of(s, i)] += tl_cell_at(s->in, i) / n;
  for (uint64_t i = 0; i < s->in->n; i++) {
    double d = tl_cell_at(s->in, i) - s->sum[group_of(s, i)];
    s->squares[group_of(s, i)] += d * d / n;
  }
  for (uint64_t i = 0; i < s->in->n; i++) {
    uint64_t g = group_of(s, i);
    double v = (tl_cell_at(s->in, i) - s->sum[g]) / (sqrt(s->squares[g]) + 1e-9);
    tl_cells_store(out->dtype, &v, out->data, i, 1, 1);
  }
}

tl_status tl_eval_mean_variance_norm(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  sharing s = {.in = tl_eval_in(ctx, 0)};
  tl_host *out;
  TL_TRY(share_axes(ctx, &s));
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)s.in->dtype, s.in, &out));
  if (!out->n)
    return TL_OK;
  s.sum = tl_eval_scratch(ctx, s.groups, 2 * sizeof *s.sum);
  if (!s.sum)
    return tl_eval_no_memory(ctx);
  memset(s.sum, 0, (size_t)s.groups * 2 * sizeof *s.sum);
  s.squares = s.sum + s.groups;
  shift_and_scale(&s, out);
  return TL_OK;
}
