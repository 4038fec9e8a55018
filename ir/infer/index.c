/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of ops that join, cut and pad along axes: Concat, Split, Slice, Pad,
 * CenterCropPad, DepthToSpace, SpaceToDepth. */
#include "ir/infer/infer.h"
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

static const tl_elem unknown = {TL_ELEM_UNKNOWN, 0};

/* States result 0 with a rank alone. */
static tl_status set_ranked(tl_infer *ctx, int rank) {
  tl_dim dims[TL_MAX_RANK];
  for (int i = 0; i < rank; i++)
    dims[i] = TL_DIM_UNKNOWN;
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* ---- Concat --------------------------------------------------------------------------------- */

/* Which operands are joined: every step-th one from `first`. */
typedef struct joined {
  uint32_t first;
  uint32_t step;
  tl_dtype dtype; /* of the result */
} joined;

/* Gives the rank of the operands that have one; they must agree. */
static tl_status common_rank(tl_infer *ctx, joined j, int *rank) {
  *rank = TL_RANK_UNKNOWN;
  for (uint32_t i = j.first; i < tl_infer_n_operands(ctx); i += j.step) {
    int r = tl_infer_rank(ctx, i);
    if (r >= 0 && *rank >= 0 && r != *rank)
      return tl_infer_fail(ctx, "operand %u has rank %d, expected %d like the others", i, r, *rank);
    if (r >= 0)
      *rank = r;
  }
  return TL_OK;
}

/* Merges the dims of one operand into the result: they add up on the axis and agree elsewhere. */
static tl_status join_operand(tl_infer *ctx, uint32_t i, int rank, uint32_t axis, tl_dim *dims) {
  if (tl_infer_rank(ctx, i) < 0) {
    dims[axis] = TL_DIM_UNKNOWN;
    return TL_OK;
  }
  const tl_dim *in = tl_infer_dims(ctx, i);
  for (int k = 0; k < rank; k++) {
    if (k == (int)axis)
      dims[k] = tl_dim_add(ctx->m, dims[k], in[k]);
    else if (!tl_dim_merge(dims[k], in[k], &dims[k]))
      return tl_infer_fail(ctx, "operand %u has size %lld on axis %d, expected %lld", i,
                           (long long)in[k], k, (long long)dims[k]);
  }
  return TL_OK;
}

/* Tracks the elements of rank-1 operands behind each other; an operand of known length that is not
 * tracked contributes unknown ones. */
static tl_status join_elems(tl_infer *ctx, joined j) {
  tl_elem at[TL_MAX_PARTIAL];
  uint32_t n = 0;
  for (uint32_t i = j.first; i < tl_infer_n_operands(ctx); i += j.step) {
    tl_dim length = tl_infer_rank(ctx, i) == 1 ? tl_infer_dims(ctx, i)[0] : TL_DIM_UNKNOWN;
    if (length < 0 || length > (tl_dim)(TL_MAX_PARTIAL - n))
      return TL_OK;
    tl_partial p = tl_infer_elems(ctx, i);
    for (uint32_t k = 0; k < (uint32_t)length; k++)
      at[n++] = p.at && p.n == (uint32_t)length ? p.at[k] : unknown;
  }
  return tl_infer_set_elems(ctx, 0, at, n);
}

static tl_status join(tl_infer *ctx, uint32_t node, joined j) {
  tl_dim dims[TL_MAX_RANK];
  int rank;
  uint32_t axis;
  TL_TRY(common_rank(ctx, j, &rank));
  if (rank < 0)
    return tl_infer_set(ctx, 0, j.dtype, TL_RANK_UNKNOWN, NULL);
  TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, 0), rank, &axis));
  for (int k = 0; k < rank; k++)
    dims[k] = k == (int)axis ? 0 : TL_DIM_UNKNOWN;
  for (uint32_t i = j.first; i < tl_infer_n_operands(ctx); i += j.step)
    TL_TRY(join_operand(ctx, i, rank, axis, dims));
  TL_TRY(tl_infer_set(ctx, 0, j.dtype, rank, dims));
  return rank == 1 && (tl_dtype_is_integer(j.dtype) || j.dtype == TL_DTYPE_BOOL ||
                       j.dtype == TL_DTYPE_F32)
             ? join_elems(ctx, j)
             : TL_OK;
}

/* Concat; its training form also returns the length that each operand had on the axis. */
tl_status tl_infer_concat(tl_infer *ctx, uint32_t node) {
  tl_dim n = tl_infer_n_operands(ctx);
  TL_TRY(tl_infer_set(ctx, 1, TL_DTYPE_I64, 1, &n));
  return join(ctx, node, (joined){0, 1, tl_infer_dtype(ctx, 0)});
}

/* The result is four parts like the first operand, along the last axis. */
tl_status tl_infer_sub_mul_concat(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  (void)node;
  if (rank > 0)
    dims[rank - 1] = tl_dim_mul(ctx->m, dims[rank - 1], 4);
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* QLinearConcat: scale and zero point of the result, then (tensor, scale, zero point) each. */
tl_status tl_infer_qlinear_concat(tl_infer *ctx, uint32_t node) {
  return join(ctx, node, (joined){2, 3, tl_infer_dtype(ctx, 1)});
}

/* ---- Split ---------------------------------------------------------------------------------- */

/* Gives the size of part i of n when the model gives no sizes; uneven parts need num_outputs. */
static tl_status even_part(tl_infer *ctx, uint32_t node, tl_dim whole, uint32_t n, uint32_t i,
                           tl_dim *out) {
  bool uneven_allowed = tl_node_attr(ctx->m, node, TL_SYM_num_outputs) != NULL;
  bool exact;
  tl_dim parts = n;
  if (whole < 0 || whole > INT64_MAX / 2) {
    bool even = !uneven_allowed || n == 1;
    *out = even ? tl_infer_quotient(ctx, &whole, 1, &parts, 1, &exact) : TL_DIM_UNKNOWN;
    return TL_OK;
  }
  if (whole % n != 0 && !uneven_allowed)
    return tl_infer_fail(ctx, "size %lld cannot be split into %u equal parts", (long long)whole, n);
  tl_dim chunk = whole / n + (whole % n != 0);
  tl_dim before = chunk * i;
  *out = before >= whole ? 0 : whole - before < chunk ? whole - before : chunk;
  return TL_OK;
}

/* Sizes must be as many as results, and add up to the whole. */
static tl_status check_sizes(tl_infer *ctx, tl_partial sizes, tl_dim whole) {
  int64_t sum = 0;
  if (sizes.n != tl_infer_n_results(ctx))
    return tl_infer_fail(ctx, "there are %u sizes for %u results", sizes.n,
                         tl_infer_n_results(ctx));
  for (uint32_t i = 0; i < sizes.n; i++) {
    if (sizes.at[i].kind != TL_ELEM_INT)
      return TL_OK;
    if (sizes.at[i].value < 0 || __builtin_add_overflow(sum, sizes.at[i].value, &sum))
      return tl_infer_fail(ctx, "size %u is %lld, expected at least 0", i,
                           (long long)sizes.at[i].value);
  }
  if (whole >= 0 && sum != whole)
    return tl_infer_fail(ctx, "the sizes sum to %lld, expected %lld", (long long)sum,
                         (long long)whole);
  return TL_OK;
}

/* Tracks elements [from, from + n) of rank-1 data as those of result i. */
static tl_status track_part(tl_infer *ctx, uint32_t i, tl_dim from, tl_dim n) {
  if (tl_infer_rank(ctx, 0) != 1 || !tl_dtype_is_integer(tl_infer_dtype(ctx, 0)))
    return TL_OK;
  tl_partial p = tl_infer_elems(ctx, 0);
  if (!p.at || from < 0 || n < 0 || from > p.n || n > p.n - from)
    return TL_OK;
  return tl_infer_set_elems(ctx, i, p.at + from, (uint32_t)n);
}

/* The result is one half of an axis. */
tl_status tl_infer_half(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  uint32_t axis;
  int rank = tl_infer_rank(ctx, 0);
  if (rank < 0)
    return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, -1), rank, &axis));
  memcpy(dims, tl_infer_dims(ctx, 0), (size_t)rank * sizeof *dims);
  if (dims[axis] >= 0 && dims[axis] % 2)
    return tl_infer_fail(ctx, "axis %u has %lld elements, which cannot be halved", axis,
                         (long long)dims[axis]);
  dims[axis] = dims[axis] >= 0 ? dims[axis] / 2 : TL_DIM_UNKNOWN;
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

tl_status tl_infer_split(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  uint32_t axis;
  int rank = tl_infer_rank(ctx, 0);
  uint32_t n = tl_infer_n_results(ctx);
  for (uint32_t i = 0; rank < 0 && i < n; i++)
    TL_TRY(tl_infer_set(ctx, i, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL));
  if (rank < 0)
    return TL_OK;
  TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, 0), rank, &axis));
  memcpy(dims, tl_infer_dims(ctx, 0), (size_t)rank * sizeof *dims);
  tl_dim whole = dims[axis];
  tl_partial sizes = tl_infer_elems(ctx, 1);
  if (sizes.at)
    TL_TRY(check_sizes(ctx, sizes, whole));
  tl_dim from = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (sizes.at)
      dims[axis] = tl_elem_dim(sizes.at[i]);
    else if (tl_infer_has(ctx, 1))
      dims[axis] = TL_DIM_UNKNOWN;
    else
      TL_TRY(even_part(ctx, node, whole, n, i, &dims[axis]));
    TL_TRY(tl_infer_set(ctx, i, tl_infer_dtype(ctx, 0), rank, dims));
    TL_TRY(track_part(ctx, i, from, dims[axis]));
    from = from < 0 || dims[axis] < 0 ? -1 : from + dims[axis];
  }
  return TL_OK;
}

/* ---- Slice ---------------------------------------------------------------------------------- */

/* True for ends that mean "to the end": exporters write INT32_MAX, INT64_MAX or neighbours. */
static bool is_open_end(tl_elem e) { return e.kind == TL_ELEM_INT && e.value >= INT32_MAX; }

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* Gives the first position and the number of steps over an axis of known size, as numpy slices. */
static void clamp_range(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *first,
                        int64_t *count) {
  bool down = step < 0;
  if (start < 0)
    start = start < -size ? (down ? -1 : 0) : start + size;
  if (end < 0)
    end = end < -size ? -1 : end + size;
  start = clamp(start, down ? -1 : 0, down ? size - 1 : size);
  end = clamp(end, down ? -1 : 0, down ? size - 1 : size);
  int64_t distance = end - start;
  *first = start;
  *count = 0;
  if (distance != 0 && (distance > 0) == (step > 0))
    *count = distance / step + (distance % step != 0);
}

/* Returns the size of a cut axis when only a name or symbolic bounds are known; the step is 1. */
static tl_dim sliced_symbol(tl_infer *ctx, tl_dim size, tl_elem start, tl_elem end) {
  bool from_zero = start.kind == TL_ELEM_INT && start.value == 0;
  tl_dim first = tl_elem_dim(start);
  if (is_open_end(end) || (end.kind == TL_ELEM_DIM && end.value == size))
    return from_zero ? size : tl_dim_sub(ctx->m, size, first);
  if (end.kind == TL_ELEM_INT && end.value < 0 && end.value > INT32_MIN && from_zero)
    return tl_dim_sub(ctx->m, size, -end.value);
  /* A table of known size that is cut to a named length: models stay inside the table. */
  if (end.kind == TL_ELEM_DIM && size >= 0)
    return from_zero ? end.value : tl_dim_sub(ctx->m, end.value, first);
  return TL_DIM_UNKNOWN;
}

/* Returns the size of a cut axis; a whole axis that is reversed keeps its size, whatever it is. */
static tl_dim sliced_dim(tl_infer *ctx, tl_dim size, tl_elem start, tl_elem end, tl_elem step) {
  int64_t first;
  int64_t count;
  if (step.kind != TL_ELEM_INT)
    return TL_DIM_UNKNOWN;
  if (size >= 0 && start.kind == TL_ELEM_INT && end.kind == TL_ELEM_INT) {
    clamp_range(size, start.value, end.value, step.value, &first, &count);
    return count;
  }
  if (size == 0)
    return 0;
  if (step.value == 1)
    return sliced_symbol(ctx, size, start, end);
  bool reversed = step.value == -1 && start.kind == TL_ELEM_INT &&
                  (start.value == -1 || is_open_end(start)) && end.kind == TL_ELEM_INT &&
                  end.value <= -INT32_MAX;
  return reversed ? size : TL_DIM_UNKNOWN;
}

/* Tracks the elements of rank-1 data that the slice picks. */
static tl_status slice_elems(tl_infer *ctx, int64_t start, int64_t end, int64_t step) {
  tl_elem at[TL_MAX_PARTIAL];
  int64_t first;
  int64_t count;
  tl_partial p = tl_infer_elems(ctx, 0);
  if (!p.at)
    return TL_OK;
  clamp_range(p.n, start, end, step, &first, &count);
  for (int64_t i = 0; i < count; i++)
    at[i] = p.at[first + i * step];
  return tl_infer_set_elems(ctx, 0, at, (uint32_t)count);
}

/* Operands 1 to 4 of Slice, as far as they are tracked. */
typedef struct cuts {
  tl_partial starts;
  tl_partial ends;
  tl_partial axes;
  tl_partial steps;
  uint32_t n;
} cuts;

/* Reads the operands; *known is false when it is unknown which axes are cut. */
static tl_status read_cuts(tl_infer *ctx, int rank, cuts *c, bool *known) {
  c->starts = tl_infer_elems(ctx, 1);
  c->ends = tl_infer_elems(ctx, 2);
  c->axes = tl_infer_elems(ctx, 3);
  c->steps = tl_infer_elems(ctx, 4);
  tl_dim n = tl_infer_rank(ctx, 1) == 1 ? tl_infer_dims(ctx, 1)[0] : TL_DIM_UNKNOWN;
  if (c->starts.at)
    n = c->starts.n;
  *known = n >= 0 && (!tl_infer_has(ctx, 3) || c->axes.at);
  if (!*known)
    return TL_OK;
  if (n > rank)
    return tl_infer_fail(ctx, "%lld axes are cut, but the data has rank %d", (long long)n, rank);
  c->n = (uint32_t)n;
  bool same = (!c->ends.at || c->ends.n == c->n) && (!c->axes.at || c->axes.n == c->n) &&
              (!c->steps.at || c->steps.n == c->n);
  if (!same)
    return tl_infer_fail(ctx, "starts, ends, axes and steps differ in length, expected %u", c->n);
  return TL_OK;
}

static tl_elem cut_step(tl_infer *ctx, const cuts *c, uint32_t i) {
  if (!tl_infer_has(ctx, 4))
    return (tl_elem){TL_ELEM_INT, 1};
  return c->steps.at ? c->steps.at[i] : unknown;
}

/* A cut of an unknown axis leaves no dim known. */
static tl_status cut_axis(tl_infer *ctx, const cuts *c, uint32_t i, int rank, tl_dim *dims) {
  uint32_t axis = i;
  tl_elem start = c->starts.at ? c->starts.at[i] : unknown;
  tl_elem end = c->ends.at ? c->ends.at[i] : unknown;
  tl_elem step = cut_step(ctx, c, i);
  if (c->axes.at && c->axes.at[i].kind != TL_ELEM_INT) {
    for (int k = 0; k < rank; k++)
      dims[k] = TL_DIM_UNKNOWN;
    return TL_OK;
  }
  if (c->axes.at)
    TL_TRY(tl_infer_axis(ctx, c->axes.at[i].value, rank, &axis));
  if (step.kind == TL_ELEM_INT && step.value == 0)
    return tl_infer_fail(ctx, "the step of axis %u is 0", axis);
  dims[axis] = sliced_dim(ctx, dims[axis], start, end, step);
  bool tracks = rank == 1 && start.kind == TL_ELEM_INT && end.kind == TL_ELEM_INT &&
                step.kind == TL_ELEM_INT;
  return tracks ? slice_elems(ctx, start.value, end.value, step.value) : TL_OK;
}

tl_status tl_infer_slice(tl_infer *ctx, uint32_t node) {
  (void)node;
  tl_dim dims[TL_MAX_RANK];
  cuts c = {.n = 0};
  bool known;
  int rank = tl_infer_rank(ctx, 0);
  if (rank < 0)
    return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  TL_TRY(read_cuts(ctx, rank, &c, &known));
  if (!known)
    return set_ranked(ctx, rank);
  for (int i = 0; i < rank; i++)
    dims[i] = tl_infer_dims(ctx, 0)[i];
  for (uint32_t i = 0; i < c.n; i++)
    TL_TRY(cut_axis(ctx, &c, i, rank, dims));
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* ---- Pad, CenterCropPad --------------------------------------------------------------------- */

/* Returns size + by, where `by` may be negative. */
static tl_dim grow(tl_infer *ctx, tl_dim size, tl_elem by) {
  if (by.kind != TL_ELEM_INT || by.value >= 0)
    return tl_dim_add(ctx->m, size, tl_elem_dim(by));
  return by.value > INT32_MIN ? tl_dim_sub(ctx->m, size, -by.value) : TL_DIM_UNKNOWN;
}

/* Adds both pads of an axis. Numbers are added to each other first, since each alone may be
 * negative. */
static tl_dim padded(tl_infer *ctx, tl_dim size, tl_elem before, tl_elem after) {
  int64_t sum;
  if (before.kind == TL_ELEM_INT && after.kind == TL_ELEM_INT &&
      !__builtin_add_overflow(before.value, after.value, &sum))
    return grow(ctx, size, (tl_elem){TL_ELEM_INT, sum});
  return grow(ctx, grow(ctx, size, before), after);
}

tl_status tl_infer_pad(tl_infer *ctx, uint32_t node) {
  (void)node;
  tl_dim dims[TL_MAX_RANK];
  tl_int_list axes = {NULL, 0};
  uint32_t axis;
  int rank = tl_infer_rank(ctx, 0);
  tl_partial pads = tl_infer_elems(ctx, 1);
  bool listed = tl_infer_has(ctx, 3);
  if (rank < 0 || !pads.at || (listed && !tl_infer_ints(ctx, 3, &axes)))
    return set_ranked(ctx, rank);
  uint32_t n = listed ? axes.n : (uint32_t)rank;
  if (pads.n != 2 * (uint64_t)n)
    return tl_infer_fail(ctx, "there are %u pads, expected two for each of %u axes", pads.n, n);
  for (int i = 0; i < rank; i++)
    dims[i] = tl_infer_dims(ctx, 0)[i];
  for (uint32_t i = 0; i < n; i++) {
    TL_TRY(tl_infer_axis(ctx, listed ? axes.at[i] : (int64_t)i, rank, &axis));
    /* the bounds keep the sum from overflowing */
    bool negative = pads.at[i].kind == TL_ELEM_INT && pads.at[n + i].kind == TL_ELEM_INT &&
                    dims[axis] >= 0 && pads.at[i].value > INT32_MIN &&
                    pads.at[n + i].value > INT32_MIN && pads.at[i].value < INT32_MAX &&
                    dims[axis] < INT32_MAX && pads.at[n + i].value < INT32_MAX &&
                    dims[axis] + pads.at[i].value + pads.at[n + i].value < 0;
    if (negative)
      return tl_infer_fail(ctx, "the pads of axis %u remove more than its %lld elements", axis,
                           (long long)dims[axis]);
    dims[axis] = padded(ctx, dims[axis], pads.at[i], pads.at[n + i]);
  }
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

tl_status tl_infer_center_crop_pad(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  uint32_t axis;
  int rank = tl_infer_rank(ctx, 0);
  tl_partial shape = tl_infer_elems(ctx, 1);
  tl_int_list axes = tl_node_attr_ints(ctx->m, node, TL_SYM_axes);
  if (rank < 0 || !shape.at)
    return set_ranked(ctx, rank);
  uint32_t n = axes.n ? axes.n : (uint32_t)rank;
  if (shape.n != n)
    return tl_infer_fail(ctx, "the shape has %u elements, expected %u", shape.n, n);
  for (int i = 0; i < rank; i++)
    dims[i] = tl_infer_dims(ctx, 0)[i];
  for (uint32_t i = 0; i < n; i++) {
    TL_TRY(tl_infer_axis(ctx, axes.n ? axes.at[i] : (int64_t)i, rank, &axis));
    dims[axis] = tl_elem_dim(shape.at[i]);
  }
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* ---- DepthToSpace, SpaceToDepth ------------------------------------------------------------- */

/* Reads the [N, C, H, W] operand and the block size; *known is false for an unknown rank. */
static tl_status read_blocks(tl_infer *ctx, uint32_t node, tl_dim dims[4], tl_dim *block,
                             bool *known) {
  int rank = tl_infer_rank(ctx, 0);
  *block = tl_node_attr_int(ctx->m, node, TL_SYM_blocksize, 0);
  *known = rank == 4;
  if (rank >= 0 && rank != 4)
    return tl_infer_fail(ctx, "the operand has rank %d, expected 4", rank);
  if (*block < 1 || *block > INT32_MAX)
    return tl_infer_fail(ctx, "attribute 'blocksize' is %lld, expected at least 1",
                         (long long)*block);
  for (int i = 0; i < rank; i++)
    dims[i] = tl_infer_dims(ctx, 0)[i];
  return TL_OK;
}

/* Divides *size; an error when it leaves a rest. */
static tl_status divide(tl_infer *ctx, tl_dim *size, tl_dim by, int axis) {
  bool exact;
  tl_dim whole = *size;
  *size = tl_infer_quotient(ctx, &whole, 1, &by, 1, &exact);
  return exact ? TL_OK
               : tl_infer_fail(ctx, "size %lld of axis %d is not a multiple of %lld",
                               (long long)whole, axis, (long long)by);
}

tl_status tl_infer_depth_to_space(tl_infer *ctx, uint32_t node) {
  tl_dim dims[4];
  tl_dim block;
  bool known;
  TL_TRY(read_blocks(ctx, node, dims, &block, &known));
  if (!known)
    return set_ranked(ctx, 4);
  TL_TRY(divide(ctx, &dims[1], block * block, 1));
  dims[2] = tl_dim_mul(ctx->m, dims[2], block);
  dims[3] = tl_dim_mul(ctx->m, dims[3], block);
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), 4, dims);
}

tl_status tl_infer_space_to_depth(tl_infer *ctx, uint32_t node) {
  tl_dim dims[4];
  tl_dim block;
  bool known;
  TL_TRY(read_blocks(ctx, node, dims, &block, &known));
  if (!known)
    return set_ranked(ctx, 4);
  dims[1] = tl_dim_mul(ctx->m, dims[1], block * block);
  TL_TRY(divide(ctx, &dims[2], block, 2));
  TL_TRY(divide(ctx, &dims[3], block, 3));
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), 4, dims);
}
