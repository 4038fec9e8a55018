/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of attention: the standard ops and those of ONNX Runtime. Letters: B batch, N
 * heads, S query length, T key length (with the past), D head size, V head size of values. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* Reads the number of heads in an attribute, unknown when it is absent. */
static tl_status read_heads(tl_infer *ctx, tl_symbol name, tl_dim *out) {
  int64_t n = tl_node_attr_int(ctx->m, ctx->node, name, 0);
  *out = n == 0 ? TL_DIM_UNKNOWN : n;
  if (n < 0 || n > INT32_MAX)
    return tl_infer_fail(ctx, "attribute %.*s: %lld is out of range",
                         TL_SV_ARG(tl_sym(ctx->m, name)), (long long)n);
  return TL_OK;
}

/* Returns the size of one head; unknown when it does not divide, which is left to the run to
 * report. */
static tl_dim head_dim(tl_infer *ctx, tl_dim hidden, tl_dim heads) {
  if (hidden >= 0 && heads > 0 && hidden % heads != 0)
    return TL_DIM_UNKNOWN;
  return tl_dim_div(ctx->m, hidden, heads);
}

/* One of Q, K, V in either form, [B,N,S,D] or [B,S,N*D]. */
typedef struct heads {
  tl_dim batch;
  tl_dim n;
  tl_dim length;
  tl_dim size;
} heads;

static tl_status read_operand_heads(tl_infer *ctx, uint32_t i, tl_symbol attr, heads *h) {
  tl_dim n;
  TL_TRY(tl_infer_check_rank(ctx, i, 3, 4));
  TL_TRY(read_heads(ctx, attr, &n));
  h->batch = tl_infer_dim(ctx, i, 0);
  if (tl_infer_rank(ctx, i) != 3) {
    h->n = tl_infer_dim(ctx, i, 1);
    h->length = tl_infer_dim(ctx, i, 2);
    h->size = tl_infer_dim(ctx, i, 3);
    return TL_OK;
  }
  if (n == TL_DIM_UNKNOWN)
    return tl_infer_fail(ctx, "attribute %.*s is needed for operands of rank 3",
                         TL_SV_ARG(tl_sym(ctx->m, attr)));
  h->n = n;
  h->length = tl_infer_dim(ctx, i, 1);
  h->size = head_dim(ctx, tl_infer_dim(ctx, i, 2), n);
  return TL_OK;
}

/* Attention: Q, K, V, mask, past_key, past_value ... -> Y, present_key, present_value, QK. */
tl_status tl_infer_attention(tl_infer *ctx, uint32_t node) {
  heads q;
  heads k;
  heads v;
  (void)node;
  TL_TRY(read_operand_heads(ctx, 0, TL_SYM_q_num_heads, &q));
  TL_TRY(read_operand_heads(ctx, 1, TL_SYM_kv_num_heads, &k));
  TL_TRY(read_operand_heads(ctx, 2, TL_SYM_kv_num_heads, &v));
  if (tl_infer_rank(ctx, 0) != TL_RANK_UNKNOWN && tl_infer_rank(ctx, 1) != TL_RANK_UNKNOWN)
    TL_TRY(tl_infer_check_dim(ctx, "head sizes of Q and K", q.size, k.size));
  tl_dim total = k.length;
  if (tl_infer_has(ctx, 4))
    total = tl_dim_add(ctx->m, tl_infer_dim(ctx, 4, 2), k.length);
  tl_dim flat[3] = {q.batch, q.length, tl_dim_mul(ctx->m, q.n, v.size)};
  tl_dim deep[4] = {q.batch, q.n, q.length, v.size};
  int rank = tl_infer_rank(ctx, 0);
  TL_TRY(tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, rank == 3 ? flat : deep));
  if (rank == TL_RANK_UNKNOWN) /* without it, lengths and heads cannot be told apart */
    q = (heads){q.batch, TL_DIM_UNKNOWN, TL_DIM_UNKNOWN, TL_DIM_UNKNOWN};
  tl_dim key[4] = {k.batch, k.n, total, k.size};
  tl_dim value[4] = {v.batch, v.n, total, v.size};
  tl_dim scores[4] = {q.batch, q.n, q.length, total};
  TL_TRY(tl_infer_put(ctx, 1, tl_infer_dtype(ctx, 1), 4, key));
  TL_TRY(tl_infer_put(ctx, 2, tl_infer_dtype(ctx, 2), 4, value));
  return tl_infer_put(ctx, 3, tl_infer_dtype(ctx, 0), 4, scores);
}

/* q [B,S,N*D], k [B,T,M*D], v [B,T,M*V] -> [B,S,N*V]; N/M heads of queries share one of keys. */
static tl_status infer_heads_beside(tl_infer *ctx, tl_dim n) {
  tl_dim m;
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_infer_check_rank(ctx, i, 3, 3));
  TL_TRY(read_heads(ctx, TL_SYM_kv_num_heads, &m));
  if (m <= 0 || n % m != 0)
    return tl_infer_fail(ctx, "%lld heads of queries do not share %lld of keys", (long long)n,
                         m > 0 ? (long long)m : 0);
  if (tl_infer_rank(ctx, 0) != TL_RANK_UNKNOWN && tl_infer_rank(ctx, 1) != TL_RANK_UNKNOWN)
    TL_TRY(tl_infer_check_dim(ctx, "head sizes of Q and K",
                              head_dim(ctx, tl_infer_dim(ctx, 0, 2), n),
                              head_dim(ctx, tl_infer_dim(ctx, 1, 2), m)));
  tl_dim size = head_dim(ctx, tl_infer_dim(ctx, 2, 2), m);
  tl_dim dims[3] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 1), tl_dim_mul(ctx->m, n, size)};
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 3, dims);
}

/* q [.., S, D], k [.., T, D], v [.., T, V] -> [.., S, V]; BNSD_BSND: -> [B, S, N, V] */
tl_status tl_infer_attention_core(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_dim n;
  TL_TRY(read_heads(ctx, TL_SYM_q_num_heads, &n));
  if (n != TL_DIM_UNKNOWN)
    return infer_heads_beside(ctx, n);
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_infer_check_rank(ctx, i, 3, 4));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank != TL_RANK_UNKNOWN)
    dims[rank - 1] = tl_infer_dim(ctx, 2, rank - 1);
  if (rank == 4 && tl_sv_is(tl_node_attr_string(ctx->m, node, TL_SYM_input_layout), "BNSD_BSND")) {
    n = dims[1];
    dims[1] = dims[2];
    dims[2] = n;
  }
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* q [B,N,S,D], k [B,N,T,D], v [B,N,T,V] -> [B,S,N*V], [B,N,S,T] */
tl_status tl_infer_score_heads(tl_infer *ctx, uint32_t node) {
  (void)node;
  for (uint32_t i = 0; i < 4; i++)
    TL_TRY(tl_infer_check_rank(ctx, i, 4, 4));
  tl_dim n_heads = tl_infer_dim(ctx, 0, 1);
  tl_dim y[3] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 2),
                 tl_dim_mul(ctx->m, n_heads, tl_infer_dim(ctx, 2, 3))};
  tl_dim shares[4] = {y[0], n_heads, y[1], tl_infer_dim(ctx, 1, 2)};
  TL_TRY(tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 3, y));
  return tl_infer_n_results(ctx) > 1 ? tl_infer_put(ctx, 1, tl_infer_dtype(ctx, 0), 4, shares)
                                     : TL_OK;
}

/* x [B,S,H], three matrices [H,N*D] -> [B,S,H], three times [B,N,S,D], statistics [B,S,1] */
tl_status tl_infer_norm_heads(tl_infer *ctx, uint32_t node) {
  int64_t n_heads = tl_node_attr_int(ctx->m, node, TL_SYM_heads, 0);
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  TL_TRY(tl_infer_check_rank(ctx, 0, 3, 3));
  TL_TRY(tl_infer_put_same(ctx, 0, 0));
  for (uint32_t i = 1; i < tl_infer_n_results(ctx) && i < 4; i++) {
    TL_TRY(tl_infer_check_rank(ctx, i, 2, 2));
    tl_dim all = tl_infer_dim(ctx, i, 1);
    tl_dim each = n_heads > 0 && all > 0 && all % n_heads == 0 ? all / n_heads : TL_DIM_UNKNOWN;
    tl_dim dims[4] = {tl_infer_dim(ctx, 0, 0), n_heads > 0 ? n_heads : TL_DIM_UNKNOWN,
                      tl_infer_dim(ctx, 0, 1), each};
    TL_TRY(tl_infer_put(ctx, i, dtype, 4, dims));
  }
  tl_dim statistics[3] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 1), 1};
  for (uint32_t i = 4; i < tl_infer_n_results(ctx); i++)
    TL_TRY(tl_infer_put(ctx, i, dtype, 3, statistics));
  return TL_OK;
}

/* Q [B,N,S,D], K, V [B,M,T,V] -> [B,N,S,V]; the bodies work on single scores. */
tl_status tl_infer_flex_attention(tl_infer *ctx, uint32_t node) {
  const tl_node *n = tl_node_get(ctx->m, node);
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_infer_check_rank(ctx, i, 4, 4));
  for (uint32_t i = 0; i < n->n_attrs; i++)
    if (n->attrs[i].kind == TL_ATTR_GRAPH) {
      TL_TRY(tl_infer_graph(ctx, n->attrs[i].u.g));
      ctx->node = node;
    }
  tl_dim dims[4] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 1), tl_infer_dim(ctx, 0, 2),
                    tl_infer_dim(ctx, 2, 3)};
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 2), 4, dims);
}

/* LinearAttention: query [B,S,Nq*D], key [B,S,Nkv*D], value [B,S,Nkv*V], past_state? -> [B,S,Nq*V],
 * [B,Nkv,D,V]. */
tl_status tl_infer_linear_attention(tl_infer *ctx, uint32_t node) {
  tl_dim nq;
  tl_dim nkv;
  tl_dim d;
  tl_dim v;
  (void)node;
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_infer_check_rank(ctx, i, 3, 3));
  TL_TRY(read_heads(ctx, TL_SYM_q_num_heads, &nq));
  TL_TRY(read_heads(ctx, TL_SYM_kv_num_heads, &nkv));
  d = head_dim(ctx, tl_infer_dim(ctx, 0, 2), nq);
  v = head_dim(ctx, tl_infer_dim(ctx, 2, 2), nkv);
  tl_dim out[3] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 1), tl_dim_mul(ctx->m, v, nq)};
  tl_dim state[4] = {tl_infer_dim(ctx, 0, 0), nkv, d, v};
  TL_TRY(tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 3, out));
  if (tl_infer_has(ctx, 3))
    return tl_infer_put_same(ctx, 1, 3);
  /* the state's precision is free: only the declared type tells it */
  return tl_infer_put(ctx, 1, TL_DTYPE_NONE, 4, state);
}

/* Gives the hidden size of the values of com.microsoft::Attention. */
static tl_status value_hidden(tl_infer *ctx, tl_dim *out) {
  tl_int_list sizes = tl_node_attr_ints(ctx->m, ctx->node, TL_SYM_qkv_hidden_sizes);
  if (sizes.n > 0) {
    if (sizes.n != 3 || sizes.at[2] < 0)
      return tl_infer_fail(ctx, "attribute qkv_hidden_sizes must have three sizes");
    *out = sizes.at[2];
    return TL_OK;
  }
  tl_dim all = tl_infer_dim(ctx, 1, 1);
  if (all == TL_DIM_UNKNOWN)
    all = tl_infer_dim(ctx, 2, 0);
  *out = head_dim(ctx, all, 3);
  return TL_OK;
}

/* input [B,S,I], weights [I,3H], bias, mask, past [2,B,N,P,D] -> [B,S,H], present [2,B,N,P+S,D] */
tl_status tl_infer_ms_attention(tl_infer *ctx, uint32_t node) {
  tl_dim hidden;
  tl_dim present[5] = {2, tl_infer_dim(ctx, 0, 0), TL_DIM_UNKNOWN, tl_infer_dim(ctx, 0, 1)};
  tl_dim n;
  TL_TRY(tl_infer_check_rank(ctx, 0, 3, 3));
  TL_TRY(tl_infer_check_rank(ctx, 1, 2, 2));
  TL_TRY(tl_infer_check_rank(ctx, 4, 5, 5));
  TL_TRY(value_hidden(ctx, &hidden));
  tl_dim out[3] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 1), hidden};
  TL_TRY(tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 3, out));
  TL_TRY(read_heads(ctx, TL_SYM_num_heads, &n));
  present[2] = n;
  present[4] = head_dim(ctx, hidden, n);
  if (tl_infer_has(ctx, 4)) {
    if (tl_node_attr_int(ctx->m, node, TL_SYM_past_present_share_buffer, 0) != 0)
      return tl_infer_put_same(ctx, 1, 4);
    present[3] = tl_dim_add(ctx->m, present[3], tl_infer_dim(ctx, 4, 3));
  }
  return tl_infer_put(ctx, 1, tl_infer_dtype(ctx, 0), 5, present);
}

/* Returns the operand of that name in the op's signature; beyond the last operand when there is
 * none. */
static uint32_t operand_named(tl_infer *ctx, const char *name) {
  const tl_op *row = tl_op_row(tl_node_get(ctx->m, ctx->node)->op);
  for (uint32_t i = 0; row && i < row->n_operand_ports; i++)
    if (strcmp(row->operands[i].name, name) == 0)
      return i;
  return UINT32_MAX;
}

/* Returns the last dim of the output of multi-head attention: query [B,S,H] or packed [B,S,N,3,D];
 * value [B,T,H], [B,N,T,V] or absent when packed. */
static tl_dim mha_width(tl_infer *ctx) {
  if (tl_infer_rank(ctx, 0) == 5)
    return tl_dim_mul(ctx->m, tl_infer_dim(ctx, 0, 2), tl_infer_dim(ctx, 0, 4));
  if (tl_infer_has(ctx, 2)) {
    if (tl_infer_rank(ctx, 2) == 4)
      return tl_dim_mul(ctx->m, tl_infer_dim(ctx, 2, 1), tl_infer_dim(ctx, 2, 3));
    return tl_infer_rank(ctx, 2) == 3 ? tl_infer_dim(ctx, 2, 2) : TL_DIM_UNKNOWN;
  }
  if (tl_infer_has(ctx, 1))
    return tl_infer_dim(ctx, 0, 2); /* packed key and value */
  return tl_dim_div(ctx->m, tl_infer_dim(ctx, 0, 2), 3);
}

/* States the present of key or value (operand i), whose past is operand `past`. A shared buffer has
 * the past's length, however much of it is used. */
static tl_status mha_present(tl_infer *ctx, uint32_t result, uint32_t i, uint32_t past,
                             tl_dim *total) {
  tl_dim dims[4] = {tl_infer_dim(ctx, 0, 0), TL_DIM_UNKNOWN, TL_DIM_UNKNOWN, TL_DIM_UNKNOWN};
  tl_dim n;
  int rank = tl_infer_rank(ctx, i);
  TL_TRY(read_heads(ctx, TL_SYM_num_heads, &n));
  dims[1] = n;
  if (tl_infer_has(ctx, i) && rank == 4) {
    dims[2] = tl_infer_dim(ctx, i, 2); /* cross attention: already the whole cache */
    dims[3] = tl_infer_dim(ctx, i, 3);
  } else if (tl_infer_has(ctx, i) && rank == 3) {
    dims[2] = tl_infer_dim(ctx, i, 1);
    dims[3] = head_dim(ctx, tl_infer_dim(ctx, i, 2), n);
  }
  if (tl_infer_has(ctx, past)) {
    bool shared = tl_node_attr_int(ctx->m, ctx->node, TL_SYM_past_present_share_buffer, 0) != 0 ||
                  tl_infer_has(ctx, operand_named(ctx, "past_sequence_length"));
    TL_TRY(tl_infer_check_rank(ctx, past, 4, 4));
    dims[2] = shared      ? tl_infer_dim(ctx, past, 2)
              : rank == 4 ? TL_DIM_UNKNOWN
                          : tl_dim_add(ctx->m, tl_infer_dim(ctx, past, 2), dims[2]);
    dims[3] = tl_infer_dim(ctx, past, 3);
    *total = shared ? TL_DIM_UNKNOWN : dims[2];
  } else {
    *total = dims[2];
  }
  return tl_infer_put(ctx, result, tl_infer_dtype(ctx, 0), 4, dims);
}

/* MultiHeadAttention: query, key, value, ... past_key, past_value -> output, present_key,
 * present_value, qk. */
tl_status tl_infer_ms_mha(tl_infer *ctx, uint32_t node) {
  uint32_t past = operand_named(ctx, "past_key");
  tl_dim total;
  tl_dim unused;
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 3, 5));
  TL_TRY(tl_infer_check_rank(ctx, 2, 3, 4));
  tl_dim out[3] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 1), mha_width(ctx)};
  if (tl_infer_rank(ctx, 0) == TL_RANK_UNKNOWN && !tl_infer_has(ctx, 2))
    out[2] = TL_DIM_UNKNOWN;
  TL_TRY(tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 3, out));
  if (tl_infer_n_results(ctx) < 2)
    return TL_OK;
  TL_TRY(mha_present(ctx, 1, 1, past, &total));
  TL_TRY(mha_present(ctx, 2, 2, past + 1, &unused));
  tl_dim n;
  TL_TRY(read_heads(ctx, TL_SYM_num_heads, &n));
  tl_dim scores[4] = {out[0], n, out[1], total};
  return tl_infer_put(ctx, 3, TL_DTYPE_NONE, 4, scores);
}

/* Returns the length of the cache that grouped-query attention returns: the larger of past and
 * total. */
static tl_dim gqa_length(tl_infer *ctx, tl_dim fresh) {
  tl_dim total = tl_infer_dim_value(ctx, 6);
  tl_dim past = tl_infer_dim(ctx, 3, 2);
  if (!tl_infer_has(ctx, 3))
    return total >= 0 ? total : fresh;
  if (tl_node_attr_int(ctx->m, ctx->node, TL_SYM_sliding_window_cache, 0) == 1)
    return past;
  if (past >= 0 && total >= 0)
    return past > total ? past : total;
  return TL_DIM_UNKNOWN;
}

/* query [B,S,N*D] (or packed with key and value), key, value, past_key, past_value, ... -> output,
 * present_key, present_value, qk */
tl_status tl_infer_ms_gqa(tl_infer *ctx, uint32_t node) {
  tl_dim n;
  tl_dim nkv;
  tl_dim size;
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 3, 3));
  TL_TRY(tl_infer_check_rank(ctx, 3, 4, 4));
  TL_TRY(read_heads(ctx, TL_SYM_num_heads, &n));
  TL_TRY(read_heads(ctx, TL_SYM_kv_num_heads, &nkv));
  bool packed = !tl_infer_has(ctx, 2);
  tl_dim width = tl_infer_dim(ctx, 0, 2);
  tl_dim held = packed ? tl_dim_add(ctx->m, n, tl_dim_mul(ctx->m, nkv, 2)) : n;
  size = head_dim(ctx, width, held);
  tl_dim out[3] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 1),
                   packed ? tl_dim_mul(ctx->m, size, n) : width};
  TL_TRY(tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 3, out));
  bool past = tl_infer_has(ctx, 3);
  tl_dim fresh = packed ? out[1] : tl_infer_dim(ctx, 2, 1);
  tl_dim present[4] = {out[0], nkv, gqa_length(ctx, fresh), past ? tl_infer_dim(ctx, 3, 3) : size};
  TL_TRY(tl_infer_put(ctx, 1, tl_infer_dtype(ctx, past ? 3 : 0), 4, present));
  TL_TRY(tl_infer_put(ctx, 2, tl_infer_dtype(ctx, past ? 4 : 0), 4, present));
  tl_dim scores[4] = {out[0], n, out[1], tl_infer_dim_value(ctx, 6)};
  return tl_infer_put(ctx, 3, tl_infer_dtype(ctx, 0), 4, scores);
}
