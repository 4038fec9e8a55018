/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the cells of recurrent layers as nodes (recurrent_cell.h). */
#include "passes/loops/recurrent_cell.h"

#include "ir/ops_gen.h"

/* ---- activation functions -------------------------------------------------------------------- */

/* An activation function: its op (Affine and ScaledTanh take two more nodes) and ONNX's default
 * parameters for recurrent layers, if it has any. */
typedef struct function_row {
  const char *name; /* in small letters: frameworks write them both ways */
  tl_op_id op;
  bool has_alpha;
  bool has_beta;
  bool has_default;
  float alpha;
  float beta;
} function_row;

static const function_row functions[] = {
    {"tanh", TL_OP_Tanh, false, false, true, 0, 0},
    {"sigmoid", TL_OP_Sigmoid, false, false, true, 0, 0},
    {"relu", TL_OP_Relu, false, false, true, 0, 0},
    {"affine", TL_OP_Mul, true, true, true, 1, 0},
    {"leakyrelu", TL_OP_LeakyRelu, true, false, true, 0.01f, 0},
    {"thresholdedrelu", TL_OP_ThresholdedRelu, true, false, true, 1, 0},
    {"scaledtanh", TL_OP_Tanh, true, true, false, 0, 0},
    {"hardsigmoid", TL_OP_HardSigmoid, true, true, true, 0.2f, 0.5f},
    {"elu", TL_OP_Elu, true, false, true, 1, 0},
    {"softsign", TL_OP_Softsign, false, false, true, 0, 0},
    {"softplus", TL_OP_Softplus, false, false, true, 0, 0},
};
enum {
  TANH,
  SIGMOID,
  AFFINE = 3,
  SCALED_TANH = 6,
  N_FUNCTIONS = sizeof functions / sizeof *functions
};

static const uint8_t defaults[3] = {SIGMOID, TANH, TANH};

static uint8_t default_of(uint32_t gates, uint32_t i) { return gates == 1 ? TANH : defaults[i]; }

/* Compares without regard to case. `| 0x20` makes ASCII letters small. */
static bool same_word(tl_sv text, const char *lower) {
  size_t n = strlen(lower);
  for (size_t i = 0; i < n && text.n == n; i++)
    if ((text.p[i] | 0x20) != lower[i])
      return false;
  return text.n == n;
}

static uint8_t function_of(tl_sv name) {
  uint8_t i = 0;
  while (i < N_FUNCTIONS && !same_word(name, functions[i].name))
    i++;
  return i;
}

/* Takes the next parameter of a list. Functions use the lists up in their order; those without the
 * parameter take none. */
static bool next_parameter(const tl_attr *list, uint32_t *next, float *out) {
  if (!list || *next >= list->count)
    return false;
  *out = list->u.fs[(*next)++];
  return true;
}

/* Reads function i, counted over all directions. The lists are walked from the start, since earlier
 * functions decide where a parameter is. */
static bool read_function(const tl_module *m, tl_node_id n, uint32_t gates, uint32_t i,
                          tl_cell_function *out) {
  const tl_attr *names = tl_node_attr(m, n, TL_SYM_activations);
  const tl_attr *alphas = tl_node_attr(m, n, TL_SYM_activation_alpha);
  const tl_attr *betas = tl_node_attr(m, n, TL_SYM_activation_beta);
  uint32_t each = tl_cell_n_functions(gates), alpha = 0, beta = 0;
  if (names && names->count && names->count <= i)
    return false;
  for (uint32_t k = 0; k <= i; k++) {
    out->row = names && names->count ? function_of(tl_sym(m, names->u.ids[k]))
                                     : default_of(gates, k % each);
    if (out->row == N_FUNCTIONS)
      return false;
    const function_row *f = &functions[out->row];
    out->alpha = f->alpha;
    out->beta = f->beta;
    bool given = !f->has_alpha || next_parameter(alphas, &alpha, &out->alpha);
    given = (!f->has_beta || next_parameter(betas, &beta, &out->beta)) && given;
    if (!given && !f->has_default)
      return false;
  }
  return true;
}

bool tl_cell_read(const tl_module *m, tl_node_id n, uint32_t direction, tl_cell *out) {
  uint32_t each = tl_cell_n_functions(out->gates);
  out->clip = tl_node_attr_float(m, n, TL_SYM_clip, 0);
  out->coupled = out->gates == 4 && tl_node_attr_int(m, n, TL_SYM_input_forget, 0) != 0;
  out->reset_after = out->gates == 3 && tl_node_attr_int(m, n, TL_SYM_linear_before_reset, 0) != 0;
  for (uint32_t i = 0; i < each; i++)
    if (!read_function(m, n, out->gates, direction * each + i, &out->f[i]))
      return false;
  return out->clip >= 0;
}

bool tl_cell_is_default(const tl_module *m, tl_node_id n, uint32_t gates, uint32_t directions) {
  const tl_attr *names = tl_node_attr(m, n, TL_SYM_activations);
  uint32_t each = tl_cell_n_functions(gates);
  if (!names || names->count == 0)
    return true;
  if (names->count < directions * each)
    return false;
  for (uint32_t i = 0; i < directions * each; i++)
    if (function_of(tl_sym(m, names->u.ids[i])) != default_of(gates, i % each))
      return false;
  return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static tl_value_id binary(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b) {
  return tl_make(k, op, a, b, TL_NO_VALUE);
}

static tl_value_id with_parameters(tl_maker *k, const function_row *f, const tl_cell_function *at,
                                   tl_value_id x) {
  const tl_attr attrs[] = {tl_attr_float(TL_SYM_alpha, at->alpha),
                           tl_attr_float(TL_SYM_beta, at->beta)};
  tl_node_spec spec = {.op = f->op,
                       .operands = &x,
                       .n_operands = 1,
                       .n_results = 1,
                       .attrs = attrs,
                       .n_attrs = f->has_beta    ? 2
                                  : f->has_alpha ? 1
                                                 : 0};
  return tl_make_node(k, &spec);
}

/* Applies function i to x, clipped before if the cell has a limit. */
static tl_value_id activate(tl_maker *k, const tl_cell *cell, uint32_t i, tl_value_id x) {
  const tl_cell_function *at = &cell->f[i];
  if (cell->clip > 0) {
    tl_value_id low = tl_make_number(k, cell->dtype, (double)-cell->clip);
    x = tl_make(k, TL_OP_Clip, x, low, tl_make_number(k, cell->dtype, (double)cell->clip));
  }
  if (at->row != AFFINE && at->row != SCALED_TANH)
    return with_parameters(k, &functions[at->row], at, x);
  tl_value_id alpha = tl_make_number(k, cell->dtype, (double)at->alpha);
  tl_value_id beta = tl_make_number(k, cell->dtype, (double)at->beta);
  if (at->row == AFFINE)
    return binary(k, TL_OP_Add, binary(k, TL_OP_Mul, x, alpha), beta);
  x = tl_make(k, TL_OP_Tanh, binary(k, TL_OP_Mul, x, beta), TL_NO_VALUE, TL_NO_VALUE);
  return binary(k, TL_OP_Mul, x, alpha);
}

/* Returns gate i of z [B, G*H], or of a peephole [3H]. */
static tl_value_id part(tl_maker *k, const tl_cell *cell, tl_value_id v, int64_t axis, int64_t i) {
  return tl_make_slice(k, v, axis, i * cell->hidden, (i + 1) * cell->hidden);
}

static tl_value_id complement(tl_maker *k, const tl_cell *cell, tl_value_id v) {
  return binary(k, TL_OP_Sub, tl_make_number(k, cell->dtype, 1), v);
}

/* h' = f(z + h R) */
static tl_value_id make_rnn(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h) {
  z = binary(k, TL_OP_Add, z, binary(k, TL_OP_MatMul, h, cell->weight));
  return activate(k, cell, 0, z);
}

/* h' = (1 - u) * n + u * h with gates update u, reset r and candidate n; r scales h before the
 * product with the candidate's weight, or the product itself (reset_after). */
static tl_value_id make_gru(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h) {
  tl_value_id gates = tl_make_slice(k, z, 1, 0, 2 * cell->hidden);
  gates = binary(k, TL_OP_Add, gates, binary(k, TL_OP_MatMul, h, cell->weight));
  gates = activate(k, cell, 0, gates);
  tl_value_id update = part(k, cell, gates, 1, 0), reset = part(k, cell, gates, 1, 1), again;
  if (cell->reset_after) {
    again = binary(k, TL_OP_MatMul, h, cell->candidate);
    if (cell->bias)
      again = binary(k, TL_OP_Add, again, cell->bias);
    again = binary(k, TL_OP_Mul, reset, again);
  } else {
    again = binary(k, TL_OP_MatMul, binary(k, TL_OP_Mul, reset, h), cell->candidate);
  }
  tl_value_id fresh = binary(k, TL_OP_Add, part(k, cell, z, 1, 2), again);
  fresh = activate(k, cell, 1, fresh);
  fresh = binary(k, TL_OP_Mul, complement(k, cell, update), fresh);
  return binary(k, TL_OP_Add, fresh, binary(k, TL_OP_Mul, update, h));
}

/* Makes an LSTM's gate: input 0, output 1, forget 2, with its peephole at state c. */
static tl_value_id lstm_gate(tl_maker *k, const tl_cell *cell, tl_value_id z, int64_t i,
                             tl_value_id c) {
  tl_value_id gate = part(k, cell, z, 1, i);
  if (cell->peephole)
    gate = binary(k, TL_OP_Add, gate, binary(k, TL_OP_Mul, c, part(k, cell, cell->peephole, 0, i)));
  return activate(k, cell, 0, gate);
}

/* c' = f * c + i * g; h' = o * tanh(c'). The output gate's peephole looks at c'. */
static tl_value_id make_lstm(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h,
                             tl_value_id *c) {
  z = binary(k, TL_OP_Add, z, binary(k, TL_OP_MatMul, h, cell->weight));
  tl_value_id in = lstm_gate(k, cell, z, 0, *c);
  tl_value_id forget = cell->coupled ? complement(k, cell, in) : lstm_gate(k, cell, z, 2, *c);
  tl_value_id fresh = activate(k, cell, 1, part(k, cell, z, 1, 3));
  tl_value_id kept = binary(k, TL_OP_Mul, forget, *c);
  *c = binary(k, TL_OP_Add, kept, binary(k, TL_OP_Mul, in, fresh));
  tl_value_id out = lstm_gate(k, cell, z, 1, *c);
  return binary(k, TL_OP_Mul, out, activate(k, cell, 2, *c));
}

tl_value_id tl_cell_make(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h,
                         tl_value_id *c) {
  if (cell->gates == 1)
    return make_rnn(k, cell, z, h);
  return cell->gates == 3 ? make_gru(k, cell, z, h) : make_lstm(k, cell, z, h, c);
}
