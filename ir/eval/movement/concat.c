/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Concat and what else puts tensors side by side. */
#include "ir/eval/movement/concat.h"

/* Checks a part against part 0 and adds its length to *total. */
static tl_status check_part(tl_eval *ctx, const tl_host *first, const tl_host *t, uint32_t i,
                            uint32_t axis, int64_t *total) {
  if (!t || t->kind != TL_HOST_TENSOR || t->dtype != first->dtype)
    return tl_eval_fail(ctx, "part %u is not a tensor of the element type of part 0", i);
  bool fits = t->rank == first->rank;
  for (int k = 0; fits && k < t->rank; k++)
    fits = (uint32_t)k == axis || t->dims[k] == first->dims[k];
  if (!fits)
    return tl_eval_fail(ctx, "the shape of part %u does not fit that of part 0", i);
  if (__builtin_add_overflow(*total, t->dims[axis], total))
    return tl_eval_fail(ctx, "the result would have more elements than can be counted");
  return TL_OK;
}

/* Copies one part into its place. start: the position along the axis. */
static tl_status place_part(tl_eval *ctx, const tl_host *t, uint32_t axis, int64_t start,
                            const tl_unit_result *to) {
  tl_units from;
  tl_move v;
  if (!t->n)
    return TL_OK;
  TL_TRY(tl_eval_units_of(ctx, t, &from));
  tl_around a = tl_eval_around(t, axis);
  int64_t size = (int64_t)to->size, inner = (int64_t)a.inner * size;
  tl_move_init(&v, to->data + start * inner, from.data, to->size);
  tl_move_add(&v, (int64_t)a.outer, to->t->dims[axis] * inner, (int64_t)a.axis * inner);
  tl_move_add(&v, (int64_t)(a.axis * a.inner), size, size);
  tl_move_run(ctx, &v);
  return TL_OK;
}

/* One part alone is passed on without a copy. */
tl_status tl_eval_concat_parts(tl_eval *ctx, const tl_host *const *parts, uint32_t n, int64_t at) {
  if (!n || !parts[0] || parts[0]->kind != TL_HOST_TENSOR || parts[0]->rank < 1)
    return tl_eval_fail(ctx, "no operand has an axis to concatenate");
  const tl_host *first = parts[0];
  uint32_t axis;
  int64_t dims[TL_MAX_RANK], total = 0, start = 0;
  tl_unit_result to;
  TL_TRY(tl_eval_axis(ctx, at, first->rank, &axis));
  for (uint32_t i = 0; i < n; i++)
    TL_TRY(check_part(ctx, first, parts[i], i, axis, &total));
  if (n == 1)
    return tl_eval_pass(ctx, 0, first);
  memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
  dims[axis] = total;
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)first->dtype, first->rank, dims, &to));
  for (uint32_t i = 0; i < n; i++) {
    TL_TRY(place_part(ctx, parts[i], axis, start, &to));
    start += parts[i]->dims[axis];
  }
  tl_eval_units_done(&to);
  return TL_OK;
}

tl_status tl_eval_concat(tl_eval *ctx) {
  return tl_eval_concat_parts(ctx, ctx->in, ctx->n_in, tl_eval_int(ctx, TL_SYM_axis, 0));
}

/* ConcatTraining of com.microsoft also gives the length of each part, as result 1. */
tl_status tl_eval_concat_training(tl_eval *ctx) {
  TL_TRY(tl_eval_concat(ctx));
  uint32_t axis;
  int64_t n = ctx->n_in;
  tl_host *lengths;
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 0), ctx->in[0]->rank, &axis));
  TL_TRY(tl_eval_result(ctx, 1, TL_DTYPE_I64, 1, &n, &lengths));
  for (uint32_t i = 0; i < ctx->n_in; i++)
    ((int64_t *)lengths->data)[i] = ctx->in[i]->dims[axis];
  return TL_OK;
}
