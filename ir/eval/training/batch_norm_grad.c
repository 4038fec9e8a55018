/* SPDX-License-Identifier: Apache-2.0 */
/* Computes batch normalization as training graphs of ONNX Runtime have it: BatchNormInternal, which
 * also gives what its gradient needs, and BatchNormalizationGrad. Data is [N, C, d...]; sums are in
 * double. */
#include <math.h>

#include "ir/eval/kernel/lines.h"

/* The sizes of the data: images, channels, elements of a plane. */
typedef struct channels {
  uint64_t images;
  uint64_t n;
  uint64_t plane;
} channels;

/* Returns the index of element i of a channel, counted over all images. */
static uint64_t cell(const channels *c, uint64_t channel, uint64_t i) {
  return (i / c->plane * c->n + channel) * c->plane + i % c->plane;
}

/* Reads the sizes of operand `data`, and checks that operands [from, to) have one number for each
 * channel. */
static tl_status open_channels(tl_eval *ctx, uint32_t data, uint32_t from, uint32_t to,
                               channels *c) {
  TL_TRY(tl_eval_need_rank(ctx, data, 2, TL_MAX_RANK));
  const tl_host *t = tl_eval_in(ctx, data);
  int64_t plane = 1;
  if (!tl_eval_product(t->dims, 2, t->rank, &plane))
    return tl_eval_fail(ctx, "the planes are too large");
  *c = (channels){(uint64_t)t->dims[0], (uint64_t)t->dims[1], (uint64_t)plane};
  for (uint32_t i = from; i < to; i++) {
    TL_TRY(tl_eval_need_rank(ctx, i, 1, 1));
    if (tl_eval_in(ctx, i)->n != c->n)
      return tl_eval_fail(ctx, "operand %u must have a number for each of %llu channels", i,
                          (unsigned long long)c->n);
  }
  return TL_OK;
}

typedef struct training {
  channels c;
  const tl_host *in[5]; /* data, scale, bias, moving mean and variance */
  tl_host *out[5];      /* data, moving mean and variance, mean, 1 / deviation */
  double epsilon, momentum;
  bool trains;
} training;

static void put(tl_host *t, uint64_t i, double v) {
  tl_cells_store(t->dtype, &v, t->data, i, 1, 1);
}

/* Channels [begin, end): statistics in two passes, the result, then the moving statistics. */
static void train_range(void *user, uint64_t begin, uint64_t end) {
  const training *d = user;
  uint64_t count = d->c.images * d->c.plane;
  for (uint64_t ch = begin; ch < end; ch++) {
    double old[2] = {tl_cell_at(d->in[3], ch), tl_cell_at(d->in[4], ch)}, sum = 0, squares = 0;
    for (uint64_t i = 0; i < count; i++)
      sum += tl_cell_at(d->in[0], cell(&d->c, ch, i));
    double mean = d->trains ? sum / (double)count : old[0];
    for (uint64_t i = 0; i < count; i++) {
      double v = tl_cell_at(d->in[0], cell(&d->c, ch, i)) - mean;
      squares += v * v;
    }
    double variance = d->trains ? squares / (double)count : old[1];
    double inv = 1 / sqrt(variance + d->epsilon);
    for (uint64_t i = 0; i < count; i++) {
      uint64_t at = cell(&d->c, ch, i);
      put(d->out[0], at,
          (tl_cell_at(d->in[0], at) - mean) * inv * tl_cell_at(d->in[1], ch) +
              tl_cell_at(d->in[2], ch));
    }
    put(d->out[1], ch, old[0] * d->momentum + mean * (1 - d->momentum));
    put(d->out[2], ch, old[1] * d->momentum + variance * (1 - d->momentum));
    put(d->out[3], ch, mean);
    put(d->out[4], ch, inv);
  }
}

tl_status tl_eval_batch_norm_internal(tl_eval *ctx) {
  training d = {.trains = tl_eval_int(ctx, TL_SYM_training_mode, 1) != 0};
  TL_TRY(open_channels(ctx, 0, 1, 5, &d.c));
  for (uint32_t i = 0; i < 5; i++) {
    static const uint32_t like[] = {0, 3, 4, 3, 4};
    const tl_host *of = tl_eval_in(ctx, like[i]);
    d.in[i] = tl_eval_in(ctx, i);
    TL_TRY(tl_eval_result_like(ctx, i, (tl_dtype)of->dtype, of, &d.out[i]));
  }
  d.epsilon = (double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-5f);
  d.momentum = (double)tl_eval_float(ctx, TL_SYM_momentum, 0.9f);
  tl_eval_for(ctx, d.c.n, 1, train_range, &d);
  return TL_OK;
}

typedef struct norm_grad {
  channels c;
  const tl_host *dy, *x, *scale, *mean, *inv;
  tl_host *dx, *dscale, *dbias;
} norm_grad;

/* dX = scale * inv * (dY - mean(dY) - n * mean(dY * n)) with the normalized data n. */
static void grad_range(void *user, uint64_t begin, uint64_t end) {
  const norm_grad *d = user;
  uint64_t count = d->c.images * d->c.plane;
  for (uint64_t ch = begin; ch < end; ch++) {
    double mean = tl_cell_at(d->mean, ch), inv = tl_cell_at(d->inv, ch), bias = 0, scale = 0;
    for (uint64_t i = 0; i < count; i++) {
      uint64_t at = cell(&d->c, ch, i);
      bias += tl_cell_at(d->dy, at);
      scale += tl_cell_at(d->dy, at) * (tl_cell_at(d->x, at) - mean) * inv;
    }
    for (uint64_t i = 0; i < count; i++) {
      uint64_t at = cell(&d->c, ch, i);
      double n = (tl_cell_at(d->x, at) - mean) * inv;
      double v = tl_cell_at(d->dy, at) - (bias + n * scale) / (double)count;
      put(d->dx, at, v * inv * tl_cell_at(d->scale, ch));
    }
    put(d->dscale, ch, scale);
    put(d->dbias, ch, bias);
  }
}

/* BatchNormalizationGrad: dY, X, scale, mean, 1 / deviation -> gradients of X, scale and bias. */
tl_status tl_eval_batch_norm_grad(tl_eval *ctx) {
  norm_grad d = {.dy = tl_eval_in(ctx, 0), .x = tl_eval_in(ctx, 1), .scale = tl_eval_in(ctx, 2)};
  TL_TRY(open_channels(ctx, 1, 2, 5, &d.c));
  d.mean = tl_eval_in(ctx, 3);
  d.inv = tl_eval_in(ctx, 4);
  if (!d.dy || !tl_host_same_shape(d.dy, d.x))
    return tl_eval_fail(ctx, "the gradient must have the shape of the data");
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)d.x->dtype, d.x, &d.dx));
  TL_TRY(tl_eval_result_like(ctx, 1, (tl_dtype)d.scale->dtype, d.scale, &d.dscale));
  TL_TRY(tl_eval_result_like(ctx, 2, (tl_dtype)d.scale->dtype, d.scale, &d.dbias));
  tl_eval_for(ctx, d.c.n, 1, grad_range, &d);
  return TL_OK;
}
