/* SPDX-License-Identifier: Apache-2.0 */
/* Picks elements by index: Gather, GatherElements, GatherND, Compress. */
#include "ir/eval/kernel/move.h"

/* ---- Gather --------------------------------------------------------------------------------- */

/* What threads need to pick elements. */
typedef struct gather {
  char *to;
  const char *from;
  const int64_t *index;
  uint64_t n;    /* indices */
  uint64_t slab; /* bytes of the axis and all inside it */
  size_t run;    /* bytes of what one index picks */
} gather;

/* Picks [begin, end), counted over outer index and indices. Callers pass a constant run, so that
 * memcpy becomes one load and one store. */
static inline void pick(const gather *g, uint64_t begin, uint64_t end, size_t run) {
  const char *slab = g->from + begin / g->n * g->slab;
  uint64_t i = begin % g->n;
  for (uint64_t k = begin; k < end; k++) {
    memcpy(g->to + k * run, slab + (uint64_t)g->index[i] * run, run);
    if (++i == g->n) {
      i = 0;
      slab += g->slab;
    }
  }
}

static void pick_range(void *user, uint64_t begin, uint64_t end) {
  const gather *g = user;
  switch (g->run) {
  case 1: pick(g, begin, end, 1); break;
  case 2: pick(g, begin, end, 2); break;
  case 4: pick(g, begin, end, 4); break;
  case 8: pick(g, begin, end, 8); break;
  default: pick(g, begin, end, g->run); break;
  }
}

enum { GRAIN_BYTES = 1 << 16 };

/* Gathers along axis `at`: the dims of the indices replace that of the axis. */
static tl_status gather_along(tl_eval *ctx, int64_t at) {
  tl_units from;
  tl_unit_result to;
  uint32_t axis;
  const int64_t *index;
  int64_t dims[2 * TL_MAX_RANK];
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_axis(ctx, at, t->rank, &axis));
  TL_TRY(tl_eval_indices(ctx, 1, t->dims[axis], &index));
  const tl_host *indices = ctx->in[1];
  int rank = t->rank - 1 + indices->rank, own = (int)axis;
  if (rank > TL_MAX_RANK)
    return tl_eval_unsupported(ctx, "the result would have %d dims", rank);
  memcpy(dims, t->dims, axis * sizeof *dims);
  for (int i = 0; i < indices->rank; i++)
    dims[own + i] = indices->dims[i];
  for (int i = own + 1; i < t->rank; i++)
    dims[indices->rank + i - 1] = t->dims[i];
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, rank, dims, &to));
  if (to.t->n) {
    tl_around a = tl_eval_around(t, axis);
    size_t run = (size_t)a.inner * from.size;
    gather g = {to.data, from.data, index, indices->n, a.axis * run, run};
    tl_eval_for(ctx, a.outer * g.n, GRAIN_BYTES / run + 1, pick_range, &g);
  }
  tl_eval_units_done(&to);
  return TL_OK;
}

tl_status tl_eval_gather(tl_eval *ctx) {
  return gather_along(ctx, tl_eval_int(ctx, TL_SYM_axis, 0));
}

/* TorchEmbedding of com.microsoft: rows of a matrix. padding_idx and scale_grad_by_freq concern
 * gradients only. */
tl_status tl_eval_torch_embedding(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 2));
  return gather_along(ctx, 0);
}

/* ---- GatherElements ------------------------------------------------------------------------- */

typedef struct gather_elements {
  const tl_host *t;
  const tl_host *indices;
  const int64_t *index;
  const int64_t *stride; /* bytes, of t */
  const char *from;
  char *to;
  size_t size;
  uint32_t axis;
} gather_elements;

/* Element k takes its own coordinates but for the axis, where the index is. The coordinates advance
 * like an odometer. */
static void pick_elements(void *user, uint64_t begin, uint64_t end) {
  const gather_elements *g = user;
  int rank = g->t->rank;
  int64_t at[TL_MAX_RANK], place = 0;
  uint64_t rest = begin;
  for (int i = rank - 1; i >= 0; i--) {
    at[i] = (int64_t)(rest % (uint64_t)g->indices->dims[i]);
    rest /= (uint64_t)g->indices->dims[i];
    place += (uint32_t)i == g->axis ? 0 : at[i] * g->stride[i];
  }
  for (uint64_t k = begin; k < end; k++) {
    memcpy(g->to + k * g->size, g->from + place + g->index[k] * g->stride[g->axis], g->size);
    for (int i = rank - 1; i >= 0; i--) {
      int64_t step = (uint32_t)i == g->axis ? 0 : g->stride[i];
      place += step;
      if (++at[i] < g->indices->dims[i])
        break;
      place -= at[i] * step;
      at[i] = 0;
    }
  }
}

tl_status tl_eval_gather_elements(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  uint32_t axis;
  const int64_t *index;
  int64_t stride[TL_MAX_RANK];
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 0), t->rank, &axis));
  TL_TRY(tl_eval_need_rank(ctx, 1, t->rank, t->rank));
  const tl_host *indices = ctx->in[1];
  for (int i = 0; i < t->rank; i++)
    if ((uint32_t)i != axis && indices->dims[i] > t->dims[i])
      return tl_eval_fail(ctx, "dim %d of the indices exceeds that of the data", i);
  TL_TRY(tl_eval_indices(ctx, 1, t->dims[axis], &index));
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, indices->rank, indices->dims, &to));
  if (to.t->n) {
    tl_eval_strides(t, from.size, stride);
    gather_elements g = {t, indices, index, stride, from.data, to.data, from.size, axis};
    tl_eval_for(ctx, indices->n, 1 << 14, pick_elements, &g);
  }
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- GatherND ------------------------------------------------------------------------------- */

/* Finds the result's shape: the dims of the tuples, then those that no tuple reaches. */
static tl_status gather_nd_shape(tl_eval *ctx, int64_t batch, int *rank, int64_t *dims) {
  const tl_host *t = ctx->in[0], *indices = ctx->in[1];
  int lead = indices->rank - 1, inner = (int)(batch + indices->dims[lead]);
  *rank = lead + t->rank - inner;
  if (*rank > TL_MAX_RANK)
    return tl_eval_unsupported(ctx, "the result would have %d dims", *rank);
  memcpy(dims, indices->dims, (size_t)lead * sizeof *dims);
  for (int i = inner; i < t->rank; i++)
    dims[lead + i - inner] = t->dims[i];
  return TL_OK;
}

typedef struct tuples {
  char *to;
  const char *from;
  const int64_t *places;
  size_t size;
  size_t run;
} tuples;

static void pick_tuples(void *user, uint64_t begin, uint64_t end) {
  const tuples *g = user;
  for (uint64_t k = begin; k < end; k++)
    memcpy(g->to + k * g->run, g->from + (uint64_t)g->places[k] * g->size, g->run);
}

/* GatherND of both domains. */
tl_status tl_eval_gather_nd(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  int rank;
  tl_places places;
  int64_t dims[2 * TL_MAX_RANK], batch = tl_eval_int(ctx, TL_SYM_batch_dims, 0);
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_tuples(ctx, 1, t->rank, t->dims, batch, &places));
  TL_TRY(gather_nd_shape(ctx, batch, &rank, dims));
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, rank, dims, &to));
  if (to.t->n) {
    tuples g = {to.data, from.data, places.at, from.size, (size_t)(to.t->n / places.n) * from.size};
    tl_eval_for(ctx, places.n, GRAIN_BYTES / g.run + 1, pick_tuples, &g);
  }
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- Compress ------------------------------------------------------------------------------- */

/* Without `axis` the operand is flattened. The condition may be shorter than the axis; the rest is
 * dropped. */
tl_status tl_eval_compress(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  const tl_attr *at = tl_node_attr(ctx->m, ctx->node, TL_SYM_axis);
  int64_t dims[TL_MAX_RANK], kept = 0;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_need_rank(ctx, 1, 1, 1));
  const tl_host *t = ctx->in[0];
  const uint8_t *keep = ctx->in[1]->data;
  tl_around a = {1, t->n, 1};
  uint32_t axis = 0;
  if (at) {
    TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 0), t->rank, &axis));
    a = tl_eval_around(t, axis);
    memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
  }
  uint64_t n = ctx->in[1]->n < a.axis ? ctx->in[1]->n : a.axis;
  for (uint64_t i = 0; i < n; i++)
    kept += keep[i] != 0;
  dims[axis] = kept;
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, at ? t->rank : 1, dims, &to));
  char *place = to.data;
  size_t run = (size_t)a.inner * from.size;
  for (uint64_t o = 0; to.t->n && o < a.outer; o++)
    for (uint64_t i = 0; i < n; i++)
      if (keep[i]) {
        memcpy(place, from.data + (o * a.axis + i) * run, run);
        place += run;
      }
  tl_eval_units_done(&to);
  return TL_OK;
}
