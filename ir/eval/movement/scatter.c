/* SPDX-License-Identifier: Apache-2.0 */
/* Writes elements by index: ScatterElements, ScatterND, TensorScatter and the gradients of gathers.
 * Updates are made in index order on one thread, so that the last one wins and sums are the same on
 * every machine. */
#include "ir/eval/kernel/move.h"

/* ---- reductions ----------------------------------------------------------------------------- */

typedef enum reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN } reduction;

/* Reductions need numbers that can be read one by one. */
static tl_status read_reduction(tl_eval *ctx, const tl_host *t, reduction *out) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  tl_sv text = tl_eval_string(ctx, TL_SYM_reduction);
  *out = REDUCE_NONE;
  size_t i = 0, n = sizeof names / sizeof *names;
  while (text.n && i < n && !tl_sv_is(text, names[i]))
    i++;
  if (i == n)
    return tl_eval_fail(ctx, "reduction '%.*s' is none of none, add, mul, max, min",
                        TL_SV_ARG(text));
  *out = (reduction)i;
  tl_dtype d = (tl_dtype)t->dtype;
  bool numbers = tl_dtype_is_float(d) || tl_dtype_is_integer(d) || d == TL_DTYPE_BOOL;
  if (*out != REDUCE_NONE && (!numbers || !tl_host_element_size(d) || d == TL_DTYPE_F8E8M0))
    return tl_eval_unsupported(ctx, "reduction '%.*s' of this element type", TL_SV_ARG(text));
  return TL_OK;
}

/* A NaN on either side wins, as in numpy. */
static double reduce_f64(reduction r, double a, double b) {
  switch (r) {
  case REDUCE_ADD: return a + b;
  case REDUCE_MUL: return a * b;
  case REDUCE_MAX: return a > b || a != a ? a : b;
  default: return a < b || a != a ? a : b;
  }
}

static float reduce_f32(reduction r, float a, float b) {
  switch (r) {
  case REDUCE_ADD: return a + b;
  case REDUCE_MUL: return a * b;
  case REDUCE_MAX: return a > b || a != a ? a : b;
  default: return a < b || a != a ? a : b;
  }
}

/* Reduces the bits of integers; sums and products wrap. */
static uint64_t reduce_int(reduction r, uint64_t a, uint64_t b, bool is_signed) {
  bool greater = is_signed ? (int64_t)a > (int64_t)b : a > b;
  switch (r) {
  case REDUCE_ADD: return a + b;
  case REDUCE_MUL: return a * b;
  case REDUCE_MAX: return greater ? a : b;
  default: return greater ? b : a;
  }
}

/* Loads an integer of 1 to 8 bytes, sign-extended where it has a sign. */
static uint64_t load_int(const char *p, size_t size, bool is_signed) {
  uint64_t v = tl_uint_load(p, size);
  unsigned unused = 64 - 8 * (unsigned)size;
  if (is_signed && unused && v >> (8 * size - 1))
    v |= UINT64_MAX << (8 * size);
  return v;
}

/* Relies on the order of the enumeration. */
static bool is_signed_int(tl_dtype d) { return d >= TL_DTYPE_I8 && d <= TL_DTYPE_I64; }

/* Computes *to = *to op *from for one element. Narrow floats go through f32 and are rounded each
 * time. */
static void reduce_unit(tl_dtype d, reduction r, char *to, const char *from, size_t size) {
  if (d == TL_DTYPE_F64) {
    double a, b;
    memcpy(&a, to, sizeof a);
    memcpy(&b, from, sizeof b);
    a = reduce_f64(r, a, b);
    memcpy(to, &a, sizeof a);
  } else if (tl_dtype_is_float(d)) {
    float a, b;
    tl_host_to_f32(d, to, &a, 0, 1);
    tl_host_to_f32(d, from, &b, 0, 1);
    a = reduce_f32(r, a, b);
    tl_host_from_f32(d, &a, to, 0, 1, false);
  } else {
    bool with_sign = is_signed_int(d);
    uint64_t v =
        reduce_int(r, load_int(to, size, with_sign), load_int(from, size, with_sign), with_sign);
    if (d == TL_DTYPE_BOOL)
      v = v != 0;
    tl_uint_store(to, v, size);
  }
}

/* Writes n elements. f32 sums, which gradients need, have a loop of their own. */
static void put_run(tl_dtype d, reduction r, char *to, const char *from, uint64_t n, size_t size) {
  if (r == REDUCE_NONE) {
    memcpy(to, from, (size_t)n * size);
    return;
  }
  if (d == TL_DTYPE_F32 && r == REDUCE_ADD) { /* of gradients */
    float *y = (float *)(void *)to;
    for (uint64_t i = 0; i < n; i++)
      y[i] += ((const float *)(const void *)from)[i];
    return;
  }
  for (uint64_t i = 0; i < n; i++)
    reduce_unit(d, r, to + i * size, from + i * size, size);
}

/* Makes result 0 as a copy of operand 0. */
static tl_status begin_copy(tl_eval *ctx, tl_unit_result *to) {
  tl_units from;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank, t->dims, to));
  if (t->n)
    memcpy(to->data, from.data, (size_t)t->n * from.size);
  return TL_OK;
}

/* ---- ScatterElements ------------------------------------------------------------------------ */

/* Writes updates into `to` along an axis, at the indices of operand i, which have the updates'
 * shape. */
static tl_status scatter_elements(tl_eval *ctx, const tl_unit_result *to, uint32_t i,
                                  const tl_units *updates, reduction r) {
  int64_t stride[TL_MAX_RANK], at[TL_MAX_RANK], place = 0;
  const int64_t *index;
  uint32_t axis;
  const tl_host *indices = ctx->in[i], *t = to->t;
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 0), t->rank, &axis));
  for (int k = 0; k < t->rank; k++)
    if ((uint32_t)k != axis && indices->dims[k] > t->dims[k])
      return tl_eval_fail(ctx, "dim %d of the indices exceeds that of the data", k);
  TL_TRY(tl_eval_indices(ctx, i, t->dims[axis], &index));
  if (!indices->n)
    return TL_OK;
  tl_eval_strides(t, to->size, stride);
  int64_t along = stride[axis];
  stride[axis] = 0;
  for (int k = 0; k < t->rank; k++)
    at[k] = 0;
  for (uint64_t k = 0; k < indices->n; k++) {
    put_run((tl_dtype)t->dtype, r, to->data + place + index[k] * along,
            updates->data + k * to->size, 1, to->size);
    for (int d = t->rank - 1; d >= 0; d--) {
      place += stride[d];
      if (++at[d] < indices->dims[d])
        break;
      place -= at[d] * stride[d];
      at[d] = 0;
    }
  }
  return TL_OK;
}

/* There is one update for each index. */
static tl_status need_same_shape(tl_eval *ctx, uint32_t a, uint32_t b) {
  const tl_host *s = ctx->in[a], *t = ctx->in[b];
  if (s->rank != t->rank ||
      (s->rank && memcmp(s->dims, t->dims, (size_t)s->rank * sizeof *s->dims) != 0))
    return tl_eval_fail(ctx, "operands %u and %u differ in shape", a, b);
  return TL_OK;
}

/* ScatterElements and its older name Scatter. */
tl_status tl_eval_scatter_elements(tl_eval *ctx) {
  reduction r;
  tl_units updates;
  tl_unit_result to;
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(read_reduction(ctx, ctx->in[0], &r));
  TL_TRY(tl_eval_need_rank(ctx, 1, ctx->in[0]->rank, ctx->in[0]->rank));
  TL_TRY(tl_eval_units(ctx, 2, &updates));
  TL_TRY(need_same_shape(ctx, 1, 2));
  TL_TRY(begin_copy(ctx, &to));
  TL_TRY(scatter_elements(ctx, &to, 1, &updates, r));
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- ScatterND ------------------------------------------------------------------------------ */

/* Writes operand `updates` into the slices of `to` that the tuples of operand `tuples` name, behind
 * `batch` shared dims. */
static tl_status scatter_nd(tl_eval *ctx, const tl_unit_result *to, uint32_t tuples,
                            uint32_t updates, int64_t batch, reduction r) {
  tl_places places;
  tl_units from;
  const tl_host *t = to->t;
  TL_TRY(tl_eval_units(ctx, updates, &from));
  TL_TRY(tl_eval_tuples(ctx, tuples, t->rank, t->dims, batch, &places));
  const tl_host *indices = ctx->in[tuples], *u = ctx->in[updates];
  int lead = indices->rank - 1, inner = (int)(batch + indices->dims[lead]);
  bool fits = u->rank == lead + t->rank - inner;
  for (int i = 0; fits && i < u->rank; i++)
    fits = u->dims[i] == (i < lead ? indices->dims[i] : t->dims[inner + i - lead]);
  if (!fits)
    return tl_eval_fail(ctx, "the shape of operand %u does not fit the indices", updates);
  uint64_t run = u->n ? u->n / places.n : 0;
  for (uint64_t k = 0; run && k < places.n; k++)
    put_run((tl_dtype)t->dtype, r, to->data + (uint64_t)places.at[k] * to->size,
            from.data + k * run * to->size, run, to->size);
  return TL_OK;
}

tl_status tl_eval_scatter_nd(tl_eval *ctx) {
  reduction r;
  tl_unit_result to;
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(read_reduction(ctx, ctx->in[0], &r));
  TL_TRY(begin_copy(ctx, &to));
  TL_TRY(scatter_nd(ctx, &to, 1, 2, 0, r));
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- gradients of gathers ------------------------------------------------------------------- */

/* Makes result 0 of zeros, with the shape that operand i lists and the dtype of operand `like`. */
static tl_status begin_zeros(tl_eval *ctx, uint32_t i, uint32_t like, tl_unit_result *to) {
  tl_int_list shape;
  TL_TRY(tl_eval_need_rank(ctx, i, 1, 1));
  TL_TRY(tl_eval_need_rank(ctx, like, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_operand_ints(ctx, i, &shape));
  if (!shape.n || shape.n > TL_MAX_RANK)
    return tl_eval_fail(ctx, "the shape has %u dims", shape.n);
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)ctx->in[like]->dtype, (int)shape.n, shape.at, to));
  tl_eval_units_clear(ctx, to);
  return TL_OK;
}

/* The gradient of a gather adds up what was taken from one place. */
tl_status tl_eval_gather_elements_grad(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  TL_TRY(begin_zeros(ctx, 1, 0, &to));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_need_rank(ctx, 2, to.t->rank, to.t->rank));
  TL_TRY(need_same_shape(ctx, 0, 2));
  return scatter_elements(ctx, &to, 2, &from, REDUCE_ADD);
}

tl_status tl_eval_gather_nd_grad(tl_eval *ctx) {
  tl_unit_result to;
  TL_TRY(begin_zeros(ctx, 0, 2, &to));
  return scatter_nd(ctx, &to, 1, 2, tl_eval_int(ctx, TL_SYM_batch_dims, 0), REDUCE_ADD);
}

tl_status tl_eval_gather_grad(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  uint32_t axis;
  const int64_t *index;
  TL_TRY(begin_zeros(ctx, 0, 2, &to));
  TL_TRY(tl_eval_units(ctx, 2, &from));
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 0), to.t->rank, &axis));
  TL_TRY(tl_eval_indices(ctx, 1, to.t->dims[axis], &index));
  if (!to.t->n || !ctx->in[2]->n)
    return TL_OK;
  tl_around a = tl_eval_around(to.t, axis);
  uint64_t n = ctx->in[1]->n;
  if (ctx->in[2]->n != a.outer * n * a.inner)
    return tl_eval_fail(ctx, "the gradient does not fit the shape and the indices");
  for (uint64_t k = 0; k < a.outer * n; k++)
    put_run((tl_dtype)to.t->dtype, REDUCE_ADD,
            to.data + (k / n * a.axis + (uint64_t)index[k % n]) * a.inner * to.size,
            from.data + k * a.inner * to.size, a.inner, to.size);
  return TL_OK;
}

/* ---- TensorScatter -------------------------------------------------------------------------- */

/* TensorScatter writes rows of an update into a cache along one axis. */
typedef struct cache {
  tl_around to;
  tl_around from;
  uint64_t batch_rows; /* outer rows of one batch entry */
  bool circular;
} cache;

/* Checks that the update fits the cache: it may be shorter along the axis only. */
static tl_status cache_shapes(tl_eval *ctx, cache *c) {
  uint32_t axis;
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_need_rank(ctx, 1, t->rank, t->rank));
  const tl_host *u = ctx->in[1];
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, -2), t->rank, &axis));
  if (axis == 0)
    return tl_eval_fail(ctx, "the axis must not be that of the batch");
  for (int i = 0; i < t->rank; i++)
    if ((uint32_t)i == axis ? u->dims[i] > t->dims[i] : u->dims[i] != t->dims[i])
      return tl_eval_fail(ctx, "dim %d of the update does not fit the cache", i);
  tl_sv mode = tl_eval_string(ctx, TL_SYM_mode);
  c->circular = tl_sv_is(mode, "circular");
  if (!c->circular && mode.n && !tl_sv_is(mode, "linear"))
    return tl_eval_fail(ctx, "mode '%.*s' is neither linear nor circular", TL_SV_ARG(mode));
  c->to = tl_eval_around(t, axis);
  c->from = tl_eval_around(u, axis);
  c->batch_rows = t->n ? c->to.outer / (uint64_t)t->dims[0] : 1;
  return TL_OK;
}

/* Each batch entry has a write index of its own; in circular mode rows wrap round. */
tl_status tl_eval_tensor_scatter(tl_eval *ctx) {
  cache c;
  tl_units from;
  tl_unit_result to;
  tl_int_list first;
  TL_TRY(cache_shapes(ctx, &c));
  TL_TRY(tl_eval_units(ctx, 1, &from));
  TL_TRY(tl_eval_operand_ints(ctx, 2, &first));
  if (first.at && (int64_t)first.n != ctx->in[0]->dims[0])
    return tl_eval_fail(ctx, "%u write indices for a batch of %lld", first.n,
                        (long long)ctx->in[0]->dims[0]);
  for (uint32_t i = 0; i < first.n; i++)
    if (first.at[i] < 0 || (uint64_t)first.at[i] > c.to.axis ||
        (!c.circular && (uint64_t)first.at[i] + c.from.axis > c.to.axis))
      return tl_eval_fail(ctx, "write index %lld is outside the cache", (long long)first.at[i]);
  TL_TRY(begin_copy(ctx, &to));
  uint64_t run = c.to.inner * to.size;
  for (uint64_t row = 0; ctx->in[1]->n && row < c.to.outer; row++) {
    uint64_t start = first.at ? (uint64_t)first.at[row / c.batch_rows] : 0;
    for (uint64_t i = 0; i < c.from.axis; i++)
      memcpy(to.data + (row * c.to.axis + (start + i) % c.to.axis) * run,
             from.data + (row * c.from.axis + i) * run, (size_t)run);
  }
  tl_eval_units_done(&to);
  return TL_OK;
}
