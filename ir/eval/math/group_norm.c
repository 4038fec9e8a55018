/* SPDX-License-Identifier: Apache-2.0 */
/* Computes com.microsoft GroupNorm and SkipGroupNorm: channels first or last, an addition before
 * and SiLU after. GroupNormalization of ai.onnx is in norm.c. */
#include <math.h>

#include "ir/eval/kernel/lines.h"
#include "ir/eval/math/elementary.h"

typedef struct group_norm {
  double epsilon;
  bool silu;
  const tl_host *in;
  const tl_host *scale;
  const tl_host *shift;
  const tl_host *skip; /* NULL, of the shape of in, or one value per batch and channel */
  const tl_host *bias; /* NULL or one per channel */
  tl_host *sum;        /* may be NULL */
  tl_host *out;
  double *work; /* [in->n] what is normalized */
  uint64_t groups;
  uint64_t members;      /* channels of a group */
  uint64_t size;         /* places of a channel */
  uint64_t channel_step; /* from a channel to the next one */
  uint64_t place_step;
} group_norm;

/* Returns the index of a group's first element. group: batch * groups + group within the batch. */
static uint64_t group_first(const group_norm *p, uint64_t group) {
  uint64_t channels = p->groups * p->members;
  return group / p->groups * channels * p->size + group % p->groups * p->members * p->channel_step;
}

/* Returns the element with skip and bias added. */
static double added(const group_norm *p, uint64_t batch, uint64_t channel, uint64_t at) {
  double v = tl_cell_at(p->in, at);
  uint64_t channels = p->groups * p->members;
  if (p->skip)
    v += tl_cell_at(p->skip, p->skip->n == p->in->n ? at : batch * channels + channel);
  return p->bias ? v + tl_cell_at(p->bias, channel) : v;
}

/* Adds up v over a group, or (v - about)^2. Two passes (mean, then deviations) are exact where one
 * pass over v^2 would cancel. */
static double sum_group(const group_norm *p, uint64_t first, const double *about) {
  double sum = 0;
  for (uint64_t i = 0; i < p->size; i++)
    for (uint64_t m = 0; m < p->members; m++) {
      double v = p->work[first + i * p->place_step + m * p->channel_step];
      sum += about ? (v - *about) * (v - *about) : v;
    }
  return sum;
}

/* Normalizes one group, scales it by channel, and applies SiLU. */
static void finish_group(const group_norm *p, uint64_t group, double mean, double inv) {
  uint64_t first = group_first(p, group), channel = group % p->groups * p->members;
  for (uint64_t m = 0; m < p->members; m++) {
    double scale = tl_cell_at(p->scale, channel + m), shift = tl_cell_at(p->shift, channel + m);
    for (uint64_t i = 0; i < p->size; i++) {
      uint64_t at = first + i * p->place_step + m * p->channel_step;
      double v = (p->work[at] - mean) * inv * scale + shift;
      if (p->silu)
        v /= 1 + tl_exp(-v);
      tl_cells_store(p->out->dtype, &v, p->out->data, at, 1, 1);
    }
  }
}

/* Groups are independent of each other, so they are what threads divide. */
static void run_groups(void *user, uint64_t begin, uint64_t end) {
  const group_norm *p = user;
  double n = (double)(p->members * p->size);
  for (uint64_t g = begin; g < end; g++) {
    uint64_t first = group_first(p, g), channel = g % p->groups * p->members;
    for (uint64_t m = 0; m < p->members; m++)
      for (uint64_t i = 0; i < p->size; i++) {
        uint64_t at = first + i * p->place_step + m * p->channel_step;
        p->work[at] = added(p, g / p->groups, channel + m, at);
        if (p->sum)
          tl_cells_store(p->sum->dtype, &p->work[at], p->sum->data, at, 1, 1);
      }
    double mean = sum_group(p, first, NULL) / n;
    finish_group(p, g, mean, 1 / sqrt(sum_group(p, first, &mean) / n + p->epsilon));
  }
}

/* Finds channels and steps for either layout and checks the sizes of the other operands. */
static tl_status find_layout(tl_eval *ctx, group_norm *p) {
  const tl_host *in = p->in;
  bool last = tl_eval_int(ctx, TL_SYM_channels_last, 1) != 0;
  int64_t channels = in->dims[last ? in->rank - 1 : 1], groups = tl_eval_int(ctx, TL_SYM_groups, 0);
  if (groups < 1 || channels < 1 || channels % groups)
    return tl_eval_fail(ctx, "%lld channels cannot be divided into %lld groups",
                        (long long)channels, (long long)groups);
  p->groups = (uint64_t)groups;
  p->members = (uint64_t)(channels / groups);
  p->size = 1;
  for (int k = last ? 1 : 2; k < in->rank - (last ? 1 : 0); k++)
    p->size *= (uint64_t)in->dims[k];
  p->channel_step = last ? 1 : p->size;
  p->place_step = last ? (uint64_t)channels : 1;
  uint64_t rows = (uint64_t)in->dims[0] * (uint64_t)channels;
  if (p->scale->n != (uint64_t)channels || p->shift->n != (uint64_t)channels ||
      (p->bias && p->bias->n != (uint64_t)channels) ||
      (p->skip && p->skip->n != in->n && p->skip->n != rows))
    return tl_eval_fail(ctx, "an operand does not fit %lld channels", (long long)channels);
  return TL_OK;
}

/* GroupNorm; with ARG 1 SkipGroupNorm, which adds skip and bias first and can return that sum. */
tl_status tl_eval_ms_group_norm(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  for (uint32_t i = 1; i < (ctx->arg ? 4u : 3u); i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 1, TL_MAX_RANK));
  int64_t activation = tl_eval_int(ctx, TL_SYM_activation, 0);
  if (activation != 0 && activation != 1)
    return tl_eval_fail(ctx, "activation is %lld, expected 0 or 1", (long long)activation);
  group_norm p = {.epsilon = (double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-5f),
                  .silu = activation == 1,
                  .in = tl_eval_in(ctx, 0),
                  .scale = tl_eval_in(ctx, 1),
                  .shift = tl_eval_in(ctx, 2),
                  .skip = ctx->arg ? tl_eval_in(ctx, 3) : NULL,
                  .bias = ctx->arg ? tl_eval_in(ctx, 4) : NULL};
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)p.in->dtype, p.in, &p.out));
  if (ctx->arg && tl_eval_wants(ctx, 1))
    TL_TRY(tl_eval_result_like(ctx, 1, (tl_dtype)p.in->dtype, p.in, &p.sum));
  if (!p.in->n)
    return TL_OK;
  TL_TRY(find_layout(ctx, &p));
  p.work = tl_eval_scratch(ctx, p.in->n, sizeof *p.work);
  if (!p.work)
    return tl_eval_no_memory(ctx);
  tl_eval_for(ctx, (uint64_t)p.in->dims[0] * p.groups, 1, run_groups, &p);
  return TL_OK;
}
