/* SPDX-License-Identifier: Apache-2.0 */
/* Computes com.microsoft Attention and MultiHeadAttention. Masks given as lengths or as 0 and 1 add
 * mask_filter_value, so that a row whose keys are all masked keeps its weights, as in ONNX
 * Runtime. */
#include <math.h>

#include "ir/eval/linear/attention.h"
#include "ir/eval/linear/gemm.h"

/* ---- what both share ------------------------------------------------------------------------ */

static tl_status read_head_count(tl_eval *ctx, tl_attention *a) {
  a->heads = tl_eval_int(ctx, TL_SYM_num_heads, 0);
  a->kv_heads = a->heads;
  if (a->heads < 1)
    return tl_eval_fail(ctx, "num_heads is %lld", (long long)a->heads);
  float scale = tl_eval_float(ctx, TL_SYM_scale, 0.0f);
  a->scale = (double)scale; /* 0: set once the head size is known */
  a->masked_value = (double)tl_eval_float(ctx, TL_SYM_mask_filter_value, -10000.0f);
  a->causal = tl_eval_int(ctx, TL_SYM_unidirectional, 0) != 0;
  return TL_OK;
}

static void settle_scale(tl_attention *a) {
  if (a->scale == 0)
    a->scale = 1.0 / sqrt((double)a->size);
}

/* Query row 0 stands right after the past. */
static tl_status set_offsets(tl_eval *ctx, tl_attention *a) {
  int64_t *offset = tl_eval_scratch(ctx, (uint64_t)a->batch, sizeof *offset);
  if (!offset)
    return tl_eval_no_memory(ctx);
  for (int64_t b = 0; b < a->batch; b++)
    offset[b] = a->past_k.rows;
  a->offset = offset;
  return TL_OK;
}

/* Makes marks [B,T]: 1 in [start, end) of each row, else 0. *out: the caller's to release. */
static tl_status marks_of_ranges(tl_eval *ctx, const tl_attention *a, const tl_host *ends,
                                 bool has_starts, tl_host **out) {
  const int64_t keys = a->past_k.rows + a->k.rows;
  const int64_t dims[2] = {a->batch, keys};
  *out = tl_host_new(ctx->heap, TL_DTYPE_I32, 2, dims);
  if (!*out)
    return tl_eval_no_memory(ctx);
  for (int64_t b = 0; b < a->batch; b++) {
    int64_t end = tl_host_int_at(ends, (uint64_t)b);
    int64_t start = has_starts ? tl_host_int_at(ends, (uint64_t)(a->batch + b)) : 0;
    for (int64_t t = 0; t < keys; t++)
      ((int32_t *)(*out)->data)[b * keys + t] = t >= start && t < end;
  }
  return TL_OK;
}

/* Reads the mask, operand i: lengths [B], ends and starts [2B], marks [B,T] or [B,S,T]. *made: a
 * tensor for the caller to release, or NULL. */
static tl_status read_mask(tl_eval *ctx, uint32_t i, tl_attention *a, tl_host **made) {
  const tl_host *t = tl_eval_in(ctx, i);
  const int64_t keys = a->past_k.rows + a->k.rows;
  *made = NULL;
  if (!t)
    return TL_OK;
  if (t->rank == 1 && ((int64_t)t->n == a->batch || (int64_t)t->n == 2 * a->batch)) {
    TL_TRY(marks_of_ranges(ctx, a, t, (int64_t)t->n != a->batch, made));
    t = *made;
  }
  a->mask = (tl_attention_mask){.t = t, .step = {keys, 0, 0, 1}, .width = keys};
  if (t->rank == 2 && t->dims[0] == a->batch && t->dims[1] == keys)
    return TL_OK;
  a->mask.step[0] = a->q.rows * keys;
  a->mask.step[2] = keys;
  if (t->rank == 3 && t->dims[0] == a->batch && t->dims[1] == a->q.rows && t->dims[2] == keys)
    return TL_OK;
  return tl_eval_unsupported(ctx, "a mask of this shape");
}

/* Makes result 0: [B,S,N*Dv]. */
static tl_status make_y(tl_eval *ctx, tl_attention *a) {
  int64_t dims[3] = {a->batch, a->q.rows, 0};
  if (__builtin_mul_overflow(a->heads, a->v_size, &dims[2]))
    return tl_eval_fail(ctx, "the result has more elements than can be counted");
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)a->q.t->dtype, 3, dims, &a->y));
  a->y_batch = a->q.rows * dims[2];
  a->y_row = dims[2];
  a->y_head = a->v_size;
  return TL_OK;
}

/* Runs the attention with operand `mask` and operand `bias`, after Q, K and V are set. */
static tl_status run_masked(tl_eval *ctx, tl_attention *a, uint32_t mask, uint32_t bias) {
  tl_host *made;
  settle_scale(a);
  TL_TRY(set_offsets(ctx, a));
  TL_TRY(tl_attention_set_mask(ctx, a, bias, &a->bias));
  TL_TRY(make_y(ctx, a));
  tl_status status = read_mask(ctx, mask, a, &made);
  if (status == TL_OK)
    status = tl_attention_run(ctx, a);
  tl_host_release(made);
  return status;
}

/* ---- Attention ------------------------------------------------------------------------------ */

typedef struct projection {
  int64_t sizes[3]; /* columns of Q, K, V */
  int64_t all;
  tl_host *qkv; /* [B,S,all], before the bias */
} projection;

/* Reads how many columns of the weight belong to Q, K and V: equal parts unless the node says
 * so. */
static tl_status read_sizes(tl_eval *ctx, const tl_attention *a, projection *p) {
  tl_int_list stated = tl_eval_ints(ctx, TL_SYM_qkv_hidden_sizes);
  const tl_host *w = tl_eval_in(ctx, 1), *bias = tl_eval_in(ctx, 2);
  p->all = w->dims[1];
  if (stated.n && stated.n != 3)
    return tl_eval_fail(ctx, "qkv_hidden_sizes must have three sizes");
  int64_t left = p->all;
  for (int i = 0; i < 3; i++) {
    p->sizes[i] = stated.n ? stated.at[i] : p->all / 3;
    if (p->sizes[i] < 0 || p->sizes[i] % a->heads != 0 || p->sizes[i] > left)
      return tl_eval_fail(ctx, "%lld columns of the weight do not make %lld heads",
                          (long long)p->sizes[i], (long long)a->heads);
    left -= p->sizes[i];
  }
  if (left || p->sizes[0] != p->sizes[1] || w->dims[0] != tl_eval_in(ctx, 0)->dims[2] ||
      (bias && (bias->rank != 1 || bias->dims[0] != p->all)))
    return tl_eval_fail(ctx, "input, weights and bias do not fit together");
  return TL_OK;
}

/* Multiplies the input by the weights of Q, K and V at once. */
static tl_status project(tl_eval *ctx, projection *p) {
  const tl_host *in = tl_eval_in(ctx, 0), *w = tl_eval_in(ctx, 1);
  const int64_t dims[3] = {in->dims[0], in->dims[1], p->all};
  p->qkv = tl_host_new(ctx->heap, (tl_dtype)in->dtype, 3, dims);
  if (!p->qkv)
    return tl_eval_no_memory(ctx);
  const tl_gemm g = {.type = in->dtype == TL_DTYPE_F64 ? TL_GEMM_F64 : TL_GEMM_F32,
                     .batches = 1,
                     .m = in->dims[0] * in->dims[1],
                     .n = p->all,
                     .k = in->dims[2],
                     .a = {.data = in->data, .lane_stride = in->dims[2], .k_stride = 1},
                     .b = {.data = w->data, .lane_stride = 1, .k_stride = p->all},
                     .c = p->qkv->data,
                     .c_stride = p->all};
  return p->qkv->n ? tl_gemm_run(ctx, &g) : TL_OK;
}

/* Returns Q (0), K (1) or V (2) as columns of the product, with their part of the bias. */
static tl_heads part_of(tl_eval *ctx, const tl_attention *a, const projection *p, int part) {
  int64_t first = 0;
  for (int i = 0; i < part; i++)
    first += p->sizes[i];
  tl_heads h = tl_heads_of(p->qkv, a->heads, first, p->sizes[part] / a->heads);
  h.bias = tl_eval_in(ctx, 2);
  h.bias_start = first;
  h.bias_head = p->sizes[part] / a->heads;
  return h;
}

/* Reads past: [2,B,N,P,D], keys and then values in one tensor. */
static tl_status read_joint_past(tl_eval *ctx, tl_attention *a) {
  const tl_host *t = tl_eval_in(ctx, 4);
  if (!t)
    return TL_OK;
  TL_TRY(tl_eval_need_rank(ctx, 4, 5, 5));
  if (t->dims[0] != 2 || t->dims[1] != a->batch || t->dims[2] != a->heads ||
      t->dims[4] != a->size || a->size != a->v_size)
    return tl_eval_fail(ctx, "the past does not fit the heads");
  a->past_k = (tl_heads){.t = t,
                         .batch = a->heads * t->dims[3] * a->size,
                         .head = t->dims[3] * a->size,
                         .row = a->size,
                         .rows = t->dims[3]};
  a->past_v = a->past_k;
  a->past_v.start = a->batch * a->past_k.batch;
  return TL_OK;
}

/* Makes result 1, if it is wanted, in the layout of past. */
static tl_status put_joint_present(tl_eval *ctx, const tl_attention *a) {
  const int64_t rows = a->past_k.rows + a->k.rows;
  const int64_t dims[5] = {2, a->batch, a->heads, rows, a->size};
  tl_host *t;
  if (!tl_eval_wants(ctx, 1))
    return TL_OK;
  if (a->size != a->v_size)
    return tl_eval_unsupported(ctx, "present keys and values of different sizes");
  TL_TRY(tl_eval_result(ctx, 1, (tl_dtype)a->q.t->dtype, 5, dims, &t));
  tl_attention_join(a, &a->past_k, &a->k, a->size, t, 0);
  tl_attention_join(a, &a->past_v, &a->v, a->size, t, (int64_t)(t->n / 2));
  return TL_OK;
}

static tl_status run_projected(tl_eval *ctx, tl_attention *a, projection *p) {
  TL_TRY(project(ctx, p));
  a->size = p->sizes[0] / a->heads;
  a->v_size = p->sizes[2] / a->heads;
  a->q = part_of(ctx, a, p, 0);
  a->k = part_of(ctx, a, p, 1);
  a->v = part_of(ctx, a, p, 2);
  TL_TRY(read_joint_past(ctx, a));
  TL_TRY(put_joint_present(ctx, a));
  return run_masked(ctx, a, 3, 5);
}

/* Attention: input [B,S,I], weights [I,Hq+Hk+Hv], bias, mask_index, past, attention_bias. */
tl_status tl_eval_ms_attention(tl_eval *ctx) {
  tl_attention a = {0};
  projection p = {.qkv = NULL};
  if (tl_eval_int(ctx, TL_SYM_do_rotary, 0) || tl_eval_in(ctx, 6) ||
      tl_eval_int(ctx, TL_SYM_past_present_share_buffer, 0))
    return tl_eval_unsupported(ctx, "do_rotary and a shared buffer of past and present");
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, 3));
  TL_TRY(tl_eval_need_rank(ctx, 1, 2, 2));
  TL_TRY(read_head_count(ctx, &a));
  a.batch = tl_eval_in(ctx, 0)->dims[0];
  TL_TRY(read_sizes(ctx, &a, &p));
  tl_status status = run_projected(ctx, &a, &p);
  tl_host_release(p.qkv);
  return status;
}

/* ---- MultiHeadAttention --------------------------------------------------------------------- */

/* Returns one of several parts packed in the last dim but one: [B,S,N,parts,D]. */
static tl_heads packed_part(const tl_host *t, int64_t part) {
  const int64_t heads = t->dims[2], parts = t->dims[3], size = t->dims[4];
  return (tl_heads){.t = t,
                    .start = part * size,
                    .batch = t->dims[1] * heads * parts * size,
                    .head = parts * size,
                    .row = heads * parts * size,
                    .rows = t->dims[1]};
}

/* Checks that operand i is [B,S,N,parts,D]. */
static tl_status need_packed(tl_eval *ctx, uint32_t i, const tl_attention *a, int64_t parts) {
  const tl_host *t = tl_eval_in(ctx, i);
  TL_TRY(tl_eval_need_rank(ctx, i, 5, 5));
  if (t->dims[0] == a->batch && t->dims[2] == a->heads && t->dims[3] == parts)
    return TL_OK;
  return tl_eval_fail(ctx, "operand %u does not pack %lld parts of %lld heads", i, (long long)parts,
                      (long long)a->heads);
}

/* Reads operand i: [B,S,N*D], or with `deep` also [B,N,S,D]. */
static tl_status read_rows(tl_eval *ctx, uint32_t i, const tl_attention *a, bool deep,
                           int64_t *size, tl_heads *out) {
  TL_TRY(tl_eval_need_rank(ctx, i, 3, deep ? 4 : 3));
  const tl_host *t = tl_eval_in(ctx, i);
  const int64_t width = t->rank == 3 ? t->dims[2] / a->heads : t->dims[3];
  if (t->dims[0] != a->batch || (t->rank == 3 ? t->dims[2] % a->heads : t->dims[1] - a->heads))
    return tl_eval_fail(ctx, "operand %u does not hold %lld heads", i, (long long)a->heads);
  *size = width;
  *out = tl_heads_of(t, a->heads, 0, width);
  return TL_OK;
}

/* Q, K and V come apart, or K and V packed, or all three packed in the query. */
static tl_status read_qkv(tl_eval *ctx, tl_attention *a) {
  const tl_host *q = tl_eval_in(ctx, 0), *k = tl_eval_in(ctx, 1);
  int64_t k_size;
  a->batch = q->rank > 0 ? q->dims[0] : 0;
  if (!k) {
    TL_TRY(need_packed(ctx, 0, a, 3));
    a->q = packed_part(q, 0);
    a->k = packed_part(q, 1);
    a->v = packed_part(q, 2);
    a->size = a->v_size = q->dims[4];
    return TL_OK;
  }
  TL_TRY(read_rows(ctx, 0, a, false, &a->size, &a->q));
  if (!tl_eval_in(ctx, 2)) {
    TL_TRY(need_packed(ctx, 1, a, 2));
    a->k = packed_part(k, 0);
    a->v = packed_part(k, 1);
    k_size = a->v_size = k->dims[4];
  } else {
    TL_TRY(read_rows(ctx, 1, a, true, &k_size, &a->k));
    TL_TRY(read_rows(ctx, 2, a, true, &a->v_size, &a->v));
  }
  if (k_size != a->size || a->k.rows != a->v.rows)
    return tl_eval_fail(ctx, "query, key and value do not fit together");
  return TL_OK;
}

/* Adds the bias [H+H+Hv] to Q, K and V. K and V of rank 4 already contain theirs. */
static tl_status read_bias(tl_eval *ctx, tl_attention *a) {
  const tl_host *t = tl_eval_in(ctx, 3);
  if (!t)
    return TL_OK;
  const int64_t hidden = a->heads * a->size;
  if (t->rank != 1 || t->dims[0] != 2 * hidden + a->heads * a->v_size)
    return tl_eval_fail(ctx, "the bias does not fit query, key and value");
  const bool in_heads = tl_eval_in(ctx, 2) && tl_eval_in(ctx, 1)->rank == 4;
  tl_heads *parts[3] = {&a->q, &a->k, &a->v};
  for (int i = 0; i < (in_heads ? 1 : 3); i++) {
    parts[i]->bias = t;
    parts[i]->bias_start = i * hidden;
    parts[i]->bias_head = i < 2 ? a->size : a->v_size;
  }
  return TL_OK;
}

static tl_status read_past(tl_eval *ctx, uint32_t i, const tl_attention *a, int64_t size,
                           tl_heads *out) {
  int64_t found;
  if (!tl_eval_in(ctx, i))
    return TL_OK;
  TL_TRY(tl_eval_need_rank(ctx, i, 4, 4));
  TL_TRY(read_rows(ctx, i, a, true, &found, out));
  return found == size ? TL_OK : tl_eval_fail(ctx, "operand %u has other head sizes", i);
}

/* MultiHeadAttention: query, key, value, bias, key_padding_mask, attention_bias, past_key,
 * past_value. */
tl_status tl_eval_ms_mha(tl_eval *ctx) {
  tl_attention a = {0};
  if (tl_eval_in(ctx, 8) || tl_eval_in(ctx, 9))
    return tl_eval_unsupported(ctx, "a shared buffer of past and present");
  if (tl_eval_wants(ctx, 3))
    return tl_eval_unsupported(ctx, "the result with scores");
  TL_TRY(read_head_count(ctx, &a));
  TL_TRY(read_qkv(ctx, &a));
  TL_TRY(read_bias(ctx, &a));
  TL_TRY(read_past(ctx, 6, &a, a.size, &a.past_k));
  TL_TRY(read_past(ctx, 7, &a, a.v_size, &a.past_v));
  if (a.past_k.rows != a.past_v.rows)
    return tl_eval_fail(ctx, "past_key and past_value have different lengths");
  TL_TRY(tl_attention_present(ctx, 1, &a, &a.past_k, &a.k, a.size));
  TL_TRY(tl_attention_present(ctx, 2, &a, &a.past_v, &a.v, a.v_size));
  return run_masked(ctx, &a, 4, 5);
}
