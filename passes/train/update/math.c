/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the formulas of update ops (math.h). */
#include "passes/train/update/math.h"

#include "ir/ops_gen.h"
#include "passes/edit/values.h"

static double attr(const tl_update_math *u, tl_symbol name, float fallback) {
  return (double)tl_node_attr_float(u->k.m, u->n, name, fallback);
}

/* ---- formulas -------------------------------------------------------------------------------- */

static tl_formula formula(tl_update_math *u, const char *name) {
  return (tl_formula){.set = u->formulas, .k = &u->k, .name = name};
}

/* Makes a formula of two operands and at most one number. */
static tl_value_id make(tl_update_math *u, const char *name, tl_value_id a, tl_value_id b,
                        tl_formula_number number) {
  tl_formula f = formula(u, name);
  f.in[0] = a;
  f.in[1] = b;
  f.numbers[0] = number;
  tl_formula_make(&f);
  return f.out[0];
}

/* Returns v times a factor, v itself without one. */
static tl_value_id scaled(tl_update_math *u, tl_value_id v, tl_value_id factor) {
  return factor ? make(u, "Scaled", v, factor, (tl_formula_number){0}) : v;
}

static tl_value_id steps(tl_update_math *u) {
  if (!u->steps)
    u->steps = tl_make_as(&u->k, u->count_of_steps, u->dtype);
  return u->steps;
}

/* ---- steps on one tensor --------------------------------------------------------------------- */

/* Gradient with L2 regularization. */
static tl_value_id gradient(tl_update_math *u, uint32_t i) {
  tl_formula_number norm = {"norm", u->norm};
  return u->norm == 0 ? u->in[1][i] : make(u, "Regularized", u->in[0][i], u->in[1][i], norm);
}

/* What needs no gradient comes first: it may run before the gradient is there. */
static void adam(tl_update_math *u, uint32_t i) {
  tl_formula f = formula(u, u->squares ? "AdamCorrected" : "AdamStep");
  memcpy(f.in, (tl_value_id[]){u->rate, 0, 0, u->in[2][i], u->in[3][i], u->squares},
         6 * sizeof *f.in);
  memcpy(f.numbers,
         (tl_formula_number[]){
             {"alpha", u->alpha}, {"beta", u->beta}, {"epsilon", u->epsilon}, {NULL, 0}},
         4 * sizeof *f.numbers);
  tl_formula_make_early(&f);
  f.in[1] = scaled(u, u->in[0][i], u->before);
  f.in[2] = gradient(u, i);
  tl_formula_make(&f);
  tl_value_id w = scaled(u, f.out[0], u->after);
  if (u->norm_post != 0)
    w = make(u, "Shrunk", w, TL_NO_VALUE, (tl_formula_number){"norm", u->norm_post});
  u->out[0][i] = w;
  u->out[1][i] = f.out[1];
  u->out[2][i] = f.out[2];
}

static void adagrad(tl_update_math *u, uint32_t i) {
  tl_formula f = formula(u, "AdagradStep");
  f.numbers[0] = (tl_formula_number){"epsilon", u->epsilon};
  memcpy(f.in, (tl_value_id[]){u->rate, u->in[0][i], gradient(u, i), u->in[2][i]},
         4 * sizeof *f.in);
  tl_formula_make(&f);
  u->out[0][i] = f.out[0];
  u->out[1][i] = f.out[1];
}

static void momentum(tl_update_math *u, uint32_t i) {
  tl_formula f = formula(u, u->ahead ? "NesterovStep" : "MomentumStep");
  f.numbers[0] = (tl_formula_number){"alpha", u->alpha};
  memcpy(f.in, (tl_value_id[]){u->rate, u->in[0][i], 0, u->in[2][i]}, 4 * sizeof *f.in);
  tl_formula_make_early(&f);
  tl_value_id g = gradient(u, i), part = scaled(u, g, u->before);
  f.in[2] = part;
  f.in[4] = g;
  tl_formula_make(&f);
  u->out[0][i] = f.out[0];
  u->out[1][i] = f.out[1];
}

static void sgd(tl_update_math *u, uint32_t i) {
  tl_formula f = formula(u, "Descent");
  memcpy(f.in, (tl_value_id[]){u->rate, u->in[0][i], u->in[1][i]}, 3 * sizeof *f.in);
  tl_formula_make(&f);
  u->out[0][i] = f.out[0];
}

/* ---- what tensors share ---------------------------------------------------------------------- */

/* Replaces the rate by that of a formula over rate, count and count as a float, with both decays of
 * moments. Returns its second result, if it has one. */
static tl_value_id correct_rate(tl_update_math *u, const char *name) {
  tl_formula f = formula(u, name);
  memcpy(f.in, (tl_value_id[]){u->rate, u->count_of_steps, steps(u)}, 3 * sizeof *f.in);
  f.numbers[0] = (tl_formula_number){"alpha", u->alpha};
  f.numbers[1] = (tl_formula_number){"beta", u->beta};
  tl_formula_make(&f);
  u->rate = f.out[0];
  return f.out[1];
}

static void share_adam(tl_update_math *u) {
  u->norm_post = attr(u, TL_SYM_norm_coefficient_post, 0);
  (void)correct_rate(u, "AdamRate");
}

static void share_adagrad(tl_update_math *u) {
  double decay = attr(u, TL_SYM_decay_factor, 0);
  if (decay != 0)
    u->rate = make(u, "AdagradRate", u->rate, steps(u), (tl_formula_number){"decay", decay});
}

static void share_momentum(tl_update_math *u) {
  tl_formula_number beta = {"beta", u->beta};
  if (u->beta != 1)
    u->before = make(u, "MomentumFactor", u->count_of_steps, u->in[0][0], beta);
  u->ahead = tl_sv_is(tl_node_attr_string(u->k.m, u->n, TL_SYM_mode), "nesterov");
}

/* adam_mode 0: weights decay before the step and both moments are corrected. adam_mode 1: weights
 * decay behind the step, and the rate contains both corrections. */
static void share_adamw(tl_update_math *u) {
  bool last = tl_node_attr_int(u->k.m, u->n, TL_SYM_adam_mode, 0) != 0;
  double decay = attr(u, TL_SYM_weight_decay, 0.01f);
  if (decay != 0)
    *(last ? &u->after : &u->before) =
        make(u, "DecayFactor", u->rate, TL_NO_VALUE, (tl_formula_number){"decay", decay});
  if (tl_node_attr_int(u->k.m, u->n, TL_SYM_correct_bias, 1))
    u->squares = correct_rate(u, last ? "AdamWRateLast" : "AdamWRateFirst");
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

uint32_t tl_update_kinds(tl_op_id op) {
  const tl_update_formula *f = tl_update_formula_of(op);
  return f && !f->sequences ? f->kinds : 0;
}

bool tl_update_had_kinds(const tl_module *m) {
  bool any = false;
  for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
    any = any || (!formulas[i].sequences && tl_module_had_op(m, formulas[i].op));
  return any;
}

/* ---- the tensors of a node ------------------------------------------------------------------- */

static bool is_one_number(const tl_module *m, tl_value_id v) {
  uint64_t n;
  return v && tl_type_elements(m, tl_value_type(m, v), &n) && n == 1 &&
         tl_type_get(m, tl_value_type(m, v))->rank <= 1;
}

static void *table(tl_update_math *u, uint32_t n, size_t size) {
  void *made = tl_arena_calloc(u->p->scratch, n + 1u, size);
  u->k.no_memory = u->k.no_memory || !made;
  return made;
}

/* Finds the tensors of kind i: operands, or the elements of a sequence. */
static bool find_kind(tl_update_math *u, uint32_t i) {
  tl_module *m = u->k.m;
  uint32_t shared = u->f->shared;
  tl_node_id construct = u->f->sequences ? tl_list_maker(m, tl_operand(m, u->n, shared + i))
                                         : TL_NO_NODE;
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

/* Returns the type that a declared list says that its elements have. */
static tl_type_id listed_type(const tl_update_math *u, uint32_t list) {
  tl_value_id v = tl_result(u->k.m, u->n, list + 1); /* behind the flag */
  return v ? tl_type_get(u->k.m, tl_value_type(u->k.m, v))->element : TL_NO_TYPE;
}

/* Returns true if gradients and moments of each weight, and the lists of results, may have its
 * shape: the op is not for others, and arithmetic would give what nothing downstream expects. */
static bool has_one_shape(const tl_update_math *u) {
  const tl_module *m = u->k.m;
  for (uint32_t e = 0; e < u->count; e++) {
    tl_type_id weight = tl_value_type(m, u->in[0][e]);
    for (uint32_t i = 1; i < u->f->kinds; i++)
      if (tl_types_clash(m, weight, tl_value_type(m, u->in[i][e])))
        return false;
    for (uint32_t r = 0; u->f->sequences && r + 1 < u->f->kinds; r++)
      if (listed_type(u, r) && tl_types_clash(m, weight, listed_type(u, r)))
        return false;
  }
  return true;
}

bool tl_update_math_open(tl_update_math *u, tl_pass *p, tl_module *m, tl_node_id n) {
  const tl_update_formula *f = tl_update_formula_of(tl_node_get(m, n)->op);
  uint32_t operands = tl_node_get(m, n)->n_operands;
  *u = (tl_update_math){.f = f, .p = p, .n = n, .k = tl_maker_before(m, n)};
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
  return fits && u->count && !u->k.no_memory && has_one_shape(u) &&
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
  if (tl_pass_formulas(u->p, u->k.m, &u->formulas) != TL_OK) {
    u->k.no_memory = true;
    return;
  }
  if (u->f->shared > 1)
    u->count_of_steps = as_scalar(u, tl_operand(u->k.m, u->n, 1));
  u->rate = tl_make_as(&u->k, as_scalar(u, tl_operand(u->k.m, u->n, 0)), u->dtype);
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
