/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the standard Attention and LinearAttention. FlexAttention is in attention_flex.c. */
#include <math.h>

#include "ir/eval/linear/attention.h"
#include "ir/eval/math/elementary.h"

/* ---- Attention ------------------------------------------------------------------------------ */

/* Finds number and size of the heads of operand i: [B,N,S,D], or [B,S,N*D] with N from an
 * attribute. */
static tl_status read_heads(tl_eval *ctx, uint32_t i, tl_symbol name, int64_t *heads,
                            int64_t *size) {
  TL_TRY(tl_eval_need_rank(ctx, i, 3, 4));
  const tl_host *t = tl_eval_in(ctx, i);
  int64_t stated = tl_eval_int(ctx, name, 0);
  if (t->rank == 4) {
    *heads = t->dims[1];
    *size = t->dims[3];
    return TL_OK;
  }
  if (stated < 1 || t->dims[2] % stated != 0)
    return tl_eval_fail(ctx, "attribute %.*s is %lld, which does not divide %lld",
                        TL_SV_ARG(tl_sym(ctx->m, name)), (long long)stated, (long long)t->dims[2]);
  *heads = stated;
  *size = t->dims[2] / stated;
  return TL_OK;
}

/* Reads past_key or past_value: [B,kv_heads,P,size]; absent: *out stays empty. */
static tl_status read_past(tl_eval *ctx, uint32_t i, const tl_attention *a, int64_t size,
                           tl_heads *out) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (!t)
    return TL_OK;
  TL_TRY(tl_eval_need_rank(ctx, i, 4, 4));
  if (t->dims[0] != a->batch || t->dims[1] != a->kv_heads || t->dims[3] != size)
    return tl_eval_fail(ctx, "operand %u does not fit: [%lld,%lld,P,%lld] is expected", i,
                        (long long)a->batch, (long long)a->kv_heads, (long long)size);
  *out = tl_heads_of(t, a->kv_heads, 0, size);
  return TL_OK;
}

/* Reads Q, K, V and the past, and checks that they fit together. */
static tl_status read_operands(tl_eval *ctx, tl_attention *a) {
  int64_t v_heads, k_size;
  TL_TRY(read_heads(ctx, 0, TL_SYM_q_num_heads, &a->heads, &a->size));
  TL_TRY(read_heads(ctx, 1, TL_SYM_kv_num_heads, &a->kv_heads, &k_size));
  TL_TRY(read_heads(ctx, 2, TL_SYM_kv_num_heads, &v_heads, &a->v_size));
  a->batch = tl_eval_in(ctx, 0)->dims[0];
  a->q = tl_heads_of(tl_eval_in(ctx, 0), a->heads, 0, a->size);
  a->k = tl_heads_of(tl_eval_in(ctx, 1), a->kv_heads, 0, k_size);
  a->v = tl_heads_of(tl_eval_in(ctx, 2), v_heads, 0, a->v_size);
  if (k_size != a->size || v_heads != a->kv_heads || a->v.rows != a->k.rows ||
      tl_eval_in(ctx, 1)->dims[0] != a->batch || tl_eval_in(ctx, 2)->dims[0] != a->batch)
    return tl_eval_fail(ctx, "Q, K and V do not fit together");
  if (a->kv_heads == 0 || a->heads % a->kv_heads != 0)
    return tl_eval_fail(ctx, "%lld query heads cannot share %lld key heads", (long long)a->heads,
                        (long long)a->kv_heads);
  TL_TRY(read_past(ctx, 4, a, a->size, &a->past_k));
  TL_TRY(read_past(ctx, 5, a, a->v_size, &a->past_v));
  if (a->past_k.rows != a->past_v.rows)
    return tl_eval_fail(ctx, "past_key and past_value have different lengths");
  return TL_OK;
}

/* Finds the key that query row 0 stands at: after the past, or such that the last query stands at
 * the last valid key of a static cache (nonpad_kv_seqlen). */
static tl_status read_places(tl_eval *ctx, tl_attention *a) {
  tl_int_list valid;
  int64_t *offset = tl_eval_scratch(ctx, (uint64_t)a->batch, sizeof *offset);
  TL_TRY(tl_eval_operand_ints(ctx, 6, &valid));
  if (!offset)
    return tl_eval_no_memory(ctx);
  if (valid.at && (int64_t)valid.n != a->batch)
    return tl_eval_fail(ctx, "nonpad_kv_seqlen has %u lengths for a batch of %lld", valid.n,
                        (long long)a->batch);
  const int64_t keys = a->past_k.rows + a->k.rows;
  for (int64_t b = 0; b < a->batch; b++) {
    offset[b] = a->past_k.rows;
    if (!valid.at)
      continue;
    if (valid.at[b] < 0 || valid.at[b] > keys)
      return tl_eval_fail(ctx, "nonpad_kv_seqlen %lld is outside [0, %lld]", (long long)valid.at[b],
                          (long long)keys);
    if (!a->past_k.t)
      offset[b] = valid.at[b] - a->q.rows;
  }
  a->valid = valid.at;
  a->offset = offset;
  a->causal = tl_eval_int(ctx, TL_SYM_is_causal, 0) != 0;
  return TL_OK;
}

/* Reads scale and softcap. Softmax runs in f64 whatever softmax_precision asks for: the attribute
 * is a lower bound on the precision. */
static tl_status read_numbers(tl_eval *ctx, tl_attention *a) {
  a->scale = tl_node_attr(ctx->m, ctx->node, TL_SYM_scale)
                 ? (double)tl_eval_float(ctx, TL_SYM_scale, 0.0f)
                 : 1.0 / sqrt((double)a->size);
  a->softcap = (double)tl_eval_float(ctx, TL_SYM_softcap, 0.0f);
  int64_t precision = tl_eval_int(ctx, TL_SYM_softmax_precision, 0);
  if (precision && !tl_dtype_is_float(tl_dtype_from_onnx(precision)))
    return tl_eval_fail(ctx, "softmax_precision %lld is not a float type", (long long)precision);
  return TL_OK;
}

/* Makes Y in the layout of Q: [B,S,N*Dv] or [B,N,S,Dv]. */
static tl_status make_y(tl_eval *ctx, tl_attention *a) {
  const tl_host *q = tl_eval_in(ctx, 0);
  int64_t flat[3] = {a->batch, a->q.rows, 0};
  const int64_t deep[4] = {a->batch, a->heads, a->q.rows, a->v_size};
  if (__builtin_mul_overflow(a->heads, a->v_size, &flat[2]))
    return tl_eval_fail(ctx, "the result has more elements than can be counted");
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)q->dtype, q->rank, q->rank == 3 ? flat : deep, &a->y));
  a->y_batch = a->q.rows * flat[2];
  a->y_head = q->rank == 3 ? a->v_size : a->q.rows * a->v_size;
  a->y_row = q->rank == 3 ? flat[2] : a->v_size;
  return TL_OK;
}

tl_status tl_eval_attention(tl_eval *ctx) {
  tl_attention a = {0};
  TL_TRY(read_operands(ctx, &a));
  TL_TRY(read_places(ctx, &a));
  TL_TRY(read_numbers(ctx, &a));
  TL_TRY(tl_attention_set_mask(ctx, &a, 3, &a.bias));
  TL_TRY(make_y(ctx, &a));
  TL_TRY(tl_attention_present(ctx, 1, &a, &a.past_k, &a.k, a.size));
  TL_TRY(tl_attention_present(ctx, 2, &a, &a.past_v, &a.v, a.v_size));
  int64_t mode = tl_eval_int(ctx, TL_SYM_qk_matmul_output_mode, 0);
  if (mode < TL_STAGE_SCORES || mode > TL_STAGE_SOFTMAX)
    return tl_eval_fail(ctx, "qk_matmul_output_mode %lld is outside [0, 3]", (long long)mode);
  if (tl_eval_wants(ctx, 3)) {
    const int64_t dims[4] = {a.batch, a.heads, a.q.rows, a.past_k.rows + a.k.rows};
    a.stage = (tl_attention_stage)mode;
    TL_TRY(tl_eval_result(ctx, 3, (tl_dtype)a.y->dtype, 4, dims, &a.scores));
  }
  return tl_attention_run(ctx, &a);
}

/* ---- LinearAttention ------------------------------------------------------------------------ */

/* LinearAttention: a state S of [D,V] for each key head, updated step by step. */
typedef struct linear {
  int64_t batch;
  int64_t steps;
  int64_t heads;
  int64_t kv_heads;
  int64_t size;
  int64_t v_size;
  double scale;
  const tl_host *in[6]; /* query, key, value, past_state, decay, beta */
  int64_t decay_head;   /* elements of decay a head and step: 1 or size */
  bool one_beta;        /* one for all heads */
  double *state;        /* [B,kv_heads,D,V] */
  double *room;         /* [B,kv_heads][V] */
  tl_host *out;
} linear;

/* Reads update_rule: `gated` rules need decay, `delta` rules need beta, and only they may have
 * them. */
static tl_status read_linear_rule(tl_eval *ctx, linear *l) {
  tl_sv rule = tl_eval_string(ctx, TL_SYM_update_rule);
  bool gated = tl_sv_is(rule, "gated") || tl_sv_is(rule, "gated_delta");
  bool delta = tl_sv_is(rule, "delta") || tl_sv_is(rule, "gated_delta");
  if (!gated && !delta && !tl_sv_is(rule, "linear"))
    return tl_eval_fail(ctx, "update_rule '%.*s' is none of linear, gated, delta, gated_delta",
                        TL_SV_ARG(rule));
  for (uint32_t i = 0; i < 6; i++)
    l->in[i] = tl_eval_in(ctx, i);
  if (gated != (l->in[4] != NULL) || delta != (l->in[5] != NULL))
    return tl_eval_fail(ctx, "update_rule '%.*s' does not fit the presence of decay and beta",
                        TL_SV_ARG(rule));
  return TL_OK;
}

/* decay: [B,S,N] or [B,S,N*D]; beta: [B,S,N] or [B,S,1]. */
static tl_status read_linear_gates(tl_eval *ctx, linear *l) {
  for (uint32_t i = 4; i < 6; i++) {
    const tl_host *t = l->in[i];
    if (!t)
      continue;
    TL_TRY(tl_eval_need_rank(ctx, i, 3, 3));
    bool full = i == 4 && t->dims[2] == l->kv_heads * l->size;
    bool one = i == 5 && t->dims[2] == 1;
    if (t->dims[0] != l->batch || t->dims[1] != l->steps ||
        (t->dims[2] != l->kv_heads && !full && !one))
      return tl_eval_fail(ctx, "operand %u does not fit the heads", i);
  }
  l->decay_head = l->in[4] && l->in[4]->dims[2] != l->kv_heads ? l->size : 1;
  l->one_beta = l->in[5] && l->in[5]->dims[2] != l->kv_heads;
  return TL_OK;
}

static tl_status read_linear(tl_eval *ctx, linear *l) {
  int64_t k_size, heads;
  TL_TRY(read_linear_rule(ctx, l));
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 3, 3));
  TL_TRY(read_heads(ctx, 0, TL_SYM_q_num_heads, &l->heads, &l->size));
  TL_TRY(read_heads(ctx, 1, TL_SYM_kv_num_heads, &l->kv_heads, &k_size));
  TL_TRY(read_heads(ctx, 2, TL_SYM_kv_num_heads, &heads, &l->v_size));
  l->batch = l->in[0]->dims[0];
  l->steps = l->in[0]->dims[1];
  for (uint32_t i = 1; i < 3; i++)
    if (l->in[i]->dims[0] != l->batch || l->in[i]->dims[1] != l->steps)
      return tl_eval_fail(ctx, "query, key and value have different batches or lengths");
  if (k_size != l->size || l->heads % l->kv_heads != 0)
    return tl_eval_fail(ctx, "query and key heads do not fit together");
  const int64_t state[4] = {l->batch, l->kv_heads, l->size, l->v_size};
  if (l->in[3]) {
    TL_TRY(tl_eval_need_rank(ctx, 3, 4, 4));
    if (memcmp(l->in[3]->dims, state, sizeof state) != 0)
      return tl_eval_fail(ctx, "past_state does not fit the heads");
  }
  double scale = (double)tl_eval_float(ctx, TL_SYM_scale, 0.0f);
  l->scale = scale == 0 ? 1.0 / sqrt((double)l->size) : scale;
  return read_linear_gates(ctx, l);
}

/* Reads the state along `row` of an operand: out[v] = sum over d of t[row + d] * state[d][v]. */
static void read_state(const linear *l, const double *state, const tl_host *t, int64_t row,
                       double *restrict out) {
  for (int64_t v = 0; v < l->v_size; v++)
    out[v] = 0;
  for (int64_t d = 0; d < l->size; d++) {
    const double weight = tl_real_at(t, row + d);
    for (int64_t v = 0; v < l->v_size; v++)
      out[v] += weight * state[d * l->v_size + v];
  }
}

/* Multiplies the state by exp(decay), a factor for each head or for each of its rows. */
static void decay_state(const linear *l, double *state, int64_t at, int64_t head) {
  for (int64_t d = 0; d < l->size; d++) {
    int64_t column = l->decay_head == 1 ? head : head * l->size + d;
    double keep = tl_exp(tl_real_at(l->in[4], at * l->in[4]->dims[2] + column));
    for (int64_t v = 0; v < l->v_size; v++)
      state[d * l->v_size + v] *= keep;
  }
}

/* One step of one key head: S *= exp(decay); u = beta (v - S'k), or v without delta; S += k u'; out
 * = scale * S'q for each query head of the group. at: batch and step as one index. */
static void linear_step(const linear *l, double *state, double *room, int64_t at, int64_t head) {
  const int64_t key = (at * l->kv_heads + head) * l->size;
  const int64_t value = (at * l->kv_heads + head) * l->v_size;
  double beta = 1;
  if (l->in[4])
    decay_state(l, state, at, head);
  for (int64_t v = 0; v < l->v_size; v++)
    room[v] = 0;
  if (l->in[5]) {
    beta = tl_real_at(l->in[5], l->one_beta ? at : at * l->kv_heads + head);
    read_state(l, state, l->in[1], key, room);
  }
  for (int64_t v = 0; v < l->v_size; v++)
    room[v] = beta * (tl_real_at(l->in[2], value + v) - room[v]);
  for (int64_t d = 0; d < l->size; d++) {
    const double k = tl_real_at(l->in[1], key + d);
    for (int64_t v = 0; v < l->v_size; v++)
      state[d * l->v_size + v] += k * room[v];
  }
  const int64_t group = l->heads / l->kv_heads;
  for (int64_t q = head * group; q < (head + 1) * group; q++) {
    read_state(l, state, l->in[0], (at * l->heads + q) * l->size, room);
    for (int64_t v = 0; v < l->v_size; v++)
      tl_real_set(l->out, (at * l->heads + q) * l->v_size + v, l->scale * room[v]);
  }
}

/* Key heads are independent of each other, so threads divide them; steps run in order. */
static void linear_heads(void *user, uint64_t begin, uint64_t end) {
  const linear *l = user;
  for (uint64_t i = begin; i < end; i++) {
    int64_t b = (int64_t)i / l->kv_heads, head = (int64_t)i % l->kv_heads;
    double *state = l->state + (int64_t)i * l->size * l->v_size;
    for (int64_t s = 0; s < l->steps; s++)
      linear_step(l, state, l->room + (int64_t)i * l->v_size, b * l->steps + s, head);
  }
}

tl_status tl_eval_linear_attention(tl_eval *ctx) {
  linear l = {0};
  tl_host *state;
  TL_TRY(read_linear(ctx, &l));
  int64_t width;
  if (__builtin_mul_overflow(l.heads, l.v_size, &width))
    return tl_eval_fail(ctx, "the result has more elements than can be counted");
  const int64_t out[3] = {l.batch, l.steps, width};
  const int64_t dims[4] = {l.batch, l.kv_heads, l.size, l.v_size};
  tl_dtype dtype = (tl_dtype)l.in[0]->dtype;
  tl_dtype kept = l.in[3] ? (tl_dtype)l.in[3]->dtype : dtype;
  TL_TRY(tl_eval_result(ctx, 0, dtype, 3, out, &l.out));
  TL_TRY(tl_eval_result(ctx, 1, kept, 4, dims, &state));
  l.state = tl_eval_scratch(ctx, state->n, sizeof *l.state);
  l.room =
      tl_eval_scratch(ctx, (uint64_t)(l.batch * l.kv_heads), (size_t)l.v_size * sizeof *l.room);
  if (!l.state || !l.room)
    return tl_eval_no_memory(ctx);
  for (uint64_t i = 0; i < state->n; i++)
    l.state[i] = l.in[3] ? tl_real_at(l.in[3], (int64_t)i) : 0;
  tl_eval_for(ctx, (uint64_t)(l.batch * l.kv_heads), 1, linear_heads, &l);
  for (uint64_t i = 0; i < state->n; i++)
    tl_real_set(state, (int64_t)i, l.state[i]);
  return TL_OK;
}
