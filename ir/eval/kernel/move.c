/* SPDX-License-Identifier: Apache-2.0 */
/* Strided moves: runs where both sides are contiguous, blocks where one side is transposed, lines
 * of single elements otherwise. */
#include "ir/eval/kernel/move.h"

/* ---- units ---------------------------------------------------------------------------------- */

static unsigned bits_of(const tl_host *t) { return tl_dtype_get((tl_dtype)t->dtype)->bits; }

/* True for types below a byte, whose elements have no address. */
static bool is_packed(const tl_host *t) { return tl_host_element_size((tl_dtype)t->dtype) == 0; }

tl_status tl_eval_units(tl_eval *ctx, uint32_t i, tl_units *out) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (!t || t->kind != TL_HOST_TENSOR)
    return tl_eval_fail(ctx, "operand %u must be a tensor", i);
  return tl_eval_units_of(ctx, t, out);
}

/* Unpacks types below a byte. The first element is in the lowest bits of the first byte. */
tl_status tl_eval_units_of(tl_eval *ctx, const tl_host *t, tl_units *out) {
  *out = (tl_units){t->data, tl_host_element_size((tl_dtype)t->dtype)};
  if (!is_packed(t))
    return TL_OK;
  uint8_t *wide = tl_eval_scratch(ctx, t->n, 1);
  if (!wide)
    return tl_eval_no_memory(ctx);
  /* `each` elements share a byte. */
  unsigned bits = bits_of(t), each = 8 / bits, mask = (1u << bits) - 1;
  for (uint64_t k = 0; k < t->n; k++)
    wide[k] = (uint8_t)((unsigned)((const uint8_t *)t->data)[k / each] >> (k % each * bits) & mask);
  *out = (tl_units){(const char *)wide, 1};
  return TL_OK;
}

/* A packed result is made in scratch, a byte each, and packed by tl_eval_units_done. */
tl_status tl_eval_units_result(tl_eval *ctx, uint32_t i, tl_dtype dtype, int rank,
                               const int64_t *dims, tl_unit_result *out) {
  TL_TRY(tl_eval_result(ctx, i, dtype, rank, dims, &out->t));
  out->data = out->t->data;
  out->size = tl_host_element_size(dtype);
  if (out->size)
    return TL_OK;
  out->size = 1;
  out->data = tl_eval_scratch(ctx, out->t->n, 1);
  return out->data ? TL_OK : tl_eval_no_memory(ctx);
}

void tl_eval_units_done(const tl_unit_result *r) {
  if (!is_packed(r->t))
    return;
  unsigned bits = bits_of(r->t), each = 8 / bits;
  uint8_t *packed = r->t->data;
  if (r->t->bytes)
    memset(packed, 0, (size_t)r->t->bytes);
  for (uint64_t k = 0; k < r->t->n; k++)
    packed[k / each] |= (uint8_t)((uint8_t)r->data[k] << (k % each * bits));
}

/* A fill is a move whose source step is 0. */
void tl_eval_units_fill(const tl_eval *ctx, const tl_unit_result *r, uint64_t first, uint64_t n,
                        const char *unit) {
  tl_move v;
  tl_move_init(&v, r->data + first * r->size, unit, r->size);
  tl_move_add(&v, (int64_t)n, (int64_t)r->size, 0);
  tl_move_run(ctx, &v);
}

/* 16 bytes are the widest element. */
const char *tl_eval_zero_unit(tl_dtype dtype) {
  static const char zero[16] = {0};
  static const tl_sv empty = {"", 0};
  return dtype == TL_DTYPE_STRING ? (const char *)&empty : zero;
}

void tl_eval_units_clear(const tl_eval *ctx, const tl_unit_result *r) {
  tl_eval_units_fill(ctx, r, 0, r->t->n, tl_eval_zero_unit((tl_dtype)r->t->dtype));
}

/* ---- moves ---------------------------------------------------------------------------------- */

/* Without dims the move is one element. */
void tl_move_init(tl_move *v, char *dst, const char *src, size_t size) {
  v->dst = dst;
  v->src = src;
  v->size = size;
  v->rank = 0;
  v->empty = false;
}

/* The new dim merges with the one outside of it when, on both sides, that one steps over exactly
 * this dim. */
void tl_move_add(tl_move *v, int64_t n, int64_t dst, int64_t src) {
  if (n == 0)
    v->empty = true;
  if (n == 1 || v->empty || v->rank == TL_MOVE_RANK)
    return;
  tl_move_dim *last = v->rank ? &v->dim[v->rank - 1] : NULL;
  if (last && last->dst == dst * n && last->src == src * n) {
    *last = (tl_move_dim){last->n * n, dst, src};
    return;
  }
  v->dim[v->rank++] = (tl_move_dim){n, dst, src};
}

/* What one step of the walk over the outer dims moves: a contiguous run (memcpy), a line of single
 * elements, or a band of a transposed block. */
typedef enum step_kind { STEP_RUN, STEP_LINE, STEP_BLOCK } step_kind;

typedef struct steps {
  const tl_move *v;
  step_kind kind;
  int outer;          /* dims[0..outer) are walked; a step covers the rest */
  size_t run;         /* bytes that a step moves */
  tl_move_dim line;   /* LINE, and the dim of a BLOCK along which dst is contiguous */
  tl_move_dim across; /* of a BLOCK, the dim along which src is contiguous */
  uint64_t bands;     /* of a BLOCK: pieces of `across` */
} steps;

/* BAND: elements of a band, which keep within a few cache lines on either side. LEAST_BYTES: what a
 * thread should have to move at least. */
enum { BAND = 16, LEAST_BYTES = 1 << 16 };

/* Callers pass a constant size, so that memcpy becomes one load and one store. */
static inline void line_of(char *d, const char *s, const tl_move_dim *l, size_t size) {
  for (int64_t i = 0; i < l->n; i++)
    memcpy(d + i * l->dst, s + i * l->src, size);
}

/* Writes one element n times. */
static inline void fill_of(char *d, const char *s, int64_t n, size_t size) {
  char unit[16];
  memcpy(unit, s, size);
  for (int64_t i = 0; i < n; i++)
    memcpy(d + i * (int64_t)size, unit, size);
}

/* The sizes are those of elements and of runs widened from them. */
static void fill_line(char *d, const char *s, int64_t n, size_t size) {
  switch (size) {
  case 1: memset(d, *s, (size_t)n); break;
  case 2: fill_of(d, s, n, 2); break;
  case 4: fill_of(d, s, n, 4); break;
  case 8: fill_of(d, s, n, 8); break;
  default: fill_of(d, s, n, 16); break;
  }
}

static void move_line(char *d, const char *s, const tl_move_dim *l, size_t size) {
  if (l->src == 0 && l->dst == (int64_t)size) {
    fill_line(d, s, l->n, size);
    return;
  }
  switch (size) {
  case 1: line_of(d, s, l, 1); break;
  case 2: line_of(d, s, l, 2); break;
  case 4: line_of(d, s, l, 4); break;
  case 8: line_of(d, s, l, 8); break;
  default: line_of(d, s, l, 16); break;
  }
}

/* Moves a band of at most BAND source-contiguous elements along the whole line, in tiles of BAND x
 * BAND: source and destination lines of the cache are then used fully before they are evicted. */
static inline void band_of(char *d, const char *s, const steps *t, int64_t width, size_t size) {
  for (int64_t first = 0; first < t->line.n; first += BAND) {
    int64_t n = t->line.n - first < BAND ? t->line.n - first : BAND;
    for (int64_t b = 0; b < width; b++) {
      char *to = d + b * t->across.dst + first * (int64_t)size;
      const char *from = s + b * (int64_t)size + first * t->line.src;
      for (int64_t a = 0; a < n; a++)
        memcpy(to + a * (int64_t)size, from + a * t->line.src, size);
    }
  }
}

static void move_band(char *d, const char *s, const steps *t, int64_t width, size_t size) {
  switch (size) {
  case 1: band_of(d, s, t, width, 1); break;
  case 2: band_of(d, s, t, width, 2); break;
  case 4: band_of(d, s, t, width, 4); break;
  case 8: band_of(d, s, t, width, 8); break;
  default: band_of(d, s, t, width, 16); break;
  }
}

/* A run or line is one step; a block is one step for each band. */
static void take_step(const steps *t, char *d, const char *s, uint64_t band) {
  if (t->kind == STEP_RUN)
    memcpy(d, s, t->run);
  else if (t->kind == STEP_LINE)
    move_line(d, s, &t->line, t->v->size);
  else {
    int64_t first = (int64_t)band * BAND, left = t->across.n - first;
    move_band(d + first * t->across.dst, s + first * t->across.src, t, left < BAND ? left : BAND,
              t->v->size);
  }
}

/* Steps [begin, end). The position is found by division once, then moved by additions. */
static void take_steps(void *user, uint64_t begin, uint64_t end) {
  const steps *t = user;
  const tl_move_dim *dim = t->v->dim;
  int64_t at[TL_MOVE_RANK];
  char *d = t->v->dst;
  const char *s = t->v->src;
  uint64_t rest = begin / t->bands, band = begin % t->bands;
  for (int i = t->outer - 1; i >= 0; i--) {
    at[i] = (int64_t)(rest % (uint64_t)dim[i].n);
    rest /= (uint64_t)dim[i].n;
    d += at[i] * dim[i].dst;
    s += at[i] * dim[i].src;
  }
  for (uint64_t k = begin; k < end; k++) {
    take_step(t, d, s, band);
    if (++band < t->bands)
      continue;
    band = 0;
    for (int i = t->outer - 1; i >= 0; i--) {
      d += dim[i].dst;
      s += dim[i].src;
      if (++at[i] < dim[i].n)
        break;
      d -= dim[i].n * dim[i].dst;
      s -= dim[i].n * dim[i].src;
      at[i] = 0;
    }
  }
}

/* Makes short innermost runs into larger elements, up to 16 bytes: one store then moves what would
 * be a run of a few bytes. */
static void widen_elements(tl_move *v) {
  while (v->rank) {
    const tl_move_dim *last = &v->dim[v->rank - 1];
    int64_t size = (int64_t)v->size;
    if (last->dst != size || last->src != size || last->n > 16 / size ||
        (last->n & (last->n - 1)) != 0)
      return;
    v->size *= (size_t)last->n;
    v->rank--;
  }
}

/* Returns the innermost of the outer dims along which the source is contiguous, or -1. */
static int find_across(const tl_move *v) {
  for (int i = v->rank - 2; i >= 0; i--)
    if (v->dim[i].src == (int64_t)v->size)
      return i;
  return -1;
}

/* Chooses what a step moves and takes the dims that it covers out of the walk. */
static void choose_step(tl_move *v, steps *t) {
  int64_t size = (int64_t)v->size;
  t->line = v->dim[v->rank - 1];
  t->outer = v->rank - 1;
  if (t->line.dst == size && t->line.src == size) {
    t->kind = STEP_RUN;
    t->run = (size_t)t->line.n * v->size;
    return;
  }
  t->run = (size_t)t->line.n * v->size; /* from here on it serves to choose the grain only */
  int across = t->line.dst == size && t->line.src != 0 ? find_across(v) : -1;
  t->kind = across < 0 ? STEP_LINE : STEP_BLOCK;
  if (across < 0)
    return;
  t->across = v->dim[across];
  t->run *= BAND;
  t->bands = ((uint64_t)t->across.n + BAND - 1) / BAND;
  t->outer--;
  memmove(&v->dim[across], &v->dim[across + 1], (size_t)(t->outer - across) * sizeof *v->dim);
}

/* Parts are large enough that handing them to threads is worth it. */
void tl_move_run(const tl_eval *ctx, tl_move *v) {
  if (v->empty)
    return;
  widen_elements(v);
  if (!v->rank) {
    memcpy(v->dst, v->src, v->size);
    return;
  }
  steps t = {.v = v, .bands = 1};
  choose_step(v, &t);
  uint64_t n = t.bands;
  for (int i = 0; i < t.outer; i++)
    n *= (uint64_t)v->dim[i].n;
  tl_eval_for(ctx, n, LEAST_BYTES / t.run + 1, take_steps, &t);
}

/* ---- boxes ---------------------------------------------------------------------------------- */

void tl_eval_strides(const tl_host *t, size_t size, int64_t *strides) {
  int64_t step = (int64_t)size;
  for (int i = t->rank - 1; i >= 0; i--) {
    strides[i] = step;
    step *= t->dims[i];
  }
}

void tl_box_whole(tl_box *b, const tl_host *t) {
  for (int i = 0; i < t->rank; i++) {
    b->start[i] = 0;
    b->n[i] = t->dims[i];
    b->step[i] = 1;
  }
}

/* A dim of size 1 or 0 may have any step. */
static bool is_whole(const tl_box *b, const tl_host *t) {
  for (int i = 0; i < t->rank; i++)
    if (b->n[i] != t->dims[i] || (b->n[i] > 1 && b->step[i] != 1))
      return false;
  return true;
}

/* The step of the destination is found by dividing the size of the box, which has no zero dim
 * here. */
tl_status tl_eval_take_box(tl_eval *ctx, uint32_t i, const tl_units *from, const tl_box *b) {
  const tl_host *t = ctx->in[0];
  if (is_whole(b, t))
    return tl_eval_pass(ctx, i, t);
  tl_unit_result to;
  tl_move v;
  int64_t own[TL_MAX_RANK];
  TL_TRY(tl_eval_units_result(ctx, i, (tl_dtype)t->dtype, t->rank, b->n, &to));
  if (!to.t->n)
    return TL_OK;
  tl_eval_strides(t, from->size, own);
  tl_move_init(&v, to.data, from->data, from->size);
  int64_t step = (int64_t)(to.t->n * to.size);
  for (int k = 0; k < t->rank; k++) {
    v.src += b->start[k] * own[k];
    step /= b->n[k];
    tl_move_add(&v, b->n[k], step, b->n[k] > 1 ? b->step[k] * own[k] : 0);
  }
  tl_move_run(ctx, &v);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* The box of the result is filled from consecutive elements. */
void tl_eval_put_box(const tl_eval *ctx, const tl_unit_result *to, const char *from,
                     const tl_box *b) {
  tl_move v;
  int64_t own[TL_MAX_RANK], n;
  int rank = to->t->rank;
  if (!tl_eval_product(b->n, 0, rank, &n) || !n)
    return;
  tl_eval_strides(to->t, to->size, own);
  tl_move_init(&v, to->data, from, to->size);
  int64_t step = n * (int64_t)to->size;
  for (int k = 0; k < rank; k++) {
    v.dst += b->start[k] * own[k];
    step /= b->n[k];
    tl_move_add(&v, b->n[k], b->n[k] > 1 ? b->step[k] * own[k] : 0, step);
  }
  tl_move_run(ctx, &v);
}

/* ---- indices and axes ----------------------------------------------------------------------- */

/* i64 indices, the usual case, are read directly: a call for each would cost more than the
 * check. */
tl_status tl_eval_indices(tl_eval *ctx, uint32_t i, int64_t n, const int64_t **out) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (!t || t->kind != TL_HOST_TENSOR)
    return tl_eval_fail(ctx, "operand %u must be a tensor", i);
  int64_t *at = tl_eval_scratch(ctx, t->n, sizeof *at);
  if (!at)
    return tl_eval_no_memory(ctx);
  *out = at;
  bool wide = t->dtype == TL_DTYPE_I64;
  for (uint64_t k = 0; k < t->n; k++) {
    int64_t v = wide ? ((const int64_t *)t->data)[k] : tl_host_int_at(t, k);
    if (v < -n || v >= n)
      return tl_eval_fail(ctx, "index %lld at %llu is outside [%lld, %lld]", (long long)v,
                          (unsigned long long)k, -(long long)n, (long long)n - 1);
    at[k] = v < 0 ? v + n : v;
  }
  return TL_OK;
}

/* Resolves one tuple to an element number within its batch item. */
static tl_status resolve_tuple(tl_eval *ctx, const tl_host *t, uint64_t first, int depth,
                               const int64_t *dims, int64_t *place) {
  *place = 0;
  for (int i = 0; i < depth; i++) {
    int64_t v = tl_host_int_at(t, first + (uint64_t)i);
    if (v < -dims[i] || v >= dims[i])
      return tl_eval_fail(ctx, "index %lld is outside [%lld, %lld]", (long long)v,
                          -(long long)dims[i], (long long)dims[i] - 1);
    *place = *place * dims[i] + (v < 0 ? v + dims[i] : v);
  }
  return TL_OK;
}

/* Tuples are the last axis of the indices; batch dims of both sides agree. */
static tl_status check_tuples(tl_eval *ctx, uint32_t i, int rank, const int64_t *dims,
                              int64_t batch) {
  TL_TRY(tl_eval_need_rank(ctx, i, 1, TL_MAX_RANK));
  const tl_host *t = ctx->in[i];
  int64_t depth = t->dims[t->rank - 1];
  int least = rank < t->rank ? rank : t->rank;
  if (batch < 0 || batch >= least)
    return tl_eval_fail(ctx, "batch_dims %lld is outside [0, %d]", (long long)batch, least - 1);
  if (depth < 1 || depth > rank - batch)
    return tl_eval_fail(ctx, "index tuples have %lld entries, the data has %d dims to index",
                        (long long)depth, rank - (int)batch);
  for (int k = 0; k < batch; k++)
    if (dims[k] != t->dims[k])
      return tl_eval_fail(ctx, "batch dim %d is %lld in the data and %lld in the indices", k,
                          (long long)dims[k], (long long)t->dims[k]);
  return TL_OK;
}

tl_status tl_eval_tuples(tl_eval *ctx, uint32_t i, int rank, const int64_t *dims, int64_t batch,
                         tl_places *out) {
  TL_TRY(check_tuples(ctx, i, rank, dims, batch));
  const tl_host *t = ctx->in[i];
  int depth = (int)t->dims[t->rank - 1], inner = (int)batch + depth;
  int64_t run, slab, batches;
  uint64_t n = t->n / (uint64_t)depth;
  int64_t *at = tl_eval_scratch(ctx, n, sizeof *at);
  if (!at)
    return tl_eval_no_memory(ctx);
  if (!tl_eval_product(dims, inner, rank, &run) ||
      !tl_eval_product(dims, (int)batch, rank, &slab) ||
      !tl_eval_product(dims, 0, (int)batch, &batches))
    return tl_eval_fail(ctx, "the data has more elements than can be counted");
  for (uint64_t k = 0; k < n; k++) {
    TL_TRY(resolve_tuple(ctx, t, k * (uint64_t)depth, depth, dims + batch, &at[k]));
    /* Batch item of the tuple, then the slice within the item. */
    at[k] = (int64_t)(k / (n / (uint64_t)batches)) * slab + at[k] * run;
  }
  *out = (tl_places){at, n};
  return TL_OK;
}

/* Of an empty tensor outer and inner stay 1: the products of the other dims may overflow. */
tl_around tl_eval_around(const tl_host *t, uint32_t axis) {
  tl_around a = {1, (uint64_t)t->dims[axis], 1};
  for (uint32_t i = 0; t->n && i < (uint32_t)t->rank; i++) {
    if (i < axis)
      a.outer *= (uint64_t)t->dims[i];
    else if (i > axis)
      a.inner *= (uint64_t)t->dims[i];
  }
  return a;
}

tl_status tl_eval_mark_axes(tl_eval *ctx, tl_int_list axes, int rank, uint8_t *seen) {
  memset(seen, 0, (size_t)rank);
  for (uint32_t i = 0; i < axes.n; i++) {
    uint32_t axis;
    TL_TRY(tl_eval_axis(ctx, axes.at[i], rank, &axis));
    if (seen[axis])
      return tl_eval_fail(ctx, "axis %lld is given twice", (long long)axes.at[i]);
    seen[axis] = 1;
  }
  return TL_OK;
}
