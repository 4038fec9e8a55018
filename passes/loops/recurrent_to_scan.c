/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent-to-scan: replaces RNN, GRU and LSTM that no NPU op computes by a Scan per direction.
 * The Scan runs over the product of input and weights, which is taken for all steps at once. All
 * layers first get the form that NPU ops have: steps before the batch, no attributes at their
 * defaults.
 *
 * Requires:  types inferred.     Keeps: names of results; everything else of the model.
 * After:     a recurrent layer has an NPU form, or an open hidden size, an unknown rank or
 *            function, or a control edge.
 * Cost:      O(nodes).
 * Tests:     tests/golden/recurrent-to-scan/ */
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/loops/recurrent_cell.h"
#include "passes/npu/eval.h"

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLE, N_OPERANDS };

typedef struct rewriting {
  tl_pass *p;
  tl_module *m;
  tl_pinned pinned;
  tl_npu_forms forms;
  tl_arena lists;
} rewriting;

/* The layer at work. Letters: S steps, B batch, D directions, I input size, H hidden size. */
typedef struct layer {
  rewriting *w;
  tl_node_id n;
  uint32_t gates;
  uint32_t directions;
  bool first_reversed; /* direction 0 runs backwards */
  int64_t hidden;
  tl_dtype dtype;
  tl_maker k;
  tl_value_id in[N_OPERANDS];
  tl_value_id lengths; /* i64[B], NULL: all steps count */
  tl_value_id mask;    /* bool[S,B,1]: does the step count? */
} layer;

static const struct {
  tl_op_id op;
  uint32_t gates;
} layers[] = {{TL_OP_RNN, 1}, {TL_OP_GRU, 3}, {TL_OP_LSTM, 4}};

static uint32_t gates_of(tl_op_id op) {
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
    if (layers[i].op == op)
      return layers[i].gates;
  return 0;
}

static tl_dim dim_of(const tl_module *m, tl_value_id v, int i, int rank) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  return v && t->kind == TL_KIND_TENSOR && t->rank == rank ? t->dims[i] : TL_DIM_UNKNOWN;
}

static bool may_change(const rewriting *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(&w->pinned, node->results + i))
      return false;
  return !node->control_in && !node->control_out;
}

/* Reads sizes that must be known. Returns false otherwise; select then reports the node. */
static bool read_layer(layer *l) {
  const tl_module *m = l->w->m;
  tl_sv direction = tl_node_attr_string(m, l->n, TL_SYM_direction);
  l->gates = gates_of(tl_node_get(m, l->n)->op);
  for (uint32_t i = 0; i < N_OPERANDS; i++)
    l->in[i] = tl_operand(m, l->n, i);
  l->directions = tl_sv_is(direction, "bidirectional") ? 2 : 1;
  l->first_reversed = tl_sv_is(direction, "reverse");
  l->hidden = dim_of(m, l->in[R], 2, 3);
  l->dtype = tl_type_dtype(m, tl_value_type(m, l->in[X]));
  for (uint32_t i = X; i <= R; i++)
    if (!l->in[i] || tl_type_get(m, tl_value_type(m, l->in[i]))->rank != 3)
      return false;
  return l->gates && l->hidden > 0 && tl_dtype_is_float(l->dtype) &&
         dim_of(m, l->in[R], 1, 3) == l->hidden * (int64_t)l->gates &&
         dim_of(m, l->in[W], 1, 3) == l->hidden * (int64_t)l->gates &&
         dim_of(m, l->in[W], 0, 3) == (int64_t)l->directions;
}

/* ---- the form that NPU ops have -------------------------------------------------------------- */

/* Removes attributes that state the default, and sets the hidden size, which ONNX leaves
 * optional. */
static tl_status tidy(layer *l) {
  tl_module *m = l->w->m;
  if (tl_cell_is_default(m, l->n, l->gates, l->directions)) {
    tl_node_remove_attr(m, l->n, TL_SYM_activations);
    tl_node_remove_attr(m, l->n, TL_SYM_activation_alpha);
    tl_node_remove_attr(m, l->n, TL_SYM_activation_beta);
  }
  if (tl_node_attr_float(m, l->n, TL_SYM_clip, 0) == 0)
    tl_node_remove_attr(m, l->n, TL_SYM_clip);
  return tl_node_set_attr(m, l->n, tl_attr_int(TL_SYM_hidden_size, l->hidden));
}

static const int64_t swap[] = {1, 0, 2};

/* Transposes an operand from batch-first to steps-first. */
static void turn_operand(layer *l, uint32_t i) {
  if (!l->in[i])
    return;
  l->in[i] = tl_make_transpose(&l->k, l->in[i], swap, 3);
  if (l->in[i])
    tl_node_set_operand(l->w->m, l->n, i, l->in[i]);
}

/* Gives a result the steps-first order, with a Transpose back behind it. */
static void turn_result(layer *l, uint32_t i) {
  static const int64_t all[] = {2, 0, 1, 3};
  tl_module *m = l->w->m;
  tl_value_id old = tl_result(m, l->n, i);
  if (!old || !tl_value_get(m, old)->n_uses || tl_maker_failed(&l->k))
    return;
  tl_type_id type = tl_value_type(m, old);
  tl_symbol name = tl_value_get(m, old)->name, fresh = tl_maker_name(&l->k, TL_SV("Layer"));
  tl_attr perm = i ? tl_attr_ints(m, TL_SYM_perm, swap, 3) : tl_attr_ints(m, TL_SYM_perm, all, 4);
  tl_node_spec spec = {
      .op = TL_OP_Transpose, .results = &name, .n_results = 1, .attrs = &perm, .n_attrs = 1};
  tl_node_id made = fresh == TL_NO_SYMBOL || perm.kind == TL_ATTR_NONE
                        ? TL_NO_NODE
                        : tl_graph_insert(m, l->n, &spec);
  l->k.no_memory = !made || !tl_trace_derive(m, made, &l->n, 1, false);
  if (!made)
    return;
  tl_node_move_after(m, made, l->n);
  tl_value_set_type(m, tl_result(m, made, 0), type);
  tl_value_replace_uses(m, old, tl_result(m, made, 0));
  tl_value_set_name(m, old, fresh);
  tl_value_set_type(m, old, TL_NO_TYPE);
  l->k.no_memory = tl_node_set_operands(m, made, &old, 1) != TL_OK;
}

/* Changes layout 1 (batch first) to layout 0, which NPU ops have. */
static void put_steps_first(layer *l) {
  tl_module *m = l->w->m;
  turn_operand(l, X);
  turn_operand(l, INITIAL_H);
  turn_operand(l, INITIAL_C);
  for (uint32_t i = 0; i < tl_node_get(m, l->n)->n_results; i++)
    turn_result(l, i);
  tl_node_remove_attr(m, l->n, TL_SYM_layout);
  if (!tl_maker_failed(&l->k))
    (void)tl_maker_infer(&l->k, l->n);
}

/* ---- what a Scan works on -------------------------------------------------------------------- */

static tl_value_id op2(layer *l, tl_op_id op, tl_value_id a, tl_value_id b) {
  return tl_make(&l->k, op, a, b, TL_NO_VALUE);
}

/* Returns operand i of a direction, without the axis of directions. */
static tl_value_id of_direction(layer *l, uint32_t i, uint32_t d) {
  return l->in[i] ? tl_make_pick(&l->k, l->in[i], 0, tl_make_int(&l->k, d)) : TL_NO_VALUE;
}

/* Returns true if all lengths equal S, so that no mask is needed. */
static bool counts_all(const layer *l) {
  const tl_tensor *t = tl_value_constant(l->w->m, l->in[LENGTHS]);
  tl_dim steps = dim_of(l->w->m, l->in[X], 0, 3);
  uint64_t n = t ? tl_tensor_elements(l->w->m, t) : 0;
  int64_t v = 0;
  for (uint64_t i = 0; i < n; i++)
    if (!tl_tensor_int_at(l->w->m, t, i, &v) || v != steps)
      return false;
  return t != NULL;
}

/* Makes the mask of steps that count: step < length. */
static void make_mask(layer *l) {
  if (!l->in[LENGTHS] || counts_all(l))
    return;
  l->lengths = tl_make_cast(&l->k, l->in[LENGTHS], TL_DTYPE_I64);
  tl_value_id size = tl_make_size(&l->k, l->in[X], 0);
  tl_value_id zero = tl_make_int(&l->k, 0), one = tl_make_int(&l->k, 1);
  tl_value_id steps = tl_make(&l->k, TL_OP_Range, zero, size, one);
  steps = tl_make_unsqueeze(&l->k, steps, 1);
  tl_value_id before = op2(l, TL_OP_Less, steps, tl_make_unsqueeze(&l->k, l->lengths, 0));
  l->mask = tl_make_unsqueeze(&l->k, before, 2);
}

/* Reverses the steps of each row of the batch that count; the others stay behind them. */
static tl_value_id reverse(layer *l, tl_value_id v) {
  const tl_value_id operands[] = {v, l->lengths};
  const tl_attr attrs[] = {tl_attr_int(TL_SYM_time_axis, 0), tl_attr_int(TL_SYM_batch_axis, 1)};
  tl_node_spec spec = {.op = TL_OP_ReverseSequence,
                       .operands = operands,
                       .n_operands = 2,
                       .n_results = 1,
                       .attrs = attrs,
                       .n_attrs = 2};
  return tl_make_node(&l->k, &spec);
}

/* Returns zeros [B,H], or [0,B,H] where there are no steps. */
static tl_value_id make_zeros(layer *l, bool of_steps) {
  const int64_t known[] = {0, dim_of(l->w->m, l->in[X], 1, 3), l->hidden};
  const int64_t *batch = known + 1;
  tl_value_id shape;
  if (tl_dim_is_static(*batch)) {
    shape = tl_make_ints(&l->k, of_steps ? known : batch, of_steps ? 3 : 2);
  } else {
    tl_value_id parts[3];
    uint32_t n = 0;
    if (of_steps)
      parts[n++] = tl_make_ints(&l->k, known, 1);
    parts[n++] = tl_make_unsqueeze(&l->k, tl_make_size(&l->k, l->in[X], 1), 0);
    parts[n++] = tl_make_ints(&l->k, &l->hidden, 1);
    shape = tl_make_concat(&l->k, parts, n, 0);
  }
  return op2(l, TL_OP_Expand, tl_make_number(&l->k, l->dtype, 0), shape);
}

/* Returns initial state i of a direction; zeros if the model gives none. */
static tl_value_id initial(layer *l, uint32_t i, uint32_t d) {
  return l->in[i] ? of_direction(l, i, d) : make_zeros(l, false);
}

/* Returns the biases that are added before the steps; sets cell->bias, which waits for the reset
 * gate. */
static tl_value_id early_bias(layer *l, uint32_t d, tl_cell *cell) {
  const int64_t n = l->hidden * (int64_t)l->gates, first = 2 * l->hidden;
  tl_value_id both = of_direction(l, B, d);
  if (!both)
    return TL_NO_VALUE;
  tl_value_id w = tl_make_slice(&l->k, both, 0, 0, n);
  if (!cell->reset_after)
    return op2(l, TL_OP_Add, w, tl_make_slice(&l->k, both, 0, n, 2 * n));
  cell->bias = tl_make_slice(&l->k, both, 0, n + first, 2 * n);
  tl_value_id gates = tl_make_slice(&l->k, w, 0, 0, first), parts[2];
  parts[0] = op2(l, TL_OP_Add, gates, tl_make_slice(&l->k, both, 0, n, n + first));
  parts[1] = tl_make_slice(&l->k, w, 0, first, n);
  return tl_make_concat(&l->k, parts, 2, 0);
}

/* Transposes a weight [rows, k] to [k, rows]. */
static tl_value_id turned(layer *l, tl_value_id v) {
  static const int64_t perm[] = {1, 0};
  return tl_make_transpose(&l->k, v, perm, 2);
}

static void make_weights(layer *l, uint32_t d, tl_cell *cell) {
  tl_value_id r = of_direction(l, R, d);
  cell->weight = l->gates == 3 ? turned(l, tl_make_slice(&l->k, r, 0, 0, 2 * l->hidden))
                               : turned(l, r);
  if (l->gates == 3)
    cell->candidate = turned(l, tl_make_slice(&l->k, r, 0, 2 * l->hidden, 3 * l->hidden));
  if (l->gates == 4)
    cell->peephole = of_direction(l, PEEPHOLE, d);
}

/* ---- the Scan -------------------------------------------------------------------------------- */

static tl_value_id add_input(layer *l, tl_maker *k, tl_dtype dtype, tl_value_id rows, int64_t n) {
  const tl_type *t = tl_type_get(k->m, tl_value_type(k->m, rows));
  const tl_dim dims[] = {t->rank > 1 ? t->dims[t->rank - 2] : TL_DIM_UNKNOWN, n};
  tl_symbol name = tl_maker_name(k, TL_SV("step"));
  tl_type_id type = tl_type_tensor(k->m, dtype, 2, dims);
  tl_value_id v = name == TL_NO_SYMBOL || !type || tl_maker_failed(k)
                      ? TL_NO_VALUE
                      : tl_graph_add_input(k->m, k->graph, name, type, TL_NO_TENSOR);
  k->no_memory = k->no_memory || !v;
  l->k.no_memory = k->no_memory;
  return v;
}

/* Keeps the state, or gives zeros, at steps that do not count. */
static tl_value_id masked(tl_maker *k, tl_value_id mask, tl_value_id now, tl_value_id before) {
  return mask ? tl_make(k, TL_OP_Where, mask, now, before) : now;
}

/* Makes the body of the Scan. Inputs: state h (and c), product with the input, mask; outputs:
 * state, output of the step. */
static tl_graph_id make_body(layer *l, const tl_cell *cell, tl_value_id product) {
  tl_maker k = l->k;
  k.graph = tl_graph_create(k.m, TL_GRAPH_BODY, tl_maker_name(&k, TL_SV("body")), l->n);
  k.before = TL_NO_NODE;
  l->k.no_memory = l->k.no_memory || !k.graph;
  if (!k.graph)
    return TL_NO_GRAPH;
  tl_value_id h = add_input(l, &k, l->dtype, product, l->hidden), c = TL_NO_VALUE;
  if (l->gates == 4)
    c = add_input(l, &k, l->dtype, product, l->hidden);
  tl_value_id z = add_input(l, &k, l->dtype, product, l->hidden * (int64_t)l->gates);
  tl_value_id mask = l->mask ? add_input(l, &k, TL_DTYPE_BOOL, product, 1) : TL_NO_VALUE;
  tl_value_id new_c = c, new_h = tl_cell_make(&k, cell, z, h, &new_c);
  tl_value_id y = mask ? masked(&k, mask, new_h, tl_make_number(&k, l->dtype, 0))
                       : tl_make_identity(&k, new_h);
  new_h = masked(&k, mask, new_h, h);
  new_c = c ? masked(&k, mask, new_c, c) : TL_NO_VALUE;
  const tl_value_id outputs[] = {new_h, c ? new_c : y, y};
  l->k.no_memory = k.no_memory;
  l->k.clash = k.clash;
  if (!tl_maker_failed(&k) && tl_graph_set_outputs(k.m, k.graph, outputs, c ? 3 : 2) != TL_OK)
    l->k.no_memory = true;
  return k.graph;
}

/* Result of one direction: Y [S,B,H] and the final states. */
typedef struct outcome {
  tl_value_id y;
  tl_value_id h;
  tl_value_id c;
} outcome;

/* Makes the Scan of a direction. It runs backwards unless there are lengths, for which the operand
 * is reversed instead. */
static outcome make_scan(layer *l, const tl_cell *cell, uint32_t d, tl_value_id product) {
  outcome out = {0};
  bool backwards = (d == 1 || l->first_reversed) && !l->lengths;
  tl_value_id in[4];
  uint32_t n = 0, n_states = l->gates == 4 ? 2 : 1, n_scanned = l->mask ? 2 : 1;
  const int64_t ones[] = {1, 1};
  in[n++] = initial(l, INITIAL_H, d);
  if (l->gates == 4)
    in[n++] = initial(l, INITIAL_C, d);
  in[n++] = product;
  in[n++] = l->mask;
  tl_graph_id body = tl_maker_failed(&l->k) ? TL_NO_GRAPH : make_body(l, cell, product);
  tl_attr attrs[] = {tl_attr_graph(TL_SYM_body, body),
                     tl_attr_int(TL_SYM_num_scan_inputs, n_scanned),
                     tl_attr_ints(l->w->m, TL_SYM_scan_input_directions, ones, n_scanned),
                     tl_attr_ints(l->w->m, TL_SYM_scan_output_directions, ones, 1)};
  tl_node_spec spec = {.op = TL_OP_Scan,
                       .operands = in,
                       .n_operands = n_states + n_scanned,
                       .n_results = n_states + 1,
                       .attrs = attrs,
                       .n_attrs = backwards ? 4 : 2};
  tl_value_id first = tl_make_node(&l->k, &spec);
  tl_node_id made = first ? tl_value_producer(l->w->m, first) : TL_NO_NODE;
  if (made)
    tl_graph_get(l->w->m, body)->owner = made;
  else if (body)
    tl_graph_erase(l->w->m, body);
  if (made)
    out =
        (outcome){.h = first, .c = n_states == 2 ? first + 1 : TL_NO_VALUE, .y = first + n_states};
  return out;
}

/* Makes one direction of an empty sequence: the states stay what they are. A Scan would lose an
 * open batch: what it stacks has no step that tells the size. */
static outcome make_no_steps(layer *l, uint32_t d) {
  return (outcome){.h = initial(l, INITIAL_H, d),
                   .c = l->gates == 4 ? initial(l, INITIAL_C, d) : TL_NO_VALUE,
                   .y = make_zeros(l, true)};
}

/* Makes one direction: the product with the input for all steps at once, then the Scan. */
static outcome make_direction(layer *l, uint32_t d) {
  tl_cell cell = {.gates = l->gates, .hidden = l->hidden, .dtype = l->dtype};
  bool turns = l->lengths && (d == 1 || l->first_reversed);
  if (!tl_cell_read(l->w->m, l->n, d, &cell)) { /* asked before anything was made */
    l->k.clash = true;
    return (outcome){0};
  }
  if (dim_of(l->w->m, l->in[X], 0, 3) == 0)
    return make_no_steps(l, d);
  if (tl_pass_formulas(l->w->p, l->w->m, &cell.formulas) != TL_OK) {
    l->k.no_memory = true;
    return (outcome){0};
  }
  tl_value_id x = turns ? reverse(l, l->in[X]) : l->in[X];
  tl_value_id product = op2(l, TL_OP_MatMul, x, turned(l, of_direction(l, W, d)));
  tl_value_id bias = early_bias(l, d, &cell);
  if (bias)
    product = op2(l, TL_OP_Add, product, bias);
  make_weights(l, d, &cell);
  outcome out = make_scan(l, &cell, d, product);
  if (turns && out.y && tl_value_get(l->w->m, tl_result(l->w->m, l->n, 0))->n_uses)
    out.y = reverse(l, out.y);
  return out;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Joins directions along a new axis. */
static tl_value_id join(layer *l, tl_value_id first, tl_value_id second, int64_t axis) {
  tl_value_id parts[] = {tl_make_unsqueeze(&l->k, first, axis), TL_NO_VALUE};
  if (l->directions == 1)
    return parts[0];
  parts[1] = tl_make_unsqueeze(&l->k, second, axis);
  return tl_make_concat(&l->k, parts, 2, axis);
}

static void make_result(layer *l, uint32_t i, tl_value_id first, tl_value_id second) {
  tl_value_id old = tl_result(l->w->m, l->n, i);
  if (!old || !tl_value_get(l->w->m, old)->n_uses || tl_maker_failed(&l->k))
    return;
  tl_maker_replace(&l->k, old, join(l, first, second, i == 0 ? 1 : 0));
}

static bool knows_functions(const layer *l) {
  tl_cell cell = {.gates = l->gates};
  for (uint32_t d = 0; d < l->directions; d++)
    if (!tl_cell_read(l->w->m, l->n, d, &cell))
      return false;
  return true;
}

/* Replaces a layer by Scans; takes everything back if shapes contradict each other. */
static tl_status expand(layer *l) {
  outcome out[2] = {{0}, {0}};
  tl_maker_mark mark = tl_maker_save(&l->k);
  for (uint32_t i = 0; i < N_OPERANDS; i++)
    l->in[i] = tl_operand(l->w->m, l->n, i);
  make_mask(l);
  for (uint32_t d = 0; d < l->directions && !tl_maker_failed(&l->k); d++)
    out[d] = make_direction(l, d);
  if (l->k.clash) {
    tl_maker_undo(&l->k, mark);
    tl_pass_remark(l->w->p, l->w->m, l->n, false, "not a Scan: shapes contradict each other");
    return TL_OK;
  }
  make_result(l, 0, out[0].y, out[1].y);
  make_result(l, 1, out[0].h, out[1].h);
  make_result(l, 2, out[0].c, out[1].c);
  TL_TRY(tl_maker_status(&l->k));
  tl_pass_remark(l->w->p, l->w->m, l->n, true, "a Scan for each of %u directions", l->directions);
  tl_node_erase(l->w->m, l->n);
  return TL_OK;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Returns in *out whether an NPU op computes the layer. */
static tl_status has_form(rewriting *w, tl_node_id n, bool *out) {
  tl_site site = {.m = w->m, .scratch = &w->lists, .options = w->p->options, .node = n};
  tl_arena_mark mark = tl_arena_save(&w->lists);
  const tl_npu_form *form = NULL;
  int16_t candidate;
  TL_TRY(tl_npu_choose(&w->forms, &site, &candidate, &form));
  *out = form && form->row->kind != TL_LOWER_NONE && form->row->kind != TL_LOWER_EXPAND &&
         tl_npu_takes_dtypes(&site, form);
  tl_arena_rewind(&w->lists, mark);
  return site.failed ? tl_no_memory(w->m) : TL_OK;
}

static tl_status visit(rewriting *w, tl_node_id n) {
  layer l = {.w = w, .n = n};
  bool has = false;
  if (!may_change(w, n) || !read_layer(&l) || !knows_functions(&l) || !tl_pass_may_rewrite(w->p))
    return TL_OK;
  l.k = tl_maker_before(w->m, n);
  TL_TRY(tidy(&l));
  if (tl_node_attr_int(w->m, n, TL_SYM_layout, 0) != 0)
    put_steps_first(&l);
  TL_TRY(tl_maker_status(&l.k));
  TL_TRY(has_form(w, n, &has));
  return has ? TL_OK : expand(&l);
}

static tl_status visit_all(rewriting *w) {
  for (uint32_t i = 0; i < w->m->graphs.n; i++) {
    const tl_graph *g = w->m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(w->m, g, n)
      if (gates_of(tl_node_get(w->m, n)->op))
        TL_TRY(visit(w, n));
  }
  return w->p->changed ? tl_infer_module(w->m) : TL_OK;
}

tl_status tl_pass_recurrent_to_scan(tl_pass *p, tl_module *m) {
  rewriting w = {.p = p, .m = m};
  TL_TRY(tl_pinned_find(p, m, &w.pinned));
  TL_TRY(tl_npu_forms_init(&w.forms, m));
  tl_arena_init(&w.lists, 0);
  tl_status status = visit_all(&w);
  tl_arena_release(&w.lists);
  return status;
}
