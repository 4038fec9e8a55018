/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that look at elements or shapes to decide what stays where: NonZero, ReverseSequence,
 * windows. */
#include "ir/eval/kernel/move.h"

/* ---- NonZero -------------------------------------------------------------------------------- */

/* Returns the bits of the highest byte that make an element non-zero. The sign is left out for
 * floats that have a negative zero. */
static uint8_t top_byte_mask(tl_dtype d) {
  switch (d) {
  case TL_DTYPE_F8E4M3FNUZ:
  case TL_DTYPE_F8E5M2FNUZ: return 0xff; /* that pattern is NaN */
  case TL_DTYPE_F4E2M1: return 0x07;
  default: return tl_dtype_is_float(d) ? 0x7f : 0xff;
  }
}

static bool is_zero(const char *p, size_t size, uint8_t mask) {
  uint64_t left_out = (uint64_t)(uint8_t)~mask << 8 * (size - 1);
  return (tl_uint_load(p, size) & ~left_out) == 0;
}

static bool is_set(tl_dtype d, const char *p, size_t size) {
  if (d == TL_DTYPE_STRING)
    return ((const tl_sv *)(const void *)p)->n != 0;
  if (d == TL_DTYPE_F8E8M0)
    return true; /* has no zero */
  if (d == TL_DTYPE_C64 || d == TL_DTYPE_C128)
    return !is_zero(p, size / 2, 0x7f) || !is_zero(p + size / 2, size / 2, 0x7f);
  return !is_zero(p, size, top_byte_mask(d));
}

/* NonZero: coordinates in row-major order of the elements, [rank, found]. A scalar has no
 * coordinates: its result is [0, 0 or 1]. Two walks: the first one counts. */
tl_status tl_eval_nonzero(tl_eval *ctx) {
  tl_units from;
  tl_host *y;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  const tl_host *t = ctx->in[0];
  tl_dtype d = (tl_dtype)t->dtype;
  uint64_t found = 0;
  for (uint64_t i = 0; i < t->n; i++)
    found += is_set(d, from.data + i * from.size, from.size);
  int64_t at[TL_MAX_RANK] = {0};
  const int64_t dims[2] = {t->rank, (int64_t)found};
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_I64, 2, dims, &y));
  uint64_t column = 0;
  for (uint64_t i = 0; i < t->n; i++) {
    if (is_set(d, from.data + i * from.size, from.size)) {
      for (int k = 0; k < t->rank; k++)
        ((int64_t *)y->data)[(uint64_t)k * found + column] = at[k];
      column++;
    }
    for (int k = t->rank - 1; k >= 0 && ++at[k] == t->dims[k]; k--)
      at[k] = 0;
  }
  return TL_OK;
}

/* ---- ReverseSequence ------------------------------------------------------------------------ */

/* Both axes are among the first two, so a step of a sequence is one contiguous run. */
tl_status tl_eval_reverse_sequence(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  tl_int_list lengths;
  int64_t time_axis = tl_eval_int(ctx, TL_SYM_time_axis, 0);
  int64_t batch_axis = tl_eval_int(ctx, TL_SYM_batch_axis, 1);
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_need_rank(ctx, 1, 1, 1));
  TL_TRY(tl_eval_operand_ints(ctx, 1, &lengths));
  const tl_host *t = ctx->in[0];
  if ((time_axis != 0 && time_axis != 1) || batch_axis != 1 - time_axis)
    return tl_eval_fail(ctx, "time_axis %lld and batch_axis %lld are not 0 and 1",
                        (long long)time_axis, (long long)batch_axis);
  int64_t steps = t->dims[time_axis], batches = t->dims[batch_axis];
  if ((int64_t)lengths.n != batches)
    return tl_eval_fail(ctx, "%u lengths for a batch of %lld", lengths.n, (long long)batches);
  for (uint32_t i = 0; i < lengths.n; i++)
    if (lengths.at[i] < 0 || lengths.at[i] > steps)
      return tl_eval_fail(ctx, "length %lld of sequence %u is outside [0, %lld]",
                          (long long)lengths.at[i], i, (long long)steps);
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank, t->dims, &to));
  size_t run = t->n ? (size_t)(t->n / (uint64_t)(steps * batches)) * from.size : 0;
  for (int64_t s = 0; run && s < steps; s++)
    for (int64_t b = 0; b < batches; b++) {
      int64_t source = s < lengths.at[b] ? lengths.at[b] - 1 - s : s;
      int64_t at = time_axis == 0 ? s * batches + b : b * steps + s;
      int64_t place = time_axis == 0 ? source * batches + b : b * steps + source;
      memcpy(to.data + (size_t)at * run, from.data + (size_t)place * run, run);
    }
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- com.microsoft::UnfoldTensor ------------------------------------------------------------ */

/* UnfoldTensor: windows along a dim, whose elements become a new last dim. One strided move, in
 * which source elements overlap. */
tl_status tl_eval_unfold_tensor(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  tl_move v;
  uint32_t dim;
  int64_t dims[TL_MAX_RANK], own[TL_MAX_RANK];
  int64_t size = tl_eval_int(ctx, TL_SYM_size, 0), step = tl_eval_int(ctx, TL_SYM_step, 1);
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK - 1));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_dim, -1), t->rank, &dim));
  if (size < 1 || size > t->dims[dim] || step < 1)
    return tl_eval_fail(ctx, "windows of %lld, %lld apart, do not fit dim %u", (long long)size,
                        (long long)step, dim);
  memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
  dims[dim] = (t->dims[dim] - size) / step + 1;
  dims[t->rank] = size;
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank + 1, dims, &to));
  if (!to.t->n)
    return TL_OK;
  tl_eval_strides(t, from.size, own);
  tl_move_init(&v, to.data, from.data, from.size);
  int64_t out = (int64_t)(to.t->n * to.size);
  for (int i = 0; i < t->rank; i++) {
    out /= dims[i];
    int64_t in = (uint32_t)i != dim ? own[i] : dims[i] > 1 ? own[i] * step : 0;
    tl_move_add(&v, dims[i], out, in);
  }
  tl_move_add(&v, size, (int64_t)to.size, own[dim]);
  tl_move_run(ctx, &v);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- com.microsoft::ZeroGradient ------------------------------------------------------------ */

/* ZeroGradient: zeros of the operand's shape. */
tl_status tl_eval_zero_gradient(tl_eval *ctx) {
  tl_unit_result to;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank, t->dims, &to));
  tl_eval_units_clear(ctx, &to);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- com.microsoft::BroadcastGradientArgs --------------------------------------------------- */

static tl_status axes_result(tl_eval *ctx, uint32_t i, const int64_t *axes, int64_t n) {
  tl_host *y;
  TL_TRY(tl_eval_result(ctx, i, TL_DTYPE_I64, 1, &n, &y));
  if (n)
    memcpy(y->data, axes, (size_t)n * sizeof *axes);
  return TL_OK;
}

/* BroadcastGradientArgs: for each operand the axes, last first, along which a gradient of the
 * broadcast shape must be summed. */
tl_status tl_eval_broadcast_gradient_args(tl_eval *ctx) {
  tl_int_list shape[2];
  int64_t axes[2][TL_MAX_RANK], n[2] = {0, 0};
  for (uint32_t i = 0; i < 2; i++) {
    TL_TRY(tl_eval_need_rank(ctx, i, 1, 1));
    TL_TRY(tl_eval_operand_ints(ctx, i, &shape[i]));
    if (shape[i].n > TL_MAX_RANK)
      return tl_eval_fail(ctx, "shape %u has %u dims", i, shape[i].n);
  }
  uint32_t rank = shape[0].n > shape[1].n ? shape[0].n : shape[1].n;
  for (uint32_t back = 1; back <= rank; back++) {
    bool has[2] = {back <= shape[0].n, back <= shape[1].n};
    int64_t a = has[0] ? shape[0].at[shape[0].n - back] : 1;
    int64_t b = has[1] ? shape[1].at[shape[1].n - back] : 1;
    if (a != b && a != 1 && b != 1)
      return tl_eval_fail(ctx, "the shapes cannot be broadcast: %lld against %lld", (long long)a,
                          (long long)b);
    if (!has[0] || (a == 1 && b != 1))
      axes[0][n[0]++] = rank - back;
    else if (!has[1] || (b == 1 && a != 1))
      axes[1][n[1]++] = rank - back;
  }
  TL_TRY(axes_result(ctx, 0, axes[0], n[0]));
  return axes_result(ctx, 1, axes[1], n[1]);
}
