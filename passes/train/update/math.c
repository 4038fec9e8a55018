/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the formulas of update ops (math.h). */
#include "passes/train/update/math.h"

#include "ir/ops_gen.h"

static double attr(const tl_update_math *u, tl_symbol name, float fallback) {
  return (double)tl_node_attr_float(u->k.m, u->n, name, fallback);
}

static tl_value_id op(tl_update_math *u, tl_op_id o, tl_value_id a, tl_value_id b) {
  return tl_make(&u->k, o, a, b, TL_NO_VALUE);
}

static tl_value_id number(tl_update_math *u, double v) {
  return tl_make_number(&u->k, u->dtype, v);
}

static tl_value_id times(tl_update_math *u, tl_value_id v, double factor) {
  return op(u, TL_OP_Mul, v, number(u, factor));
}

static tl_value_id as(tl_update_math *u, tl_value_id v, tl_dtype dtype) {
  if (!v || tl_type_dtype(u->k.m, tl_value_type(u->k.m, v)) == dtype)
    return v;
  return tl_make_with(&u->k, TL_OP_Cast, v, TL_NO_VALUE,
                      tl_attr_int(TL_SYM_to, tl_dtype_get(dtype)->onnx));
}

/* Returns a at later steps, b at the first one (count 0), where bias correction would divide by
 * 0. */
static tl_value_id either(tl_update_math *u, tl_value_id a, tl_value_id b) {
  if (!u->later)
    u->later = op(u, TL_OP_Greater, u->count_of_steps, tl_make_int(&u->k, 0));
  return tl_make(&u->k, TL_OP_Where, u->later, a, b);
}

static tl_value_id steps(tl_update_math *u) {
  if (!u->steps)
    u->steps = as(u, u->count_of_steps, u->dtype);
  return u->steps;
}

/* Bias correction: 1 - b^steps. */
static tl_value_id correction(tl_update_math *u, double b) {
  tl_value_id base = number(u, b);
  tl_value_id power = op(u, TL_OP_Pow, base, steps(u));
  tl_value_id one = number(u, 1);
  return op(u, TL_OP_Sub, one, power);
}

/* ---- steps on one tensor --------------------------------------------------------------------- */

/* Gradient with L2 regularization: g + norm * w. */
static tl_value_id gradient(tl_update_math *u, uint32_t i) {
  return u->norm == 0 ? u->in[1][i] : op(u, TL_OP_Add, times(u, u->in[0][i], u->norm), u->in[1][i]);
}

/* m = alpha m + (1 - alpha) g; v = beta v + (1 - beta) g^2; w -= rate m / (sqrt(v) + epsilon). */
static void adam(tl_update_math *u, uint32_t i) {
  tl_value_id m = times(u, u->in[2][i], u->alpha);
  tl_value_id v = times(u, u->in[3][i], u->beta);
  tl_value_id w = u->before ? op(u, TL_OP_Mul, u->in[0][i], u->before) : u->in[0][i];
  tl_value_id g = gradient(u, i);
  m = op(u, TL_OP_Add, m, times(u, g, 1 - u->alpha));
  v = op(u, TL_OP_Add, v, times(u, op(u, TL_OP_Mul, g, g), 1 - u->beta));
  tl_value_id s = u->squares ? op(u, TL_OP_Div, v, u->squares) : v;
  tl_value_id below = op(u, TL_OP_Sqrt, s, TL_NO_VALUE);
  below = op(u, TL_OP_Add, below, number(u, u->epsilon));
  tl_value_id d = op(u, TL_OP_Div, op(u, TL_OP_Mul, m, u->rate), below);
  w = op(u, TL_OP_Sub, w, d);
  u->out[0][i] = u->after ? op(u, TL_OP_Mul, w, u->after) : w;
  u->out[1][i] = m;
  u->out[2][i] = v;
}

/* h += g^2; w -= rate g / (sqrt(h) + epsilon). */
static void adagrad(tl_update_math *u, uint32_t i) {
  tl_value_id g = gradient(u, i);
  tl_value_id h = op(u, TL_OP_Add, u->in[2][i], op(u, TL_OP_Mul, g, g));
  tl_value_id below = op(u, TL_OP_Sqrt, h, TL_NO_VALUE);
  below = op(u, TL_OP_Add, below, number(u, u->epsilon));
  tl_value_id d = op(u, TL_OP_Div, op(u, TL_OP_Mul, g, u->rate), below);
  u->out[0][i] = op(u, TL_OP_Sub, u->in[0][i], d);
  u->out[1][i] = h;
}

/* v = alpha v + beta g, with beta 1 at the first step; w -= rate v; Nesterov: w -= rate (g + alpha
 * v). */
static void momentum(tl_update_math *u, uint32_t i) {
  tl_value_id v = times(u, u->in[2][i], u->alpha);
  tl_value_id g = gradient(u, i);
  v = op(u, TL_OP_Add, v, u->before ? op(u, TL_OP_Mul, g, u->before) : g);
  tl_value_id s = u->ahead ? op(u, TL_OP_Add, times(u, v, u->alpha), g) : v;
  u->out[0][i] = op(u, TL_OP_Sub, u->in[0][i], op(u, TL_OP_Mul, s, u->rate));
  u->out[1][i] = v;
}

/* w -= rate g */
static void sgd(tl_update_math *u, uint32_t i) {
  u->out[0][i] = op(u, TL_OP_Sub, u->in[0][i], op(u, TL_OP_Mul, u->in[1][i], u->rate));
}

/* ---- what tensors share ---------------------------------------------------------------------- */

/* 1 - rate * decay */
static tl_value_id shrinking(tl_update_math *u, double decay) {
  if (decay == 0)
    return TL_NO_VALUE;
  tl_value_id part = times(u, u->rate, decay);
  return op(u, TL_OP_Sub, number(u, 1), part);
}

static void share_adam(tl_update_math *u) {
  double post = attr(u, TL_SYM_norm_coefficient_post, 0);
  tl_value_id root = op(u, TL_OP_Sqrt, correction(u, u->beta), TL_NO_VALUE);
  tl_value_id part = op(u, TL_OP_Div, root, correction(u, u->alpha));
  u->rate = either(u, op(u, TL_OP_Mul, u->rate, part), u->rate);
  u->after = post == 0 ? TL_NO_VALUE : number(u, 1 - post);
}

static void share_adagrad(tl_update_math *u) {
  double decay = attr(u, TL_SYM_decay_factor, 0);
  if (decay == 0)
    return;
  tl_value_id below = times(u, steps(u), decay);
  below = op(u, TL_OP_Add, below, number(u, 1));
  u->rate = op(u, TL_OP_Div, u->rate, below);
}

static void share_momentum(tl_update_math *u) {
  if (u->beta != 1) {
    tl_value_id one = number(u, 1);
    u->before = either(u, number(u, u->beta), one);
  }
  u->ahead = tl_sv_is(tl_node_attr_string(u->k.m, u->n, TL_SYM_mode), "nesterov");
}

/* adam_mode 0: weights decay before the step and both moments are corrected. adam_mode 1: weights
 * decay behind the step, and the rate contains both corrections. */
static void share_adamw(tl_update_math *u) {
  bool last = tl_node_attr_int(u->k.m, u->n, TL_SYM_adam_mode, 0) != 0;
  tl_value_id shrink = shrinking(u, attr(u, TL_SYM_weight_decay, 0.01f));
  *(last ? &u->after : &u->before) = shrink;
  if (!tl_node_attr_int(u->k.m, u->n, TL_SYM_correct_bias, 1))
    return;
  tl_value_id first = correction(u, u->alpha);
  tl_value_id second = correction(u, u->beta);
  tl_value_id rate = u->rate;
  if (last)
    rate = op(u, TL_OP_Mul, rate, op(u, TL_OP_Sqrt, second, TL_NO_VALUE));
  else
    u->squares = either(u, second, number(u, 1));
  u->rate = either(u, op(u, TL_OP_Div, rate, first), u->rate);
}

/* ---- the ops --------------------------------------------------------------------------------- */

static const tl_update_formula formulas[] = {
    {TL_OP_ai_onnx_preview_training_Adam, 2, 4, false, false, 1e-6f, share_adam, adam},
    {TL_OP_ai_onnx_preview_training_Adagrad, 2, 3, false, false, 1e-6f, share_adagrad, adagrad},
    {TL_OP_ai_onnx_preview_training_Momentum, 2, 3, false, false, 0, share_momentum, momentum},
    {TL_OP_com_microsoft_AdamWOptimizer, 2, 4, true, false, 1e-8f, share_adamw, adam},
    {TL_OP_com_microsoft_SGDOptimizerV2, 1, 2, true, true, 0, NULL, sgd},
};

const tl_update_formula *tl_update_formula_of(tl_op_id o) {
  for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
    if (formulas[i].op == o)
      return &formulas[i];
  return NULL;
}

/* ---- the tensors of a node ------------------------------------------------------------------- */

static bool is_one_number(const tl_module *m, tl_value_id v) {
  uint64_t n;
  return v && tl_type_elements(m, tl_value_type(m, v), &n) && n == 1 &&
         tl_type_get(m, tl_value_type(m, v))->rank <= 1;
}

static void *table(tl_update_math *u, uint32_t n, size_t size) {
  void *made = tl_arena_calloc(u->scratch, n + 1u, size);
  u->k.no_memory = u->k.no_memory || !made;
  return made;
}

/* Returns the SequenceConstruct behind an operand; TL_NO_NODE if something else made it. */
static tl_node_id construct_of(const tl_module *m, tl_node_id n, uint32_t operand) {
  tl_value_id v = tl_operand(m, n, operand);
  tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
  return p && tl_node_get(m, p)->op == TL_OP_SequenceConstruct ? p : TL_NO_NODE;
}

/* Finds the tensors of kind i: operands, or the elements of a sequence. */
static bool find_kind(tl_update_math *u, uint32_t i) {
  tl_module *m = u->k.m;
  uint32_t shared = u->f->shared;
  tl_node_id construct = u->f->sequences ? construct_of(m, u->n, shared + i) : TL_NO_NODE;
  if (u->f->sequences && !construct)
    return false;
  if (construct && i == 0)
    u->count = tl_node_get(m, construct)->n_operands;
  if (construct && tl_node_get(m, construct)->n_operands != u->count)
    return false;
  tl_value_id *at = table(u, u->count, sizeof *at);
  for (uint32_t e = 0; at && e < u->count; e++) {
    at[e] = construct ? tl_operand(m, construct, e)
                      : tl_operand(m, u->n, shared + i * u->count + e);
    tl_type_id type = at[e] ? tl_value_type(m, at[e]) : TL_NO_TYPE;
    if (i == 0 && e == 0 && type)
      u->dtype = tl_type_dtype(m, type);
    if (!type || tl_type_dtype(m, type) != u->dtype || tl_type_get(m, type)->rank < 0)
      return false;
  }
  u->constructs[i] = construct;
  u->in[i] = at;
  return at != NULL;
}

bool tl_update_math_open(tl_update_math *u, tl_module *m, tl_node_id n, tl_arena *scratch) {
  const tl_update_formula *f = tl_update_formula_of(tl_node_get(m, n)->op);
  uint32_t operands = tl_node_get(m, n)->n_operands;
  *u = (tl_update_math){.f = f, .scratch = scratch, .n = n, .k = tl_maker_before(m, n)};
  if (!f || operands < f->shared + f->kinds || (!f->sequences && (operands - f->shared) % f->kinds))
    return false;
  for (uint32_t i = 0; i < f->shared; i++)
    if (!is_one_number(m, tl_operand(m, n, i)))
      return false;
  u->count = (operands - f->shared) / f->kinds;
  for (uint32_t i = 0; i < f->kinds; i++)
    if (!find_kind(u, i))
      return false;
  for (uint32_t r = 0; r + 1 < f->kinds; r++)
    u->out[r] = table(u, u->count, sizeof *u->out[r]);
  bool fits = f->sequences || tl_node_get(m, n)->n_results == u->count * (f->kinds - 1);
  return fits && u->count && !u->k.no_memory &&
         (u->dtype == TL_DTYPE_F32 || u->dtype == TL_DTYPE_F64);
}

static tl_value_id as_scalar(tl_update_math *u, tl_value_id v) {
  return tl_type_get(u->k.m, tl_value_type(u->k.m, v))->rank == 1 ? tl_make_squeeze(&u->k, v, 0)
                                                                  : v;
}

/* Returns true if a weight has rank 0: a signal of shape [1] broadcasts to all others, but would
 * turn a scalar into a vector. */
static bool has_numbers(const tl_update_math *u) {
  for (uint32_t i = 0; i < u->count; i++)
    if (tl_type_get(u->k.m, tl_value_type(u->k.m, u->in[0][i]))->rank == 0)
      return true;
  return false;
}

/* Chooses new values where the op is told to update, old ones otherwise. */
static void choose(tl_update_math *u) {
  tl_value_id v = tl_operand(u->k.m, u->n, u->f->shared + u->f->kinds);
  tl_value_id signal = !u->f->sequences ? TL_NO_VALUE : v && has_numbers(u) ? as_scalar(u, v) : v;
  for (uint32_t r = 0; signal && r + 1 < u->f->kinds; r++)
    for (uint32_t i = 0; i < u->count && !tl_maker_failed(&u->k); i++)
      u->out[r][i] = tl_make(&u->k, TL_OP_Where, signal, u->out[r][i], u->in[r ? r + 1 : 0][i]);
}

void tl_update_math_make(tl_update_math *u) {
  if (u->f->shared > 1)
    u->count_of_steps = as_scalar(u, tl_operand(u->k.m, u->n, 1));
  u->rate = as(u, as_scalar(u, tl_operand(u->k.m, u->n, 0)), u->dtype);
  u->alpha = attr(u, TL_SYM_alpha, 0.9f);
  u->beta = attr(u, TL_SYM_beta, 0.999f);
  u->epsilon = attr(u, TL_SYM_epsilon, u->f->epsilon);
  u->norm = attr(u, TL_SYM_norm_coefficient, 0);
  if (u->f->share)
    u->f->share(u);
  for (uint32_t i = 0; i < u->count && !tl_maker_failed(&u->k); i++)
    u->f->step(u, i);
  choose(u);
}
