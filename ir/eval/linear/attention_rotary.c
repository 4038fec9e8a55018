/* SPDX-License-Identifier: Apache-2.0 */
/* Computes RotaryEmbedding, the standard op and ONNX Runtime's: pairs of elements of a head are
 * rotated by an angle that depends on the position. */
#include "ir/eval/linear/attention.h"

typedef struct rotation {
  const tl_host *in;
  const tl_host *cos;
  const tl_host *sin;
  const tl_host *positions; /* NULL: the caches are [B,S,half] */
  tl_host *out;
  int64_t batch;
  int64_t steps;
  int64_t heads;
  int64_t size;
  int64_t half;      /* pairs that turn */
  int64_t columns;   /* of the caches, of which the first half are used */
  bool heads_first;  /* [B,N,S,D], else [B,S,N*D] */
  bool interleaved;  /* pairs are neighbours, else half a head apart */
  bool one_position; /* of step 0, others follow */
} rotation;

/* Returns the row of the caches for a step; check_positions has checked it. */
static int64_t cache_row(const rotation *r, int64_t b, int64_t s) {
  if (!r->positions)
    return b * r->steps + s;
  return r->one_position ? tl_host_int_at(r->positions, 0) + s
                         : tl_host_int_at(r->positions, (uint64_t)(b * r->steps + s));
}

/* Rotates the pairs of one head; elements beyond the pairs are copied. */
static void rotate_head(const rotation *r, int64_t at, int64_t row) {
  for (int64_t i = 0; i < r->half; i++) {
    const int64_t first = at + (r->interleaved ? 2 * i : i);
    const int64_t second = r->interleaved ? first + 1 : first + r->half;
    const double c = tl_real_at(r->cos, row * r->columns + i);
    const double s = tl_real_at(r->sin, row * r->columns + i);
    const double a = tl_real_at(r->in, first), b = tl_real_at(r->in, second);
    tl_real_set(r->out, first, c * a - s * b);
    tl_real_set(r->out, second, s * a + c * b);
  }
  for (int64_t i = 2 * r->half; i < r->size; i++)
    tl_real_set(r->out, at + i, tl_real_at(r->in, at + i));
}

static void rotate_steps(void *user, uint64_t begin, uint64_t end) {
  const rotation *r = user;
  for (uint64_t i = begin; i < end; i++) {
    const int64_t b = (int64_t)i / r->steps, s = (int64_t)i % r->steps;
    const int64_t row = cache_row(r, b, s);
    for (int64_t h = 0; h < r->heads; h++) {
      int64_t place = r->heads_first ? (b * r->heads + h) * r->steps + s
                                     : (b * r->steps + s) * r->heads + h;
      rotate_head(r, place * r->size, row);
    }
  }
}

/* Finds batch, steps, heads and their size. stated: num_heads, 0 when the model leaves it open; the
 * caches then tell the size of a head, since all of it is rotated. */
static tl_status read_layout(tl_eval *ctx, rotation *r, int64_t stated, int64_t dim) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, 4));
  const int64_t *dims = r->in->dims;
  const int64_t cached = r->cos->dims[r->cos->rank - 1];
  r->batch = dims[0];
  r->heads_first = r->in->rank == 4;
  r->steps = dims[r->heads_first ? 2 : 1];
  if (r->heads_first) {
    r->heads = dims[1];
    r->size = dims[3];
  } else {
    r->heads = stated ? stated : cached > 0 && !dim ? dims[2] / 2 / cached : 0;
    if (r->heads < 1 || dims[2] % r->heads != 0)
      return tl_eval_fail(ctx, "num_heads %lld does not divide %lld", (long long)r->heads,
                          (long long)dims[2]);
    r->size = dims[2] / r->heads;
  }
  if (dim < 0 || dim > r->size || dim % 2 != 0 || (!dim && r->size % 2 != 0))
    return tl_eval_fail(ctx, "rotary_embedding_dim %lld does not fit heads of %lld", (long long)dim,
                        (long long)r->size);
  r->half = (dim ? dim : r->size) / 2;
  r->columns = cached;
  if (cached < r->half)
    return tl_eval_fail(ctx, "the caches have %lld columns, %lld are needed", (long long)cached,
                        (long long)r->half);
  return TL_OK;
}

/* The sum of a single position and the steps is checked without computing it, since it may
 * overflow. */
static tl_status check_positions(tl_eval *ctx, rotation *r) {
  const tl_host *p = r->positions;
  const int64_t rows = r->cos->dims[0];
  r->one_position = p->n == 1 && p->rank < 2;
  if (!r->one_position && (p->rank != 2 || p->dims[0] != r->batch || p->dims[1] != r->steps))
    return tl_eval_fail(ctx, "position_ids do not fit batch and sequence");
  for (uint64_t i = 0; i < p->n; i++) {
    int64_t first = tl_host_int_at(p, i);
    int64_t more = r->one_position && r->steps > 0 ? r->steps - 1 : 0;
    if (first < 0 || first >= rows || first > rows - 1 - more)
      return tl_eval_fail(ctx, "position %lld is outside the caches of %lld rows", (long long)first,
                          (long long)rows);
  }
  return TL_OK;
}

/* Checks the shapes of the caches: [rows,half] with positions, else [B,S,half]. */
static tl_status check_caches(tl_eval *ctx, const rotation *r) {
  if (r->cos->rank != (r->positions ? 2 : 3) || r->sin->rank != r->cos->rank ||
      memcmp(r->cos->dims, r->sin->dims, (size_t)r->cos->rank * sizeof *r->cos->dims) != 0)
    return tl_eval_fail(ctx, "the caches of cosines and sines do not fit");
  if (!r->positions && (r->cos->dims[0] != r->batch || r->cos->dims[1] != r->steps))
    return tl_eval_fail(ctx, "the caches do not fit batch and sequence");
  return TL_OK;
}

static tl_status rotate(tl_eval *ctx, rotation *r) {
  r->interleaved = tl_eval_int(ctx, TL_SYM_interleaved, 0) != 0;
  if (r->cos->rank < 1)
    return tl_eval_fail(ctx, "the caches of cosines and sines do not fit");
  TL_TRY(read_layout(ctx, r, tl_eval_int(ctx, TL_SYM_num_heads, 0),
                     tl_eval_int(ctx, TL_SYM_rotary_embedding_dim, 0)));
  TL_TRY(check_caches(ctx, r));
  if (r->positions)
    TL_TRY(check_positions(ctx, r));
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)r->in->dtype, r->in, &r->out));
  if (r->out->n)
    tl_eval_for(ctx, (uint64_t)(r->batch * r->steps), 64, rotate_steps, r);
  return TL_OK;
}

tl_status tl_eval_rotary(tl_eval *ctx) {
  rotation r = {.in = tl_eval_in(ctx, 0),
                .cos = tl_eval_in(ctx, 1),
                .sin = tl_eval_in(ctx, 2),
                .positions = tl_eval_in(ctx, 3)};
  if (r.positions && r.positions->rank != 2)
    return tl_eval_fail(ctx, "position_ids must have rank 2");
  return rotate(ctx, &r);
}

/* The op of com.microsoft: input, position_ids, cos_cache, sin_cache. */
tl_status tl_eval_ms_rotary(tl_eval *ctx) {
  rotation r = {.in = tl_eval_in(ctx, 0),
                .cos = tl_eval_in(ctx, 2),
                .sin = tl_eval_in(ctx, 3),
                .positions = tl_eval_in(ctx, 1)};
  if (tl_eval_float(ctx, TL_SYM_scale, 1.0f) != 1.0f)
    return tl_eval_unsupported(ctx, "a scale other than 1");
  if (tl_eval_int(ctx, TL_SYM_is_packed_batching, 0))
    return tl_eval_unsupported(ctx, "is_packed_batching");
  return rotate(ctx, &r);
}
