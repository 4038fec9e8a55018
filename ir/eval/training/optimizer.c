/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one step of optimizers on a tensor. Ops of ai.onnx.preview.training take several tensors
 * at once, those of com.microsoft one, or sequences (optimizer_seq.c).
 *
 * The formulas are written here once more, although passes/definitions/formulas.tlr has them: a
 * kernel computes each element in f64 in one walk and rounds each result once, while the nodes of a
 * formula round behind each op. Evaluating those would change the bits of results and need a tensor
 * for each node. tests/train/formulas.py holds both as near to each other as rounding allows. */
#include "ir/eval/training/optimizer.h"

#include <math.h>

#include "ir/eval/math/elementary.h"

enum { STEP_WORK = 1 << 14 };

/* Stores one number, if the result is wanted. */
static void put(tl_host *t, uint64_t i, double v) {
  if (t)
    tl_cells_store(t->dtype, &v, t->data, i, 1, 1);
}

/* ---- Adam, in its variants ------------------------------------------------------------------ */

/* One element: moments, then the change of the weight. The two modes differ in where epsilon is
 * added and in whether the decay applies to the old or to the changed weight (tl_adam_mode). */
static void adam_range(void *user, uint64_t begin, uint64_t end) {
  const tl_adam *a = user;
  for (uint64_t i = begin; i < end; i++) {
    double w = tl_cell_at(a->w, i), g = tl_cell_at(a->g, i) / a->scale, change;
    double m1 = a->alpha * tl_cell_at(a->m1, i) + (1 - a->alpha) * g;
    double m2 = a->beta * tl_cell_at(a->m2, i) + (1 - a->beta) * g * g;
    if (a->mode == TL_ADAM_DECAY_FIRST)
      change = -a->rate * m1 / a->correct1 / (sqrt(m2 / a->correct2) + a->epsilon) -
               a->rate * a->decay * w;
    else {
      change = -a->rate * sqrt(a->correct2) / a->correct1 * m1 / (sqrt(m2) + a->epsilon);
      change -= a->rate * a->decay * (w + change);
    }
    put(a->new_w, i, w + change);
    put(a->new_m1, i, m1);
    put(a->new_m2, i, m2);
    put(a->change, i, change);
    put(a->narrow, i, w + change);
  }
}

/* Step 0 has no correction, which would divide by 0. */
void tl_adam_correct(tl_adam *a, int64_t step, bool correct) {
  a->correct1 = correct && step > 0 ? 1 - tl_pow(a->alpha, (double)step) : 1;
  a->correct2 = correct && step > 0 ? 1 - tl_pow(a->beta, (double)step) : 1;
}

/* Elements do not depend on each other. */
tl_status tl_adam_step(tl_eval *ctx, const tl_adam *a) {
  const tl_host *all[] = {a->w, a->g, a->m1, a->m2};
  for (int i = 0; i < 4; i++)
    if (!tl_cells_are_floats(all[i]->dtype) || all[i]->n != a->w->n)
      return tl_eval_fail(ctx, "weights, gradients and moments must be f32 or f64 of one size");
  tl_eval_for(ctx, a->w->n, STEP_WORK, adam_range, (void *)(uintptr_t)a);
  return TL_OK;
}

/* For each result of AdamOptimizer, the operand whose shape and type it has. */
static const uint32_t adam_like[] = {1, 4, 5, 2, 3, 6};

/* Finds what gradients are divided by: the loss scale, or more where the norm of all gradients
 * would otherwise exceed max_norm_clip. */
static tl_status gradient_scale(tl_eval *ctx, double *scale) {
  double norm, most = (double)tl_eval_float(ctx, TL_SYM_max_norm_clip, 1);
  TL_TRY(tl_eval_operand_float(ctx, 7, 1, scale));
  if (!tl_eval_in(ctx, 8))
    return TL_OK;
  TL_TRY(tl_eval_operand_float(ctx, 8, 0, &norm));
  if (norm > *scale * most)
    *scale = norm / most;
  return TL_OK;
}

/* The decay of the weight is attribute lambda. */
static tl_status read_adam(tl_eval *ctx, tl_adam *a, int64_t step) {
  int64_t mode = tl_eval_int(ctx, TL_SYM_weight_decay_mode, 0);
  if (mode != 0 && mode != 1)
    return tl_eval_fail(ctx, "attribute weight_decay_mode is %lld, neither 0 nor 1",
                        (long long)mode);
  *a = (tl_adam){.w = tl_eval_in(ctx, 2),
                 .g = tl_eval_in(ctx, 3),
                 .m1 = tl_eval_in(ctx, 4),
                 .m2 = tl_eval_in(ctx, 5),
                 .alpha = (double)tl_eval_float(ctx, TL_SYM_alpha, 0.9f),
                 .beta = (double)tl_eval_float(ctx, TL_SYM_beta, 0.999f),
                 .epsilon = (double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-8f),
                 .decay = (double)tl_eval_float(ctx, TL_SYM_lambda, 0)};
  a->mode = mode ? TL_ADAM_DECAY_LAST : TL_ADAM_DECAY_FIRST;
  tl_adam_correct(a, step, tl_eval_int(ctx, TL_SYM_do_bias_correction, 1) != 0);
  TL_TRY(tl_eval_operand_float(ctx, 0, 0, &a->rate));
  return gradient_scale(ctx, &a->scale);
}

/* AdamOptimizer: R, T, weights, gradients, two moments, weights in another dtype, loss scale, norm
 * of all gradients, whether to update -> T + 1, moments, weights, their change, weights in that
 * dtype. */
tl_status tl_eval_adam(tl_eval *ctx) {
  tl_adam a;
  tl_host *count, **to[] = {&count, &a.new_m1, &a.new_m2, &a.new_w, &a.change, &a.narrow};
  int64_t step, update;
  for (uint32_t i = 2; i < 6; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &step));
  TL_TRY(tl_eval_operand_int(ctx, 9, 1, &update));
  TL_TRY(read_adam(ctx, &a, step));
  for (uint32_t i = 0; i < 6; i++) {
    const tl_host *like = tl_eval_in(ctx, adam_like[i]);
    if (like && !update)
      TL_TRY(tl_eval_pass(ctx, i, (tl_host *)(uintptr_t)like));
    else if (like)
      TL_TRY(tl_eval_result_like(ctx, i, (tl_dtype)like->dtype, like, to[i]));
  }
  if (!update)
    return TL_OK;
  if (a.narrow && a.narrow->n != a.w->n)
    return tl_eval_fail(ctx, "weights of two dtypes differ in size");
  ((int64_t *)count->data)[0] = (int64_t)((uint64_t)step + 1);
  return tl_adam_step(ctx, &a);
}

/* ---- ai.onnx.preview.training --------------------------------------------------------------- */

enum { ADAGRAD, ADAM, MOMENTUM };

/* An optimizer and the tensor at hand. */
typedef struct training {
  int64_t op;
  double rate;
  double norm; /* of the regularisation */
  double post; /* Adam: of the regularisation after the step */
  double alpha;
  double beta;
  double epsilon;
  double momentum; /* Momentum: factor of the gradient */
  bool nesterov;
  const tl_host *in[4]; /* X, G and one or two states */
  tl_host *out[3];      /* X and the states */
} training;

/* One element of Adagrad, Adam or Momentum; g includes the regularization. */
static void train_range(void *user, uint64_t begin, uint64_t end) {
  const training *t = user;
  for (uint64_t i = begin; i < end; i++) {
    double w = tl_cell_at(t->in[0], i), state = tl_cell_at(t->in[2], i);
    double g = t->norm * w + tl_cell_at(t->in[1], i);
    if (t->op == ADAGRAD) {
      state += g * g;
      w -= t->rate * g / (sqrt(state) + t->epsilon);
    } else if (t->op == ADAM) {
      double squares = t->beta * tl_cell_at(t->in[3], i) + (1 - t->beta) * g * g;
      state = t->alpha * state + (1 - t->alpha) * g;
      w = (1 - t->post) * (w - t->rate * state / (sqrt(squares) + t->epsilon));
      put(t->out[2], i, squares);
    } else {
      state = t->alpha * state + t->momentum * g;
      w -= t->rate * (t->nesterov ? g + t->alpha * state : state);
    }
    put(t->out[0], i, w);
    put(t->out[1], i, state);
  }
}

/* Reads the attributes. What depends on the step (decay, bias correction) goes into the rate. */
static tl_status read_rate(tl_eval *ctx, training *t) {
  int64_t step;
  TL_TRY(tl_eval_operand_float(ctx, 0, 0, &t->rate));
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &step));
  t->norm = (double)tl_eval_float(ctx, TL_SYM_norm_coefficient, 0);
  t->post = (double)tl_eval_float(ctx, TL_SYM_norm_coefficient_post, 0);
  t->alpha = (double)tl_eval_float(ctx, TL_SYM_alpha, 0.9f);
  t->beta = (double)tl_eval_float(ctx, TL_SYM_beta, 0.999f);
  t->epsilon = (double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-6f);
  t->momentum = step > 0 ? t->beta : 1;
  if (t->op == ADAGRAD)
    t->rate /= 1 + (double)step * (double)tl_eval_float(ctx, TL_SYM_decay_factor, 0);
  if (t->op == ADAM && step > 0)
    t->rate *= sqrt(1 - tl_pow(t->beta, (double)step)) / (1 - tl_pow(t->alpha, (double)step));
  if (t->op != MOMENTUM)
    return TL_OK;
  tl_sv mode = tl_eval_string(ctx, TL_SYM_mode);
  t->nesterov = tl_sv_is(mode, "nesterov");
  if (!t->nesterov && !tl_sv_is(mode, "standard"))
    return tl_eval_fail(ctx, "attribute mode is '%.*s'", TL_SV_ARG(mode));
  return TL_OK;
}

/* R, T, then all X, all G, and all of each state -> all X, then the states. ARG: which
 * optimizer. */
tl_status tl_eval_train(tl_eval *ctx) {
  training t = {.op = ctx->arg};
  uint32_t states = t.op == ADAM ? 2 : 1, kinds = 2 + states;
  if (ctx->n_in < 2 + kinds || (ctx->n_in - 2) % kinds ||
      ctx->n_out < (ctx->n_in - 2) / kinds * (kinds - 1))
    return tl_eval_fail(ctx, "operands and results do not fit together");
  TL_TRY(read_rate(ctx, &t));
  uint32_t n = (ctx->n_in - 2) / kinds;
  for (uint32_t k = 0; k < n; k++) {
    for (uint32_t i = 0; i < kinds; i++) {
      TL_TRY(tl_eval_need_rank(ctx, 2 + i * n + k, 0, TL_MAX_RANK));
      t.in[i] = tl_eval_in(ctx, 2 + i * n + k);
      if (t.in[i]->n != t.in[0]->n)
        return tl_eval_fail(ctx, "operand %u differs in size from its parameter", 2 + i * n + k);
    }
    for (uint32_t i = 0; i <= states; i++) {
      const tl_host *from = t.in[i ? i + 1 : 0];
      TL_TRY(tl_eval_result_like(ctx, i * n + k, (tl_dtype)from->dtype, from, &t.out[i]));
    }
    tl_eval_for(ctx, t.in[0]->n, STEP_WORK, train_range, &t);
  }
  return TL_OK;
}

/* ---- com.microsoft, single tensors ---------------------------------------------------------- */

/* SGDOptimizer: ETA, W, G -> W - ETA * G, and the change. */
tl_status tl_eval_sgd(tl_eval *ctx) {
  double rate;
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 2, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_operand_float(ctx, 0, 0, &rate));
  const tl_host *w = tl_eval_in(ctx, 1), *g = tl_eval_in(ctx, 2);
  tl_host *out, *change;
  if (w->n != g->n)
    return tl_eval_fail(ctx, "weights and gradients differ in size");
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)w->dtype, w, &out));
  TL_TRY(tl_eval_result_like(ctx, 1, (tl_dtype)g->dtype, g, &change));
  for (uint64_t i = 0; i < w->n; i++) {
    double v = -rate * tl_cell_at(g, i);
    put(change, i, v);
    put(out, i, tl_cell_at(w, i) + v);
  }
  return TL_OK;
}

/* An absent operand has the fallback. */
static tl_status read_flag(tl_eval *ctx, uint32_t i, bool fallback, bool *out) {
  int64_t v;
  TL_TRY(tl_eval_operand_int(ctx, i, fallback, &v));
  *out = v != 0;
  return TL_OK;
}

/* ARG 0: InPlaceAccumulator: sum, value, update signal -> sum. ARG 1: InPlaceAccumulatorV2: buffer,
 * value, overwrite flag -> flag, buffer. */
tl_status tl_eval_accumulate(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, TL_MAX_RANK));
  const tl_host *sum = tl_eval_in(ctx, 0), *value = tl_eval_in(ctx, 1);
  bool flag;
  tl_host *out, *updated;
  if (sum->n != value->n)
    return tl_eval_fail(ctx, "buffer and value differ in size");
  TL_TRY(read_flag(ctx, 2, ctx->arg == 0, &flag));
  if (ctx->arg) {
    TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_BOOL, 1, (const int64_t[]){1}, &updated));
    ((uint8_t *)updated->data)[0] = 1;
  }
  TL_TRY(tl_eval_result_like(ctx, ctx->arg ? 1 : 0, (tl_dtype)sum->dtype, sum, &out));
  bool with_sum = ctx->arg == 0 || !flag, with_value = ctx->arg == 1 || flag;
  for (uint64_t i = 0; i < sum->n; i++)
    put(out, i, (with_sum ? tl_cell_at(sum, i) : 0) + (with_value ? tl_cell_at(value, i) : 0));
  return TL_OK;
}

/* ReduceAllL2: the length of all operands as one vector. */
tl_status tl_eval_reduce_all_l2(tl_eval *ctx) {
  double sum = 0;
  tl_host *out;
  tl_value_id v = tl_result(ctx->m, ctx->node, 0);
  bool f64 = tl_type_dtype(ctx->m, tl_value_type(ctx->m, v)) == TL_DTYPE_F64;
  for (uint32_t i = 0; i < ctx->n_in; i++) {
    TL_TRY(tl_eval_need_rank(ctx, i, 0, TL_MAX_RANK));
    for (uint64_t k = 0; k < ctx->in[i]->n; k++)
      sum += tl_cell_at(ctx->in[i], k) * tl_cell_at(ctx->in[i], k);
  }
  TL_TRY(tl_eval_result(ctx, 0, f64 ? TL_DTYPE_F64 : TL_DTYPE_F32, 0, NULL, &out));
  put(out, 0, sqrt(sum));
  return TL_OK;
}
