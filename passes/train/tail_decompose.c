/* SPDX-License-Identifier: Apache-2.0 */
/* Update ops in arithmetic (P5): what needs no gradient, such as beta * m, the decay of a weight
 * and the corrections of bias, may then run under L. Only updates that wait for L are taken apart.
 * The formulas are those of the schemas of ai.onnx.preview.training and com.microsoft. */
#include "ir/ops_gen.h"
#include "passes/maker.h"
#include "passes/train/tail_groups.h"

/* One update op: its tensors, and what they share, as numbers of the tensors' dtype. */
typedef struct update {
  tl_tail *t;
  tl_node_id n;
  tl_maker k;
  tl_dtype dtype;
  uint32_t count;           /* tensors */
  const tl_value_id *in[4]; /* [count] weights, gradients, at most two states */
  tl_value_id *out[3];      /* [count] weights, states */
  tl_value_id rate;
  tl_value_id count_of_steps; /* int64[] */
  tl_value_id steps;          /* the same as the dtype; made when it is wanted, as is `later` */
  tl_value_id later;          /* is it not the first step? */
  tl_value_id squares;        /* what the second moment is divided by, TL_NO_VALUE: 1 */
  tl_value_id before, after;  /* factors of weights; Momentum: of gradients; TL_NO_VALUE: 1 */
  bool ahead;                 /* Momentum looks ahead */
  double alpha, beta, epsilon, norm;
} update;

static double attr(const update *u, tl_symbol name, float fallback) {
  return (double)tl_node_attr_float(u->k.m, u->n, name, fallback);
}

static tl_value_id op(update *u, tl_op_id o, tl_value_id a, tl_value_id b) {
  return tl_make(&u->k, o, a, b, TL_NO_VALUE);
}

static tl_value_id number(update *u, double v) { return tl_make_number(&u->k, u->dtype, v); }

static tl_value_id times(update *u, tl_value_id v, double factor) {
  return op(u, TL_OP_Mul, v, number(u, factor));
}

static tl_value_id as(update *u, tl_value_id v, tl_dtype dtype) {
  if (!v || tl_type_dtype(u->k.m, tl_value_type(u->k.m, v)) == dtype)
    return v;
  return tl_make_with(&u->k, TL_OP_Cast, v, TL_NO_VALUE,
                      tl_attr_int(TL_SYM_to, tl_dtype_get(dtype)->onnx));
}

/* One value at later steps, another one at the first. */
static tl_value_id either(update *u, tl_value_id a, tl_value_id b) {
  if (!u->later)
    u->later = op(u, TL_OP_Greater, u->count_of_steps, tl_make_int(&u->k, 0));
  return tl_make(&u->k, TL_OP_Where, u->later, a, b);
}

static tl_value_id steps(update *u) {
  if (!u->steps)
    u->steps = as(u, u->count_of_steps, u->dtype);
  return u->steps;
}

/* 1 - b^steps */
static tl_value_id correction(update *u, double b) {
  tl_value_id base = number(u, b);
  tl_value_id power = op(u, TL_OP_Pow, base, steps(u));
  tl_value_id one = number(u, 1);
  return op(u, TL_OP_Sub, one, power);
}

/* ---- steps on one tensor --------------------------------------------------------------------- */

/* g + norm * w */
static tl_value_id gradient(update *u, uint32_t i) {
  return u->norm == 0 ? u->in[1][i] : op(u, TL_OP_Add, times(u, u->in[0][i], u->norm), u->in[1][i]);
}

static void adam(update *u, uint32_t i) {
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

static void adagrad(update *u, uint32_t i) {
  tl_value_id g = gradient(u, i);
  tl_value_id h = op(u, TL_OP_Add, u->in[2][i], op(u, TL_OP_Mul, g, g));
  tl_value_id below = op(u, TL_OP_Sqrt, h, TL_NO_VALUE);
  below = op(u, TL_OP_Add, below, number(u, u->epsilon));
  tl_value_id d = op(u, TL_OP_Div, op(u, TL_OP_Mul, g, u->rate), below);
  u->out[0][i] = op(u, TL_OP_Sub, u->in[0][i], d);
  u->out[1][i] = h;
}

static void momentum(update *u, uint32_t i) {
  tl_value_id v = times(u, u->in[2][i], u->alpha);
  tl_value_id g = gradient(u, i);
  v = op(u, TL_OP_Add, v, u->before ? op(u, TL_OP_Mul, g, u->before) : g);
  tl_value_id s = u->ahead ? op(u, TL_OP_Add, times(u, v, u->alpha), g) : v;
  u->out[0][i] = op(u, TL_OP_Sub, u->in[0][i], op(u, TL_OP_Mul, s, u->rate));
  u->out[1][i] = v;
}

/* ---- what tensors share ---------------------------------------------------------------------- */

/* 1 - rate * decay */
static tl_value_id shrinking(update *u, double decay) {
  if (decay == 0)
    return TL_NO_VALUE;
  tl_value_id part = times(u, u->rate, decay);
  return op(u, TL_OP_Sub, number(u, 1), part);
}

static void share_adam(update *u) {
  double post = attr(u, TL_SYM_norm_coefficient_post, 0);
  tl_value_id root = op(u, TL_OP_Sqrt, correction(u, u->beta), TL_NO_VALUE);
  tl_value_id part = op(u, TL_OP_Div, root, correction(u, u->alpha));
  u->rate = either(u, op(u, TL_OP_Mul, u->rate, part), u->rate);
  u->after = post == 0 ? TL_NO_VALUE : number(u, 1 - post);
}

static void share_adagrad(update *u) {
  double decay = attr(u, TL_SYM_decay_factor, 0);
  if (decay == 0)
    return;
  tl_value_id below = times(u, steps(u), decay);
  below = op(u, TL_OP_Add, below, number(u, 1));
  u->rate = op(u, TL_OP_Div, u->rate, below);
}

static void share_momentum(update *u) {
  if (u->beta != 1) {
    tl_value_id one = number(u, 1);
    u->before = either(u, number(u, u->beta), one);
  }
  u->ahead = tl_sv_is(tl_node_attr_string(u->k.m, u->n, TL_SYM_mode), "nesterov");
}

/* Weights shrink before the step, and moments are corrected one by one; or behind it, with one rate
 * for both corrections. */
static void share_adamw(update *u) {
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

typedef struct kind {
  tl_op_id op;
  uint32_t kinds; /* of tensors that go in: weights, gradients, states */
  bool sequences;
  float epsilon;
  void (*share)(update *u);
  void (*step)(update *u, uint32_t i);
} kind;

static const kind kinds[] = {
    {TL_OP_ai_onnx_preview_training_Adam, 4, false, 1e-6f, share_adam, adam},
    {TL_OP_ai_onnx_preview_training_Adagrad, 3, false, 1e-6f, share_adagrad, adagrad},
    {TL_OP_ai_onnx_preview_training_Momentum, 3, false, 0, share_momentum, momentum},
    {TL_OP_com_microsoft_AdamWOptimizer, 4, true, 1e-8f, share_adamw, adam},
};

static const kind *kind_of(tl_op_id o) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i].op == o)
      return &kinds[i];
  return NULL;
}

static bool is_one_float(const tl_module *m, tl_value_id v) {
  uint64_t n;
  return v && tl_type_elements(m, tl_value_type(m, v), &n) && n == 1 &&
         tl_type_get(m, tl_value_type(m, v))->rank <= 1;
}

static void *table(update *u, uint32_t n, size_t size) {
  void *made = tl_arena_calloc(u->t->p->scratch, n + 1u, size);
  u->t->no_memory = u->t->no_memory || !made;
  return made;
}

/* Tensors of kind i: operands, or what a sequence is made of. */
static bool find_kind(update *u, const kind *c, uint32_t i) {
  tl_module *m = u->k.m;
  tl_node_id construct = c->sequences ? tl_tail_construct_of(u->t, u->n, 2 + i) : TL_NO_NODE;
  if (c->sequences && !construct)
    return false;
  if (c->sequences && i == 0)
    u->count = tl_node_get(m, construct)->n_operands;
  if (c->sequences && tl_node_get(m, construct)->n_operands != u->count)
    return false;
  tl_value_id *at = table(u, u->count, sizeof *at);
  for (uint32_t e = 0; at && e < u->count; e++) {
    at[e] = construct ? tl_operand(m, construct, e) : tl_operand(m, u->n, 2 + i * u->count + e);
    tl_type_id type = at[e] ? tl_value_type(m, at[e]) : TL_NO_TYPE;
    if (i == 0 && e == 0 && type)
      u->dtype = tl_type_dtype(m, type);
    if (!type || tl_type_dtype(m, type) != u->dtype || tl_type_get(m, type)->rank < 0)
      return false;
  }
  u->in[i] = at;
  return at != NULL;
}

/* Tensors of the op, by kind; false when they are not all there, of one dtype, and known. */
static bool find_tensors(update *u, const kind *c) {
  uint32_t operands = tl_node_get(u->k.m, u->n)->n_operands;
  if (operands < 2 + c->kinds || (!c->sequences && (operands - 2) % c->kinds))
    return false;
  u->count = (operands - 2) / c->kinds;
  for (uint32_t i = 0; i < c->kinds; i++)
    if (!find_kind(u, c, i))
      return false;
  for (uint32_t r = 0; r + 1 < c->kinds; r++)
    u->out[r] = table(u, u->count, sizeof *u->out[r]);
  return u->count && !u->t->no_memory && (u->dtype == TL_DTYPE_F32 || u->dtype == TL_DTYPE_F64);
}

static bool may_go(const update *u, const kind *c) {
  const tl_module *m = u->k.m;
  const tl_node *node = tl_node_get(m, u->n);
  if (c->step == adagrad && attr(u, TL_SYM_norm_coefficient, 0) == 0 &&
      attr(u, TL_SYM_decay_factor, 0) == 0)
    return false; /* all of it needs the gradient */
  if (node->control_in || node->control_out || !is_one_float(m, tl_operand(m, u->n, 0)) ||
      !is_one_float(m, tl_operand(m, u->n, 1)))
    return false;
  if (!c->sequences)
    return node->n_results == u->count * (c->kinds - 1);
  return node->n_results && !tl_value_get(m, node->results)->n_uses;
}

static tl_value_id as_scalar(update *u, tl_value_id v) {
  return tl_type_get(u->k.m, tl_value_type(u->k.m, v))->rank == 1 ? tl_make_squeeze(&u->k, v, 0)
                                                                  : v;
}

static void make(update *u, const kind *c) {
  u->count_of_steps = as_scalar(u, tl_operand(u->k.m, u->n, 1));
  u->rate = as(u, as_scalar(u, tl_operand(u->k.m, u->n, 0)), u->dtype);
  u->alpha = attr(u, TL_SYM_alpha, 0.9f);
  u->beta = attr(u, TL_SYM_beta, 0.999f);
  u->epsilon = attr(u, TL_SYM_epsilon, c->epsilon);
  u->norm = attr(u, TL_SYM_norm_coefficient, 0);
  c->share(u);
  for (uint32_t i = 0; i < u->count && !tl_maker_failed(&u->k); i++)
    c->step(u, i);
}

/* ---- in the graph ---------------------------------------------------------------------------- */

/* New values where the op is told to update, the old ones where not. */
static tl_value_id chosen(update *u, tl_value_id made, tl_value_id old) {
  tl_value_id signal =
      tl_node_get(u->k.m, u->n)->n_operands > 6 ? tl_operand(u->k.m, u->n, 6) : TL_NO_VALUE;
  return signal ? tl_make(&u->k, TL_OP_Where, signal, made, old) : made;
}

/* Results by kind: tensors of their own, or in sequences. made: [kinds - 1] for sequences. */
static void make_sequences(update *u, const kind *c, tl_value_id *made) {
  for (uint32_t r = 0; r + 1 < c->kinds && !tl_maker_failed(&u->k); r++) {
    const tl_value_id *old = u->in[r ? r + 1 : 0];
    for (uint32_t i = 0; i < u->count && !tl_maker_failed(&u->k); i++)
      u->out[r][i] = chosen(u, u->out[r][i], old[i]);
    if (tl_maker_failed(&u->k))
      return;
    made[r] = tl_make_list(&u->k, TL_OP_SequenceConstruct, u->out[r], u->count,
                           (tl_attr){.kind = TL_ATTR_NONE});
  }
}

static void take_place(update *u, const kind *c, const tl_value_id *sequences) {
  for (uint32_t r = 0; r + 1 < c->kinds; r++) {
    if (c->sequences && r + 1 < tl_node_get(u->k.m, u->n)->n_results)
      tl_tail_replace(u->t, tl_result(u->k.m, u->n, r + 1), sequences[r]);
    for (uint32_t i = 0; !c->sequences && i < u->count; i++)
      tl_tail_replace(u->t, tl_result(u->k.m, u->n, r * u->count + i), u->out[r][i]);
  }
  for (uint32_t i = 0; c->sequences && i < c->kinds; i++)
    tl_tail_retire_unused(u->t, tl_tail_construct_of(u->t, u->n, 2 + i));
  tl_tail_retire(u->t, u->n); /* erased from the last retired on */
}

static bool decompose(tl_tail *t, tl_node_id n, const kind *c) {
  update u = {.t = t, .n = n, .k = tl_maker_before(t->m, n)};
  tl_value_id sequences[3] = {TL_NO_VALUE};
  if (!find_tensors(&u, c) || !may_go(&u, c))
    return false;
  tl_maker_mark mark = tl_maker_save(&u.k);
  make(&u, c);
  if (c->sequences)
    make_sequences(&u, c, sequences);
  if (!tl_tail_adopt_made(t, &u.k, mark))
    return false;
  take_place(&u, c, sequences);
  return true;
}

uint32_t tl_tail_decompose_updates(tl_tail *t) {
  uint32_t n = 0;
  if (!t->c->decompose_updates)
    return 0;
  TL_FOR_NODES (t->m, tl_module_step(t->m), k) {
    const kind *c = kind_of(tl_node_get(t->m, k)->op);
    if (c && k < t->n_ids && t->below_data[k] && !t->retired[k] && !t->no_memory)
      n += decompose(t, k, c);
  }
  return n;
}
