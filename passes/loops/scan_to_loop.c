/* SPDX-License-Identifier: Apache-2.0 */
/* scan-to-loop: replaces a Scan by a Loop whose trip count is the length of the scanned operands.
 * The body takes its slices itself, by the iteration; results along another axis, or in reverse,
 * are turned behind the loop.
 *
 * Requires:  types inferred.     Keeps: names of results; everything else of the model.
 * After:     no Scan is left, but those with control edges or operands that do not fit the body.
 * Cost:      O(nodes + nodes of the bodies).
 * Tests:     tests/golden/scan-to-loop/ */
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/edit/copy.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"

/* The Scan at work. Inputs of the body: states, slices; outputs: states, values to be stacked. */
typedef struct scan {
  tl_pass *p;
  tl_module *m;
  tl_node_id n;
  const tl_graph *body;
  uint32_t n_states;
  uint32_t n_scanned;
  uint32_t n_stacked;
  tl_value_id length; /* int64[] */
  tl_maker k;         /* around the node */
  tl_graph_id made;   /* the body of the loop */
} scan;

static int64_t listed(const scan *s, tl_symbol name, uint32_t i) {
  tl_int_list list = tl_node_attr_ints(s->m, s->n, name);
  return i < list.n ? list.at[i] : 0;
}

/* Returns true if stacked value i can be moved to its axis: other axes than the first need a known
 * rank. */
static bool can_turn(const scan *s, uint32_t i) {
  tl_value_id v = tl_graph_output(s->m, s->body, s->n_states + i);
  int rank = tl_type_get(s->m, tl_value_type(s->m, v))->rank;
  int64_t axis = listed(s, TL_SYM_scan_output_axes, i);
  return axis == 0 || (rank >= 0 && axis >= -rank - 1 && axis <= rank);
}

/* Returns true if operands, body and results fit together, and every scanned operand has a rank. */
static bool is_plain(scan *s, const tl_pinned *pinned) {
  const tl_node *node = tl_node_get(s->m, s->n);
  const tl_attr *a = tl_node_attr(s->m, s->n, TL_SYM_body);
  int64_t scanned = tl_node_attr_int(s->m, s->n, TL_SYM_num_scan_inputs, 0);
  s->body = a && a->kind == TL_ATTR_GRAPH ? tl_graph_get(s->m, a->u.g) : NULL;
  if (!s->body || scanned < 1 || scanned > node->n_operands || node->control_in ||
      node->control_out || s->body->inputs.n != node->n_operands ||
      tl_graph_n_outputs(s->m, s->body) != node->n_results)
    return false;
  s->n_scanned = (uint32_t)scanned;
  s->n_states = node->n_operands - s->n_scanned;
  if (node->n_results < s->n_states)
    return false;
  s->n_stacked = node->n_results - s->n_states;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(s->m, s->n, i);
    if (!v || (i >= s->n_states && tl_type_get(s->m, tl_value_type(s->m, v))->rank < 1))
      return false;
  }
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(pinned, node->results + i) || !tl_graph_output(s->m, s->body, i) ||
        (i >= s->n_states && !can_turn(s, i - s->n_states)))
      return false;
  return true;
}

/* ---- the body -------------------------------------------------------------------------------- */

static tl_value_id add_input(scan *s, tl_maker *k, const char *name, tl_type_id type) {
  tl_symbol symbol = tl_maker_name(k, tl_sv_from(name));
  tl_value_id v = symbol == TL_NO_SYMBOL || tl_maker_failed(k)
                      ? TL_NO_VALUE
                      : tl_graph_add_input(s->m, s->made, symbol, type, TL_NO_TENSOR);
  k->no_memory = k->no_memory || !v;
  return v;
}

/* Returns the slice of scanned operand i for an iteration; in reverse direction counted from the
 * end. */
static tl_value_id make_slice(scan *s, tl_maker *k, uint32_t i, tl_value_id iteration) {
  tl_value_id x = tl_operand(s->m, s->n, s->n_states + i);
  int rank = tl_type_get(s->m, tl_value_type(s->m, x))->rank;
  int64_t axis = listed(s, TL_SYM_scan_input_axes, i);
  tl_value_id place = iteration;
  if (listed(s, TL_SYM_scan_input_directions, i)) {
    tl_value_id last = tl_make(k, TL_OP_Sub, s->length, tl_make_int(k, 1), TL_NO_VALUE);
    place = tl_make(k, TL_OP_Sub, last, iteration, TL_NO_VALUE);
  }
  return tl_make_pick(k, x, axis < 0 ? axis + rank : axis, place);
}

static void set_outputs(scan *s, tl_copier *c, tl_value_id condition) {
  uint32_t n = s->n_states + s->n_stacked;
  tl_value_id *outputs = tl_arena_calloc(s->p->scratch, n + 1, sizeof *outputs);
  c->k->no_memory = c->k->no_memory || !outputs;
  if (tl_maker_failed(c->k))
    return;
  outputs[0] = condition;
  for (uint32_t i = 0; i < n; i++)
    outputs[1 + i] = tl_copy_of(c, tl_graph_output(s->m, s->body, i));
  if (tl_graph_set_outputs(s->m, s->made, outputs, n + 1) != TL_OK)
    c->k->no_memory = true;
}

static void fill_body(scan *s, tl_copier *c) {
  tl_value_id iteration =
      add_input(s, c->k, "iteration", tl_type_tensor(s->m, TL_DTYPE_I64, 0, NULL));
  tl_value_id condition =
      add_input(s, c->k, "condition", tl_type_tensor(s->m, TL_DTYPE_BOOL, 0, NULL));
  for (uint32_t i = 0; i < s->n_states; i++) {
    tl_value_id old = s->body->inputs.at[i];
    tl_copy_set(c, old, add_input(s, c->k, "state", tl_value_type(s->m, old)));
  }
  for (uint32_t i = 0; i < s->n_scanned; i++)
    tl_copy_set(c, s->body->inputs.at[s->n_states + i], make_slice(s, c->k, i, iteration));
  tl_copy_constants(c, s->body);
  tl_copy_nodes(c, s->body);
  set_outputs(s, c, condition);
}

/* ---- results --------------------------------------------------------------------------------- */

static bool is_turned(const scan *s, uint32_t i) {
  return listed(s, TL_SYM_scan_output_axes, i) != 0 ||
         listed(s, TL_SYM_scan_output_directions, i) != 0;
}

/* Returns v, stacked along axis 0, in the direction and along the axis of stacked result i. */
static tl_value_id turn(scan *s, uint32_t i, tl_value_id v) {
  int64_t perm[TL_MAX_RANK];
  int64_t axis = listed(s, TL_SYM_scan_output_axes, i);
  int rank = tl_type_get(s->m, tl_value_type(s->m, v))->rank;
  if (listed(s, TL_SYM_scan_output_directions, i)) {
    const int64_t from = -1, to = INT64_MIN, along = 0;
    tl_value_id operands[5] = {v};
    operands[1] = operands[4] = tl_make_ints(&s->k, &from, 1); /* from the last one, step -1 */
    operands[2] = tl_make_ints(&s->k, &to, 1);
    operands[3] = tl_make_ints(&s->k, &along, 1);
    v = tl_make_list(&s->k, TL_OP_Slice, operands, 5, (tl_attr){.kind = TL_ATTR_NONE});
  }
  axis = axis < 0 ? axis + rank : axis;
  if (axis == 0)
    return v;
  if (tl_maker_failed(&s->k))
    return TL_NO_VALUE;
  for (int64_t to = 0, from = 1; to < rank; to++)
    perm[to] = to == axis ? 0 : from++;
  return tl_make_transpose(&s->k, v, perm, (uint32_t)rank);
}

/* Returns the type of stacked result i before it is turned: the body's type with the length in
 * front. */
static tl_type_id stacked_type(const scan *s, uint32_t i) {
  tl_type t =
      *tl_type_get(s->m, tl_value_type(s->m, tl_graph_output(s->m, s->body, s->n_states + i)));
  tl_dim dims[TL_MAX_RANK];
  const tl_tensor *length = tl_value_constant(s->m, s->length);
  int64_t known = TL_DIM_UNKNOWN;
  if (t.kind != TL_KIND_TENSOR || t.rank < 0 || t.rank >= TL_MAX_RANK)
    return TL_NO_TYPE;
  if (length)
    (void)tl_tensor_int_at(s->m, length, 0, &known);
  dims[0] = known;
  for (int k = 0; k < t.rank; k++)
    dims[k + 1] = t.dims[k];
  return tl_type_tensor(s->m, (tl_dtype)t.dtype, t.rank + 1, dims);
}

static void move_result(scan *s, uint32_t i, tl_value_id made) {
  tl_value *old = tl_value_get(s->m, tl_result(s->m, s->n, i));
  tl_value_get(s->m, made)->name = old->name;
  tl_value_set_type(s->m, made, old->type);
  old->name = 0;
  tl_value_replace_uses(s->m, tl_result(s->m, s->n, i), made);
}

/* Lets the loop's results, or the nodes that turn them, take over the uses. */
static void move_results(scan *s, tl_node_id loop) {
  for (uint32_t i = 0; i < s->n_states; i++)
    move_result(s, i, tl_result(s->m, loop, i));
  for (uint32_t i = 0; i < s->n_stacked && !tl_maker_failed(&s->k); i++) {
    tl_value_id v = tl_result(s->m, loop, s->n_states + i);
    if (is_turned(s, i)) {
      tl_value_set_type(s->m, v, stacked_type(s, i));
      tl_value_set_name(s->m, v, tl_maker_name(&s->k, TL_SV("Loop")));
      v = turn(s, i, v);
    }
    if (v)
      move_result(s, s->n_states + i, v);
  }
}

/* ---- the pass -------------------------------------------------------------------------------- */

static tl_node_id insert_loop(scan *s) {
  uint32_t n_in = s->n_states + 2;
  tl_value_id *operands = tl_arena_calloc(s->p->scratch, n_in, sizeof *operands);
  tl_attr body = tl_attr_graph(TL_SYM_body, s->made);
  s->k.no_memory = s->k.no_memory || !operands;
  if (tl_maker_failed(&s->k))
    return TL_NO_NODE;
  operands[0] = s->length;
  for (uint32_t i = 0; i < s->n_states; i++)
    operands[2 + i] = tl_operand(s->m, s->n, i);
  tl_node_spec spec = {.op = TL_OP_Loop,
                       .name = tl_node_get(s->m, s->n)->name,
                       .operands = operands,
                       .n_operands = n_in,
                       .attrs = &body,
                       .n_attrs = 1,
                       .n_results = s->n_states + s->n_stacked};
  tl_node_id loop = tl_graph_insert(s->m, s->n, &spec);
  s->k.no_memory = !loop || !tl_trace_derive(s->m, loop, &s->n, 1, false);
  if (!loop)
    return TL_NO_NODE;
  tl_graph_get(s->m, s->made)->owner = loop;
  tl_node_get(s->m, loop)->scope = tl_node_get(s->m, s->n)->scope;
  tl_node_get(s->m, loop)->stream = tl_node_get(s->m, s->n)->stream;
  return loop;
}

/* Makes the Loop. If types contradict each other, everything is taken back. */
static tl_status replace(scan *s) {
  tl_maker_mark mark = tl_maker_save(&s->k);
  s->length = tl_make_size(&s->k, tl_operand(s->m, s->n, s->n_states),
                           listed(s, TL_SYM_scan_input_axes, 0));
  s->made = tl_graph_create(s->m, TL_GRAPH_BODY, s->body->name, s->n);
  s->k.no_memory = s->k.no_memory || !s->made;
  if (s->k.no_memory)
    return tl_maker_status(&s->k);
  tl_maker inner = s->k;
  inner.graph = s->made;
  inner.before = TL_NO_NODE;
  tl_copier c = {.k = &inner};
  fill_body(s, &c);
  tl_copier_release(&c);
  s->k.no_memory = inner.no_memory;
  s->k.clash = inner.clash;
  tl_node_id loop = insert_loop(s);
  if (loop)
    move_results(s, loop);
  if (s->k.no_memory)
    return tl_maker_status(&s->k);
  if (!loop) {
    tl_graph_erase(s->m, s->made);
    tl_maker_undo(&s->k, mark);
    tl_pass_remark(s->p, s->m, s->n, false, "not a loop: types contradict each other");
    return TL_OK;
  }
  tl_pass_remark(s->p, s->m, s->n, true, "replaced by a Loop");
  tl_node_erase(s->m, s->n);
  return tl_maker_status(&s->k);
}

static tl_status visit(tl_pass *p, tl_module *m, tl_node_id n, const tl_pinned *pinned) {
  scan s = {.p = p, .m = m, .n = n};
  if (tl_node_get(m, n)->op != TL_OP_Scan || !is_plain(&s, pinned) || !tl_pass_may_rewrite(p))
    return TL_OK;
  tl_arena_mark mark = tl_arena_save(p->scratch);
  s.k = tl_maker_before(m, n);
  tl_status status = replace(&s);
  tl_arena_rewind(p->scratch, mark);
  return status;
}

/* Visits outer Scans first: bodies of inner ones are copied with them, and the copies are visited
 * later. */
tl_status tl_pass_scan_to_loop(tl_pass *p, tl_module *m) {
  if (m->graphs.n == 1)
    return TL_OK;
  TL_TRY(tl_visit_nodes(p, m, visit));
  return p->changed ? tl_infer_module(m) : TL_OK;
}
