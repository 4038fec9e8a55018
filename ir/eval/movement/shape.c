/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that look at shapes only: new shapes for the same bytes, and shapes as data. */
#include "ir/eval/kernel/move.h"

static tl_status too_many_dims(tl_eval *ctx, uint64_t rank) {
  return tl_eval_unsupported(ctx, "the result would have %llu dims, at most %d are possible",
                             (unsigned long long)rank, TL_MAX_RANK);
}

/* Makes result 0 a view of t in another shape; fails with a reason when the dims do not have as
 * many elements as t. */
static tl_status view_as(tl_eval *ctx, const tl_host *t, int rank, const int64_t *dims) {
  int64_t n;
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0)
      return tl_eval_fail(ctx, "the new shape has the dim %lld", (long long)dims[i]);
  if (!tl_eval_product(dims, 0, rank, &n) || (uint64_t)n != t->n)
    return tl_eval_fail(ctx, "the new shape does not have %llu elements", (unsigned long long)t->n);
  return tl_eval_view(ctx, 0, t, rank, dims);
}

/* ---- Reshape -------------------------------------------------------------------------------- */

/* Sets the dim written as -1 to what the others leave. With a 0 among the others nothing can be
 * inferred. */
static tl_status fill_inferred(tl_eval *ctx, uint64_t elements, int rank, int64_t *dims, int at) {
  int64_t others;
  dims[at] = 1;
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0)
      return tl_eval_fail(ctx, "the new shape has the dim %lld", (long long)dims[i]);
  if (!tl_eval_product(dims, 0, rank, &others) || others == 0 || elements % (uint64_t)others != 0)
    return tl_eval_fail(ctx, "the dim -1 of the new shape cannot be inferred for %llu elements",
                        (unsigned long long)elements);
  dims[at] = (int64_t)(elements / (uint64_t)others);
  return TL_OK;
}

/* A dim of 0 copies that of the operand, unless allowzero is set. */
tl_status tl_eval_reshape(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, 1));
  const tl_host *t = ctx->in[0], *shape = ctx->in[1];
  bool zero_is_zero = tl_eval_int(ctx, TL_SYM_allowzero, 0) != 0;
  int64_t dims[TL_MAX_RANK];
  int inferred = -1;
  if (shape->n > TL_MAX_RANK)
    return too_many_dims(ctx, shape->n);
  int rank = (int)shape->n;
  for (int i = 0; i < rank; i++) {
    int64_t d = tl_host_int_at(shape, (uint64_t)i);
    if (d == 0 && !zero_is_zero && i >= t->rank)
      return tl_eval_fail(ctx, "the new shape copies dim %d, which the operand does not have", i);
    if (d == -1 && inferred >= 0)
      return tl_eval_fail(ctx, "the new shape has more than one dim -1");
    if (d == -1)
      inferred = i;
    dims[i] = d == 0 && !zero_is_zero ? t->dims[i] : d;
  }
  if (inferred >= 0)
    TL_TRY(fill_inferred(ctx, t->n, rank, dims, inferred));
  return view_as(ctx, t, rank, dims);
}

/* ---- Flatten, Squeeze, Unsqueeze ------------------------------------------------------------ */

/* Here `axis` may equal the rank, unlike axes elsewhere. */
tl_status tl_eval_flatten(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  int64_t axis = tl_eval_int(ctx, TL_SYM_axis, 1), dims[2];
  if (axis < -t->rank || axis > t->rank)
    return tl_eval_fail(ctx, "axis %lld is outside [%d, %d]", (long long)axis, -t->rank, t->rank);
  int at = (int)(axis < 0 ? axis + t->rank : axis);
  if (!tl_eval_product(t->dims, 0, at, &dims[0]) ||
      !tl_eval_product(t->dims, at, t->rank, &dims[1]))
    return tl_eval_fail(ctx, "the new shape has more elements than can be counted");
  return tl_eval_view(ctx, 0, t, 2, dims);
}

/* Without axes all dims of size 1 are removed. */
tl_status tl_eval_squeeze(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  uint8_t gone[TL_MAX_RANK];
  int64_t dims[TL_MAX_RANK];
  tl_int_list axes;
  int rank = 0;
  TL_TRY(tl_eval_operand_ints(ctx, 1, &axes));
  TL_TRY(tl_eval_mark_axes(ctx, axes, t->rank, gone));
  bool all = !tl_eval_in(ctx, 1);
  for (int i = 0; i < t->rank; i++) {
    if (gone[i] && t->dims[i] != 1)
      return tl_eval_fail(ctx, "axis %d cannot be removed, its dim is %lld", i,
                          (long long)t->dims[i]);
    if (!gone[i] && !(all && t->dims[i] == 1))
      dims[rank++] = t->dims[i];
  }
  return tl_eval_view(ctx, 0, t, rank, dims);
}

static tl_status unsqueeze(tl_eval *ctx, const tl_host *t, tl_int_list axes) {
  uint8_t fresh[TL_MAX_RANK];
  int64_t dims[TL_MAX_RANK];
  if (axes.n > (uint32_t)(TL_MAX_RANK - t->rank))
    return too_many_dims(ctx, (uint64_t)axes.n + (uint64_t)t->rank);
  int rank = t->rank + (int)axes.n;
  TL_TRY(tl_eval_mark_axes(ctx, axes, rank, fresh));
  for (int i = 0, own = 0; i < rank; i++)
    dims[i] = fresh[i] ? 1 : t->dims[own++];
  return tl_eval_view(ctx, 0, t, rank, dims);
}

/* Unsqueeze, and ExpandDims of com.microsoft, whose second operand is one axis. */
tl_status tl_eval_unsqueeze(tl_eval *ctx) {
  tl_int_list axes;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, 1));
  TL_TRY(tl_eval_operand_ints(ctx, 1, &axes));
  return unsqueeze(ctx, ctx->in[0], axes);
}

/* ---- Identity ------------------------------------------------------------------------------- */

tl_status tl_eval_identity(tl_eval *ctx) {
  if (!tl_eval_in(ctx, 0))
    return tl_eval_fail(ctx, "operand 0 is missing");
  return tl_eval_pass(ctx, 0, ctx->in[0]);
}

/* ---- Shape, Size ---------------------------------------------------------------------------- */

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* start and end are clamped, as ONNX says, never an error. */
tl_status tl_eval_shape(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  int64_t start = tl_eval_int(ctx, TL_SYM_start, 0), end = tl_eval_int(ctx, TL_SYM_end, t->rank);
  start = clamp(start < 0 ? start + t->rank : start, 0, t->rank);
  end = clamp(end < 0 ? end + t->rank : end, 0, t->rank);
  int64_t n = end > start ? end - start : 0;
  tl_host *y;
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_I64, 1, &n, &y));
  if (n)
    memcpy(y->data, t->dims + start, (size_t)n * sizeof *t->dims);
  return TL_OK;
}

tl_status tl_eval_size(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  tl_host *y;
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_I64, 0, NULL, &y));
  *(int64_t *)y->data = (int64_t)ctx->in[0]->n;
  return TL_OK;
}
