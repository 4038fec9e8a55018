/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Dropout and its gradient. In training mode the mask is drawn from MT19937 (Matsumoto and
 * Nishimura, 1998), seeded with one word, two outputs for each element, as numpy.random.seed and
 * uniform do: the mask then is the one of ONNX's reference implementation. */
#include "ir/eval/kernel/loop.h"

enum { STATE = 624, SHIFT = 397 };

typedef struct twister {
  uint32_t state[STATE];
  uint32_t at;
} twister;

static void twister_seed(twister *t, uint32_t seed) {
  t->state[0] = seed;
  for (uint32_t i = 1; i < STATE; i++)
    t->state[i] = 1812433253u * (t->state[i - 1] ^ t->state[i - 1] >> 30) + i;
  t->at = STATE;
}

/* Makes the next 624 words of state. */
static void twist(twister *t) {
  for (uint32_t i = 0; i < STATE; i++) {
    uint32_t y = (t->state[i] & 0x80000000u) | (t->state[(i + 1) % STATE] & 0x7fffffffu);
    t->state[i] = t->state[(i + SHIFT) % STATE] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
  }
  t->at = 0;
}

/* Returns the next word, after the tempering step of MT19937. */
static uint32_t twister_next(twister *t) {
  if (t->at == STATE)
    twist(t);
  uint32_t y = t->state[t->at++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

/* Returns a number in [0, 1) with 53 random bits: 27 of one word and 26 of the next. */
static double twister_unit(twister *t) {
  uint32_t high = twister_next(t) >> 5, low = twister_next(t) >> 6;
  return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

typedef struct dropout {
  const tl_host *from;
  tl_host *to;
  const uint8_t *mask;
  double ratio;
} dropout;

/* Scales what is kept by 1 / (1 - ratio), so that the expected value stays. */
static void drop_range(void *user, uint64_t begin, uint64_t end) {
  const dropout *d = user;
  double scale = d->ratio < 1 ? 1 / (1 - d->ratio) : 0;
  for (uint64_t i = begin; i < end; i++) {
    bool keep = d->mask[i];
    if (d->from->dtype == TL_DTYPE_F64)
      ((double *)d->to->data)[i] = keep ? ((const double *)d->from->data)[i] * scale : 0;
    else
      ((float *)d->to->data)[i] = keep ? ((const float *)d->from->data)[i] * (float)scale : 0;
  }
}

/* Reads the operands ratio and training_mode. *training holds the default of the latter on
 * entry. */
static tl_status read_mode(tl_eval *ctx, uint32_t ratio_at, double *ratio, int64_t *training) {
  TL_TRY(tl_eval_operand_float(ctx, ratio_at, 0.5, ratio));
  TL_TRY(tl_eval_operand_int(ctx, ratio_at + 1, *training, training));
  if (!(*ratio >= 0 && *ratio <= 1))
    return tl_eval_fail(ctx, "ratio is %g, expected 0 to 1", *ratio);
  if (ctx->in[0]->dtype != TL_DTYPE_F32 && ctx->in[0]->dtype != TL_DTYPE_F64)
    return tl_eval_unsupported(ctx, "the kernel computes in floats only");
  return TL_OK;
}

/* Draws the mask on one thread: the generator is sequential. The seed is folded into 32 bits. */
static void draw(tl_host *mask, uint64_t seed, double ratio) {
  twister t;
  twister_seed(&t, (uint32_t)(seed ^ seed >> 32));
  for (uint64_t i = 0; i < mask->n; i++)
    ((uint8_t *)mask->data)[i] = twister_unit(&t) >= ratio;
}

/* Outside of training mode Dropout is the identity with a mask of ones. */
tl_status tl_eval_dropout(tl_eval *ctx) {
  int64_t training = 0;
  tl_host *mask;
  dropout d = {.from = tl_eval_in(ctx, 0)};
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  TL_TRY(read_mode(ctx, 1, &d.ratio, &training));
  TL_TRY(tl_eval_result_like(ctx, 1, TL_DTYPE_BOOL, d.from, &mask));
  if (!training || d.ratio == 0) {
    if (mask->n)
      memset(mask->data, 1, (size_t)mask->n);
    return tl_eval_pass(ctx, 0, d.from);
  }
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)d.from->dtype, d.from, &d.to));
  bool own = tl_node_attr(ctx->m, ctx->node, TL_SYM_seed) != NULL;
  draw(mask, own ? (uint64_t)tl_eval_int(ctx, TL_SYM_seed, 0) : ctx->seed, d.ratio);
  d.mask = mask->data;
  tl_eval_for(ctx, d.from->n, TL_LOOP_GRAIN, drop_range, &d);
  return TL_OK;
}

tl_status tl_eval_dropout_grad(tl_eval *ctx) {
  int64_t training = 1;
  dropout d = {.from = tl_eval_in(ctx, 0)};
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  TL_TRY(read_mode(ctx, 2, &d.ratio, &training));
  if (ctx->in[1]->dtype != TL_DTYPE_BOOL || ctx->in[1]->n != d.from->n)
    return tl_eval_fail(ctx, "the mask must be a bool per element of the gradient");
  if (!training || d.ratio == 0)
    return tl_eval_pass(ctx, 0, d.from);
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)d.from->dtype, d.from, &d.to));
  d.mask = ctx->in[1]->data;
  tl_eval_for(ctx, d.from->n, TL_LOOP_GRAIN, drop_range, &d);
  return TL_OK;
}
