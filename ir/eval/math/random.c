/* SPDX-License-Identifier: Apache-2.0 */
/* Draws random numbers: RandomNormal, RandomUniform, Bernoulli, Multinomial. The generator is a
 * hash of a key and the index of the draw, so any element can be drawn alone and threads change
 * nothing.
 *
 * The key is the node's `seed`, else the seed of the run mixed with the name of the node's result,
 * so that two models that keep the name draw the same numbers. A node draws the same numbers each
 * time it runs. ONNX prescribes no generator. */
#include <math.h>

#include "ir/eval/kernel/number.h"
#include "ir/eval/math/elementary.h"

#define PI 3.14159265358979323846

/* ---- generator ------------------------------------------------------------------------------ */

/* Mixes 64 bits, one to one: multiply and fold, three times. */
static uint64_t mix(uint64_t v) {
  v ^= v >> 32;
  v *= UINT64_C(0xd6e8feb86659fd93);
  v ^= v >> 32;
  v *= UINT64_C(0xd6e8feb86659fd93);
  v ^= v >> 32;
  v *= UINT64_C(0xd6e8feb86659fd93);
  return v ^ v >> 32;
}

/* `seed` is a float attribute: its bits are the seed. */
static uint64_t key_of(const tl_eval *ctx) {
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, TL_SYM_seed);
  uint64_t key = ctx->seed;
  if (a && a->kind == TL_ATTR_FLOAT) {
    uint32_t bits;
    memcpy(&bits, &a->u.f, sizeof bits);
    return mix(bits ^ UINT64_C(0x7365656400000000));
  }
  tl_value_id v = tl_result(ctx->m, ctx->node, 0);
  tl_sv name = v ? tl_value_name(ctx->m, v) : (tl_sv){0};
  for (size_t i = 0; i < name.n; i++)
    key = mix(key ^ (uint64_t)(unsigned char)name.p[i]);
  return mix(key + 1);
}

static uint64_t draw_bits(uint64_t key, uint64_t i) { return mix(key ^ mix(i + 1)); }

/* Returns number i of the uniform distribution over [0, 1), with 53 bits. */
static double draw(uint64_t key, uint64_t i) {
  return ldexp((double)(draw_bits(key, i) >> 11), -53);
}

/* Returns number i of the standard normal distribution (Box and Muller). 1 - u is never 0, so its
 * logarithm is finite. */
static double draw_normal(uint64_t key, uint64_t i) {
  double radius = sqrt(-2.0 * tl_log(1.0 - draw(key, 2 * i)));
  return radius * tl_cos(2.0 * PI * draw(key, 2 * i + 1));
}

/* ---- RandomNormal, RandomUniform, their Like forms, Bernoulli ------------------------------- */

enum { UNIFORM, NORMAL }; /* ARG of the kernel */

typedef struct drawing {
  uint64_t key;
  int64_t kind;
  double first;           /* low or mean */
  double second;          /* width or deviation */
  const tl_host *chances; /* Bernoulli */
  tl_host *out;
} drawing;

enum { DRAW_GRAIN = 4096 };

static void draw_range(void *user, uint64_t begin, uint64_t end) {
  const drawing *d = user;
  for (uint64_t i = begin; i < end; i++) {
    double v = d->kind == NORMAL ? draw_normal(d->key, i) : draw(d->key, i);
    tl_store_number(d->out, i, d->first + d->second * v);
  }
}

/* Reads the distribution's attributes and fills result 0. */
static tl_status draw_all(tl_eval *ctx, tl_dtype dtype, int rank, const int64_t *dims) {
  drawing d = {.key = key_of(ctx), .kind = ctx->arg};
  if (d.kind == NORMAL) {
    d.first = (double)tl_eval_float(ctx, TL_SYM_mean, 0.0f);
    d.second = (double)tl_eval_float(ctx, TL_SYM_scale, 1.0f);
  } else {
    d.first = (double)tl_eval_float(ctx, TL_SYM_low, 0.0f);
    d.second = (double)tl_eval_float(ctx, TL_SYM_high, 1.0f) - d.first;
  }
  TL_TRY(tl_eval_number_result(ctx, 0, dtype, rank, dims, &d.out));
  tl_eval_for(ctx, d.out->n, DRAW_GRAIN, draw_range, &d);
  return TL_OK;
}

tl_status tl_eval_random(tl_eval *ctx) {
  tl_int_list shape = tl_eval_ints(ctx, TL_SYM_shape);
  tl_dtype dtype;
  if (shape.n > TL_MAX_RANK)
    return tl_eval_fail(ctx, "the shape has %u dims, at most %d are possible", shape.n,
                        TL_MAX_RANK);
  TL_TRY(tl_eval_dtype_attr(ctx, TL_SYM_dtype, TL_DTYPE_F32, &dtype));
  return draw_all(ctx, dtype, (int)shape.n, shape.at);
}

tl_status tl_eval_random_like(tl_eval *ctx) {
  const tl_host *like = tl_eval_in(ctx, 0);
  tl_dtype dtype;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_dtype_attr(ctx, TL_SYM_dtype, (tl_dtype)like->dtype, &dtype));
  return draw_all(ctx, dtype, like->rank, like->dims);
}

static void bernoulli_range(void *user, uint64_t begin, uint64_t end) {
  const drawing *d = user;
  for (uint64_t i = begin; i < end; i++)
    tl_store_number(d->out, i, draw(d->key, i) < tl_host_at(d->chances, i) ? 1 : 0);
}

tl_status tl_eval_bernoulli(tl_eval *ctx) {
  drawing d = {.key = key_of(ctx), .chances = tl_eval_in(ctx, 0)};
  tl_dtype dtype;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_dtype_attr(ctx, TL_SYM_dtype, (tl_dtype)d.chances->dtype, &dtype));
  TL_TRY(tl_eval_number_result(ctx, 0, dtype, d.chances->rank, d.chances->dims, &d.out));
  tl_eval_for(ctx, d.out->n, DRAW_GRAIN, bernoulli_range, &d);
  return TL_OK;
}

/* ---- Multinomial ---------------------------------------------------------------------------- */

/* Fills running sums of exp(logit - largest), which cannot overflow. False when no class can be
 * drawn: all logits are -infinity, or one is NaN or +infinity. */
static bool sum_chances(const tl_host *t, uint64_t row, uint64_t n, double *sums) {
  double most = (double)-INFINITY, sum = 0;
  for (uint64_t i = 0; i < n; i++)
    if (tl_host_at(t, row * n + i) > most)
      most = tl_host_at(t, row * n + i);
  if (isinf(most))
    return false;
  for (uint64_t i = 0; i < n; i++)
    sums[i] = sum += tl_exp(tl_host_at(t, row * n + i) - most);
  return !isnan(sum);
}

/* Returns the first class whose running sum is above the point, by binary search. */
static uint64_t pick(const double *sums, uint64_t n, double point) {
  uint64_t low = 0, high = n - 1;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (sums[middle] > point)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* input: [B,classes] of unnormalized log-probabilities -> [B,sample_size] of class numbers. */
tl_status tl_eval_multinomial(tl_eval *ctx) {
  const tl_host *in = tl_eval_in(ctx, 0);
  const uint64_t key = key_of(ctx);
  tl_dtype dtype;
  tl_host *t;
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 2));
  TL_TRY(tl_eval_dtype_attr(ctx, TL_SYM_dtype, TL_DTYPE_I32, &dtype));
  const int64_t dims[2] = {in->dims[0], tl_eval_int(ctx, TL_SYM_sample_size, 1)};
  TL_TRY(tl_eval_number_result(ctx, 0, dtype, 2, dims, &t));
  const uint64_t n = (uint64_t)in->dims[1], samples = (uint64_t)dims[1];
  double *sums = tl_eval_scratch(ctx, n, sizeof *sums);
  if (!sums)
    return tl_eval_no_memory(ctx);
  for (uint64_t row = 0; row < (uint64_t)dims[0] && samples; row++) {
    if (!sum_chances(in, row, n, sums))
      return tl_eval_fail(ctx, "row %llu has no class that can be drawn", (unsigned long long)row);
    for (uint64_t k = 0; k < samples; k++)
      tl_store_number(t, row * samples + k,
                      (double)pick(sums, n, draw(key, row * samples + k) * sums[n - 1]));
  }
  return TL_OK;
}
