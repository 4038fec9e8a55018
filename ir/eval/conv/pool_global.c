/* SPDX-License-Identifier: Apache-2.0 */
/* Pools over all spatial elements of a channel: mean, greatest, norm. Sums are doubles. */
#include <math.h>

#include "ir/eval/kernel/kernel.h"
#include "ir/eval/math/elementary.h"

enum { ELEMENT_GRAIN = 1 << 14 };

typedef enum pooling { POOL_MEAN, POOL_MAX, POOL_NORM } pooling; /* ARG of the table */

/* A pooling over planes of `plane` elements each. */
typedef struct whole {
  const tl_host *x;
  tl_host *y;
  int64_t plane;
  int64_t kind;
  int64_t power;
} whole;

static double number_at(const whole *w, int64_t i) {
  return w->x->dtype == TL_DTYPE_F64 ? ((const double *)w->x->data)[i]
                                     : (double)((const float *)w->x->data)[i];
}

/* The mean of an empty plane is NaN. */
static double mean(const whole *w, int64_t base) {
  double sum = 0;
  for (int64_t i = 0; i < w->plane; i++)
    sum += number_at(w, base + i);
  return sum / (double)w->plane;
}

/* Returns the greatest element; NaN when there is one, since no later comparison replaces it. */
static double greatest(const whole *w, int64_t base) {
  double most = (double)-INFINITY;
  for (int64_t i = 0; i < w->plane; i++) {
    double v = number_at(w, base + i);
    most = v > most || isnan(v) ? v : most;
  }
  return most;
}

/* 1 and 2 are the usual powers and need no pow. */
static double norm(const whole *w, int64_t base) {
  double sum = 0;
  for (int64_t i = 0; i < w->plane; i++) {
    double v = fabs(number_at(w, base + i));
    sum += w->power == 1 ? v : w->power == 2 ? v * v : tl_pow(v, (double)w->power);
  }
  return w->power == 1 ? sum : w->power == 2 ? sqrt(sum) : tl_pow(sum, 1.0 / (double)w->power);
}

/* Each result is one plane. */
static void pool_range(void *user, uint64_t begin, uint64_t end) {
  const whole *w = user;
  for (uint64_t i = begin; i < end; i++) {
    int64_t base = (int64_t)i * w->plane;
    double v = w->kind == POOL_MEAN  ? mean(w, base)
               : w->kind == POOL_MAX ? greatest(w, base)
                                     : norm(w, base);
    if (w->y->dtype == TL_DTYPE_F64)
      ((double *)w->y->data)[i] = v;
    else
      ((float *)w->y->data)[i] = (float)v;
  }
}

/* GlobalAveragePool, GlobalMaxPool or GlobalLpPool, by ARG. */
tl_status tl_eval_global_pool(tl_eval *ctx) {
  int64_t dims[TL_MAX_RANK];
  whole w = {.kind = ctx->arg, .power = ctx->arg == POOL_NORM ? tl_eval_int(ctx, TL_SYM_p, 2) : 0};
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  w.x = tl_eval_in(ctx, 0);
  if (w.x->dtype != TL_DTYPE_F32 && w.x->dtype != TL_DTYPE_F64)
    return tl_eval_unsupported(ctx, "pooling of %s is not supported",
                               tl_dtype_get((tl_dtype)w.x->dtype)->name);
  if (w.kind == POOL_NORM && w.power < 1)
    return tl_eval_fail(ctx, "attribute p is %lld, expected at least 1", (long long)w.power);
  dims[0] = w.x->dims[0];
  dims[1] = w.x->dims[1];
  for (int i = 2; i < w.x->rank; i++)
    dims[i] = 1;
  if (!tl_eval_product(w.x->dims, 2, w.x->rank, &w.plane))
    return tl_eval_fail(ctx, "a channel has more elements than can be counted");
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)w.x->dtype, w.x->rank, dims, &w.y));
  tl_eval_for(ctx, w.y->n, w.plane > 0 ? ELEMENT_GRAIN / (uint64_t)w.plane + 1 : ELEMENT_GRAIN,
              pool_range, &w);
  return TL_OK;
}
