/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of recurrent layers. Letters: S steps, B batch, D directions, H hidden size, I
 * input size. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* Gives the number of directions. */
static tl_status directions(tl_infer *ctx, tl_dim *out) {
  tl_sv text = tl_node_attr_string(ctx->m, ctx->node, TL_SYM_direction);
  *out = tl_sv_is(text, "bidirectional") ? 2 : 1;
  if (text.n == 0 || *out == 2 || tl_sv_is(text, "forward") || tl_sv_is(text, "reverse"))
    return TL_OK;
  return tl_infer_fail(ctx,
                       "attribute direction: '%.*s' is none of forward, reverse, bidirectional",
                       TL_SV_ARG(text));
}

/* Gives the hidden size: the attribute, else the last dim of the recurrence weight [D, gates*H,
 * H]. */
static tl_status hidden_size(tl_infer *ctx, tl_dim *out) {
  int64_t attr = tl_node_attr_int(ctx->m, ctx->node, TL_SYM_hidden_size, 0);
  *out = tl_infer_dim(ctx, 2, 2);
  if (attr < 0)
    return tl_infer_fail(ctx, "attribute hidden_size is %lld", (long long)attr);
  if (attr == 0)
    return TL_OK;
  TL_TRY(tl_infer_check_dim(ctx, "hidden_size and the recurrence weight's last dim", attr, *out));
  *out = attr;
  return TL_OK;
}

/* States the results of X, W [D, gates*H, I], R, ...: Y, then n_states final states. */
static tl_status recurrent(tl_infer *ctx, uint32_t n_states) {
  tl_dim d;
  tl_dim h;
  bool batch_first = tl_node_attr_int(ctx->m, ctx->node, TL_SYM_layout, 0) != 0;
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_infer_check_rank(ctx, i, 3, 3));
  TL_TRY(directions(ctx, &d));
  TL_TRY(hidden_size(ctx, &h));
  TL_TRY(
      tl_infer_check_dim(ctx, "directions and the weight's first dim", d, tl_infer_dim(ctx, 1, 0)));
  TL_TRY(tl_infer_check_dim(ctx, "input sizes of the data and the weight", tl_infer_dim(ctx, 0, 2),
                            tl_infer_dim(ctx, 1, 2)));
  tl_dim s = tl_infer_dim(ctx, 0, batch_first ? 1 : 0);
  tl_dim b = tl_infer_dim(ctx, 0, batch_first ? 0 : 1);
  tl_dim all[4] = {s, d, b, h};
  tl_dim last[3] = {d, b, h};
  if (batch_first) {
    memcpy(all, (const tl_dim[]){b, s, d, h}, sizeof all);
    memcpy(last, (const tl_dim[]){b, d, h}, sizeof last);
  }
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  TL_TRY(tl_infer_put(ctx, 0, dtype, 4, all));
  for (uint32_t i = 1; i <= n_states; i++)
    TL_TRY(tl_infer_put(ctx, i, dtype, 3, last));
  return TL_OK;
}

tl_status tl_infer_lstm(tl_infer *ctx, uint32_t node) {
  (void)node;
  return recurrent(ctx, 2);
}

tl_status tl_infer_gru(tl_infer *ctx, uint32_t node) {
  (void)node;
  return recurrent(ctx, 1);
}

tl_status tl_infer_rnn(tl_infer *ctx, uint32_t node) {
  (void)node;
  return recurrent(ctx, 1);
}

/* LSTMTraining, GRUTraining of ONNX Runtime, without layout; they also return cells and gates of
 * all steps. ARG: number of gates. X [S,B,I], W [D,gates*H,I], R -> all h, last h; LSTM: last c,
 * all c; gates. */
tl_status tl_infer_recurrent_training(tl_infer *ctx, uint32_t node) {
  const int64_t gates = tl_infer_arg(ctx, node);
  tl_dim d, h;
  TL_TRY(recurrent(ctx, gates == 4 ? 2 : 1));
  TL_TRY(directions(ctx, &d));
  TL_TRY(hidden_size(ctx, &h));
  const tl_dim s = tl_infer_dim(ctx, 0, 0), b = tl_infer_dim(ctx, 0, 1);
  tl_dim all[] = {s, d, b, h};
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  if (gates == 4)
    TL_TRY(tl_infer_put(ctx, 3, dtype, 4, all));
  all[3] = tl_dim_mul(ctx->m, h, gates);
  return tl_infer_put(ctx, gates == 4 ? 4 : 2, dtype, 4, all);
}

/* LSTMGrad, GRUGrad: gradients of X, W, R, biases and first states; LSTM: of peepholes too. ARG:
 * number of gates. */
tl_status tl_infer_recurrent_grad(tl_infer *ctx, uint32_t node) {
  const int64_t gates = tl_infer_arg(ctx, node);
  tl_dim d, h;
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  for (uint32_t i = 0; i < 3; i++) {
    TL_TRY(tl_infer_check_rank(ctx, i, 3, 3));
    const tl_dim dims[] = {tl_infer_dim(ctx, i, 0), tl_infer_dim(ctx, i, 1),
                           tl_infer_dim(ctx, i, 2)};
    TL_TRY(tl_infer_put(ctx, i, dtype, 3, dims));
  }
  TL_TRY(directions(ctx, &d));
  TL_TRY(hidden_size(ctx, &h));
  const tl_dim bias[] = {d, tl_dim_mul(ctx->m, h, 2 * gates)};
  const tl_dim state[] = {d, tl_infer_dim(ctx, 0, 1), h};
  const tl_dim peephole[] = {d, tl_dim_mul(ctx->m, h, 3)};
  TL_TRY(tl_infer_put(ctx, 3, dtype, 2, bias));
  for (uint32_t i = 4; i < (gates == 4 ? 6 : 5); i++)
    TL_TRY(tl_infer_put(ctx, i, dtype, 3, state));
  return gates == 4 ? tl_infer_put(ctx, 6, dtype, 2, peephole) : TL_OK;
}
