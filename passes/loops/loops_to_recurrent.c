/* SPDX-License-Identifier: Apache-2.0 */
/* loops-to-recurrent: replaces a Loop or Scan over a sequence whose body is a step of LSTM or GRU,
 * as TensorFlow's and Keras' cells are exported, by that layer. The layer is one kernel, and its
 * products with the sequence are one product.
 *
 * Requires:  types inferred.     Keeps: names of results; everything else of the model.
 * After:     no loop is left that is exactly such a layer, with weights that are constant.
 * Cost:      O(nodes of bodies^2).
 * Tests:     tests/golden/loops-to-recurrent/ */
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/maker.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/loops/cell_reader.h"
#include "passes/loops/loops.h"

/* The loop at work. Carried value i is input first_in + i of the body and operand first_operand + i
 * of the node, output first_out + i of the body, result i of the node; stacked values follow. */
typedef struct layer {
  tl_module *m;
  tl_node_id n;
  const tl_graph *body;
  uint32_t first_in;
  uint32_t first_out;
  uint32_t n_carried;
  uint32_t n_stacked;
  uint32_t h; /* carried value */
  uint32_t c; /* carried value; that of h in GRU */
  tl_value_id sequence;
  bool backwards;
  tl_cell_reader cell;
  tl_maker k;
} layer;

static const tl_type *type_of(const layer *l, tl_value_id v) {
  return tl_type_get(l->m, tl_value_type(l->m, v));
}

static bool is_of_rank(const layer *l, tl_value_id v, int rank) {
  const tl_type *t = type_of(l, v);
  return v && t->kind == TL_KIND_TENSOR && t->rank == rank;
}

static bool number(const layer *l, tl_value_id v, int64_t *out) {
  v = tl_cell_plain(l->m, v);
  const tl_tensor *t = v ? tl_value_constant(l->m, v) : NULL;
  return t && tl_tensor_elements(l->m, t) == 1 && tl_tensor_int_at(l->m, t, 0, out);
}

static tl_node_id made_by(const layer *l, tl_value_id v, tl_op_id op) {
  tl_node_id n = v ? tl_value_producer(l->m, v) : TL_NO_NODE;
  return n && tl_node_get(l->m, n)->op == op ? n : TL_NO_NODE;
}

static tl_value_id carried_in(const layer *l, uint32_t i) {
  return l->body->inputs.at[l->first_in + i];
}

static tl_value_id carried_out(const layer *l, uint32_t i) {
  return tl_cell_plain(l->m, tl_graph_output(l->m, l->body, l->first_out + i));
}

/* ---- what a Loop counts ---------------------------------------------------------------------- */

/* Returns true if v, of the body, is the number of the iteration: its input for that, or a carried
 * number that begins with 0 and grows by 1. after: v is what it is in the next iteration. */
static bool is_iteration(const layer *l, tl_value_id v, bool after) {
  int64_t begin = -1, step = 0;
  v = tl_cell_plain(l->m, v);
  if (!after && v == l->body->inputs.at[0])
    return true;
  for (uint32_t i = 0; i < l->n_carried; i++) {
    tl_node_id sum = made_by(l, carried_out(l, i), TL_OP_Add);
    if (v != (after ? carried_out(l, i) : carried_in(l, i)) || !sum ||
        !number(l, tl_operand(l->m, l->n, l->first_in + i), &begin) || begin != 0)
      continue;
    for (uint32_t k = 0; k < 2; k++)
      if (tl_cell_plain(l->m, tl_operand(l->m, sum, k)) == carried_in(l, i) &&
          number(l, tl_operand(l->m, sum, 1 - k), &step) && step == 1)
        return true;
  }
  tl_node_id sum = after ? made_by(l, v, TL_OP_Add) : TL_NO_NODE;
  for (uint32_t k = 0; sum && k < 2; k++)
    if (is_iteration(l, tl_operand(l->m, sum, k), false) &&
        number(l, tl_operand(l->m, sum, 1 - k), &step) && step == 1)
      return true;
  return false;
}

/* Returns a value of the body as the node sees it: what is carried unchanged is an operand. */
static tl_value_id outside(const layer *l, tl_value_id v) {
  v = tl_cell_plain(l->m, v);
  for (uint32_t i = 0; i < l->n_carried; i++)
    if (v == carried_in(l, i) && v == carried_out(l, i))
      return tl_cell_plain(l->m, tl_operand(l->m, l->n, l->first_in + i));
  return v;
}

/* Returns true for a condition of the body that holds until the last step alone can be behind it:
 * iteration + 1 < limit, with limits of at least `steps`, or nothing at all. *limit is lowered. */
static bool reads_condition(const layer *l, tl_value_id v, int64_t *limit, int depth) {
  int64_t n;
  v = tl_cell_plain(l->m, v);
  if (v == l->body->inputs.at[1] || (number(l, v, &n) && n != 0))
    return true;
  tl_node_id both = made_by(l, v, TL_OP_And), less = made_by(l, v, TL_OP_Less);
  if (both && depth > 0)
    return reads_condition(l, tl_operand(l->m, both, 0), limit, depth - 1) &&
           reads_condition(l, tl_operand(l->m, both, 1), limit, depth - 1);
  if (!less || !is_iteration(l, tl_operand(l->m, less, 0), true) ||
      !number(l, outside(l, tl_operand(l->m, less, 1)), &n) || n < 1)
    return false;
  *limit = n < *limit ? n : *limit;
  return true;
}

/* Returns true if v is the number of steps of the sequence, computed from its shape. */
static bool is_length(const layer *l, tl_value_id v) {
  int64_t place = -1;
  v = tl_cell_plain(l->m, v);
  tl_node_id pick = made_by(l, v, TL_OP_Gather);
  tl_node_id shape = pick ? made_by(l, tl_cell_plain(l->m, tl_operand(l->m, pick, 0)), TL_OP_Shape)
                          : TL_NO_NODE;
  return shape && tl_cell_plain(l->m, tl_operand(l->m, shape, 0)) == l->sequence &&
         !tl_node_attr_int(l->m, shape, TL_SYM_start, 0) &&
         number(l, tl_operand(l->m, pick, 1), &place) && place == 0;
}

/* Returns true if the Loop runs once for each step of the sequence. */
static bool runs_through(const layer *l) {
  tl_dim steps = type_of(l, l->sequence)->dims[0];
  int64_t limit = INT64_MAX, once = 1;
  tl_value_id trips = tl_operand(l->m, l->n, 0), first = tl_operand(l->m, l->n, 1);
  if (first && (!number(l, first, &once) || once == 0))
    return false;
  if (trips && !number(l, trips, &limit))
    return is_length(l, trips) &&
           tl_cell_plain(l->m, tl_graph_output(l->m, l->body, 0)) == l->body->inputs.at[1];
  return reads_condition(l, tl_graph_output(l->m, l->body, 0), &limit, 4) &&
         tl_dim_is_static(steps) && steps > 0 && limit == steps;
}

/* Finds the slice of this step: Gather of a sequence by the iteration. */
static bool finds_slice(layer *l) {
  TL_FOR_NODES(l->m, l->body, n) {
    if (tl_node_get(l->m, n)->op != TL_OP_Gather || tl_node_attr_int(l->m, n, TL_SYM_axis, 0) ||
        !is_of_rank(l, tl_operand(l->m, n, 1), 0) ||
        !is_iteration(l, tl_operand(l->m, n, 1), false))
      continue;
    l->sequence = outside(l, tl_operand(l->m, n, 0));
    l->cell.x = tl_result(l->m, n, 0);
    return is_of_rank(l, l->sequence, 3) && tl_value_graph(l->m, l->sequence) != l->body->id;
  }
  return false;
}

/* ---- both kinds of loops --------------------------------------------------------------------- */

static bool is_listed(const layer *l, tl_symbol name, uint32_t i, int64_t wanted) {
  tl_int_list list = tl_node_attr_ints(l->m, l->n, name);
  return (i < list.n ? list.at[i] : 0) == wanted;
}

static bool reads_loop(layer *l, const tl_pinned *pinned) {
  tl_loop_form form;
  if (!tl_loop_read(l->m, pinned, l->n, &form))
    return false;
  l->body = form.body;
  l->first_in = 2;
  l->first_out = 1;
  l->n_carried = form.n_carried;
  l->n_stacked = form.n_stacked;
  return finds_slice(l) && runs_through(l);
}

/* A Scan of one sequence along its first axis; what is stacked runs the same way. */
static bool reads_scan(layer *l, const tl_pinned *pinned) {
  const tl_node *node = tl_node_get(l->m, l->n);
  const tl_attr *a = tl_node_attr(l->m, l->n, TL_SYM_body);
  l->body = a && a->kind == TL_ATTR_GRAPH ? tl_graph_get(l->m, a->u.g) : NULL;
  if (!l->body || tl_node_attr_int(l->m, l->n, TL_SYM_num_scan_inputs, 0) != 1 ||
      node->n_operands < 2 || l->body->inputs.n != node->n_operands || node->control_in ||
      node->control_out || tl_graph_n_outputs(l->m, l->body) != node->n_results ||
      node->n_results < node->n_operands - 1 || !is_listed(l, TL_SYM_scan_input_axes, 0, 0))
    return false;
  l->n_carried = node->n_operands - 1;
  l->n_stacked = node->n_results - l->n_carried;
  l->backwards = is_listed(l, TL_SYM_scan_input_directions, 0, 1);
  l->sequence = tl_operand(l->m, l->n, l->n_carried);
  l->cell.x = l->body->inputs.at[l->n_carried];
  for (uint32_t i = 0; i < l->n_stacked; i++)
    if (!is_listed(l, TL_SYM_scan_output_axes, i, 0) ||
        !is_listed(l, TL_SYM_scan_output_directions, i, l->backwards))
      return false;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(pinned, node->results + i))
      return false;
  return is_of_rank(l, l->sequence, 3);
}

static bool is_used(const layer *l, uint32_t result) {
  return tl_value_get(l->m, tl_result(l->m, l->n, result))->n_uses != 0;
}

/* Returns true if a carried value is a state of the layer: [batch, hidden], of the batch of the
 * sequence. */
static bool is_state(const layer *l, uint32_t i) {
  tl_value_id v = tl_operand(l->m, l->n, l->first_in + i);
  if (!is_of_rank(l, v, 2) || !is_of_rank(l, carried_in(l, i), 2))
    return false;
  const tl_dim *dims = type_of(l, v)->dims, *x = type_of(l, l->sequence)->dims;
  return dims[0] == x[1] && dims[0] != TL_DIM_UNKNOWN && tl_dim_is_static(dims[1]) &&
         tl_dim_is_static(x[2]) && type_of(l, v)->dtype == type_of(l, l->sequence)->dtype;
}

/* Returns true if the results that are used are those of the layer. */
static bool results_fit(const layer *l) {
  for (uint32_t i = 0; i < l->n_carried; i++)
    if (i != l->h && i != l->c && is_used(l, i))
      return false;
  for (uint32_t i = 0; i < l->n_stacked; i++)
    if (is_used(l, l->n_carried + i) &&
        tl_cell_plain(l->m, tl_graph_output(l->m, l->body, l->first_out + l->n_carried + i)) !=
            l->cell.next_h)
      return false;
  return true;
}

/* Tries carried values as the states. */
static bool reads_cell(layer *l) {
  tl_cell_reader *r = &l->cell;
  r->m = l->m;
  r->body = l->body->id;
  for (l->h = 0; l->h < l->n_carried; l->h++) {
    if (!is_state(l, l->h))
      continue;
    r->h = carried_in(l, l->h);
    r->next_h = carried_out(l, l->h);
    r->width = type_of(l, l->sequence)->dims[2];
    r->hidden = type_of(l, tl_operand(l->m, l->n, l->first_in + l->h))->dims[1];
    l->c = l->h;
    r->c = TL_NO_VALUE;
    if (tl_cell_read_gru(r) && results_fit(l))
      return true;
    for (l->c = 0; l->c < l->n_carried; l->c++) {
      if (l->c == l->h || !is_state(l, l->c))
        continue;
      r->c = carried_in(l, l->c);
      r->next_c = carried_out(l, l->c);
      if (tl_cell_read_lstm(r) && results_fit(l))
        return true;
    }
  }
  return false;
}

/* ---- the layer ------------------------------------------------------------------------------- */

/* Returns a constant where the layer sees it; those of the body are copied. */
static tl_value_id visible(layer *l, tl_value_id v) {
  return tl_value_graph(l->m, v) == l->body->id
             ? tl_make_constant(&l->k, tl_value_get(l->m, v)->tensor, "weights")
             : v;
}

/* Makes [hidden, rows] of a part of the weights. */
static tl_value_id make_part(layer *l, const tl_cell_part *p) {
  static const int64_t perm[] = {1, 0};
  int64_t columns = p->turned ? 0 : 1;
  tl_value_id v = visible(l, p->at);
  v = tl_make_slice(&l->k, v, columns, p->col, p->col + l->cell.hidden);
  v = tl_make_slice(&l->k, v, 1 - columns, p->row, p->row + p->rows);
  return p->turned ? v : tl_make_transpose(&l->k, v, perm, 2);
}

/* Makes the sum of the biases, [hidden]; zeros without any. */
static tl_value_id make_bias(layer *l, const tl_cell_sum *s) {
  const int64_t all = -1, hidden = l->cell.hidden;
  tl_value_id sum = TL_NO_VALUE;
  for (uint32_t i = 0; s && i < s->n_biases; i++) {
    tl_value_id v = tl_make_reshape(&l->k, visible(l, s->bias[i].at), &all, 1);
    v = tl_make_slice(&l->k, v, 0, s->bias[i].col, s->bias[i].col + hidden);
    sum = sum ? tl_make(&l->k, TL_OP_Add, sum, v, TL_NO_VALUE) : v;
  }
  if (sum)
    return sum;
  tl_value_id zero = tl_make_number(&l->k, (tl_dtype)type_of(l, l->sequence)->dtype, 0);
  tl_value_id shape = tl_make_ints(&l->k, &hidden, 1);
  return tl_make(&l->k, TL_OP_Expand, zero, shape, TL_NO_VALUE);
}

/* Makes W, R and B from the gates. */
static void make_weights(layer *l, uint32_t gates, tl_value_id *in) {
  tl_value_id w[4], r[4], b[8];
  for (uint32_t i = 0; i < gates; i++) {
    bool after = l->cell.reset_after && i == 2;
    w[i] = make_part(l, &l->cell.gate[i].x);
    r[i] = make_part(l, after ? &l->cell.inner.h : &l->cell.gate[i].h);
    b[i] = make_bias(l, &l->cell.gate[i]);
    b[gates + i] = make_bias(l, after ? &l->cell.inner : NULL);
  }
  in[1] = tl_make_unsqueeze(&l->k, tl_make_concat(&l->k, w, gates, 0), 0);
  in[2] = tl_make_unsqueeze(&l->k, tl_make_concat(&l->k, r, gates, 0), 0);
  in[3] = tl_make_unsqueeze(&l->k, tl_make_concat(&l->k, b, 2 * gates, 0), 0);
}

static tl_value_id state(layer *l, uint32_t i) {
  return tl_make_unsqueeze(&l->k, tl_operand(l->m, l->n, l->first_in + i), 0);
}

static tl_value_id make_layer(layer *l, bool lstm) {
  tl_value_id in[7] = {l->sequence};
  make_weights(l, lstm ? 4 : 3, in);
  in[5] = state(l, l->h);
  if (lstm)
    in[6] = state(l, l->c);
  tl_attr attrs[3] = {tl_attr_int(TL_SYM_hidden_size, l->cell.hidden)};
  uint32_t n = 1;
  if (l->backwards) {
    tl_symbol reverse = tl_module_intern(l->m, TL_SV("reverse"));
    l->k.no_memory = l->k.no_memory || reverse == TL_NO_SYMBOL;
    attrs[n++] = tl_attr_string(TL_SYM_direction, reverse);
  }
  if (!lstm && l->cell.reset_after)
    attrs[n++] = tl_attr_int(TL_SYM_linear_before_reset, 1);
  tl_node_spec spec = {.op = lstm ? TL_OP_LSTM : TL_OP_GRU,
                       .name = tl_node_get(l->m, l->n)->name,
                       .operands = in,
                       .n_operands = lstm ? 7 : 6,
                       .attrs = attrs,
                       .n_attrs = n,
                       .n_results = lstm ? 3 : 2};
  return tl_make_node(&l->k, &spec);
}

static void put(layer *l, uint32_t result, tl_value_id made, int64_t axis) {
  if (is_used(l, result))
    tl_maker_replace(&l->k, tl_result(l->m, l->n, result), tl_make_squeeze(&l->k, made, axis));
}

static tl_status replace(tl_pass *p, layer *l) {
  bool lstm = l->c != l->h;
  tl_maker_mark mark = tl_maker_save(&l->k);
  tl_value_id y = make_layer(l, lstm);
  if (l->k.clash) {
    tl_maker_undo(&l->k, mark);
    return TL_OK;
  }
  if (l->k.no_memory)
    return tl_maker_status(&l->k);
  put(l, l->h, y + 1, 0);
  if (lstm)
    put(l, l->c, y + 2, 0);
  for (uint32_t i = 0; i < l->n_stacked; i++)
    put(l, l->n_carried + i, y, 1);
  if (tl_maker_failed(&l->k))
    return tl_maker_status(&l->k);
  tl_pass_remark(p, l->m, l->n, true, "the loop is %s", lstm ? "LSTM" : "GRU");
  tl_node_erase(l->m, l->n);
  return TL_OK;
}

static tl_status visit(tl_pass *p, tl_module *m, tl_node_id n, const tl_pinned *pinned) {
  layer l = {.m = m, .n = n};
  tl_op_id op = tl_node_get(m, n)->op;
  if (op != TL_OP_Loop && op != TL_OP_Scan)
    return TL_OK;
  if (!(op == TL_OP_Loop ? reads_loop(&l, pinned) : reads_scan(&l, pinned)) || !reads_cell(&l) ||
      !tl_pass_may_rewrite(p))
    return TL_OK;
  l.k = tl_maker_before(m, n);
  return replace(p, &l);
}

tl_status tl_pass_loops_to_recurrent(tl_pass *p, tl_module *m) {
  if (m->graphs.n == 1 || p->options->numerics == TL_NUMERICS_EXACT)
    return TL_OK;
  return tl_visit_nodes(p, m, visit);
}
