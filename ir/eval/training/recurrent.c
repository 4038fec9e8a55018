/* SPDX-License-Identifier: Apache-2.0 */
/* Computes LSTMTraining, GRUTraining and their gradients, as ONNX Runtime's training graphs have
 * them: one direction, all steps, sigmoid and tanh. Everything is computed in f64 and rounded once,
 * when a result is stored. Letters: S steps, B batch, I input size, H hidden size, G gates (LSTM:
 * input, output, forget, cell; GRU: update, reset, candidate). */
#include <string.h>
#include <strings.h>

#include "ir/eval/kernel/kernel.h"
#include "ir/eval/kernel/lines.h"
#include "ir/eval/math/elementary.h"

/* One layer: operands and sizes, and what the forward pass computes. */
typedef struct layer {
  int64_t steps, batch, input, hidden, gates;
  bool reset_after;           /* GRU: linear_before_reset */
  const double *x;            /* [S,B,I] */
  const double *w, *r, *bias; /* [G*H,I], [G*H,H], [2*G*H] or NULL: zeros */
  const double *h0, *c0;      /* [B,H] or NULL: zeros */
  const double *peephole;     /* [3*H] or NULL: none */
  double *h, *c;              /* [S,B,H] */
  double *g;                  /* [S,B,G*H] */
} layer;

/* ---- reading and storing --------------------------------------------------------------------- */

/* Reads operand i, which must have this shape, as f64; NULL when it is absent. */
static tl_status read(tl_eval *ctx, uint32_t i, int rank, const int64_t *dims, const double **out) {
  const tl_host *t = tl_eval_in(ctx, i);
  *out = NULL;
  if (!t)
    return TL_OK;
  TL_TRY(tl_eval_need_rank(ctx, i, rank, rank));
  for (int k = 0; k < rank; k++)
    if (t->dims[k] != dims[k])
      return tl_eval_fail(ctx, "dim %d of operand %u is %lld, expected %lld", k, i,
                          (long long)t->dims[k], (long long)dims[k]);
  double *to = tl_eval_scratch(ctx, t->n + 1, sizeof *to);
  if (!to)
    return tl_eval_no_memory(ctx);
  for (uint64_t k = 0; k < t->n; k++)
    to[k] = tl_cell_at(t, k);
  *out = to;
  return TL_OK;
}

/* Makes result i; v NULL gives zeros. */
static tl_status store(tl_eval *ctx, uint32_t i, int rank, const int64_t *dims, const double *v) {
  tl_host *out;
  tl_dtype dtype = (tl_dtype)tl_eval_in(ctx, 0)->dtype;
  TL_TRY(tl_eval_result(ctx, i, dtype, rank, dims, &out));
  for (uint64_t k = 0; k < out->n; k++)
    if (dtype == TL_DTYPE_F64)
      ((double *)out->data)[k] = v ? v[k] : 0;
    else
      ((float *)out->data)[k] = v ? (float)v[k] : 0;
  return TL_OK;
}

/* Returns rows * n zeros in scratch, NULL on overflow or without memory. */
static double *room(tl_eval *ctx, int64_t rows, int64_t n) {
  int64_t all;
  double *v = __builtin_mul_overflow(rows, n, &all)
                  ? NULL
                  : tl_eval_scratch(ctx, (uint64_t)all + 1, sizeof *v);
  if (v)
    memset(v, 0, ((size_t)all + 1) * sizeof *v);
  return v;
}

static tl_status check_attributes(tl_eval *ctx, int64_t gates) {
  static const char *const usual[] = {"sigmoid", "tanh", "tanh"};
  const tl_attr *names = tl_node_attr(ctx->m, ctx->node, TL_SYM_activations);
  tl_sv direction = tl_eval_string(ctx, TL_SYM_direction);
  for (uint32_t i = 0; names && names->kind == TL_ATTR_STRINGS && i < names->count; i++) {
    tl_sv name = tl_sym(ctx->m, names->u.ids[i]);
    if (i >= (gates == 4 ? 3u : 2u) || name.n != strlen(usual[i]) ||
        strncasecmp(name.p, usual[i], name.n) != 0)
      return tl_eval_unsupported(ctx, "functions other than sigmoid and tanh");
  }
  if (direction.n && !tl_sv_is(direction, "forward"))
    return tl_eval_unsupported(ctx, "directions other than forward");
  if (tl_eval_in(ctx, 4) || tl_node_attr(ctx->m, ctx->node, TL_SYM_clip) ||
      tl_eval_int(ctx, TL_SYM_input_forget, 0))
    return tl_eval_unsupported(ctx, "lengths of sequences, clip and input_forget");
  return TL_OK;
}

static tl_status open_layer(tl_eval *ctx, int64_t gates, layer *l) {
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 3, 3));
  TL_TRY(check_attributes(ctx, gates));
  const int64_t *data = tl_eval_in(ctx, 0)->dims;
  *l = (layer){.steps = data[0],
               .batch = data[1],
               .input = data[2],
               .gates = gates,
               .hidden = tl_eval_in(ctx, 2)->dims[2]};
  if (l->hidden > INT32_MAX / 8)
    return tl_eval_fail(ctx, "a hidden size of %lld is out of range", (long long)l->hidden);
  const int64_t n = gates * l->hidden;
  const int64_t w[] = {1, n, l->input}, r[] = {1, n, l->hidden}, b[] = {1, 2 * n};
  const int64_t state[] = {1, l->batch, l->hidden}, peephole[] = {1, 3 * l->hidden};
  l->reset_after = tl_eval_int(ctx, TL_SYM_linear_before_reset, 0) != 0;
  TL_TRY(read(ctx, 0, 3, data, &l->x));
  TL_TRY(read(ctx, 1, 3, w, &l->w));
  TL_TRY(read(ctx, 2, 3, r, &l->r));
  TL_TRY(read(ctx, 3, 2, b, &l->bias));
  TL_TRY(read(ctx, 5, 3, state, &l->h0));
  if (gates == 4) {
    TL_TRY(read(ctx, 6, 3, state, &l->c0));
    TL_TRY(read(ctx, 7, 2, peephole, &l->peephole));
  }
  return TL_OK;
}

/* ---- forward --------------------------------------------------------------------------------- */

static double sigmoid(double v) { return 1 / (1 + tl_exp(-v)); }

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/* Returns row b of the state before step t: of all steps' states, or of `first` (NULL: zeros) at
 * step 0. */
static const double *before(const layer *l, const double *all, const double *first, int64_t t,
                            int64_t b) {
  static const double *const none = NULL;
  if (t == 0)
    return first ? first + b * l->hidden : none;
  return all + ((t - 1) * l->batch + b) * l->hidden;
}

static double or_zero(const double *v, int64_t i) { return v ? v[i] : 0; }

/* Returns the argument of gate row k: W x + R h + both biases. */
static double sum_of(const layer *l, const double *x, const double *h, int64_t k) {
  const int64_t n = l->gates * l->hidden;
  return dot(l->w + k * l->input, x, l->input) + (h ? dot(l->r + k * l->hidden, h, l->hidden) : 0) +
         or_zero(l->bias, k) + or_zero(l->bias, n + k);
}

/* What a step makes of a row, next to its gates. */
typedef struct lstm_state {
  double *h;
  double *c;
} lstm_state;

/* One step of one row; the output gate's peephole sees the new cell state. */
static void lstm_row(const layer *l, const double *x, const double *h, const double *c, double *g,
                     lstm_state made) {
  const int64_t n = l->hidden;
  for (int64_t k = 0; k < n; k++) {
    double old = or_zero(c, k), p[3];
    for (int i = 0; i < 3; i++)
      p[i] = l->peephole ? l->peephole[i * n + k] : 0;
    g[k] = sigmoid(sum_of(l, x, h, k) + p[0] * old);
    g[2 * n + k] = sigmoid(sum_of(l, x, h, 2 * n + k) + p[2] * old);
    g[3 * n + k] = tl_tanh(sum_of(l, x, h, 3 * n + k));
    made.c[k] = g[2 * n + k] * old + g[k] * g[3 * n + k];
    g[n + k] = sigmoid(sum_of(l, x, h, n + k) + p[1] * made.c[k]);
    made.h[k] = g[n + k] * tl_tanh(made.c[k]);
  }
}

/* Returns R h of candidate k with its bias: what the reset gate scales when it comes after the
 * product. */
static double inner_of(const layer *l, const double *h, int64_t k) {
  const int64_t row = 2 * l->hidden + k;
  return (h ? dot(l->r + row * l->hidden, h, l->hidden) : 0) +
         or_zero(l->bias, l->gates * l->hidden + row);
}

static void gru_row(const layer *l, const double *x, const double *h, double *g, double *new_h) {
  const int64_t n = l->hidden;
  for (int64_t k = 0; k < 2 * n; k++)
    g[k] = sigmoid(sum_of(l, x, h, k));
  for (int64_t k = 0; k < n; k++) {
    const int64_t row = 2 * n + k;
    double sum = dot(l->w + row * l->input, x, l->input) + or_zero(l->bias, row);
    if (l->reset_after)
      sum += g[n + k] * inner_of(l, h, k);
    else
      sum += or_zero(l->bias, 5 * n + k);
    for (int64_t i = 0; h && !l->reset_after && i < n; i++)
      sum += l->r[row * n + i] * g[n + i] * h[i];
    g[row] = tl_tanh(sum);
    new_h[k] = (1 - g[k]) * g[row] + g[k] * or_zero(h, k);
  }
}

static tl_status forward(tl_eval *ctx, int64_t gates, layer *l) {
  TL_TRY(open_layer(ctx, gates, l));
  const int64_t n = l->hidden;
  l->h = room(ctx, l->steps * l->batch, n);
  l->c = room(ctx, l->steps * l->batch, n);
  l->g = room(ctx, l->steps * l->batch, gates * n);
  if (!l->h || !l->c || !l->g)
    return tl_eval_no_memory(ctx);
  for (int64_t t = 0; t < l->steps; t++)
    for (int64_t b = 0; b < l->batch; b++) {
      const int64_t at = t * l->batch + b;
      const double *h = before(l, l->h, l->h0, t, b), *in = l->x + at * l->input;
      if (gates == 4)
        lstm_row(l, in, h, before(l, l->c, l->c0, t, b), l->g + at * 4 * n,
                 (lstm_state){l->h + at * n, l->c + at * n});
      else
        gru_row(l, in, h, l->g + at * 3 * n, l->h + at * n);
    }
  return TL_OK;
}

/* Makes result i: the state after the last step, [1,B,H]; without steps the initial one. */
static tl_status store_last(tl_eval *ctx, uint32_t i, const layer *l, const double *all,
                            const double *first) {
  const int64_t dims[] = {1, l->batch, l->hidden};
  const double *last = l->steps ? all + (l->steps - 1) * l->batch * l->hidden : first;
  return store(ctx, i, 3, dims, last);
}

/* LSTMTraining: X, W, R, B, -, h0, c0, P -> all h, last h, last c, all c, gates. */
tl_status tl_eval_lstm_training(tl_eval *ctx) {
  layer l;
  TL_TRY(forward(ctx, 4, &l));
  const int64_t all[] = {l.steps, 1, l.batch, l.hidden};
  const int64_t gates[] = {l.steps, 1, l.batch, 4 * l.hidden};
  TL_TRY(store(ctx, 0, 4, all, l.h));
  TL_TRY(store_last(ctx, 1, &l, l.h, l.h0));
  TL_TRY(store_last(ctx, 2, &l, l.c, l.c0));
  TL_TRY(store(ctx, 3, 4, all, l.c));
  return store(ctx, 4, 4, gates, l.g);
}

/* GRUTraining: X, W, R, B, -, h0 -> all h, last h, gates. */
tl_status tl_eval_gru_training(tl_eval *ctx) {
  layer l;
  TL_TRY(forward(ctx, 3, &l));
  const int64_t all[] = {l.steps, 1, l.batch, l.hidden};
  const int64_t gates[] = {l.steps, 1, l.batch, 3 * l.hidden};
  TL_TRY(store(ctx, 0, 4, all, l.h));
  TL_TRY(store_last(ctx, 1, &l, l.h, l.h0));
  return store(ctx, 2, 4, gates, l.g);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* The backward pass: what the forward pass saved, and the gradients. */
typedef struct back {
  layer l;
  const double *h, *c, *g; /* of all steps */
  const double *d_all;     /* [S,B,H] or NULL */
  double *dx, *dw, *dr, *db;
  double *dh, *dc; /* [B,H]: as they go from step to step */
  double *da;      /* [G*H]: of the sums of one row */
  double *dj;      /* [G*H]: the same as products with h see them */
} back;

/* Adds what the gradients of a row's gate arguments contribute to input, weights and biases. hr:
 * what the candidate's rows of R were multiplied by. */
static void spread(back *k, int64_t at, const double *h, const double *hr) {
  const layer *l = &k->l;
  const int64_t n = l->gates * l->hidden;
  for (int64_t r = 0; r < n; r++) {
    const double *seen = l->gates == 3 && r >= 2 * l->hidden ? hr : h;
    for (int64_t i = 0; i < l->input; i++) {
      k->dx[at * l->input + i] += k->da[r] * l->w[r * l->input + i];
      k->dw[r * l->input + i] += k->da[r] * l->x[at * l->input + i];
    }
    for (int64_t i = 0; seen && i < l->hidden; i++)
      k->dr[r * l->hidden + i] += k->dj[r] * seen[i];
    k->db[r] += k->da[r];
    k->db[n + r] += k->dj[r];
  }
}

/* Goes back through step t of row b. dh and dc hold the gradients of the state after the step on
 * entry, before it on return. */
static void lstm_back(back *k, int64_t t, int64_t b) {
  const layer *l = &k->l;
  const int64_t n = l->hidden, at = t * l->batch + b;
  const double *g = k->g + at * 4 * n, *c = k->c + at * n;
  const double *old = before(l, k->c, l->c0, t, b);
  double *dh = k->dh + b * n, *dc = k->dc + b * n;
  for (int64_t i = 0; i < n; i++) {
    double in = g[i], out = g[n + i], forget = g[2 * n + i], cell = g[3 * n + i];
    double d = dh[i] + (k->d_all ? k->d_all[at * n + i] : 0), y = tl_tanh(c[i]);
    double into = dc[i] + d * out * (1 - y * y);
    k->da[i] = into * cell * in * (1 - in);
    k->da[n + i] = d * y * out * (1 - out);
    k->da[2 * n + i] = into * or_zero(old, i) * forget * (1 - forget);
    k->da[3 * n + i] = into * in * (1 - cell * cell);
    dc[i] = into * forget;
    dh[i] = 0;
  }
  memcpy(k->dj, k->da, (size_t)(4 * n) * sizeof *k->da);
  for (int64_t r = 0; r < 4 * n; r++)
    for (int64_t i = 0; i < n; i++)
      dh[i] += k->da[r] * l->r[r * n + i];
  const double *h = before(l, k->h, l->h0, t, b);
  spread(k, at, h, h);
}

/* Goes back through step t of row b. hr: [H], room for what the reset gate leaves of h. */
static void gru_back(back *k, int64_t t, int64_t b, double *hr) {
  const layer *l = &k->l;
  const int64_t n = l->hidden, at = t * l->batch + b;
  const double *g = k->g + at * 3 * n, *h = before(l, k->h, l->h0, t, b);
  double *dh = k->dh + b * n;
  for (int64_t i = 0; i < n; i++) {
    double d = dh[i] + (k->d_all ? k->d_all[at * n + i] : 0), z = g[i], made = g[2 * n + i];
    k->da[i] = d * (or_zero(h, i) - made) * z * (1 - z);
    k->da[2 * n + i] = d * (1 - z) * (1 - made * made);
    k->dj[2 * n + i] = k->da[2 * n + i] * (l->reset_after ? g[n + i] : 1);
    hr[i] = or_zero(h, i) * (l->reset_after ? 1 : g[n + i]);
    dh[i] = d * z;
  }
  for (int64_t i = 0; i < n; i++) {
    double reset = g[n + i], product = 0;
    for (int64_t r = 0; r < n; r++)
      product += k->dj[2 * n + r] * l->r[(2 * n + r) * n + i];
    dh[i] += l->reset_after ? product : product * reset;
    product = l->reset_after ? k->da[2 * n + i] * inner_of(l, h, i) : product * or_zero(h, i);
    k->da[n + i] = product * reset * (1 - reset);
  }
  memcpy(k->dj, k->da, (size_t)(2 * n) * sizeof *k->da);
  for (int64_t r = 0; r < 2 * n; r++)
    for (int64_t i = 0; i < n; i++)
      dh[i] += k->da[r] * l->r[r * n + i];
  spread(k, at, h, hr);
}

/* Makes room for the gradients; those of the state begin as dh and dc (NULL: zeros). */
static tl_status make_rooms(tl_eval *ctx, back *k, const double *dh, const double *dc) {
  const layer *l = &k->l;
  const int64_t n = l->gates * l->hidden;
  k->dx = room(ctx, l->steps * l->batch, l->input);
  k->dw = room(ctx, n, l->input);
  k->dr = room(ctx, n, l->hidden);
  k->db = room(ctx, 2, n);
  k->dh = room(ctx, l->batch, l->hidden);
  k->dc = room(ctx, l->batch, l->hidden);
  k->da = room(ctx, 1, n);
  k->dj = room(ctx, 1, n);
  if (!k->dx || !k->dw || !k->dr || !k->db || !k->dh || !k->dc || !k->da || !k->dj)
    return tl_eval_no_memory(ctx);
  if (dh)
    memcpy(k->dh, dh, (size_t)(l->batch * l->hidden) * sizeof *dh);
  if (dc)
    memcpy(k->dc, dc, (size_t)(l->batch * l->hidden) * sizeof *dc);
  return TL_OK;
}

static tl_status store_gradients(tl_eval *ctx, const back *k) {
  const layer *l = &k->l;
  const int64_t n = l->gates * l->hidden;
  const int64_t data[] = {l->steps, l->batch, l->input}, w[] = {1, n, l->input};
  const int64_t r[] = {1, n, l->hidden}, b[] = {1, 2 * n}, state[] = {1, l->batch, l->hidden};
  TL_TRY(store(ctx, 0, 3, data, k->dx));
  TL_TRY(store(ctx, 1, 3, w, k->dw));
  TL_TRY(store(ctx, 2, 3, r, k->dr));
  TL_TRY(store(ctx, 3, 2, b, k->db));
  TL_TRY(store(ctx, 4, 3, state, k->dh));
  return l->gates == 4 ? store(ctx, 5, 3, state, k->dc) : TL_OK;
}

/* LSTMGrad: X, W, R, B, -, h0, c0, P, all h, all c, gates, d all h, d last h, d last c -> dX, dW,
 * dR, dB, d h0, d c0, d P. */
tl_status tl_eval_lstm_grad(tl_eval *ctx) {
  back k = {0};
  const double *dh, *dc;
  TL_TRY(open_layer(ctx, 4, &k.l));
  const layer *l = &k.l;
  const int64_t all[] = {l->steps, 1, l->batch, l->hidden};
  const int64_t gates[] = {l->steps, 1, l->batch, 4 * l->hidden};
  const int64_t state[] = {1, l->batch, l->hidden}, peephole[] = {1, 3 * l->hidden};
  if (l->peephole || tl_eval_wants(ctx, 6))
    return tl_eval_unsupported(ctx, "gradients of peepholes");
  TL_TRY(read(ctx, 8, 4, all, &k.h));
  TL_TRY(read(ctx, 9, 4, all, &k.c));
  TL_TRY(read(ctx, 10, 4, gates, &k.g));
  TL_TRY(read(ctx, 11, 4, all, &k.d_all));
  TL_TRY(read(ctx, 12, 3, state, &dh));
  TL_TRY(read(ctx, 13, 3, state, &dc));
  if (!k.h || !k.c || !k.g)
    return tl_eval_fail(ctx, "the states and gates of all steps must be there");
  TL_TRY(make_rooms(ctx, &k, dh, dc));
  for (int64_t t = l->steps - 1; t >= 0; t--)
    for (int64_t b = 0; b < l->batch; b++)
      lstm_back(&k, t, b);
  TL_TRY(store_gradients(ctx, &k));
  return store(ctx, 6, 2, peephole, NULL);
}

/* GRUGrad: X, W, R, B, -, h0, all h, gates, d all h, d last h -> dX, dW, dR, dB, d h0. */
tl_status tl_eval_gru_grad(tl_eval *ctx) {
  back k = {0};
  const double *dh;
  TL_TRY(open_layer(ctx, 3, &k.l));
  const layer *l = &k.l;
  const int64_t all[] = {l->steps, 1, l->batch, l->hidden};
  const int64_t gates[] = {l->steps, 1, l->batch, 3 * l->hidden};
  const int64_t state[] = {1, l->batch, l->hidden};
  TL_TRY(read(ctx, 6, 4, all, &k.h));
  TL_TRY(read(ctx, 7, 4, gates, &k.g));
  TL_TRY(read(ctx, 8, 4, all, &k.d_all));
  TL_TRY(read(ctx, 9, 3, state, &dh));
  if (!k.h || !k.g)
    return tl_eval_fail(ctx, "the states and gates of all steps must be there");
  TL_TRY(make_rooms(ctx, &k, dh, NULL));
  double *hr = room(ctx, 1, l->hidden);
  if (!hr)
    return tl_eval_no_memory(ctx);
  for (int64_t t = l->steps - 1; t >= 0; t--)
    for (int64_t b = 0; b < l->batch; b++)
      gru_back(&k, t, b, hr);
  return store_gradients(ctx, &k);
}
