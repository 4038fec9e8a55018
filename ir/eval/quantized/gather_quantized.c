/* SPDX-License-Identifier: Apache-2.0 */
/* Computes com.microsoft GatherBlockQuantized: Gather from a table of small integers that has one
 * scale, and perhaps one zero point, for each block along an axis. */
#include "ir/eval/kernel/move.h"

/* The quantized table and the geometry of its blocks. */
typedef struct table {
  const tl_host *t;
  const float *scales;
  const tl_host *zeros;      /* may be NULL */
  int64_t dims[TL_MAX_RANK]; /* of the values: a byte may hold several along the last dim */
  unsigned bits;             /* of a value in a byte; 0: the dtype says */
  uint64_t last;             /* values in the last dim */
  uint64_t quantized;        /* values along the quantized axis */
  uint64_t inner;            /* values behind it */
  uint64_t block;
  uint64_t blocks; /* along it */
} table;

/* Returns value i of a tensor whose rows of `row` values begin at whole bytes, the lowest bits
 * first. */
static float packed_at(const tl_host *t, unsigned bits, uint64_t row, uint64_t i) {
  if (!bits)
    return (float)tl_host_at(t, i);
  uint64_t each = 8 / bits, stride = (row + each - 1) / each, k = i % row;
  uint32_t byte = ((const uint8_t *)t->data)[i / row * stride + k / each];
  return (float)(byte >> (k % each * bits) & ((1u << bits) - 1));
}

/* Returns the number that value i stands for. Without zero points bytes have theirs in the middle
 * of the range, signed types at 0. */
static float value_at(const table *w, uint64_t i) {
  uint64_t a = i / w->inner % w->quantized, outer = i / w->inner / w->quantized;
  uint64_t s = (outer * w->blocks + a / w->block) * w->inner + i % w->inner;
  float zero = w->bits ? (float)(1u << (w->bits - 1)) : 0;
  if (w->zeros)
    zero = packed_at(w->zeros, w->bits, w->blocks, s);
  return (packed_at(w->t, w->bits, w->last, i) - zero) * w->scales[s];
}

/* Checks the shapes of scales and zero points: those of the data with blocks along the axis. */
static tl_status check_scales(tl_eval *ctx, const table *w, uint32_t axis) {
  const tl_host *t = w->t, *scales = ctx->in[2];
  bool fits = scales->rank == t->rank && scales->dtype == TL_DTYPE_F32;
  for (int i = 0; fits && i < t->rank; i++)
    fits = scales->dims[i] == ((uint32_t)i == axis ? (int64_t)w->blocks : w->dims[i]);
  if (!fits)
    return tl_eval_fail(ctx, "the shape of the scales does not fit the blocks of the data");
  if (!w->zeros)
    return TL_OK;
  uint64_t each = w->bits ? 8 / w->bits : 1;
  uint64_t rows = w->blocks ? scales->n / w->blocks : 0;
  uint64_t want = w->bits ? rows * ((w->blocks + each - 1) / each) : scales->n;
  if (w->zeros->dtype != t->dtype || w->zeros->n != want)
    return tl_eval_fail(ctx, "the zero points do not fit the scales");
  return TL_OK;
}

/* Reads the dims, counted in values, and the geometry of the blocks. */
static tl_status read_table(tl_eval *ctx, table *w, uint32_t *gather_axis) {
  uint32_t axis;
  const tl_host *t = w->t;
  int64_t block = tl_eval_int(ctx, TL_SYM_block_size, 128), bits = tl_eval_int(ctx, TL_SYM_bits, 4);
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_gather_axis, 0), t->rank, gather_axis));
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_quantize_axis, 1), t->rank, &axis));
  if (block < 1 || (bits != 2 && bits != 4 && bits != 8))
    return tl_eval_fail(ctx, "blocks of %lld values of %lld bits", (long long)block,
                        (long long)bits);
  memcpy(w->dims, t->dims, (size_t)t->rank * sizeof *w->dims);
  w->bits = t->dtype == TL_DTYPE_U8 ? (unsigned)bits : 0;
  if (w->bits && (axis != (uint32_t)t->rank - 1 || *gather_axis == axis))
    return tl_eval_unsupported(ctx, "bytes must be quantized along their last axis");
  if (w->bits && __builtin_mul_overflow(w->dims[axis], 8 / bits, &w->dims[axis]))
    return tl_eval_fail(ctx, "the data has more values than can be counted");
  w->last = (uint64_t)w->dims[t->rank - 1];
  w->quantized = (uint64_t)w->dims[axis];
  w->inner = tl_eval_around(t, axis).inner;
  w->block = (uint64_t)block;
  w->blocks = w->quantized / w->block + (w->quantized % w->block != 0);
  return check_scales(ctx, w, axis);
}

/* The gather, for the threads. */
typedef struct lookup {
  const table *w;
  const int64_t *index;
  float *to;
  uint64_t n;     /* indices */
  uint64_t along; /* values along the gathered axis */
  uint64_t inner; /* values behind it */
} lookup;

static void look_up(void *user, uint64_t begin, uint64_t end) {
  const lookup *g = user;
  for (uint64_t k = begin; k < end; k++) {
    uint64_t from = (k / g->n * g->along + (uint64_t)g->index[k % g->n]) * g->inner;
    for (uint64_t i = 0; i < g->inner; i++)
      g->to[k * g->inner + i] = value_at(g->w, from + i);
  }
}

tl_status tl_eval_gather_block_quantized(tl_eval *ctx) {
  uint32_t axis;
  const int64_t *index;
  int64_t dims[2 * TL_MAX_RANK];
  tl_host *y;
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 2, 2, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  table w = {.t = t, .scales = ctx->in[2]->data, .zeros = tl_eval_in(ctx, 3)};
  TL_TRY(read_table(ctx, &w, &axis));
  TL_TRY(tl_eval_indices(ctx, 1, w.dims[axis], &index));
  const tl_host *indices = ctx->in[1];
  int rank = t->rank - 1 + indices->rank, own = (int)axis;
  if (rank > TL_MAX_RANK)
    return tl_eval_unsupported(ctx, "the result would have %d dims", rank);
  memcpy(dims, w.dims, axis * sizeof *dims);
  memcpy(dims + own, indices->dims, (size_t)indices->rank * sizeof *dims);
  memcpy(dims + own + indices->rank, w.dims + own + 1, (size_t)(t->rank - 1 - own) * sizeof *dims);
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_F32, rank, dims, &y));
  if (!y->n)
    return TL_OK;
  lookup g = {&w, index, y->data, indices->n, (uint64_t)w.dims[axis], 1};
  for (int i = own + 1; i < t->rank; i++)
    g.inner *= (uint64_t)w.dims[i];
  tl_eval_for(ctx, y->n / g.inner, (1 << 14) / g.inner + 1, look_up, &g);
  return TL_OK;
}
