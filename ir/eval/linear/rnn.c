/* SPDX-License-Identifier: Apache-2.0 */
/* Computes RNN, GRU and LSTM. Everything is computed in f64 and rounded once, when a result is
 * stored: a recurrence repeats its own rounding errors. Letters: S steps, B batch, D directions, I
 * input size, H hidden size, G gates.
 *
 * Threads divide the batch, since its rows do not depend on each other. */
#include "ir/eval/linear/rnn_activation.h"

/* One layer and what it computes; `direction`, `w` and `r` change from one direction to the
 * next. */
typedef struct layer {
  int64_t steps;
  int64_t batch;
  int64_t input;
  int64_t hidden;
  uint32_t directions;
  uint32_t gates;
  bool first_reversed; /* direction 0 runs backwards */
  bool batch_first;    /* attribute layout */
  bool reset_after;    /* GRU: linear_before_reset */
  bool coupled;        /* LSTM: input_forget */
  const double *x;     /* as given: [S,B,I], batch first: [B,S,I] */
  const double *h0;    /* [D,B,H] or [B,D,H]; NULL: zeros */
  const double *c0;
  const double *peephole; /* [D,3H], NULL: none */
  const double *bias;     /* [D,2*G*H], NULL: zeros */
  const int64_t *lengths; /* [B], NULL: all S */
  const double *w;        /* of one direction, transposed: [I,G*H] */
  const double *r;        /* [H,G*H] */
  tl_rnn_activation f[2 * TL_RNN_MAX_ACTIVATIONS];
  double *y;  /* [S,D,B,H] or [B,S,D,H] */
  double *yh; /* [D,B,H] or [B,D,H] */
  double *yc;
  double *room;       /* [B][scratch_row] */
  uint32_t direction; /* the one being run */
} layer;

/* ---- reading -------------------------------------------------------------------------------- */

/* Reads operand i as f64 into scratch; NULL when it is absent. */
static tl_status read_reals(tl_eval *ctx, uint32_t i, const double **out) {
  const tl_host *t = tl_eval_in(ctx, i);
  *out = NULL;
  if (!t)
    return TL_OK;
  double *to = tl_eval_scratch(ctx, t->n + 1, sizeof *to);
  if (!to)
    return tl_eval_no_memory(ctx);
  for (uint64_t k = 0; k < t->n; k++)
    to[k] = t->dtype == TL_DTYPE_F64 ? ((const double *)t->data)[k]
                                     : (double)((const float *)t->data)[k];
  *out = to;
  return TL_OK;
}

/* Checks that operand i, if it is present, has the given shape. */
static tl_status need_shape(tl_eval *ctx, uint32_t i, int rank, const int64_t *dims) {
  if (!tl_eval_in(ctx, i))
    return TL_OK;
  TL_TRY(tl_eval_need_rank(ctx, i, rank, rank));
  for (int k = 0; k < rank; k++)
    if (tl_eval_in(ctx, i)->dims[k] != dims[k])
      return tl_eval_fail(ctx, "dim %d of operand %u is %lld, expected %lld", k, i,
                          (long long)tl_eval_in(ctx, i)->dims[k], (long long)dims[k]);
  return TL_OK;
}

/* Two directions are two layers of the same sizes. */
static tl_status read_direction(tl_eval *ctx, layer *l) {
  tl_sv text = tl_eval_string(ctx, TL_SYM_direction);
  l->directions = tl_sv_is(text, "bidirectional") ? 2 : 1;
  l->first_reversed = tl_sv_is(text, "reverse");
  if (l->directions == 2 || l->first_reversed || text.n == 0 || tl_sv_is(text, "forward"))
    return TL_OK;
  return tl_eval_fail(ctx, "direction '%.*s' is none of forward, reverse, bidirectional",
                      TL_SV_ARG(text));
}

/* A sequence may be shorter than the steps; 0 is allowed. */
static tl_status read_lengths(tl_eval *ctx, layer *l) {
  tl_int_list list;
  TL_TRY(tl_eval_operand_ints(ctx, 4, &list));
  if (!list.at)
    return TL_OK;
  TL_TRY(need_shape(ctx, 4, 1, &l->batch));
  for (uint32_t b = 0; b < list.n; b++)
    if (list.at[b] < 0 || list.at[b] > l->steps)
      return tl_eval_fail(ctx, "sequence length %lld is outside [0, %lld]", (long long)list.at[b],
                          (long long)l->steps);
  l->lengths = list.at;
  return TL_OK;
}

/* Reads the sizes from X and R, and checks that W, R and B agree with them. */
static tl_status read_shapes(tl_eval *ctx, layer *l) {
  for (uint32_t i = 0; i < 3; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 3, 3));
  const tl_host *data = tl_eval_in(ctx, 0);
  l->batch_first = tl_eval_int(ctx, TL_SYM_layout, 0) != 0;
  l->steps = data->dims[l->batch_first ? 1 : 0];
  l->batch = data->dims[l->batch_first ? 0 : 1];
  l->input = data->dims[2];
  l->hidden = tl_eval_in(ctx, 2)->dims[2];
  int64_t stated = tl_eval_int(ctx, TL_SYM_hidden_size, 0);
  if (stated && stated != l->hidden)
    return tl_eval_fail(ctx, "hidden_size is %lld, but the recurrence weight is for %lld",
                        (long long)stated, (long long)l->hidden);
  if (l->hidden > INT32_MAX || l->input > INT32_MAX)
    return tl_eval_unsupported(ctx, "sizes of 2^31 and more");
  int64_t rows = l->gates * l->hidden;
  const int64_t w[3] = {l->directions, rows, l->input};
  const int64_t r[3] = {l->directions, rows, l->hidden};
  const int64_t b[2] = {l->directions, 2 * rows};
  TL_TRY(need_shape(ctx, 1, 3, w));
  TL_TRY(need_shape(ctx, 2, 3, r));
  return need_shape(ctx, 3, 2, b);
}

/* Reads X, B and the initial states; only LSTM (4 gates) has initial_c and P. */
static tl_status read_states(tl_eval *ctx, layer *l) {
  int64_t state[3] = {l->directions, l->batch, l->hidden};
  if (l->batch_first) {
    state[0] = l->batch;
    state[1] = l->directions;
  }
  TL_TRY(need_shape(ctx, 5, 3, state));
  TL_TRY(read_reals(ctx, 0, &l->x));
  TL_TRY(read_reals(ctx, 3, &l->bias));
  TL_TRY(read_reals(ctx, 5, &l->h0));
  if (l->gates != 4)
    return TL_OK;
  const int64_t peephole[2] = {l->directions, 3 * l->hidden};
  TL_TRY(need_shape(ctx, 6, 3, state));
  TL_TRY(need_shape(ctx, 7, 2, peephole));
  TL_TRY(read_reals(ctx, 6, &l->c0));
  return read_reals(ctx, 7, &l->peephole);
}

/* The defaults are those of the standard for each op. */
static tl_status read_functions(tl_eval *ctx, layer *l) {
  static const tl_rnn_function rnn[] = {TL_RNN_TANH};
  static const tl_rnn_function gru[] = {TL_RNN_SIGMOID, TL_RNN_TANH};
  static const tl_rnn_function lstm[] = {TL_RNN_SIGMOID, TL_RNN_TANH, TL_RNN_TANH};
  if (l->gates == 1)
    return tl_rnn_read_activations(ctx, l->directions, 1, rnn, l->f);
  if (l->gates == 3)
    return tl_rnn_read_activations(ctx, l->directions, 2, gru, l->f);
  return tl_rnn_read_activations(ctx, l->directions, 3, lstm, l->f);
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* Adds a product: out[n] += sum over k of a[k] * b[k][n]. Each sum runs in the order of k, whatever
 * the vector width. */
static void add_product(const double *a, int64_t k, const double *b, int64_t n, int64_t stride,
                        double *restrict out) {
  for (int64_t i = 0; i < k; i++) {
    const double v = a[i];
    const double *row = b + i * stride;
    for (int64_t j = 0; j < n; j++)
      out[j] += v * row[j];
  }
}

/* z: biases and the product with the input, to which the state's is added. */
static void rnn_cell(const layer *l, const tl_rnn_activation *f, double *z, double *h) {
  add_product(h, l->hidden, l->r, l->hidden, l->hidden, z);
  for (int64_t i = 0; i < l->hidden; i++)
    h[i] = tl_rnn_apply(&f[0], z[i]);
}

/* One step of GRU; gates in the order z, r, h. `extra` holds the recurrent part of the candidate,
 * which the reset gate scales after the product (reset_after) or whose operand it scales before. */
static void gru_cell(const layer *l, const tl_rnn_activation *f, double *z, double *h,
                     double *extra) {
  const int64_t n = l->hidden;
  double *r = z + n;
  double *g = z + 2 * n;
  add_product(h, n, l->r, 2 * n, 3 * n, z);
  for (int64_t i = 0; i < 2 * n; i++)
    z[i] = tl_rnn_apply(&f[0], z[i]);
  const double *bias = l->bias ? l->bias + (int64_t)l->direction * 6 * n + 5 * n : NULL;
  for (int64_t i = 0; i < n; i++)
    extra[i] = l->reset_after && bias ? bias[i] : 0;
  if (!l->reset_after)
    for (int64_t i = 0; i < n; i++)
      r[i] *= h[i];
  add_product(l->reset_after ? h : r, n, l->r + 2 * n, n, 3 * n, extra);
  for (int64_t i = 0; i < n; i++) {
    double candidate = tl_rnn_apply(&f[1], g[i] + (l->reset_after ? r[i] * extra[i] : extra[i]));
    h[i] = (1.0 - z[i]) * candidate + z[i] * h[i];
  }
}

/* One step of LSTM; gates in the order i, o, f, c, peepholes in the order i, o, f. The output gate
 * sees the new cell state. */
static void lstm_cell(const layer *l, const tl_rnn_activation *f, double *z, double *h, double *c) {
  const int64_t n = l->hidden;
  const double *p = l->peephole ? l->peephole + (int64_t)l->direction * 3 * n : NULL;
  add_product(h, n, l->r, 4 * n, 4 * n, z);
  for (int64_t i = 0; i < n; i++) {
    double in = tl_rnn_apply(&f[0], z[i] + (p ? p[i] * c[i] : 0));
    double keep = l->coupled ? 1.0 - in
                             : tl_rnn_apply(&f[0], z[2 * n + i] + (p ? p[2 * n + i] * c[i] : 0));
    c[i] = keep * c[i] + in * tl_rnn_apply(&f[1], z[3 * n + i]);
    double out = tl_rnn_apply(&f[0], z[n + i] + (p ? p[n + i] * c[i] : 0));
    h[i] = out * tl_rnn_apply(&f[2], c[i]);
  }
}

/* ---- sequences ------------------------------------------------------------------------------ */

/* Returns the doubles of work space that a row of the batch needs: gates, h, and c (GRU: extra). */
static int64_t scratch_row(const layer *l) { return (l->gates + 2) * l->hidden; }

/* Returns where row b of a state begins. */
static int64_t state_at(const layer *l, int64_t b) {
  int64_t row = l->batch_first ? b * l->directions + l->direction : l->direction * l->batch + b;
  return row * l->hidden;
}

/* Returns where row b of Y begins at a step. */
static int64_t output_at(const layer *l, int64_t step, int64_t b) {
  int64_t row = l->batch_first ? (b * l->steps + step) * l->directions + l->direction
                               : (step * l->directions + l->direction) * l->batch + b;
  return row * l->hidden;
}

/* Sets the gates to what does not depend on the state: biases and the product with the input. The
 * recurrent bias of a GRU's candidate is left out when the reset gate scales it. */
static void start_gates(const layer *l, int64_t step, int64_t b, double *z) {
  const int64_t n = l->gates * l->hidden;
  const int64_t row = l->batch_first ? b * l->steps + step : step * l->batch + b;
  const double *bias = l->bias ? l->bias + (int64_t)l->direction * 2 * n : NULL;
  for (int64_t i = 0; i < n; i++) {
    bool later = l->reset_after && i >= 2 * l->hidden;
    z[i] = !bias ? 0 : later ? bias[i] : bias[i] + bias[n + i];
  }
  add_product(l->x + row * l->input, l->input, l->w, n, n, z);
}

/* Runs one row of the batch over its length. A reversed direction begins at the last valid step; Y
 * is 0 beyond the length. */
static void run_row(const layer *l, int64_t b) {
  double *z = l->room + b * scratch_row(l);
  double *h = z + l->gates * l->hidden;
  double *c = h + l->hidden;
  const size_t bytes = (size_t)l->hidden * sizeof(double);
  const bool reversed = l->direction == 1 || l->first_reversed;
  const int64_t length = l->lengths ? l->lengths[b] : l->steps;
  const uint32_t each = l->gates == 1 ? 1 : l->gates == 3 ? 2 : 3;
  const tl_rnn_activation *f = l->f + (size_t)l->direction * each;
  memset(h, 0, 2 * bytes);
  if (l->h0)
    memcpy(h, l->h0 + state_at(l, b), bytes);
  if (l->c0)
    memcpy(c, l->c0 + state_at(l, b), bytes);
  for (int64_t k = 0; k < length; k++) {
    int64_t step = reversed ? length - 1 - k : k;
    start_gates(l, step, b, z);
    if (l->gates == 1)
      rnn_cell(l, f, z, h);
    else if (l->gates == 3)
      gru_cell(l, f, z, h, c);
    else
      lstm_cell(l, f, z, h, c);
    memcpy(l->y + output_at(l, step, b), h, bytes);
  }
  for (int64_t k = length; k < l->steps; k++)
    memset(l->y + output_at(l, k, b), 0, bytes);
  memcpy(l->yh + state_at(l, b), h, bytes);
  memcpy(l->yc + state_at(l, b), c, bytes);
}

/* Rows of the batch do not depend on each other. */
static void run_rows(void *user, uint64_t begin, uint64_t end) {
  for (uint64_t b = begin; b < end; b++)
    run_row(user, (int64_t)b);
}

/* ---- the kernel ----------------------------------------------------------------------------- */

/* Transposes weight i of the current direction from [rows,k] to [k,rows], as f64, for
 * add_product. */
static tl_status turn_weight(tl_eval *ctx, const layer *l, uint32_t i, double *to) {
  const tl_host *t = tl_eval_in(ctx, i);
  const int64_t rows = t->dims[1], k = t->dims[2];
  const int64_t first = (int64_t)l->direction * rows * k;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < k; c++) {
      int64_t at = first + r * k + c;
      to[c * rows + r] = t->dtype == TL_DTYPE_F64 ? ((const double *)t->data)[at]
                                                  : (double)((const float *)t->data)[at];
    }
  return TL_OK;
}

/* One transposed weight at a time bounds the memory. */
static tl_status run_directions(tl_eval *ctx, layer *l) {
  const int64_t rows = l->gates * l->hidden;
  double *w = tl_eval_scratch(ctx, (uint64_t)(rows * l->input) + 1, sizeof *w);
  double *r = tl_eval_scratch(ctx, (uint64_t)(rows * l->hidden) + 1, sizeof *r);
  l->room = tl_eval_scratch(ctx, (uint64_t)l->batch, (size_t)scratch_row(l) * sizeof *l->room);
  if (!w || !r || !l->room)
    return tl_eval_no_memory(ctx);
  l->w = w;
  l->r = r;
  for (l->direction = 0; l->direction < l->directions; l->direction++) {
    TL_TRY(turn_weight(ctx, l, 1, w));
    TL_TRY(turn_weight(ctx, l, 2, r));
    tl_eval_for(ctx, (uint64_t)l->batch, 1, run_rows, l);
  }
  return TL_OK;
}

/* Rounds once. */
static tl_status put_reals(tl_eval *ctx, uint32_t i, int rank, const int64_t *dims,
                           const double *from) {
  tl_host *t;
  tl_dtype dtype = (tl_dtype)tl_eval_in(ctx, 0)->dtype;
  TL_TRY(tl_eval_result(ctx, i, dtype, rank, dims, &t));
  for (uint64_t k = 0; k < t->n; k++)
    if (dtype == TL_DTYPE_F64)
      ((double *)t->data)[k] = from[k];
    else
      ((float *)t->data)[k] = (float)from[k];
  return TL_OK;
}

/* Y, the last h and, for LSTM, the last c. */
static tl_status put_all(tl_eval *ctx, const layer *l) {
  int64_t all[4] = {l->steps, l->directions, l->batch, l->hidden};
  int64_t last[3] = {l->directions, l->batch, l->hidden};
  if (l->batch_first) {
    memcpy(all, (const int64_t[]){l->batch, l->steps, l->directions, l->hidden}, sizeof all);
    memcpy(last, (const int64_t[]){l->batch, l->directions, l->hidden}, sizeof last);
  }
  TL_TRY(put_reals(ctx, 0, 4, all, l->y));
  TL_TRY(put_reals(ctx, 1, 3, last, l->yh));
  return l->gates == 4 ? put_reals(ctx, 2, 3, last, l->yc) : TL_OK;
}

/* yc is written for every op, so it always has room. */
static tl_status make_room(tl_eval *ctx, layer *l) {
  const int64_t dims[4] = {l->steps, l->directions, l->batch, l->hidden};
  int64_t all, last;
  if (!tl_eval_product(dims, 0, 4, &all) || !tl_eval_product(dims, 1, 4, &last))
    return tl_eval_fail(ctx, "the result has more elements than can be counted");
  l->y = tl_eval_scratch(ctx, (uint64_t)all, sizeof *l->y);
  l->yh = tl_eval_scratch(ctx, (uint64_t)last, sizeof *l->yh);
  l->yc = tl_eval_scratch(ctx, (uint64_t)last, sizeof *l->yc);
  return l->y && l->yh && l->yc ? TL_OK : tl_eval_no_memory(ctx);
}

/* RNN, GRU or LSTM. ARG: the number of gates, which tells the op: 1 RNN, 3 GRU, 4 LSTM. */
tl_status tl_eval_rnn(tl_eval *ctx) {
  layer l = {.gates = (uint32_t)ctx->arg};
  l.reset_after = l.gates == 3 && tl_eval_int(ctx, TL_SYM_linear_before_reset, 0) != 0;
  l.coupled = l.gates == 4 && tl_eval_int(ctx, TL_SYM_input_forget, 0) != 0;
  TL_TRY(read_direction(ctx, &l));
  TL_TRY(read_shapes(ctx, &l));
  TL_TRY(read_lengths(ctx, &l));
  TL_TRY(read_states(ctx, &l));
  TL_TRY(read_functions(ctx, &l));
  TL_TRY(make_room(ctx, &l));
  TL_TRY(run_directions(ctx, &l));
  return put_all(ctx, &l);
}
