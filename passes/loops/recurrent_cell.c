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

enum { LACKS = false, HAS = true, GIVEN = false, DEFAULT = true };
static const function_row functions[] = {
#define ACTIVATION(name, op, alpha, beta, from, a, b) {#name, TL_OP_##op, alpha, beta, from, a, b},
#include "passes/loops/activations.tbl"
};
enum {
#define ACTIVATION(name, op, alpha, beta, from, a, b) AT_##name,
#include "passes/loops/activations.tbl"
  N_FUNCTIONS
};

static const uint8_t defaults[3] = {AT_sigmoid, AT_tanh, AT_tanh};

static uint8_t default_of(uint32_t gates, uint32_t i) { return gates == 1 ? AT_tanh : defaults[i]; }

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

/* Makes a formula of passes/definitions/formulas.tlr with up to four operands. */
static tl_value_id formula(tl_maker *k, const tl_cell *cell, const char *name,
                           const tl_value_id in[4]) {
  return tl_make_formula(cell->formulas, k, name, in, 4);
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
  if (at->row != AT_affine && at->row != AT_scaledtanh)
    return with_parameters(k, &functions[at->row], at, x);
  tl_formula f = {.set = cell->formulas,
                  .k = k,
                  .name = at->row == AT_affine ? "AffineActivation" : "ScaledTanhActivation",
                  .in = {x},
                  .numbers = {{"alpha", (double)at->alpha}, {"beta", (double)at->beta}}};
  tl_formula_make(&f);
  return f.out[0];
}

/* Returns gate i of z [B, G*H], or of a peephole [3H]. */
static tl_value_id part(tl_maker *k, const tl_cell *cell, tl_value_id v, int64_t axis, int64_t i) {
  return tl_make_slice(k, v, axis, i * cell->hidden, (i + 1) * cell->hidden);
}

/* z + h R */
static tl_value_id recurrent_sum(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h) {
  return formula(k, cell, "RecurrentSum", (tl_value_id[4]){z, h, cell->weight});
}

/* h' = f(z + h R) */
static tl_value_id make_rnn(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h) {
  return activate(k, cell, 0, recurrent_sum(k, cell, z, h));
}

/* h' = (1 - u) * n + u * h with gates update u, reset r and candidate n; r scales h before the
 * product with the candidate's weight, or the product itself (reset_after). */
static tl_value_id make_gru(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h) {
  const char *reset = !cell->reset_after ? "GruResetBefore"
                      : cell->bias       ? "GruResetBehindBias"
                                         : "GruResetBehind";
  tl_value_id gates = tl_make_slice(k, z, 1, 0, 2 * cell->hidden);
  gates = activate(k, cell, 0, recurrent_sum(k, cell, gates, h));
  tl_value_id in[4] = {0, h, cell->candidate, cell->reset_after ? cell->bias : TL_NO_VALUE};
  tl_value_id update = part(k, cell, gates, 1, 0);
  in[0] = part(k, cell, gates, 1, 1);
  tl_value_id again = formula(k, cell, reset, in);
  tl_value_id fresh = tl_make(k, TL_OP_Add, part(k, cell, z, 1, 2), again, TL_NO_VALUE);
  fresh = activate(k, cell, 1, fresh);
  return formula(k, cell, "GruState", (tl_value_id[4]){update, fresh, h});
}

/* Makes an LSTM's gate: input 0, output 1, forget 2, with its peephole at state c. */
static tl_value_id lstm_gate(tl_maker *k, const tl_cell *cell, tl_value_id z, int64_t i,
                             tl_value_id c) {
  tl_value_id in[4] = {part(k, cell, z, 1, i), c};
  if (!cell->peephole)
    return activate(k, cell, 0, in[0]);
  in[2] = part(k, cell, cell->peephole, 0, i);
  return activate(k, cell, 0, formula(k, cell, "Peephole", in));
}

/* c' = f * c + i * g; h' = o * tanh(c'). The output gate's peephole looks at c'. */
static tl_value_id make_lstm(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h,
                             tl_value_id *c) {
  z = recurrent_sum(k, cell, z, h);
  tl_value_id in = lstm_gate(k, cell, z, 0, *c);
  tl_value_id forget = cell->coupled ? formula(k, cell, "Complement", (tl_value_id[4]){in})
                                     : lstm_gate(k, cell, z, 2, *c);
  tl_value_id fresh = activate(k, cell, 1, part(k, cell, z, 1, 3));
  *c = formula(k, cell, "LstmState", (tl_value_id[4]){forget, *c, in, fresh});
  tl_value_id out = lstm_gate(k, cell, z, 1, *c);
  return tl_make(k, TL_OP_Mul, out, activate(k, cell, 2, *c), TL_NO_VALUE);
}

tl_value_id tl_cell_make(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h,
                         tl_value_id *c) {
  if (cell->gates == 1)
    return make_rnn(k, cell, z, h);
  return cell->gates == 3 ? make_gru(k, cell, z, h) : make_lstm(k, cell, z, h, c);
}
