/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout and its gradient. In training mode element i is kept by a counter-based generator of the
 * seed and i, so that the mask depends on nothing else. */
#include "ir/eval_loop.h"

typedef struct dropout {
  const tl_host *from;
  tl_host *to;
  uint8_t *mask;       /* written, or NULL */
  const uint8_t *kept; /* read, or NULL: drawn */
  uint64_t seed;
  double ratio;
} dropout;

/* A bijection of 64 bits that mixes well (the finalizer of SplitMix64). */
static uint64_t mix(uint64_t v) {
  v += UINT64_C(0x9e3779b97f4a7c15);
  v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
  return v ^ v >> 31;
}

static bool keeps(const dropout *d, uint64_t i) {
  if (d->kept)
    return d->kept[i];
  return (double)(mix(d->seed ^ mix(i)) >> 11) * 0x1p-53 >= d->ratio;
}

static void drop_range(void *user, uint64_t begin, uint64_t end) {
  const dropout *d = user;
  double scale = d->ratio < 1 ? 1 / (1 - d->ratio) : 0;
  for (uint64_t i = begin; i < end; i++) {
    bool keep = keeps(d, i);
    if (d->mask)
      d->mask[i] = keep;
    if (d->from->dtype == TL_DTYPE_F64)
      ((double *)d->to->data)[i] = keep ? ((const double *)d->from->data)[i] * scale : 0;
    else
      ((float *)d->to->data)[i] = keep ? ((const float *)d->from->data)[i] * (float)scale : 0;
  }
}

/* `training` holds what an absent operand means. */
static tl_status read_mode(tl_eval *x, uint32_t ratio_at, double *ratio, int64_t *training) {
  TL_TRY(tl_eval_operand_float(x, ratio_at, 0.5, ratio));
  TL_TRY(tl_eval_operand_int(x, ratio_at + 1, *training, training));
  if (!(*ratio >= 0 && *ratio <= 1))
    return tl_eval_fail(x, "ratio is %g, expected 0 to 1", *ratio);
  if (x->in[0]->dtype != TL_DTYPE_F32 && x->in[0]->dtype != TL_DTYPE_F64)
    return tl_eval_unsupported(x, "the kernel computes in floats only");
  return TL_OK;
}

tl_status tl_eval_dropout(tl_eval *x) {
  int64_t training = 0;
  tl_host *mask;
  dropout d = {.from = tl_eval_in(x, 0)};
  TL_TRY(tl_eval_need_tensors(x, 1));
  TL_TRY(read_mode(x, 1, &d.ratio, &training));
  TL_TRY(tl_eval_result_like(x, 1, TL_DTYPE_BOOL, d.from, &mask));
  if (!training || d.ratio == 0) {
    if (mask->n)
      memset(mask->data, 1, mask->n);
    return tl_eval_pass(x, 0, d.from);
  }
  TL_TRY(tl_eval_result_like(x, 0, (tl_dtype)d.from->dtype, d.from, &d.to));
  d.mask = mask->data;
  d.seed = tl_node_attr(x->m, x->node, TL_SYM_seed) ? (uint64_t)tl_eval_int(x, TL_SYM_seed, 0)
                                                    : x->seed;
  tl_eval_for(x, d.from->n, TL_LOOP_GRAIN, drop_range, &d);
  return TL_OK;
}

tl_status tl_eval_dropout_grad(tl_eval *x) {
  int64_t training = 1;
  dropout d = {.from = tl_eval_in(x, 0)};
  TL_TRY(tl_eval_need_tensors(x, 2));
  TL_TRY(read_mode(x, 2, &d.ratio, &training));
  if (x->in[1]->dtype != TL_DTYPE_BOOL || x->in[1]->n != d.from->n)
    return tl_eval_fail(x, "the mask must be a bool per element of the gradient");
  if (!training || d.ratio == 0)
    return tl_eval_pass(x, 0, d.from);
  TL_TRY(tl_eval_result_like(x, 0, (tl_dtype)d.from->dtype, d.from, &d.to));
  d.kept = x->in[1]->data;
  tl_eval_for(x, d.from->n, TL_LOOP_GRAIN, drop_range, &d);
  return TL_OK;
}
