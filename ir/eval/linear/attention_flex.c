/* SPDX-License-Identifier: Apache-2.0 */
/* Computes FlexAttention: attention whose scores and probabilities pass through bodies of the node.
 * A body takes and gives the whole tensor [B,N,S,T], in the dtype that it declares. */
#include <math.h>

#include "ir/eval/linear/attention.h"
#include "ir/eval/math/elementary.h"

/* Makes a copy of t in a body's dtype, or back. Between f64 and another type it is refused. */
static tl_status convert(tl_eval *ctx, const tl_host *t, tl_dtype to, tl_host **out) {
  *out = NULL;
  if (t->dtype != to && (t->dtype == TL_DTYPE_F64 || to == TL_DTYPE_F64))
    return tl_eval_unsupported(ctx, "a body of another precision than its f64 operands");
  *out = tl_host_new(ctx->heap, to, t->rank, t->dims);
  if (!*out)
    return tl_eval_no_memory(ctx);
  if (t->n && t->dtype == to)
    memcpy((*out)->data, t->data, (size_t)t->bytes);
  else if (t->n && to == TL_DTYPE_F32)
    tl_host_to_f32((tl_dtype)t->dtype, t->data, (*out)->data, 0, t->n);
  else if (t->n)
    tl_host_from_f32(to, t->data, (*out)->data, 0, t->n, false);
  return TL_OK;
}

/* Replaces *t by what the body makes of it, converted back to the dtype of *t. */
static tl_status run_body(tl_eval *ctx, tl_graph_id body, tl_host **t) {
  const tl_graph *g = tl_graph_get(ctx->m, body);
  if (g->inputs.n != 1 || tl_graph_n_outputs(ctx->m, g) != 1)
    return tl_eval_fail(ctx, "a body must have one input and one output");
  const tl_dtype own = (tl_dtype)(*t)->dtype;
  tl_dtype wanted = tl_type_dtype(ctx->m, tl_value_type(ctx->m, g->inputs.at[0]));
  tl_host *in, *out = NULL;
  /* a body without a declared dtype takes that of the scores */
  if (wanted != TL_DTYPE_NONE && !tl_dtype_is_float(wanted))
    return tl_eval_fail(ctx, "a body takes %s", tl_dtype_get(wanted)->name);
  TL_TRY(convert(ctx, *t, wanted == TL_DTYPE_NONE ? own : wanted, &in));
  tl_status status = tl_eval_body(ctx, body, &in, 1, &out, 1);
  tl_host_release(in);
  TL_TRY(status);
  if (out->kind != TL_HOST_TENSOR || !tl_dtype_is_float((tl_dtype)out->dtype) ||
      out->rank != (*t)->rank ||
      memcmp(out->dims, (*t)->dims, (size_t)out->rank * sizeof *out->dims) != 0) {
    tl_host_release(out);
    return tl_eval_fail(ctx, "a body does not give back the shape it was given");
  }
  tl_host *back;
  status = convert(ctx, out, own, &back);
  tl_host_release(out);
  TL_TRY(status);
  tl_host_release(*t);
  *t = back;
  return TL_OK;
}

/* Replaces each row by its softmax; scores of -infinity get 0. */
static void softmax_rows(void *user, uint64_t begin, uint64_t end) {
  tl_host *t = user;
  const int64_t n = t->dims[3];
  for (uint64_t r = begin; r < end; r++) {
    const int64_t at = (int64_t)r * n;
    double most = (double)-INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
      if (tl_real_at(t, at + i) > most)
        most = tl_real_at(t, at + i);
    for (int64_t i = 0; i < n; i++) {
      double v = tl_real_at(t, at + i);
      sum += v == (double)-INFINITY ? 0 : tl_exp(v - most);
    }
    for (int64_t i = 0; i < n; i++) {
      double v = tl_real_at(t, at + i);
      tl_real_set(t, at + i, v == (double)-INFINITY ? 0 : tl_exp(v - most) / sum);
    }
  }
}

typedef struct product {
  const tl_host *p; /* [B,N,S,T] */
  const tl_host *v; /* [B,M,T,Dv] */
  tl_host *y;       /* [B,N,S,Dv] */
  double *room;     /* [B*N*S][Dv] */
} product;

/* Computes y = p v; a group of query heads shares one key head. */
static void product_rows(void *user, uint64_t begin, uint64_t end) {
  const product *w = user;
  const int64_t *dims = w->p->dims;
  const int64_t n = w->v->dims[3], group = dims[1] / w->v->dims[1];
  for (uint64_t r = begin; r < end; r++) {
    const int64_t head = (int64_t)r / dims[2];
    const int64_t from = (head / dims[1] * w->v->dims[1] + head % dims[1] / group) * dims[3] * n;
    double *out = w->room + (int64_t)r * n;
    for (int64_t d = 0; d < n; d++)
      out[d] = 0;
    for (int64_t t = 0; t < dims[3]; t++) {
      const double weight = tl_real_at(w->p, (int64_t)r * dims[3] + t);
      for (int64_t d = 0; d < n; d++)
        out[d] += weight * tl_real_at(w->v, from + t * n + d);
    }
    for (int64_t d = 0; d < n; d++)
      tl_real_set(w->y, (int64_t)r * n + d, out[d]);
  }
}

/* Computes scores, then score_mod, softmax, prob_mod and the product with V. */
static tl_status run_stages(tl_eval *ctx, tl_attention *a, tl_host *y) {
  const uint64_t rows = (uint64_t)(a->batch * a->heads * a->q.rows);
  tl_graph_id score = tl_eval_body_attr(ctx, TL_SYM_score_mod);
  tl_graph_id prob = tl_eval_body_attr(ctx, TL_SYM_prob_mod);
  TL_TRY(tl_attention_run(ctx, a));
  if (score)
    TL_TRY(run_body(ctx, score, &a->scores));
  tl_eval_for(ctx, rows, 16, softmax_rows, a->scores);
  if (prob)
    TL_TRY(run_body(ctx, prob, &a->scores));
  product w = {a->scores, a->v.t, y, tl_eval_scratch(ctx, y->n, sizeof *w.room)};
  if (!w.room)
    return tl_eval_no_memory(ctx);
  tl_eval_for(ctx, rows, 16, product_rows, &w);
  return TL_OK;
}

/* Q [B,N,S,D], K [B,M,T,D], V [B,M,T,Dv]. */
static tl_status read_operands(tl_eval *ctx, tl_attention *a) {
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 4, 4));
  const tl_host *q = tl_eval_in(ctx, 0), *k = tl_eval_in(ctx, 1), *v = tl_eval_in(ctx, 2);
  a->batch = q->dims[0];
  a->heads = q->dims[1];
  a->kv_heads = k->dims[1];
  a->size = q->dims[3];
  a->v_size = v->dims[3];
  if (k->dims[0] != a->batch || v->dims[0] != a->batch || v->dims[1] != a->kv_heads ||
      v->dims[2] != k->dims[2] || k->dims[3] != a->size)
    return tl_eval_fail(ctx, "Q, K and V do not fit together");
  /* enable_gqa only announces the sharing of key heads */
  if (a->kv_heads == 0 || a->heads % a->kv_heads != 0)
    return tl_eval_fail(ctx, "%lld query heads cannot share %lld key heads", (long long)a->heads,
                        (long long)a->kv_heads);
  a->q = tl_heads_of(q, a->heads, 0, a->size);
  a->k = tl_heads_of(k, a->kv_heads, 0, a->size);
  a->v = tl_heads_of(v, a->kv_heads, 0, a->v_size);
  a->scale = tl_node_attr(ctx->m, ctx->node, TL_SYM_scale)
                 ? (double)tl_eval_float(ctx, TL_SYM_scale, 0.0f)
                 : 1.0 / sqrt((double)a->size);
  return TL_OK;
}

tl_status tl_eval_flex_attention(tl_eval *ctx) {
  tl_attention a = {.stage = TL_STAGE_SCORES};
  tl_host *y;
  if (tl_eval_body_attr(ctx, TL_SYM_mask_mod))
    return tl_eval_unsupported(ctx, "mask_mod has no definition that can be run");
  TL_TRY(read_operands(ctx, &a));
  const int64_t out[4] = {a.batch, a.heads, a.q.rows, a.v_size};
  const int64_t scores[4] = {a.batch, a.heads, a.q.rows, a.k.rows};
  const tl_dtype dtype = (tl_dtype)tl_eval_in(ctx, 0)->dtype;
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)tl_eval_in(ctx, 2)->dtype, 4, out, &y));
  a.scores = tl_host_new(ctx->heap, dtype, 4, scores);
  if (!a.scores)
    return tl_eval_no_memory(ctx);
  tl_status status = run_stages(ctx, &a, y);
  tl_host_release(a.scores);
  return status;
}
