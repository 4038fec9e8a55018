/* SPDX-License-Identifier: Apache-2.0 */
/* Computes com.microsoft GroupQueryAttention: causal attention over a cache that each row of the
 * batch has filled to a length of its own. Quantized caches are refused. */
#include <math.h>

#include "ir/eval/linear/attention.h"

/* What the kernel reads and makes besides the attention itself. Letters: M key heads, P rows of the
 * past, T rows of the joined cache. */
typedef struct cache {
  tl_attention a;
  const tl_host *past[2]; /* keys, values: [B,M,P,D]; NULL: none */
  tl_heads fresh[2];      /* new keys and values */
  tl_host *joined[2];     /* [B,M,T,D]; released by the kernel */
  tl_host *turned[2];     /* rotated queries and keys; the same */
  const int64_t *filled;  /* [B] rows of the cache that hold something */
  int64_t *valid;         /* [B] the same with the new ones */
  bool prompt;            /* nothing is filled */
} cache;

/* Without key and value operands the query has all three packed along its last dim. */
static tl_status read_heads(tl_eval *ctx, cache *c) {
  tl_attention *a = &c->a;
  const tl_host *q = tl_eval_in(ctx, 0), *k = tl_eval_in(ctx, 1), *v = tl_eval_in(ctx, 2);
  a->heads = tl_eval_int(ctx, TL_SYM_num_heads, 0);
  a->kv_heads = tl_eval_int(ctx, TL_SYM_kv_num_heads, 0);
  if (a->heads < 1 || a->kv_heads < 1 || a->heads % a->kv_heads != 0 || a->heads > INT32_MAX)
    return tl_eval_fail(ctx, "%lld query heads cannot share %lld key heads", (long long)a->heads,
                        (long long)a->kv_heads);
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, 3));
  const int64_t parts = a->heads + (k ? 0 : 2 * a->kv_heads);
  if (q->dims[2] % parts != 0 || !k != !v)
    return tl_eval_fail(ctx, "query, key and value do not fit together");
  a->batch = q->dims[0];
  a->size = a->v_size = q->dims[2] / parts;
  a->q = tl_heads_of(q, a->heads, 0, a->size);
  c->fresh[0] = tl_heads_of(q, a->kv_heads, a->heads * a->size, a->size);
  c->fresh[1] = tl_heads_of(q, a->kv_heads, (a->heads + a->kv_heads) * a->size, a->size);
  for (uint32_t i = 0; k && i < 2; i++) {
    TL_TRY(tl_eval_need_rank(ctx, 1 + i, 3, 3));
    const tl_host *t = tl_eval_in(ctx, 1 + i);
    if (t->dims[0] != a->batch || t->dims[1] != q->dims[1] || t->dims[2] != a->kv_heads * a->size)
      return tl_eval_fail(ctx, "query, key and value do not fit together");
    c->fresh[i] = tl_heads_of(t, a->kv_heads, 0, a->size);
  }
  return TL_OK;
}

/* Reads the caches of earlier steps; both or none must be there. */
static tl_status read_past(tl_eval *ctx, cache *c) {
  for (uint32_t i = 0; i < 2; i++) {
    const tl_host *t = c->past[i] = tl_eval_in(ctx, 3 + i);
    if (!t)
      continue;
    TL_TRY(tl_eval_need_rank(ctx, 3 + i, 4, 4));
    if (t->dims[0] != c->a.batch || t->dims[1] != c->a.kv_heads || t->dims[3] != c->a.size ||
        (t->dtype != TL_DTYPE_F32 && t->dtype != TL_DTYPE_F64))
      return tl_eval_unsupported(ctx, "a cache of this shape or type");
  }
  if (!c->past[0] != !c->past[1] || (c->past[0] && c->past[0]->dims[2] != c->past[1]->dims[2]))
    return tl_eval_fail(ctx, "past_key and past_value do not fit together");
  return TL_OK;
}

/* Reads how far each row's cache is filled. seqlens_k holds the last valid index, so the length is
 * one more. In a prompt nothing is filled, whatever the caches hold. *keys: rows of the joined
 * cache. */
static tl_status read_lengths(tl_eval *ctx, cache *c, int64_t *keys) {
  tl_attention *a = &c->a;
  tl_int_list last;
  int64_t total;
  if (!tl_eval_in(ctx, 5) || !tl_eval_in(ctx, 6))
    return tl_eval_fail(ctx, "seqlens_k and total_sequence_length are needed");
  TL_TRY(tl_eval_operand_ints(ctx, 5, &last));
  TL_TRY(tl_eval_operand_int(ctx, 6, 0, &total));
  const int64_t room = c->past[0] ? c->past[0]->dims[2] : 0;
  int64_t *filled = tl_eval_scratch(ctx, (uint64_t)a->batch, sizeof *filled);
  c->valid = tl_eval_scratch(ctx, (uint64_t)a->batch, sizeof *c->valid);
  if (!filled || !c->valid)
    return tl_eval_no_memory(ctx);
  *keys = total > room ? total : room;
  c->prompt = total == a->q.rows;
  if ((int64_t)last.n != a->batch || total < a->q.rows)
    return tl_eval_fail(ctx, "seqlens_k or total_sequence_length do not fit the query");
  for (int64_t b = 0; b < a->batch; b++) {
    if (last.at[b] < 0 || last.at[b] >= *keys || (!c->prompt && last.at[b] + 1 < a->q.rows))
      return tl_eval_fail(ctx, "sequence length %lld does not fit", (long long)last.at[b] + 1);
    c->valid[b] = last.at[b] + 1;
    filled[b] = c->prompt ? 0 : c->valid[b] - a->q.rows;
    if (filled[b] > room)
      return tl_eval_fail(ctx, "the past has %lld rows, %lld are used", (long long)room,
                          (long long)filled[b]);
  }
  c->filled = filled;
  return TL_OK;
}

/* ---- rotation ------------------------------------------------------------------------------- */

/* The rotary embedding: caches of cosines and sines by position. */
typedef struct turn {
  const tl_host *cos;
  const tl_host *sin;
  const tl_host *positions;
  bool interleaved;
} turn;

/* Returns the position of step s. In a prompt only the first of the given positions counts; the
 * others follow it. */
static int64_t position(const cache *c, const turn *r, int64_t b, int64_t s) {
  if (!r->positions || r->positions->n == 0)
    return c->filled[b] + s;
  const int64_t first = tl_host_int_at(r->positions, 0);
  if (c->prompt) /* on overflow the position stays far outside of the caches, and is refused */
    return first > INT64_MAX - s ? first : first + s;
  return tl_host_int_at(r->positions, (uint64_t)(b * c->a.q.rows + s));
}

static tl_status read_turn(tl_eval *ctx, const cache *c, turn *r) {
  *r =
      (turn){.cos = tl_eval_in(ctx, 7), .sin = tl_eval_in(ctx, 8), .positions = tl_eval_in(ctx, 9)};
  r->interleaved = tl_eval_int(ctx, TL_SYM_rotary_interleaved, 0) != 0;
  TL_TRY(tl_eval_need_rank(ctx, 7, 2, 2));
  TL_TRY(tl_eval_need_rank(ctx, 8, 2, 2));
  if (r->cos->dims[0] != r->sin->dims[0] || r->cos->dims[1] != r->sin->dims[1] ||
      r->cos->dims[1] > c->a.size / 2)
    return tl_eval_fail(ctx, "the caches of cosines and sines do not fit");
  if (r->positions && (int64_t)r->positions->n != c->a.batch * c->a.q.rows)
    return tl_eval_fail(ctx, "position_ids do not fit batch and sequence");
  for (int64_t b = 0; b < c->a.batch; b++)
    for (int64_t s = 0; s < c->a.q.rows; s++)
      if (position(c, r, b, s) < 0 || position(c, r, b, s) >= r->cos->dims[0])
        return tl_eval_fail(ctx, "position %lld is outside the caches",
                            (long long)position(c, r, b, s));
  return TL_OK;
}

/* A row of a head: its first element. */
typedef struct head_row {
  tl_host *t;
  int64_t at;
} head_row;

/* Rotates pairs of elements by the angle of a row of the caches; elements beyond the pairs are
 * copied. */
static void turn_row(const turn *r, head_row from, int64_t row, head_row to, int64_t size) {
  const int64_t half = r->cos->dims[1];
  for (int64_t i = 2 * half; i < size; i++)
    tl_real_set(to.t, to.at + i, tl_real_at(from.t, from.at + i));
  for (int64_t i = 0; i < half; i++) {
    const int64_t p = r->interleaved ? 2 * i : i, q = r->interleaved ? p + 1 : p + half;
    const double c = tl_real_at(r->cos, row * half + i), s = tl_real_at(r->sin, row * half + i);
    const double u = tl_real_at(from.t, from.at + p), v = tl_real_at(from.t, from.at + q);
    tl_real_set(to.t, to.at + p, c * u - s * v);
    tl_real_set(to.t, to.at + q, s * u + c * v);
  }
}

/* Replaces heads by their rotated copy [B,N,S,D], which `cache` owns. */
static tl_status turn_heads(tl_eval *ctx, cache *c, const turn *r, int64_t heads, int which,
                            tl_heads *h) {
  const int64_t dims[4] = {c->a.batch, heads, h->rows, c->a.size};
  tl_host *t = c->turned[which] = tl_host_new(ctx->heap, (tl_dtype)h->t->dtype, 4, dims);
  if (!t)
    return tl_eval_no_memory(ctx);
  for (int64_t b = 0; b < dims[0] && t->n; b++)
    for (int64_t n = 0; n < heads; n++)
      for (int64_t s = 0; s < h->rows; s++) {
        head_row from = {(tl_host *)h->t, h->start + b * h->batch + n * h->head + s * h->row};
        head_row to = {t, ((b * heads + n) * h->rows + s) * c->a.size};
        turn_row(r, from, position(c, r, b, s), to, c->a.size);
      }
  *h = tl_heads_of(t, heads, 0, c->a.size);
  return TL_OK;
}

/* ---- the cache ------------------------------------------------------------------------------ */

/* Makes the present cache: past rows up to the filled length, then the new rows, then zeros. */
static tl_status join(tl_eval *ctx, cache *c, int64_t keys, int which) {
  const tl_attention *a = &c->a;
  const tl_heads *h = &c->fresh[which];
  const int64_t dims[4] = {a->batch, a->kv_heads, keys, a->size};
  tl_host *t;
  TL_TRY(tl_eval_result(ctx, 1 + (uint32_t)which, (tl_dtype)h->t->dtype, 4, dims, &t));
  c->joined[which] = tl_host_retain(t);
  const int64_t room = c->past[which] ? c->past[which]->dims[2] : 0;
  for (int64_t b = 0; b < a->batch && t->n; b++)
    for (int64_t n = 0; n < a->kv_heads; n++)
      for (int64_t s = 0; s < keys; s++) {
        const int64_t at = ((b * a->kv_heads + n) * keys + s) * a->size;
        const int64_t fresh = s - c->filled[b];
        const bool is_new = fresh >= 0 && fresh < h->rows;
        const int64_t old = ((b * a->kv_heads + n) * room + s) * a->size;
        const int64_t from = h->start + b * h->batch + n * h->head + fresh * h->row;
        for (int64_t d = 0; d < a->size; d++)
          tl_real_set(t, at + d,
                      is_new      ? tl_real_at(h->t, from + d)
                      : fresh < 0 ? tl_real_at(c->past[which], old + d)
                                  : 0.0);
      }
  return TL_OK;
}

/* Reads scale, window, softcap and sinks. smooth_softmax is a sink whose score is 0. */
static tl_status read_numbers(tl_eval *ctx, tl_attention *a) {
  const float scale = tl_eval_float(ctx, TL_SYM_scale, 0.0f);
  const int64_t window = tl_eval_int(ctx, TL_SYM_local_window_size, -1);
  const tl_host *sink = tl_eval_in(ctx, 11);
  const bool smooth = tl_eval_int(ctx, TL_SYM_smooth_softmax, 0) > 0;
  a->scale = scale == 0 ? 1.0 / sqrt((double)a->size) : (double)scale;
  a->softcap = (double)tl_eval_float(ctx, TL_SYM_softcap, 0.0f);
  a->causal = true;
  a->window = window > 0 ? window : 0;
  if (!sink && !smooth)
    return TL_OK;
  double *sinks = tl_eval_scratch(ctx, (uint64_t)a->heads, sizeof *sinks);
  if (!sinks)
    return tl_eval_no_memory(ctx);
  if (sink && (int64_t)sink->n != a->heads)
    return tl_eval_fail(ctx, "head_sink has %llu elements for %lld heads",
                        (unsigned long long)sink->n, (long long)a->heads);
  for (int64_t i = 0; i < a->heads; i++) /* smooth: one more score of 0 */
    sinks[i] = sink ? tl_real_at(sink, i) : 0;
  a->sinks = sinks;
  return TL_OK;
}

static tl_status check_supported(tl_eval *ctx) {
  tl_sv k = tl_eval_string(ctx, TL_SYM_k_quant_type), v = tl_eval_string(ctx, TL_SYM_v_quant_type);
  if ((k.n && !tl_sv_is(k, "NONE")) || (v.n && !tl_sv_is(v, "NONE")))
    return tl_eval_unsupported(ctx, "a quantized cache");
  if (!tl_eval_int(ctx, TL_SYM_causal, 1) || tl_eval_int(ctx, TL_SYM_sliding_window_cache, 0) ||
      tl_eval_int(ctx, TL_SYM_qk_output, 0) || tl_eval_wants(ctx, 3))
    return tl_eval_unsupported(ctx, "causal=0, sliding_window_cache and the result with scores");
  if (tl_eval_in(ctx, 14) || tl_eval_in(ctx, 15))
    return tl_eval_unsupported(ctx, "norms of query and key");
  return TL_OK;
}

/* Reads lengths, rotates, joins the caches and runs the attention over them. */
static tl_status run(tl_eval *ctx, cache *c) {
  tl_attention *a = &c->a;
  int64_t keys;
  turn r;
  TL_TRY(read_lengths(ctx, c, &keys));
  if (tl_eval_int(ctx, TL_SYM_do_rotary, 0)) {
    TL_TRY(read_turn(ctx, c, &r));
    TL_TRY(turn_heads(ctx, c, &r, a->heads, 0, &a->q));
    TL_TRY(turn_heads(ctx, c, &r, a->kv_heads, 1, &c->fresh[0]));
  }
  for (int i = 0; i < 2; i++)
    TL_TRY(join(ctx, c, keys, i));
  a->k = tl_heads_of(c->joined[0], a->kv_heads, 0, a->size);
  a->v = tl_heads_of(c->joined[1], a->kv_heads, 0, a->size);
  a->valid = c->valid;
  a->offset = c->filled;
  const int64_t width = a->heads * a->size;
  const int64_t dims[3] = {a->batch, a->q.rows, width};
  TL_TRY(tl_attention_set_mask(ctx, a, 10, &a->bias));
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)tl_eval_in(ctx, 0)->dtype, 3, dims, &a->y));
  a->y_batch = a->q.rows * width;
  a->y_row = width;
  a->y_head = a->size;
  return tl_attention_run(ctx, a);
}

tl_status tl_eval_ms_gqa(tl_eval *ctx) {
  cache c = {.prompt = false};
  TL_TRY(check_supported(ctx));
  TL_TRY(read_heads(ctx, &c));
  TL_TRY(read_past(ctx, &c));
  TL_TRY(read_numbers(ctx, &c.a));
  tl_status status = run(ctx, &c);
  for (int i = 0; i < 2; i++) {
    tl_host_release(c.joined[i]);
    tl_host_release(c.turned[i]);
  }
  return status;
}
