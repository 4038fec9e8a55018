/* SPDX-License-Identifier: Apache-2.0 */
/* The core of attention. Keys are transposed to [D,T] and converted to f64 once, as are values.
 * Then every query row is on its own, and threads divide the rows. */
#include "ir/eval/linear/attention.h"

#include <math.h>

#include "ir/eval/math/elementary.h"

/* Attention with its sizes and the room that threads work in. */
typedef struct job {
  const tl_attention *a;
  int64_t rows; /* S */
  int64_t keys; /* T */
  double *k;    /* [B,kv_heads,D,T] */
  double *v;    /* [B,kv_heads,T,Dv] */
  double *room; /* [lanes][T + D + Dv] */
  uint64_t lanes;
} job;

tl_heads tl_heads_of(const tl_host *t, int64_t heads, int64_t first, int64_t size) {
  if (!t->n) /* nothing is read, and products of the dims might overflow */
    return (tl_heads){.t = t, .rows = t->dims[t->rank - 2]};
  if (t->rank == 4)
    return (tl_heads){.t = t,
                      .batch = t->dims[1] * t->dims[2] * t->dims[3],
                      .head = t->dims[2] * t->dims[3],
                      .row = t->dims[3],
                      .rows = t->dims[2]};
  (void)heads;
  return (tl_heads){.t = t,
                    .start = first,
                    .batch = t->dims[1] * t->dims[2],
                    .head = size,
                    .row = t->dims[2],
                    .rows = t->dims[1]};
}

/* ---- preparation ---------------------------------------------------------------------------- */

/* Returns one element of Q, K or V with its bias. */
static double element(const tl_heads *h, int64_t b, int64_t head, int64_t row, int64_t d) {
  double v = tl_real_at(h->t, h->start + b * h->batch + head * h->head + row * h->row + d);
  return h->bias ? v + tl_real_at(h->bias, h->bias_start + head * h->bias_head + d) : v;
}

/* Returns an element of key or value `row`, counted over past and present. */
static double joined(const tl_heads *past, const tl_heads *now, int64_t b, int64_t head,
                     int64_t row, int64_t d) {
  return row < past->rows ? element(past, b, head, row, d)
                          : element(now, b, head, row - past->rows, d);
}

/* Keys are transposed so that the scores of a row are sums of whole rows of K', which vectorise
 * without changing the order of any sum. */
static void prepare_heads(void *user, uint64_t begin, uint64_t end) {
  const job *j = user;
  const tl_attention *a = j->a;
  for (uint64_t i = begin; i < end; i++) {
    int64_t b = (int64_t)i / a->kv_heads, head = (int64_t)i % a->kv_heads;
    double *k = j->k + (int64_t)i * a->size * j->keys;
    double *v = j->v + (int64_t)i * a->v_size * j->keys;
    for (int64_t t = 0; t < j->keys; t++) {
      for (int64_t d = 0; d < a->size; d++)
        k[d * j->keys + t] = joined(&a->past_k, &a->k, b, head, t, d);
      for (int64_t d = 0; d < a->v_size; d++)
        v[t * a->v_size + d] = joined(&a->past_v, &a->v, b, head, t, d);
    }
  }
}

/* ---- one query row -------------------------------------------------------------------------- */

/* A query row and the keys that it sees. */
typedef struct place {
  int64_t batch;
  int64_t head;
  int64_t row;
  int64_t first; /* keys [first, last) are seen */
  int64_t last;
} place;

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* Intersects the limits of valid keys, causality and window. `own` is the key that stands at the
 * query's place. */
static place find_place(const job *j, uint64_t i) {
  const tl_attention *a = j->a;
  int64_t row = (int64_t)i % j->rows, head = (int64_t)i / j->rows;
  place p = {head / a->heads, head % a->heads, row, 0, j->keys};
  int64_t own = a->offset ? row + a->offset[p.batch] : row;
  if (a->valid)
    p.last = clamp(a->valid[p.batch], 0, j->keys);
  if (a->causal && own + 1 < p.last)
    p.last = own + 1 < 0 ? 0 : own + 1;
  if (a->window)
    p.first = clamp(own - a->window + 1, 0, p.last);
  return p;
}

/* Computes s = scale * q K'. Keys that are not seen are skipped, unless the scores are a result. */
static void compute_scores(const job *j, const place *p, double *restrict s, double *q) {
  const tl_attention *a = j->a;
  const int64_t n = j->keys;
  const int64_t group = a->heads / a->kv_heads;
  const double *k = j->k + (p->batch * a->kv_heads + p->head / group) * a->size * n;
  for (int64_t d = 0; d < a->size; d++)
    q[d] = element(&a->q, p->batch, p->head, p->row, d) * a->scale;
  const int64_t last = a->scores ? n : p->last;
  for (int64_t t = 0; t < n; t++)
    s[t] = 0;
  for (int64_t d = 0; d < a->size; d++) {
    const double v = q[d];
    const double *row = k + d * n;
    for (int64_t t = 0; t < last; t++)
      s[t] += v * row[t];
  }
}

/* Returns what a mask adds to a score. */
static double mask_at(const tl_attention_mask *m, int64_t i) {
  const tl_host *t = m->t;
  if (t->dtype == TL_DTYPE_F32)
    return (double)((const float *)t->data)[i];
  if (t->dtype == TL_DTYPE_BOOL)
    return ((const uint8_t *)t->data)[i] ? 0.0 : (double)-INFINITY;
  return tl_host_at(t, (uint64_t)i);
}

/* Returns where the mask of a query row begins. */
static int64_t mask_row(const tl_attention_mask *m, const place *p) {
  return p->batch * m->step[0] + p->head * m->step[1] + p->row * m->step[2];
}

/* Sets keys outside of [first, last) to -infinity and adds bias and mask to the others. */
static void apply_masks(const job *j, const place *p, double *s) {
  const tl_attention *a = j->a;
  for (int64_t t = 0; t < p->first; t++)
    s[t] = (double)-INFINITY;
  for (int64_t t = p->last; t < j->keys; t++)
    s[t] = (double)-INFINITY;
  if (a->bias.t) {
    const int64_t at = mask_row(&a->bias, p);
    for (int64_t t = p->first; t < p->last; t++)
      s[t] += t < a->bias.width ? mask_at(&a->bias, at + t * a->bias.step[3]) : (double)-INFINITY;
  }
  if (a->mask.t) {
    const int64_t at = mask_row(&a->mask, p);
    for (int64_t t = p->first; t < p->last; t++)
      if (t >= a->mask.width || tl_host_at(a->mask.t, (uint64_t)(at + t * a->mask.step[3])) == 0)
        s[t] += a->masked_value;
  }
}

/* The largest score is subtracted first. A sink takes part in the sum, but has no value of its
 * own. */
static void softmax_row(const job *j, const place *p, double *s) {
  const tl_attention *a = j->a;
  double most = a->sinks ? a->sinks[p->head] : (double)-INFINITY;
  for (int64_t t = p->first; t < p->last; t++)
    if (s[t] > most)
      most = s[t];
  double sum = a->sinks ? tl_exp(a->sinks[p->head] - most) : 0;
  for (int64_t t = 0; t < j->keys; t++) {
    bool seen = t >= p->first && t < p->last && !(s[t] == (double)-INFINITY);
    s[t] = seen ? tl_exp(s[t] - most) : 0;
    sum += s[t];
  }
  if (sum == 0) /* no key is seen: all weights stay 0 */
    return;
  for (int64_t t = p->first; t < p->last; t++)
    s[t] /= sum;
}

/* Adds the values weighted with the softmax; sums are f64. */
static void add_values(const job *j, const place *p, const double *s, double *restrict out) {
  const tl_attention *a = j->a;
  const int64_t n = a->v_size;
  const int64_t head = p->batch * a->kv_heads + p->head / (a->heads / a->kv_heads);
  const double *v = j->v + head * j->keys * n;
  for (int64_t d = 0; d < n; d++)
    out[d] = 0;
  for (int64_t t = p->first; t < p->last; t++) {
    const double weight = s[t];
    if (weight == 0) /* a NaN in a value that is not seen must not reach the sum */
      continue;
    for (int64_t d = 0; d < n; d++)
      out[d] += weight * v[t * n + d];
  }
  const int64_t at = p->batch * a->y_batch + p->head * a->y_head + p->row * a->y_row;
  for (int64_t d = 0; d < n; d++)
    tl_real_set(a->y, at + d, out[d]);
}

/* Stores the scores of this stage when it is the one that is a result. */
static void keep_scores(const job *j, uint64_t i, tl_attention_stage stage, const double *s) {
  const tl_attention *a = j->a;
  if (!a->scores || a->stage != stage)
    return;
  for (int64_t t = 0; t < j->keys; t++)
    tl_real_set(a->scores, (int64_t)i * j->keys + t, s[t]);
}

/* Computes one query row stage by stage, keeping the stage that the result with scores wants. */
static void run_row(const job *j, uint64_t i, double *room) {
  const tl_attention *a = j->a;
  double *s = room, *q = room + j->keys;
  place p = find_place(j, i);
  compute_scores(j, &p, s, q);
  keep_scores(j, i, TL_STAGE_SCORES, s);
  if (!a->y)
    return;
  if (a->softcap > 0)
    for (int64_t t = 0; t < j->keys; t++)
      s[t] = a->softcap * tl_tanh(s[t] / a->softcap);
  keep_scores(j, i, TL_STAGE_CAPPED, s);
  apply_masks(j, &p, s);
  keep_scores(j, i, TL_STAGE_MASKED, s);
  softmax_row(j, &p, s);
  keep_scores(j, i, TL_STAGE_SOFTMAX, s);
  add_values(j, &p, s, q + a->size);
}

/* A lane has scratch of its own and takes every lanes-th row, which balances causal rows of growing
 * length. */
static void run_lanes(void *user, uint64_t begin, uint64_t end) {
  const job *j = user;
  const uint64_t rows = (uint64_t)(j->a->batch * j->a->heads * j->rows);
  const uint64_t width = (uint64_t)(j->keys + j->a->size + j->a->v_size);
  for (uint64_t lane = begin; lane < end; lane++)
    for (uint64_t i = lane; i < rows; i += j->lanes)
      run_row(j, i, j->room + lane * width);
}

/* Sizes are multiplied with overflow checks first, so that the products below are safe. */
tl_status tl_attention_run(tl_eval *ctx, const tl_attention *a) {
  job j = {.a = a, .rows = a->q.rows, .keys = a->past_k.rows + a->k.rows};
  const int64_t widest = a->size > a->v_size ? a->size : a->v_size;
  const int64_t heads[4] = {a->batch, a->kv_heads, j.keys, widest};
  int64_t most;
  if (!tl_eval_product(heads, 0, 4, &most))
    return tl_eval_fail(ctx, "the keys have more elements than can be counted");
  if ((!a->y || a->y->n == 0) && (!a->scores || a->scores->n == 0))
    return TL_OK;
  const uint64_t n = (uint64_t)(a->batch * a->kv_heads * j.keys);
  const uint64_t width = (uint64_t)(j.keys + a->size + a->v_size);
  j.lanes = ctx->pool ? 2u * tl_pool_threads(ctx->pool) : 1;
  j.k = tl_eval_scratch(ctx, n, (size_t)a->size * sizeof *j.k);
  j.v = tl_eval_scratch(ctx, n, (size_t)a->v_size * sizeof *j.v);
  j.room = tl_eval_scratch(ctx, j.lanes, (size_t)width * sizeof *j.room);
  if (!j.k || !j.v || !j.room)
    return tl_eval_no_memory(ctx);
  tl_eval_for(ctx, (uint64_t)(a->batch * a->kv_heads), 1, prepare_heads, &j);
  tl_eval_for(ctx, j.lanes, 1, run_lanes, &j);
  return TL_OK;
}

/* ---- masks and caches ----------------------------------------------------------------------- */

/* Compares dims from the last one backwards; dims that the mask lacks have step 0. */
tl_status tl_attention_set_mask(tl_eval *ctx, const tl_attention *a, uint32_t operand,
                                tl_attention_mask *out) {
  const tl_host *t = tl_eval_in(ctx, operand);
  *out = (tl_attention_mask){.t = t};
  if (!t)
    return TL_OK;
  TL_TRY(tl_eval_need_rank(ctx, operand, 0, 4));
  const int64_t keys = a->past_k.rows + a->k.rows;
  const int64_t dims[4] = {a->batch, a->heads, a->q.rows, keys};
  int64_t step = 1;
  out->width = keys;
  for (int back = 1; back <= t->rank; back++) {
    const int64_t own = t->dims[t->rank - back], whole = dims[4 - back];
    const bool shorter = back == 1 && own < whole;
    if (own != 1 && own != whole && !shorter)
      return tl_eval_fail(ctx, "the mask's dim %d is %lld, not 1 or %lld", t->rank - back,
                          (long long)own, (long long)whole);
    if (back == 1)
      out->width = own < keys ? own : keys;
    out->step[4 - back] = own == 1 ? 0 : step;
    step *= own;
  }
  return TL_OK;
}

void tl_attention_join(const tl_attention *a, const tl_heads *past, const tl_heads *now,
                       int64_t size, tl_host *to, int64_t at) {
  const int64_t rows = past->rows + now->rows;
  if (to->n == 0)
    return;
  for (int64_t b = 0; b < a->batch; b++)
    for (int64_t head = 0; head < a->kv_heads; head++)
      for (int64_t row = 0; row < rows; row++)
        for (int64_t d = 0; d < size; d++)
          tl_real_set(to, at++, joined(past, now, b, head, row, d));
}

/* Nothing is made when nobody uses the result. */
tl_status tl_attention_present(tl_eval *ctx, uint32_t i, const tl_attention *a,
                               const tl_heads *past, const tl_heads *now, int64_t size) {
  const int64_t dims[4] = {a->batch, a->kv_heads, past->rows + now->rows, size};
  tl_host *t;
  if (!tl_eval_wants(ctx, i))
    return TL_OK;
  TL_TRY(tl_eval_result(ctx, i, (tl_dtype)now->t->dtype, 4, dims, &t));
  tl_attention_join(a, past, now, size, t, 0);
  return TL_OK;
}
