/* SPDX-License-Identifier: Apache-2.0 */
/* plain-updates for optimizers of one tensor: AdamOptimizer and SGDOptimizer of com.microsoft.
 * Graphs that were exported with their updates have them. The arithmetic is that of ONNX Runtime's
 * kernels, except that an element whose change is not finite gets no special treatment. */
#include "passes/train/update/plain_single.h"

#include "ir/ops_gen.h"
#include "passes/engine/formula.h"
#include "passes/train/update/take_place.h"

typedef struct single {
  tl_node_id n;
  tl_maker k;     /* nodes go in front of n */
  tl_dtype dtype; /* of weights, in which all is computed */
  tl_ruleset *formulas;
  tl_value_id first;  /* values from here on are new */
  tl_value_id signal; /* whether to update; TL_NO_VALUE: yes */
} single;

/* ---- what is certain ------------------------------------------------------------------------- */

static tl_dtype dtype_at(const tl_module *m, tl_node_id n, uint32_t operand) {
  tl_value_id v = tl_operand(m, n, operand);
  return v ? tl_type_dtype(m, tl_value_type(m, v)) : TL_DTYPE_NONE;
}

static bool is_float(tl_dtype d) {
  return d == TL_DTYPE_F16 || d == TL_DTYPE_BF16 || d == TL_DTYPE_F32 || d == TL_DTYPE_F64;
}

/* Returns true if an operand is one number, or is absent and may be. */
static bool is_one_number(const tl_module *m, tl_node_id n, uint32_t operand, bool may_lack) {
  tl_value_id v = tl_operand(m, n, operand);
  uint64_t count;
  if (!v)
    return may_lack;
  return tl_type_elements(m, tl_value_type(m, v), &count) && count == 1 &&
         tl_type_get(m, tl_value_type(m, v))->rank <= 1;
}

/* Returns why the tensors from operand `first` to `last` prevent the replacement; NULL if nothing
 * does. */
static const char *why_not_tensors(const tl_module *m, tl_node_id n, uint32_t first,
                                   uint32_t last) {
  for (uint32_t i = first; i <= last; i++) {
    tl_value_id v = tl_operand(m, n, i);
    if (!v || tl_type_get(m, tl_value_type(m, v))->rank < 0)
      return "a tensor of unknown rank";
  }
  if (tl_node_get(m, n)->control_in || tl_node_get(m, n)->control_out)
    return "control edges";
  tl_dtype dtype = dtype_at(m, n, first);
  return dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F64 ? NULL
                                                        : "weights that are neither f32 nor f64";
}

static const char *why_not_adam(const tl_module *m, tl_node_id n) {
  const char *why = why_not_tensors(m, n, 2, 5);
  int64_t mode = tl_node_attr_int(m, n, TL_SYM_weight_decay_mode, 0);
  if (why)
    return why;
  if (mode != 0 && mode != 1)
    return "a weight_decay_mode that is neither 0 nor 1";
  if (dtype_at(m, n, 4) != dtype_at(m, n, 2) || dtype_at(m, n, 5) != dtype_at(m, n, 2))
    return "moments of another dtype than the weights";
  if (!is_float(dtype_at(m, n, 3)))
    return "gradients of an unknown dtype";
  for (uint32_t i = 0; i < 2; i++)
    if (!is_one_number(m, n, i, false))
      return "a rate or count that is not known to be one number";
  for (uint32_t i = 7; i < 10; i++)
    if (!is_one_number(m, n, i, true))
      return "a scale, norm or signal that is not known to be one number";
  if (tl_node_get(m, n)->n_results > 6 || (tl_result(m, n, 5) && !is_float(dtype_at(m, n, 6))))
    return "results without operands";
  return NULL;
}

static const char *why_not_sgd(const tl_module *m, tl_node_id n) {
  const char *why = why_not_tensors(m, n, 1, 2);
  if (why)
    return why;
  if (tl_node_get(m, n)->n_results > 2)
    return "results without operands";
  if (dtype_at(m, n, 2) != dtype_at(m, n, 1))
    return "gradients of another dtype than the weights";
  return is_one_number(m, n, 0, false) ? NULL : "a rate that is not known to be one number";
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static tl_value_id op(single *s, tl_op_id o, tl_value_id a, tl_value_id b) {
  return tl_make(&s->k, o, a, b, TL_NO_VALUE);
}

/* A formula of passes/definitions/formulas.tlr with up to two numbers. */
static tl_formula formula(single *s, const char *name, tl_formula_number a, tl_formula_number b) {
  return (tl_formula){.set = s->formulas, .k = &s->k, .name = name, .numbers = {a, b}};
}

/* Makes a formula with up to four operands and one number. */
static tl_value_id computed(single *s, const char *name, const tl_value_id in[4],
                            tl_formula_number number) {
  tl_formula f = formula(s, name, number, (tl_formula_number){0});
  memcpy(f.in, in, 4 * sizeof *in);
  tl_formula_make(&f);
  return f.out[0];
}

static double attr(const single *s, tl_symbol name, float fallback) {
  return (double)tl_node_attr_float(s->k.m, s->n, name, fallback);
}

static tl_value_id scalar(single *s, tl_value_id v) {
  bool along = v && tl_type_get(s->k.m, tl_value_type(s->k.m, v))->rank == 1;
  return along ? tl_make_squeeze(&s->k, v, 0) : v;
}

static tl_value_id operand(single *s, uint32_t i) { return tl_operand(s->k.m, s->n, i); }

/* Returns an operand that is one number as a scalar of the weights' dtype. */
static tl_value_id number_at(single *s, uint32_t i) {
  return tl_make_as(&s->k, scalar(s, operand(s, i)), s->dtype);
}

static bool is_wanted(const single *s, uint32_t result) {
  tl_value_id v = tl_result(s->k.m, s->n, result);
  return v && tl_value_get(s->k.m, v)->n_uses;
}

/* Replaces result i by `made`, or by operand `old` where the op is told not to update. */
static void give(single *s, uint32_t i, tl_value_id made, uint32_t old) {
  if (s->signal)
    made = tl_make(&s->k, TL_OP_Where, s->signal, made, operand(s, old));
  tl_plain_take_place(&s->k, tl_result(s->k.m, s->n, i), made, s->first);
}

/* ---- Adam ------------------------------------------------------------------------------------ */

/* Returns the gradient divided by the loss scale. If a norm is given and exceeds max_norm_clip
 * after unscaling, the divisor is norm / max_norm_clip instead, which clips the gradient. */
static tl_value_id gradient(single *s) {
  tl_value_id g = tl_make_as(&s->k, operand(s, 3), s->dtype);
  tl_value_id scale = number_at(s, 7), norm = number_at(s, 8);
  tl_formula_number most = {"most", attr(s, TL_SYM_max_norm_clip, 1)};
  if (norm) {
    scale = scale ? scale : tl_make_number(&s->k, s->dtype, 1);
    return computed(s, "UnscaledAndClipped", (tl_value_id[4]){g, scale, norm}, most);
  }
  return scale ? computed(s, "Unscaled", (tl_value_id[4]){g, scale}, (tl_formula_number){0}) : g;
}

/* Returns the change of weights that decay before the step: moments are corrected one by one. */
static tl_value_id decay_first(single *s, tl_value_id m, tl_value_id v, const tl_value_id fix[2]) {
  tl_formula_number epsilon = {"epsilon", attr(s, TL_SYM_epsilon, 1e-8f)};
  tl_formula_number decay = {"decay", attr(s, TL_SYM_lambda, 0)};
  tl_formula f = formula(s, "DecayFirst", decay, (tl_formula_number){0});
  f.in[0] = computed(s, fix[0] ? "OverRootCorrected" : "OverRoot",
                     (tl_value_id[4]){m, v, fix[0], fix[1]}, epsilon);
  f.in[1] = operand(s, 2);
  tl_formula_make_early(&f);
  f.in[2] = number_at(s, 0);
  tl_formula_make(&f);
  return f.out[0];
}

/* Returns the change of weights that decay behind the step: the rate contains both corrections, and
 * the decay is that of the stepped weights. */
static tl_value_id decay_last(single *s, tl_value_id m, tl_value_id v, const tl_value_id fix[2]) {
  tl_formula_number epsilon = {"epsilon", attr(s, TL_SYM_epsilon, 1e-8f)};
  tl_formula_number decay = {"decay", attr(s, TL_SYM_lambda, 0)};
  tl_formula f = formula(s, "DecayLast", epsilon, decay);
  tl_value_id rate = number_at(s, 0), size = rate;
  if (fix[0])
    size = computed(s, "CorrectedRate", (tl_value_id[4]){rate, fix[0], fix[1]},
                    (tl_formula_number){0});
  memcpy(f.in, (tl_value_id[]){size, m, v, operand(s, 2), rate}, 5 * sizeof *f.in);
  tl_formula_make(&f);
  return f.out[0];
}

/* Gives the weights, their change in place of the gradients, and the weights in another dtype. */
static void give_weights(single *s, tl_value_id change) {
  tl_value_id w = op(s, TL_OP_Sub, operand(s, 2), change);
  if (is_wanted(s, 4)) {
    tl_value_id down = op(s, TL_OP_Neg, change, TL_NO_VALUE);
    give(s, 4, tl_make_as(&s->k, down, dtype_at(s->k.m, s->n, 3)), 3);
  }
  if (is_wanted(s, 5))
    give(s, 5, tl_make_as(&s->k, w, dtype_at(s->k.m, s->n, 6)), 6);
  if (is_wanted(s, 3))
    give(s, 3, w, 2);
}

static void make_adam(single *s) {
  double alpha = attr(s, TL_SYM_alpha, 0.9f), beta = attr(s, TL_SYM_beta, 0.999f);
  bool corrected = tl_node_attr_int(s->k.m, s->n, TL_SYM_do_bias_correction, 1) != 0;
  bool last = tl_node_attr_int(s->k.m, s->n, TL_SYM_weight_decay_mode, 0) != 0;
  s->signal = scalar(s, operand(s, 9));
  tl_value_id fix[2] = {TL_NO_VALUE, TL_NO_VALUE};
  tl_formula moments = formula(s, "AdamAverages", (tl_formula_number){"alpha", alpha},
                               (tl_formula_number){"beta", beta});
  memcpy(moments.in, (tl_value_id[]){gradient(s), operand(s, 4), operand(s, 5)},
         3 * sizeof *moments.in);
  tl_formula_make(&moments);
  tl_value_id m = moments.out[0], v = moments.out[1];
  if (corrected) {
    const tl_value_id in[4] = {scalar(s, operand(s, 1)), operand(s, 2)};
    fix[0] = computed(s, "LaterCorrection", in, (tl_formula_number){"base", alpha});
    fix[1] = computed(s, "LaterCorrection", in, (tl_formula_number){"base", beta});
  }
  tl_value_id change = last ? decay_last(s, m, v, fix) : decay_first(s, m, v, fix);
  give_weights(s, change);
  if (is_wanted(s, 0))
    give(s, 0, op(s, TL_OP_Add, operand(s, 1), tl_make_int(&s->k, 1)), 1);
  if (is_wanted(s, 1))
    give(s, 1, m, 4);
  if (is_wanted(s, 2))
    give(s, 2, v, 5);
}

/* ---- the ops --------------------------------------------------------------------------------- */

/* Gives the weights and their change. */
static void make_sgd(single *s) {
  tl_value_id change = op(s, TL_OP_Mul, operand(s, 2), number_at(s, 0));
  tl_value_id w = op(s, TL_OP_Sub, operand(s, 1), change);
  if (is_wanted(s, 1))
    give(s, 1, op(s, TL_OP_Neg, change, TL_NO_VALUE), 2);
  if (is_wanted(s, 0))
    give(s, 0, w, 1);
}

/* Replaces the node, or remarks why not. */
static tl_status spell(tl_pass *p, tl_module *m, tl_node_id n, const char *why_not,
                       uint32_t weights, void (*make)(single *s)) {
  single s = {.n = n, .first = tl_module_value_end(m), .k = tl_maker_before(m, n)};
  if (why_not) {
    tl_pass_remark(p, m, n, false, "kept as it is: %s", why_not);
    return TL_OK;
  }
  if (!tl_pass_may_rewrite(p))
    return TL_OK;
  TL_TRY(tl_pass_formulas(p, m, &s.formulas));
  s.dtype = dtype_at(m, n, weights);
  make(&s);
  TL_TRY(tl_maker_status(&s.k));
  tl_pass_remark(p, m, n, true, "in arithmetic");
  tl_node_erase(m, n);
  return TL_OK;
}

tl_status tl_plain_sgd(tl_pass *p, tl_module *m, tl_node_id n) {
  return spell(p, m, n, why_not_sgd(m, n), 1, make_sgd);
}

tl_status tl_plain_adam(tl_pass *p, tl_module *m, tl_node_id n) {
  return spell(p, m, n, why_not_adam(m, n), 2, make_adam);
}
