/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent-training: replaces recurrent layers of training graphs and their gradients by Scans.
 * The layers are ONNX Runtime's LSTMTraining and GRUTraining, which also give their gates, and
 * LSTMGrad and GRUGrad. The Scan does what one step needs of another; what all steps can do at
 * once is outside of it: products with the input, gradients of weights and biases.
 *
 * Requires:  types inferred.     Keeps: names of results.
 * After:     such a layer has an open hidden size, directions, lengths or functions that ONNX
 *            Runtime's kernels do not have either, peepholes (gradients), or a control edge.
 * Cost:      O(nodes).
 * Tests:     tests/golden/recurrent-training/, tests/train/gradients.py */
#include <strings.h>

#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/engine/formula.h"

enum { X, W, R, B, LENGTHS, INITIAL_H, MOST_OPERANDS = 14, MOST_RESULTS = 7 };
enum { MOST_SCANNED = 4, MOST_STATES = 2 };

/* Operands of an op. c and peephole: LSTM only; from all_h on: gradients only. */
typedef struct layout {
  tl_op_id op;
  uint8_t gates;
  bool grad;
  uint8_t c, peephole, all_h, all_c, all_gates, d_all, d_h, d_c; /* operands; 0: none */
} layout;

static const layout layouts[] = {
    {TL_OP_com_microsoft_LSTMTraining, 4, false, 6, 7, 0, 0, 0, 0, 0, 0},
    {TL_OP_com_microsoft_GRUTraining, 3, false, 0, 0, 0, 0, 0, 0, 0, 0},
    {TL_OP_com_microsoft_LSTMGrad, 4, true, 6, 7, 8, 9, 10, 11, 12, 13},
    {TL_OP_com_microsoft_GRUGrad, 3, true, 0, 0, 6, 0, 7, 8, 9, 0}};

/* The layer at work. Letters: S steps, B batch, I input size, H hidden size, G gates. */
typedef struct layer {
  tl_pass *p;
  tl_module *m;
  tl_node_id n;
  const layout *l;
  int64_t hidden;
  tl_dtype dtype;
  bool reset_after; /* GRU: the reset gate scales the product, not the state */
  tl_maker k;
  tl_value_id in[MOST_OPERANDS];
  /* What no step changes: [G*H,I], [G*H,H]; of its gates (GRU: but the candidate's) and of the
   * candidate, turned too; the bias before a reset gate; peepholes. */
  tl_value_id w, r, of_gates, gates_turned, of_candidate, candidate_turned, late_bias, peephole[3];
  tl_value_id made[MOST_RESULTS]; /* by result: what takes its place; or none */
  tl_ruleset *formulas;
} layer;

/* The Scan at work: what its body takes and gives. */
typedef struct scan {
  tl_value_id states[MOST_STATES];
  tl_value_id scanned[MOST_SCANNED];
  uint32_t n_states, n_scanned;
  tl_value_id at[MOST_STATES + MOST_SCANNED]; /* in the body: of the same order */
  tl_value_id out[MOST_STATES + 3];
  uint32_t n_out;
} scan;

static const layout *layout_of(tl_op_id op) {
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    if (layouts[i].op == op)
      return &layouts[i];
  return NULL;
}

/* ---- what can be taken ----------------------------------------------------------------------- */

static tl_dim dim_of(const tl_module *m, tl_value_id v, int i, int rank) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  return v && t->kind == TL_KIND_TENSOR && t->rank == rank ? t->dims[i] : TL_DIM_UNKNOWN;
}

static bool is_wanted(const layer *l, uint32_t result) {
  const tl_node *n = tl_node_get(l->m, l->n);
  tl_value_id v = result < n->n_results ? tl_result(l->m, l->n, result) : TL_NO_VALUE;
  return v && tl_value_get(l->m, v)->n_uses;
}

/* Compares a word without regard to case. */
static bool is_word(tl_sv text, const char *word) {
  return text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0;
}

/* Returns true if the layer is one that ONNX Runtime's kernels compute: forward, without lengths,
 * usual functions. */
static bool is_plain(const layer *l) {
  static const char *const usual[] = {"sigmoid", "tanh", "tanh"};
  const tl_module *m = l->m;
  const tl_attr *names = tl_node_attr(m, l->n, TL_SYM_activations);
  tl_sv direction = tl_node_attr_string(m, l->n, TL_SYM_direction);
  if (names && names->kind == TL_ATTR_STRINGS)
    for (uint32_t i = 0; i < names->count; i++)
      if (i >= (l->l->gates == 4 ? 3u : 2u) || !is_word(tl_sym(m, names->u.ids[i]), usual[i]))
        return false;
  return (!direction.n || tl_sv_is(direction, "forward")) && !l->in[LENGTHS] &&
         !tl_node_attr(m, l->n, TL_SYM_clip) &&
         tl_node_attr_int(m, l->n, TL_SYM_input_forget, 0) == 0 &&
         tl_node_attr_int(m, l->n, TL_SYM_layout, 0) == 0;
}

static bool read_layer(layer *l) {
  const tl_module *m = l->m;
  const layout *a = l->l;
  for (uint32_t i = 0; i < tl_node_get(m, l->n)->n_operands && i < MOST_OPERANDS; i++)
    l->in[i] = tl_operand(m, l->n, i);
  l->hidden = dim_of(m, l->in[R], 2, 3);
  l->dtype = tl_type_dtype(m, tl_value_type(m, l->in[X]));
  l->reset_after = tl_node_attr_int(m, l->n, TL_SYM_linear_before_reset, 0) != 0;
  bool whole = l->hidden > 0 && tl_dtype_is_float(l->dtype) && dim_of(m, l->in[W], 0, 3) == 1 &&
               dim_of(m, l->in[W], 1, 3) == l->hidden * (int64_t)a->gates &&
               dim_of(m, l->in[W], 2, 3) > 0 &&
               tl_type_get(m, tl_value_type(m, l->in[X]))->rank == 3;
  if (!whole || !is_plain(l))
    return false;
  if (!a->grad)
    return true;
  return !(a->peephole && l->in[a->peephole]) && l->in[a->all_h] && l->in[a->all_gates] &&
         (!a->all_c || l->in[a->all_c]);
}

/* ---- small things ---------------------------------------------------------------------------- */

static tl_value_id op1(tl_maker *k, tl_op_id op, tl_value_id a) {
  return tl_make(k, op, a, TL_NO_VALUE, TL_NO_VALUE);
}

static tl_value_id op2(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b) {
  return tl_make(k, op, a, b, TL_NO_VALUE);
}

static tl_value_id mul(tl_maker *k, tl_value_id a, tl_value_id b) {
  return op2(k, TL_OP_Mul, a, b);
}

static tl_value_id add(tl_maker *k, tl_value_id a, tl_value_id b) {
  return op2(k, TL_OP_Add, a, b);
}

static tl_value_id product(tl_maker *k, tl_value_id a, tl_value_id b) {
  return op2(k, TL_OP_MatMul, a, b);
}

static tl_value_id sigmoid(tl_maker *k, tl_value_id v) { return op1(k, TL_OP_Sigmoid, v); }

static tl_value_id hyperbolic(tl_maker *k, tl_value_id v) { return op1(k, TL_OP_Tanh, v); }

/* Makes a formula of passes/definitions/formulas.tlr with up to four operands. */
static tl_value_id formula(const layer *l, tl_maker *k, const char *name, const tl_value_id in[4]) {
  return tl_make_formula(l->formulas, k, name, in, 4);
}

static tl_value_id complement(const layer *l, tl_maker *k, tl_value_id v) {
  return formula(l, k, "Complement", (tl_value_id[4]){v});
}

/* Returns d * y * (1 - y), the gradient through a sigmoid that gave y. */
static tl_value_id sigmoid_slope(const layer *l, tl_maker *k, tl_value_id d, tl_value_id y) {
  return formula(l, k, "SigmoidSlope", (tl_value_id[4]){d, y});
}

/* Returns d * (1 - y^2), the gradient through a tanh that gave y. */
static tl_value_id tanh_slope(const layer *l, tl_maker *k, tl_value_id d, tl_value_id y) {
  return formula(l, k, "TanhSlope", (tl_value_id[4]){d, y});
}

static tl_value_id turned(tl_maker *k, tl_value_id v) {
  static const int64_t perm[] = {1, 0};
  return tl_make_transpose(k, v, perm, 2);
}

/* Returns gates [from, to) along an axis. */
static tl_value_id gates(const layer *l, tl_maker *k, tl_value_id v, int64_t axis, int64_t from,
                         int64_t to) {
  return tl_make_slice(k, v, axis, from * l->hidden, to * l->hidden);
}

/* Splits v into n gates along axis 1. */
static void cut(const layer *l, tl_maker *k, tl_value_id v, uint32_t n, tl_value_id *out) {
  const int64_t sizes[] = {l->hidden, l->hidden, l->hidden, l->hidden};
  const tl_value_id operands[] = {v, tl_make_ints(k, sizes, n)};
  const tl_attr axis = tl_attr_int(TL_SYM_axis, 1);
  tl_node_spec spec = {.op = TL_OP_Split,
                       .operands = operands,
                       .n_operands = 2,
                       .n_results = n,
                       .attrs = &axis,
                       .n_attrs = 1};
  tl_value_id first = tl_maker_failed(k) ? TL_NO_VALUE : tl_make_node(k, &spec);
  for (uint32_t i = 0; i < n; i++)
    out[i] = first ? first + i : TL_NO_VALUE;
}

static tl_value_id join(tl_maker *k, const tl_value_id *at, uint32_t n, int64_t axis) {
  return tl_make_concat(k, at, n, axis);
}

/* Returns the only direction of a state [1,B,H], or zeros. */
static tl_value_id state(layer *l, uint32_t i) {
  tl_value_id v = i ? l->in[i] : TL_NO_VALUE, parts[2];
  if (v)
    return tl_make_squeeze(&l->k, v, 0);
  parts[0] = tl_make_unsqueeze(&l->k, tl_make_size(&l->k, l->in[X], 1), 0);
  parts[1] = tl_make_ints(&l->k, &l->hidden, 1);
  tl_value_id shape = join(&l->k, parts, 2, 0);
  return op2(&l->k, TL_OP_Expand, tl_make_number(&l->k, l->dtype, 0), shape);
}

/* Notes v as the replacement of a result; axis: where to insert a dim of 1, negative: nowhere. */
static void put(layer *l, uint32_t result, tl_value_id v, int64_t axis) {
  if (v && is_wanted(l, result) && !tl_maker_failed(&l->k))
    l->made[result] = axis < 0 ? v : tl_make_unsqueeze(&l->k, v, axis);
}

/* ---- the Scan -------------------------------------------------------------------------------- */

static tl_value_id body_input(tl_maker *k, tl_value_id like, bool scanned) {
  const tl_type *t = tl_type_get(k->m, tl_value_type(k->m, like));
  tl_symbol name = tl_maker_name(k, TL_SV("step"));
  if (tl_maker_failed(k) || name == TL_NO_SYMBOL || t->kind != TL_KIND_TENSOR ||
      t->rank < (scanned ? 1 : 0))
    return TL_NO_VALUE;
  tl_dim dims[TL_MAX_RANK];
  int rank = t->rank - (scanned ? 1 : 0);
  for (int i = 0; i < rank; i++)
    dims[i] = t->dims[i + (scanned ? 1 : 0)];
  tl_type_id type = tl_type_tensor(k->m, (tl_dtype)t->dtype, rank, dims);
  return type ? tl_graph_add_input(k->m, k->graph, name, type, TL_NO_TENSOR) : TL_NO_VALUE;
}

typedef void (*body_fn)(layer *l, tl_maker *k, scan *s);

/* Makes the body of a Scan; fn adds the nodes of one step. */
static tl_graph_id make_body(layer *l, scan *s, body_fn fn) {
  tl_maker k = l->k;
  k.graph = tl_graph_create(k.m, TL_GRAPH_BODY, tl_maker_name(&k, TL_SV("body")), l->n);
  k.before = TL_NO_NODE;
  l->k.no_memory = l->k.no_memory || !k.graph;
  if (!k.graph)
    return TL_NO_GRAPH;
  for (uint32_t i = 0; i < s->n_states + s->n_scanned; i++) {
    bool scanned = i >= s->n_states;
    s->at[i] = body_input(&k, scanned ? s->scanned[i - s->n_states] : s->states[i], scanned);
    k.no_memory = k.no_memory || !s->at[i];
  }
  if (!tl_maker_failed(&k))
    fn(l, &k, s);
  if (!tl_maker_failed(&k) && tl_graph_set_outputs(k.m, k.graph, s->out, s->n_out) != TL_OK)
    k.no_memory = true;
  l->k.no_memory = k.no_memory;
  l->k.clash = k.clash;
  return k.graph;
}

/* Makes the Scan and returns its first result; the results are final states, then what each step
 * gave. */
static tl_value_id make_scan(layer *l, scan *s, body_fn fn) {
  static const int64_t ones[MOST_SCANNED] = {1, 1, 1, 1};
  tl_value_id in[MOST_STATES + MOST_SCANNED];
  if (tl_maker_failed(&l->k))
    return TL_NO_VALUE;
  memcpy(in, s->states, s->n_states * sizeof *in);
  memcpy(in + s->n_states, s->scanned, s->n_scanned * sizeof *in);
  tl_graph_id body = make_body(l, s, fn);
  const tl_attr attrs[] = {
      tl_attr_graph(TL_SYM_body, body), tl_attr_int(TL_SYM_num_scan_inputs, s->n_scanned),
      tl_attr_ints(l->m, TL_SYM_scan_input_directions, ones, s->n_scanned),
      tl_attr_ints(l->m, TL_SYM_scan_output_directions, ones, s->n_out - s->n_states)};
  tl_node_spec spec = {.op = TL_OP_Scan,
                       .operands = in,
                       .n_operands = s->n_states + s->n_scanned,
                       .n_results = s->n_out,
                       .attrs = attrs,
                       .n_attrs = l->l->grad ? 4 : 2};
  tl_value_id first = tl_maker_failed(&l->k) ? TL_NO_VALUE : tl_make_node(&l->k, &spec);
  if (first)
    tl_graph_get(l->m, body)->owner = tl_value_producer(l->m, first);
  else if (body)
    tl_graph_erase(l->m, body);
  return first;
}

/* ---- forward --------------------------------------------------------------------------------- */

/* LSTM step. States h, c; scanned: the product with the input. Gives h, c, then h, c and the gates
 * again for the stacked results. */
static void lstm_step(layer *l, tl_maker *k, scan *s) {
  tl_value_id h = s->at[0], c = s->at[1], g[4];
  const tl_value_id *p = l->peephole;
  tl_value_id a = formula(l, k, "RecurrentSum", (tl_value_id[4]){s->at[2], h, l->gates_turned});
  cut(l, k, a, 4, g);
  g[0] = sigmoid(k, p[0] ? add(k, g[0], mul(k, c, p[0])) : g[0]);
  g[2] = sigmoid(k, p[2] ? add(k, g[2], mul(k, c, p[2])) : g[2]);
  g[3] = hyperbolic(k, g[3]);
  c = formula(l, k, "LstmState", (tl_value_id[4]){g[2], c, g[0], g[3]});
  g[1] = sigmoid(k, p[1] ? add(k, g[1], mul(k, c, p[1])) : g[1]);
  h = mul(k, g[1], hyperbolic(k, c));
  s->out[0] = h;
  s->out[1] = c;
  s->out[2] = tl_make_identity(k, h);
  s->out[3] = tl_make_identity(k, c);
  s->out[4] = join(k, g, 4, 1);
}

/* Returns the product of h with the candidate's weight, plus the bias that is added before the
 * reset gate. */
static tl_value_id candidate(const layer *l, tl_maker *k, tl_value_id h) {
  tl_value_id of_h = product(k, h, l->candidate_turned);
  return l->late_bias ? add(k, of_h, l->late_bias) : of_h;
}

/* GRU step. State h; scanned: the product with the input. Gives h, then h and the gates for the
 * stacked results. */
static void gru_step(layer *l, tl_maker *k, scan *s) {
  tl_value_id h = s->at[0], g[3];
  tl_value_id a = gates(l, k, s->at[1], 1, 0, 2);
  a = formula(l, k, "RecurrentSum", (tl_value_id[4]){a, h, l->gates_turned});
  a = sigmoid(k, a);
  cut(l, k, a, 2, g);
  tl_value_id inner = l->reset_after ? mul(k, g[1], candidate(l, k, h))
                                     : candidate(l, k, mul(k, g[1], h));
  g[2] = hyperbolic(k, add(k, gates(l, k, s->at[1], 1, 2, 3), inner));
  tl_value_id kept = mul(k, g[0], h);
  h = add(k, kept, mul(k, complement(l, k, g[0]), g[2]));
  s->out[0] = h;
  s->out[1] = tl_make_identity(k, h);
  s->out[2] = join(k, g, 3, 1);
}

/* Returns the biases that are added before the steps, for all steps at once. */
static tl_value_id early_bias(layer *l) {
  int64_t n = l->l->gates;
  tl_value_id both = tl_make_squeeze(&l->k, l->in[B], 0);
  tl_value_id w = gates(l, &l->k, both, 0, 0, n), parts[2];
  if (!l->reset_after || n == 4)
    return add(&l->k, w, gates(l, &l->k, both, 0, n, 2 * n));
  parts[0] = gates(l, &l->k, w, 0, 0, 2);
  parts[0] = add(&l->k, parts[0], gates(l, &l->k, both, 0, n, n + 2));
  parts[1] = gates(l, &l->k, w, 0, 2, 3);
  return join(&l->k, parts, 2, 0);
}

static void make_forward(layer *l) {
  bool lstm = l->l->gates == 4;
  scan s = {.n_states = lstm ? 2 : 1, .n_scanned = 1, .n_out = lstm ? 5 : 3};
  s.scanned[0] = product(&l->k, l->in[X], turned(&l->k, l->w));
  if (l->in[B])
    s.scanned[0] = add(&l->k, s.scanned[0], early_bias(l));
  s.states[0] = state(l, INITIAL_H);
  if (lstm)
    s.states[1] = state(l, l->l->c);
  tl_value_id first = make_scan(l, &s, lstm ? lstm_step : gru_step);
  if (!first)
    return;
  put(l, 0, first + s.n_states, 1);
  put(l, 1, first, 0);
  if (lstm)
    put(l, 2, first + 1, 0);
  if (lstm)
    put(l, 3, first + 3, 1);
  put(l, lstm ? 4 : 2, first + s.n_out - 1, 1);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* One step of the LSTM gradient, last step first. States: gradients of h and c. Scanned: gates, c,
 * previous c, and the gradient of each h, if there is one. Gives the gradients of the previous h
 * and c, and of the sums that the functions were applied to. */
static void lstm_back(layer *l, tl_maker *k, scan *s) {
  tl_value_id g[4], d[4], dh = s->at[0], dc = s->at[1], before = s->at[4];
  cut(l, k, s->at[2], 4, g);
  if (s->n_scanned == 4)
    dh = add(k, dh, s->at[5]);
  tl_value_id y = hyperbolic(k, s->at[3]);
  d[1] = sigmoid_slope(l, k, mul(k, dh, y), g[1]);
  dc = add(k, dc, tanh_slope(l, k, mul(k, dh, g[1]), y));
  d[0] = sigmoid_slope(l, k, mul(k, dc, g[3]), g[0]);
  d[2] = sigmoid_slope(l, k, mul(k, dc, before), g[2]);
  d[3] = tanh_slope(l, k, mul(k, dc, g[0]), g[3]);
  s->out[2] = join(k, d, 4, 1);
  s->out[0] = product(k, s->out[2], l->of_gates);
  s->out[1] = mul(k, dc, g[2]);
}

/* One step of the GRU gradient, last step first. State: gradient of h. Scanned: gates, previous h,
 * and the gradient of each h, if there is one. Gives the gradients of the previous h and of the
 * sums that the functions were applied to. */
static void gru_back(layer *l, tl_maker *k, scan *s) {
  tl_value_id g[3], d[3], dh = s->at[0], before = s->at[2];
  cut(l, k, s->at[1], 3, g);
  if (s->n_scanned == 3)
    dh = add(k, dh, s->at[3]);
  d[0] = sigmoid_slope(l, k, mul(k, dh, op2(k, TL_OP_Sub, before, g[2])), g[0]);
  d[2] = tanh_slope(l, k, mul(k, dh, complement(l, k, g[0])), g[2]);
  tl_value_id back;
  if (l->reset_after) {
    back = product(k, mul(k, d[2], g[1]), l->of_candidate);
    d[1] = mul(k, d[2], candidate(l, k, before));
  } else {
    tl_value_id of_d = product(k, d[2], l->of_candidate);
    back = mul(k, of_d, g[1]);
    d[1] = mul(k, of_d, before);
  }
  d[1] = sigmoid_slope(l, k, d[1], g[1]);
  tl_value_id kept = add(k, mul(k, dh, g[0]), back);
  tl_value_id both = join(k, d, 2, 1);
  s->out[0] = add(k, kept, product(k, both, l->of_gates));
  s->out[1] = join(k, d, 3, 1);
}

/* Returns the states with which steps began: the first one, then those of all steps but the
 * last. */
static tl_value_id before_steps(layer *l, tl_value_id first, tl_value_id all) {
  tl_value_id parts[2];
  parts[0] = tl_make_unsqueeze(&l->k, first, 0);
  if (dim_of(l->m, l->in[X], 0, 3) == 1)
    return parts[0];
  parts[1] = tl_make_slice(&l->k, all, 0, 0, -1);
  return join(&l->k, parts, 2, 0);
}

/* Reshapes [S,B,n] to one row per step and element of the batch. */
static tl_value_id rows(layer *l, tl_value_id v, int64_t n) {
  const int64_t shape[] = {-1, n};
  return tl_make_reshape(&l->k, v, shape, 2);
}

static tl_value_id sum_of(layer *l, tl_value_id v) {
  const int64_t axis = 0;
  return tl_make_with(&l->k, TL_OP_ReduceSum, v, tl_make_ints(&l->k, &axis, 1),
                      tl_attr_int(TL_SYM_keepdims, 0));
}

/* Applies the reset gate for the candidate's weight gradient: to the gradient d if the gate scales
 * the product (reset_after), else to h. */
static void reset(layer *l, tl_value_id *d, tl_value_id *h) {
  int64_t n = l->hidden;
  tl_value_id all = tl_make_squeeze(&l->k, l->in[l->l->all_gates], 1);
  tl_value_id r = rows(l, gates(l, &l->k, all, 2, 1, 2), n);
  if (l->reset_after)
    *d = mul(&l->k, *d, r);
  else
    *h = mul(&l->k, *h, r);
}

/* Makes the gradients of X, W, R and biases from those of the sums, [S,B,G*H], and the previous
 * states. These need no Scan, since all steps are known. */
static void make_weights(layer *l, tl_value_id sums, tl_value_id before) {
  int64_t n = l->l->gates;
  tl_maker *k = &l->k;
  tl_value_id d = rows(l, sums, n * l->hidden), h = rows(l, before, l->hidden), parts[3];
  put(l, 0, product(k, sums, l->w), -1);
  tl_value_id x = rows(l, l->in[X], dim_of(l->m, l->in[W], 2, 3));
  put(l, 1, product(k, turned(k, d), x), 0);
  tl_value_id total = sum_of(l, d);
  if (n == 4) {
    put(l, 2, product(k, turned(k, d), h), 0);
    parts[0] = parts[1] = total;
    put(l, 3, join(k, parts, 2, 0), 0);
    return;
  }
  tl_value_id last = gates(l, k, d, 1, 2, 3), behind = h;
  reset(l, &last, &behind);
  parts[0] = product(k, turned(k, gates(l, k, d, 1, 0, 2)), h);
  parts[1] = product(k, turned(k, last), behind);
  put(l, 2, join(k, parts, 2, 0), 0);
  parts[0] = total;
  parts[1] = gates(l, k, total, 0, 0, 2);
  parts[2] = sum_of(l, last);
  put(l, 3, join(k, parts, 3, 0), 0);
}

static void make_gradients(layer *l) {
  const layout *a = l->l;
  bool lstm = a->gates == 4;
  tl_maker *k = &l->k;
  scan s = {.n_states = lstm ? 2 : 1, .n_out = lstm ? 3 : 2};
  tl_value_id started = state(l, INITIAL_H);
  tl_value_id before = before_steps(l, started, tl_make_squeeze(k, l->in[a->all_h], 1));
  s.scanned[s.n_scanned++] = tl_make_squeeze(k, l->in[a->all_gates], 1);
  if (lstm) {
    tl_value_id all = tl_make_squeeze(k, l->in[a->all_c], 1);
    s.scanned[s.n_scanned++] = all;
    s.scanned[s.n_scanned++] = before_steps(l, state(l, a->c), all);
  } else {
    s.scanned[s.n_scanned++] = before;
  }
  if (l->in[a->d_all])
    s.scanned[s.n_scanned++] = tl_make_squeeze(k, l->in[a->d_all], 1);
  s.states[0] = state(l, a->d_h);
  if (lstm)
    s.states[1] = state(l, a->d_c);
  tl_value_id first = make_scan(l, &s, lstm ? lstm_back : gru_back);
  if (!first)
    return;
  put(l, 4, first, 0);
  if (lstm)
    put(l, 5, first + 1, 0);
  make_weights(l, first + s.n_out - 1, before);
}

/* ---- what no step changes -------------------------------------------------------------------- */

/* Makes what no step changes once, outside of the Scan. */
static void make_constants(layer *l) {
  tl_maker *k = &l->k;
  bool lstm = l->l->gates == 4, turns = !l->l->grad;
  l->w = tl_make_squeeze(k, l->in[W], 0);
  l->r = tl_make_squeeze(k, l->in[R], 0);
  l->of_gates = lstm ? l->r : gates(l, k, l->r, 0, 0, 2);
  l->of_candidate = lstm ? TL_NO_VALUE : gates(l, k, l->r, 0, 2, 3);
  if (turns)
    l->gates_turned = turned(k, l->of_gates);
  if (!lstm && (turns || l->reset_after))
    l->candidate_turned = turned(k, l->of_candidate);
  if (!lstm && l->in[B] && l->reset_after)
    l->late_bias = gates(l, k, tl_make_squeeze(k, l->in[B], 0), 0, 5, 6);
  if (!lstm || !l->in[l->l->peephole])
    return;
  tl_value_id all = tl_make_squeeze(k, l->in[l->l->peephole], 0);
  for (int64_t i = 0; i < 3; i++)
    l->peephole[i] = gates(l, k, all, 0, i, i + 1);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static tl_status visit(layer *l) {
  const tl_node *node = tl_node_get(l->m, l->n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (node->results + i == l->m->loss || node->results + i == l->m->seed)
      return TL_OK;
  if (node->control_in || node->control_out || !read_layer(l) ||
      (l->l->grad && l->l->gates == 4 && is_wanted(l, 6)) || !tl_pass_may_rewrite(l->p))
    return TL_OK;
  TL_TRY(tl_pass_formulas(l->p, l->m, &l->formulas));
  l->k = tl_maker_before(l->m, l->n);
  tl_maker_mark mark = tl_maker_save(&l->k);
  make_constants(l);
  if (l->l->grad)
    make_gradients(l);
  else
    make_forward(l);
  if (l->k.clash) {
    tl_maker_undo(&l->k, mark);
    tl_pass_remark(l->p, l->m, l->n, false, "no Scan: shapes contradict each other");
    return TL_OK;
  }
  for (uint32_t i = 0; i < MOST_RESULTS; i++)
    if (l->made[i])
      tl_maker_replace(&l->k, tl_result(l->m, l->n, i), l->made[i]);
  TL_TRY(tl_maker_status(&l->k));
  tl_pass_remark(l->p, l->m, l->n, true, "a Scan over the steps");
  tl_node_erase(l->m, l->n);
  return TL_OK;
}

tl_status tl_pass_recurrent_training(tl_pass *p, tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n) {
      layer l = {.p = p, .m = m, .n = n, .l = layout_of(tl_node_get(m, n)->op)};
      if (l.l)
        TL_TRY(visit(&l));
    }
  }
  return p->changed ? tl_infer_module(m) : TL_OK;
}
