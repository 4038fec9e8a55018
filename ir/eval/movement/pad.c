/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Pad and CenterCropPad: a box of the operand inside a larger result. */
#include "ir/eval/kernel/move.h"

/* The box: along each dim `n` elements, from `from` of the operand to `to` of the result. */
typedef struct frame {
  int64_t from[TL_MAX_RANK];
  int64_t to[TL_MAX_RANK];
  int64_t n[TL_MAX_RANK];
  int64_t dims[TL_MAX_RANK]; /* of the result */
} frame;

/* Begins with the operand in a result of the same size. */
static void frame_whole(frame *f, const tl_host *t) {
  for (int i = 0; i < t->rank; i++) {
    f->from[i] = f->to[i] = 0;
    f->n[i] = f->dims[i] = t->dims[i];
  }
}

/* Makes result 0: the frame's elements, and one unit everywhere else. */
static tl_status move_frame(tl_eval *ctx, const frame *f, const char *unit) {
  const tl_host *t = ctx->in[0];
  tl_units from;
  tl_unit_result to;
  int64_t src[TL_MAX_RANK], dst[TL_MAX_RANK];
  tl_move v;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank, f->dims, &to));
  tl_eval_units_fill(ctx, &to, 0, to.t->n, unit);
  if (t->n && to.t->n) {
    tl_eval_strides(t, from.size, src);
    tl_eval_strides(to.t, to.size, dst);
    tl_move_init(&v, to.data, from.data, from.size);
    for (int i = 0; i < t->rank; i++) {
      v.src += f->from[i] * src[i];
      v.dst += f->to[i] * dst[i];
      tl_move_add(&v, f->n[i], dst[i], src[i]);
    }
    tl_move_run(ctx, &v);
  }
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- CenterCropPad -------------------------------------------------------------------------- */

/* Keeps the middle of a dim that is too long, and centres a dim that is too short. The odd element
 * is cut or padded at the end. */
static void crop_or_pad_dim(frame *f, int axis, int64_t wanted) {
  int64_t dim = f->n[axis], common = dim < wanted ? dim : wanted;
  f->from[axis] = (dim - common) / 2;
  f->to[axis] = (wanted - common) / 2;
  f->n[axis] = common;
  f->dims[axis] = wanted;
}

/* Returns axis k of a list, or k when there is no list. */
static int listed_axis(tl_int_list axes, uint32_t k, int rank) {
  if (!axes.at)
    return (int)k;
  return (int)(axes.at[k] < 0 ? axes.at[k] + rank : axes.at[k]);
}

tl_status tl_eval_center_crop_pad(tl_eval *ctx) {
  frame f;
  tl_int_list shape, axes = tl_eval_ints(ctx, TL_SYM_axes);
  uint8_t seen[TL_MAX_RANK];
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, 1));
  TL_TRY(tl_eval_operand_ints(ctx, 1, &shape));
  const tl_host *t = ctx->in[0];
  if (axes.at)
    TL_TRY(tl_eval_mark_axes(ctx, axes, t->rank, seen));
  uint32_t n = axes.at ? axes.n : (uint32_t)t->rank;
  if (shape.n != n)
    return tl_eval_fail(ctx, "the shape has %u dims for %u axes", shape.n, n);
  frame_whole(&f, t);
  for (uint32_t i = 0; i < n; i++) {
    if (shape.at[i] < 0)
      return tl_eval_fail(ctx, "the shape has the dim %lld", (long long)shape.at[i]);
    crop_or_pad_dim(&f, listed_axis(axes, i, t->rank), shape.at[i]);
  }
  return move_frame(ctx, &f, tl_eval_zero_unit((tl_dtype)t->dtype));
}

/* ---- Pad ------------------------------------------------------------------------------------ */

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

static tl_status read_mode(tl_eval *ctx, pad_mode *mode) {
  static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
  tl_sv text = tl_eval_string(ctx, TL_SYM_mode);
  *mode = PAD_CONSTANT;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (tl_sv_is(text, names[i])) {
      *mode = (pad_mode)i;
      return TL_OK;
    }
  return text.n ? tl_eval_fail(ctx, "mode '%.*s' is none of constant, reflect, edge, wrap",
                               TL_SV_ARG(text))
                : TL_OK;
}

/* Sets the frame along a dim. Negative pads remove elements; what is left is padded. */
static tl_status pad_dim(tl_eval *ctx, frame *f, int axis, int64_t before, int64_t after) {
  int64_t dim = f->n[axis], cut = before < 0 ? before : 0, total;
  if (before < -dim || after < -dim || dim + cut + (after < 0 ? after : 0) < 0)
    return tl_eval_fail(ctx, "pads %lld and %lld remove more than axis %d has", (long long)before,
                        (long long)after, axis);
  f->from[axis] = -cut;
  f->to[axis] = before > 0 ? before : 0;
  f->n[axis] = dim + cut + (after < 0 ? after : 0);
  if (__builtin_add_overflow(f->n[axis], f->to[axis], &total) ||
      __builtin_add_overflow(total, after > 0 ? after : 0, &total))
    return tl_eval_fail(ctx, "axis %d would have more elements than can be counted", axis);
  f->dims[axis] = total;
  return TL_OK;
}

static tl_status read_pads(tl_eval *ctx, frame *f) {
  tl_int_list pads, axes;
  uint8_t seen[TL_MAX_RANK];
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_need_rank(ctx, 1, 1, 2)); /* com.microsoft Pad: [1, 2 * rank] */
  TL_TRY(tl_eval_operand_ints(ctx, 1, &pads));
  TL_TRY(tl_eval_operand_ints(ctx, 3, &axes));
  if (axes.at)
    TL_TRY(tl_eval_mark_axes(ctx, axes, t->rank, seen));
  uint32_t n = axes.at ? axes.n : (uint32_t)t->rank;
  if (pads.n != 2 * n)
    return tl_eval_fail(ctx, "%u pads for %u axes", pads.n, n);
  frame_whole(f, t);
  for (uint32_t i = 0; i < n; i++)
    TL_TRY(pad_dim(ctx, f, listed_axis(axes, i, t->rank), pads.at[i], pads.at[n + i]));
  return TL_OK;
}

/* Returns where element i of a padded dim comes from; both count from the first kept element.
 * Reflection has the period 2 (n - 1), since the edges are not repeated. */
static int64_t source_of(pad_mode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n)
    return i;
  if (mode == PAD_EDGE || n == 1)
    return i < 0 ? 0 : n - 1;
  int64_t period = mode == PAD_WRAP ? n : 2 * (n - 1), at = i % period;
  if (at < 0)
    at += period;
  return at < n ? at : period - at;
}

/* Padding by looking up the source of each element. */
typedef struct copied {
  const tl_unit_result *to;
  const char *from;
  int64_t **place; /* by dim: byte offset of each source element */
  int rank;        /* dims up to the last padded one */
  size_t run;      /* bytes behind it */
} copied;

/* Copies rows of the last padded dim; the place of a row is looked up dim by dim. */
static void pad_rows(void *user, uint64_t begin, uint64_t end) {
  const copied *c = user;
  int last = c->rank - 1;
  int64_t n = c->to->t->dims[last];
  for (uint64_t row = begin; row < end; row++) {
    uint64_t rest = row;
    const char *from = c->from;
    for (int i = last - 1; i >= 0; i--) {
      uint64_t dim = (uint64_t)c->to->t->dims[i];
      from += c->place[i][rest % dim];
      rest /= dim;
    }
    char *to = c->to->data + row * (uint64_t)n * c->run;
    for (int64_t i = 0; i < n; i++)
      memcpy(to + (size_t)i * c->run, from + c->place[last][i], c->run);
  }
}

/* Lists, for every dim, the offset of each result element's source. */
static tl_status make_places(tl_eval *ctx, const frame *f, pad_mode mode, const int64_t *strides,
                             copied *c) {
  for (int k = 0; k < c->rank; k++) {
    c->place[k] = tl_eval_scratch(ctx, (uint64_t)f->dims[k], sizeof **c->place);
    if (!c->place[k])
      return tl_eval_no_memory(ctx);
    for (int64_t i = 0; i < f->dims[k]; i++)
      c->place[k][i] = (f->from[k] + source_of(mode, i - f->to[k], f->n[k])) * strides[k];
  }
  return TL_OK;
}

/* Pads with copies of elements. Dims behind the last padded one move as one run. */
static tl_status pad_with_copies(tl_eval *ctx, const frame *f, pad_mode mode) {
  const tl_host *t = ctx->in[0];
  tl_units from;
  tl_unit_result to;
  int64_t strides[TL_MAX_RANK];
  int64_t *place[TL_MAX_RANK];
  for (int i = 0; i < t->rank; i++)
    if (!f->n[i] && f->dims[i])
      return tl_eval_fail(ctx, "axis %d has no elements to pad with", i);
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank, f->dims, &to));
  if (!to.t->n)
    return TL_OK;
  tl_eval_strides(t, from.size, strides);
  int rank = t->rank;
  while (rank > 1 && f->dims[rank - 1] == t->dims[rank - 1] && !f->to[rank - 1] &&
         !f->from[rank - 1])
    rank--;
  copied c = {&to, from.data, place, rank, (size_t)strides[rank - 1]};
  TL_TRY(make_places(ctx, f, mode, strides, &c));
  uint64_t rows = to.t->n * to.size / c.run / (uint64_t)f->dims[rank - 1];
  tl_eval_for(ctx, rows, ((uint64_t)1 << 16) / ((uint64_t)f->dims[rank - 1] * c.run) + 1, pad_rows,
              &c);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* Finds the constant to pad with: operand 2, else zero. */
static tl_status pad_unit(tl_eval *ctx, const char **unit) {
  const tl_host *value = tl_eval_in(ctx, 2);
  tl_units one;
  *unit = tl_eval_zero_unit((tl_dtype)ctx->in[0]->dtype);
  if (!value)
    return TL_OK;
  TL_TRY(tl_eval_units(ctx, 2, &one));
  if (value->n == 0)
    return TL_OK;
  if (value->n != 1 || value->dtype != ctx->in[0]->dtype)
    return tl_eval_fail(ctx, "operand 2 must have one element of the type of operand 0");
  *unit = one.data;
  return TL_OK;
}

/* Pad of both domains. */
tl_status tl_eval_pad(tl_eval *ctx) {
  frame f;
  pad_mode mode;
  const char *unit;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(read_mode(ctx, &mode));
  TL_TRY(read_pads(ctx, &f));
  TL_TRY(pad_unit(ctx, &unit));
  if (mode == PAD_CONSTANT || ctx->in[0]->rank == 0)
    return move_frame(ctx, &f, unit);
  return pad_with_copies(ctx, &f, mode);
}
