/* SPDX-License-Identifier: Apache-2.0 */
/* Takes boxes out of a tensor: Slice, Split, crops. */
#include "ir/eval/kernel/move.h"

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* ---- Slice ---------------------------------------------------------------------------------- */

/* Sets one dim of the box. start and end are as ONNX writes them: negative ones count from the end,
 * both are clamped. The span is divided as unsigned, since a step may be INT64_MIN. */
static void slice_dim(tl_box *b, int axis, int64_t start, int64_t end, int64_t step) {
  int64_t dim = b->n[axis], last = step < 0 ? dim - 1 : dim;
  start = clamp(start < 0 ? start + dim : start, 0, last);
  end = clamp(end < 0 ? end + dim : end, step < 0 ? -1 : 0, last);
  uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
  int64_t span = step < 0 ? start - end : end - start;
  b->start[axis] = start;
  b->step[axis] = step;
  b->n[axis] = dim > 0 && span > 0 ? (int64_t)((uint64_t)(span - 1) / stride) + 1 : 0;
}

/* Narrows b, which holds the whole tensor, to the box of starts, ends, axes and steps: operands
 * `first` to first + 3. */
static tl_status slice_box(tl_eval *ctx, uint32_t first, int rank, tl_box *b) {
  tl_int_list starts, ends, axes, steps;
  TL_TRY(tl_eval_need_rank(ctx, first, 0, 1));
  TL_TRY(tl_eval_need_rank(ctx, first + 1, 0, 1));
  TL_TRY(tl_eval_operand_ints(ctx, first, &starts));
  TL_TRY(tl_eval_operand_ints(ctx, first + 1, &ends));
  TL_TRY(tl_eval_operand_ints(ctx, first + 2, &axes));
  TL_TRY(tl_eval_operand_ints(ctx, first + 3, &steps));
  if (starts.n != ends.n || (axes.at && axes.n != starts.n) || (steps.at && steps.n != starts.n))
    return tl_eval_fail(ctx, "starts, ends, axes and steps differ in length");
  if (starts.n > (uint32_t)rank)
    return tl_eval_fail(ctx, "%u axes are sliced, rank is %d", starts.n, rank);
  uint8_t seen[TL_MAX_RANK];
  if (axes.at)
    TL_TRY(tl_eval_mark_axes(ctx, axes, rank, seen));
  for (uint32_t i = 0; i < starts.n; i++) {
    int axis = (int)(axes.at ? (axes.at[i] < 0 ? axes.at[i] + rank : axes.at[i]) : i);
    int64_t step = steps.at ? steps.at[i] : 1;
    if (step == 0)
      return tl_eval_fail(ctx, "the step of axis %d is 0", axis);
    slice_dim(b, axis, starts.at[i], ends.at[i], step);
  }
  return TL_OK;
}

/* Slice and DynamicSlice. */
tl_status tl_eval_slice(tl_eval *ctx) {
  tl_units from;
  tl_box b;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  tl_box_whole(&b, ctx->in[0]);
  TL_TRY(slice_box(ctx, 1, ctx->in[0]->rank, &b));
  return tl_eval_take_box(ctx, 0, &from, &b);
}

/* SliceGrad of com.microsoft: zeros, but the gradient where the slice was. */
tl_status tl_eval_slice_grad(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  tl_box b;
  tl_int_list shape;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_need_rank(ctx, 1, 1, 1));
  TL_TRY(tl_eval_operand_ints(ctx, 1, &shape));
  const tl_host *t = ctx->in[0];
  if (shape.n != (uint32_t)t->rank)
    return tl_eval_fail(ctx, "the shape has %u dims, the gradient has rank %d", shape.n, t->rank);
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank, shape.at, &to));
  tl_box_whole(&b, to.t);
  TL_TRY(slice_box(ctx, 2, t->rank, &b));
  if (t->rank && memcmp(b.n, t->dims, (size_t)t->rank * sizeof *b.n) != 0)
    return tl_eval_fail(ctx, "the gradient does not have the shape of the slice");
  tl_eval_units_clear(ctx, &to);
  tl_eval_put_box(ctx, &to, from.data, &b);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- Split ---------------------------------------------------------------------------------- */

/* Checks that the sizes of n parts add up to the dim. */
static tl_status check_split(tl_eval *ctx, tl_int_list sizes, uint32_t n, int64_t dim) {
  int64_t left = dim;
  if (sizes.n != n)
    return tl_eval_fail(ctx, "%u sizes for %u results", sizes.n, n);
  for (uint32_t i = 0; i < n; i++) {
    if (sizes.at[i] < 0 || sizes.at[i] > left)
      return tl_eval_fail(ctx, "size %lld of part %u does not fit", (long long)sizes.at[i], i);
    left -= sizes.at[i];
  }
  return left ? tl_eval_fail(ctx, "the sizes add up to %lld, the dim is %lld",
                             (long long)(dim - left), (long long)dim)
              : TL_OK;
}

/* Finds the size of equal parts; the last one is smaller when they do not divide the dim. */
static tl_status part_size(tl_eval *ctx, uint32_t n, int64_t dim, int64_t *part) {
  int64_t outputs = tl_eval_int(ctx, TL_SYM_num_outputs, n);
  if (outputs != n)
    return tl_eval_fail(ctx, "num_outputs is %lld, the node has %u results", (long long)outputs, n);
  *part = dim / n + (dim % n != 0);
  if (*part * (n - 1) > dim)
    return tl_eval_fail(ctx, "the dim %lld cannot be split into %u parts of %lld", (long long)dim,
                        n, (long long)*part);
  return TL_OK;
}

/* Splits operand 0. Operand 1: sizes; operand 2: the axis. Both are attributes where they are
 * absent. */
static tl_status split(tl_eval *ctx) {
  tl_units from;
  tl_box b;
  uint32_t axis, n = tl_node_get(ctx->m, ctx->node)->n_results;
  tl_int_list sizes;
  int64_t place, part = 0;
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  const tl_host *t = ctx->in[0];
  int64_t own = tl_eval_int(ctx, TL_SYM_split_dim, tl_eval_int(ctx, TL_SYM_axis, 0));
  TL_TRY(tl_eval_operand_int(ctx, 2, own, &place));
  TL_TRY(tl_eval_axis(ctx, place, t->rank, &axis));
  if (!n)
    return TL_OK;
  TL_TRY(tl_eval_operand_ints(ctx, 1, &sizes));
  if (!sizes.at)
    sizes = tl_eval_ints(ctx, TL_SYM_size_splits);
  TL_TRY(sizes.at ? check_split(ctx, sizes, n, t->dims[axis])
                  : part_size(ctx, n, t->dims[axis], &part));
  tl_box_whole(&b, t);
  for (uint32_t i = 0; i < n; i++) {
    int64_t left = t->dims[axis] - b.start[axis];
    b.n[axis] = sizes.at ? sizes.at[i] : part < left ? part : left;
    TL_TRY(tl_eval_take_box(ctx, i, &from, &b));
    b.start[axis] += b.n[axis];
  }
  return TL_OK;
}

/* ARG 0: Split, and SplitTraining of com.microsoft; 1: npu::Split, whose operands are axis and
 * data; 2: npu::SplitV; 3: npu::SplitD and SplitVD, which have attributes alone. The operands are
 * put in the order that split() expects. */
tl_status tl_eval_split(tl_eval *ctx) {
  const tl_host *first = tl_eval_in(ctx, 0), *second = tl_eval_in(ctx, 1);
  const tl_host *const forms[][3] = {{first, second, NULL},
                                     {second, NULL, first},
                                     {first, second, tl_eval_in(ctx, 2)},
                                     {first, NULL, NULL}};
  tl_eval as_split = *ctx;
  as_split.in = forms[ctx->arg];
  as_split.n_in = 3;
  return split(&as_split);
}

/* ---- crops ---------------------------------------------------------------------------------- */

/* Crop. border: left, top, right, bottom; with `scale`, the height and width that remain. */
tl_status tl_eval_crop(tl_eval *ctx) {
  tl_units from;
  tl_box b;
  tl_int_list border = tl_eval_ints(ctx, TL_SYM_border), scale = tl_eval_ints(ctx, TL_SYM_scale);
  TL_TRY(tl_eval_need_rank(ctx, 0, 4, 4));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  if (border.n != 4 || (scale.n && scale.n != 2))
    return tl_eval_fail(ctx, "border must have 4 values and scale 2");
  tl_box_whole(&b, ctx->in[0]);
  for (int i = 0; i < 2; i++) {
    int axis = 2 + i;
    int64_t dim = b.n[axis], before = border.at[1 - i], after = border.at[3 - i];
    if (before < 0 || before > dim || (!scale.n && (after < 0 || after > dim - before)) ||
        (scale.n && (scale.at[i] < 0 || scale.at[i] > dim - before)))
      return tl_eval_fail(ctx, "the border exceeds dim %d", axis);
    b.start[axis] = before;
    b.n[axis] = scale.n ? scale.at[i] : dim - before - after;
  }
  return tl_eval_take_box(ctx, 0, &from, &b);
}
