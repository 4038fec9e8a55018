/* SPDX-License-Identifier: Apache-2.0 */
/* Turns If, While and calls of the NPU into ONNX's (raise_control.h). */
#include "passes/lower/raise_control.h"

#include "ir/ops_gen.h"
#include "passes/edit/copy.h"

static tl_graph *body_of(const tl_module *m, tl_node_id n, tl_symbol name) {
  const tl_attr *a = tl_node_attr(m, n, name);
  return a && a->kind == TL_ATTR_GRAPH ? tl_graph_get(m, a->u.g) : NULL;
}

static tl_graph_id body_id(const tl_module *m, tl_node_id n, tl_symbol name) {
  const tl_attr *a = tl_node_attr(m, n, name);
  return a && a->kind == TL_ATTR_GRAPH ? a->u.g : TL_NO_GRAPH;
}

/* Returns true if v is a value of another graph, or an input or output of this one already, so that
 * an output of graph g needs a copy of it. `before`: number of earlier outputs. */
static bool wants_copy(const tl_module *m, const tl_graph *g, const tl_value_id *out,
                       uint32_t before) {
  tl_value_id v = out[before];
  for (uint32_t i = 0; i < before; i++)
    if (out[i] == v)
      return true;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (g->inputs.at[i] == v)
      return true;
  TL_FOR_NODES(m, g, k) {
    const tl_node *node = tl_node_get(m, k);
    if (v >= node->results && v < node->results + node->n_results)
      return false;
  }
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i] == v)
      return false;
  return true;
}

/* Gives graph g these outputs, each a value of its own. */
static tl_status set_outputs(tl_maker *k, tl_value_id *out, uint32_t n) {
  for (uint32_t i = 0; i < n && !tl_maker_failed(k); i++)
    if (wants_copy(k->m, tl_graph_get(k->m, k->graph), out, i))
      out[i] = tl_make_identity(k, out[i]);
  TL_TRY(tl_maker_status(k));
  return tl_graph_set_outputs(k->m, k->graph, out, n);
}

/* Returns room for n values, owned by the module. */
static tl_value_id *values(tl_module *m, uint32_t n) {
  return tl_arena_calloc(&m->arena, n + 1u, sizeof(tl_value_id));
}

static uint32_t list_outputs(const tl_module *m, const tl_graph *g, tl_value_id *out) {
  uint32_t n = tl_graph_n_outputs(m, g);
  for (uint32_t i = 0; i < n; i++)
    out[i] = tl_graph_output(m, g, i);
  return n;
}

/* Makes graph g use operands of its node, from `first` on, instead of its inputs. */
static void use_operands(tl_module *m, tl_graph *g, tl_node_id n, uint32_t first) {
  while (g->inputs.n) {
    uint32_t i = g->inputs.n - 1;
    tl_value_replace_uses(m, g->inputs.at[i], tl_operand(m, n, first + i));
    tl_graph_erase_input(m, g->inputs.at[i]);
  }
}

/* Returns true if each input of g that is used has an operand. */
static bool fits(const tl_module *m, const tl_graph *g, tl_node_id n, uint32_t first) {
  for (uint32_t i = 0; g && i < g->inputs.n; i++)
    if (tl_value_get(m, g->inputs.at[i])->n_uses &&
        (first + i >= tl_node_get(m, n)->n_operands || !tl_operand(m, n, first + i)))
      return false;
  return g != NULL;
}

/* ---- If -------------------------------------------------------------------------------------- */

static tl_status open_branch(tl_module *m, tl_node_id n, tl_symbol name) {
  tl_graph *g = body_of(m, n, name);
  tl_value_id *out = values(m, tl_graph_n_outputs(m, g));
  tl_maker k = tl_maker_before(m, n);
  if (!out)
    return tl_no_memory(m);
  k.graph = body_id(m, n, name);
  k.before = TL_NO_NODE;
  use_operands(m, g, n, 1);
  return set_outputs(&k, out, list_outputs(m, g, out));
}

tl_status tl_raise_if(tl_module *m, tl_node_id n) {
  tl_maker k = tl_maker_before(m, n);
  if (!fits(m, body_of(m, n, TL_SYM_then_branch), n, 1) ||
      !fits(m, body_of(m, n, TL_SYM_else_branch), n, 1))
    return TL_OK;
  TL_TRY(open_branch(m, n, TL_SYM_then_branch));
  TL_TRY(open_branch(m, n, TL_SYM_else_branch));
  tl_value_id condition = tl_make_as(&k, tl_operand(m, n, 0), TL_DTYPE_BOOL);
  TL_TRY(tl_maker_status(&k));
  const tl_attr attrs[] = {*tl_node_attr(m, n, TL_SYM_then_branch),
                           *tl_node_attr(m, n, TL_SYM_else_branch)};
  TL_TRY(tl_node_set_operands(m, n, &condition, 1));
  TL_TRY(tl_node_set_attrs(m, n, attrs, 2));
  tl_node_set_op(m, n, TL_OP_If);
  return TL_OK;
}

/* ---- PartitionedCall ------------------------------------------------------------------------- */

tl_status tl_raise_call(tl_module *m, tl_node_id n) {
  tl_graph *g = body_of(m, n, TL_SYM_f);
  uint32_t n_results = tl_node_get(m, n)->n_results;
  if (!fits(m, g, n, 0) || tl_graph_n_outputs(m, g) != n_results)
    return TL_OK;
  tl_value_id *out = values(m, n_results);
  tl_maker k = tl_maker_before(m, n);
  if (!out)
    return tl_no_memory(m);
  use_operands(m, g, n, 0);
  list_outputs(m, g, out);
  TL_TRY(tl_graph_splice(m, body_id(m, n, TL_SYM_f), n));
  for (uint32_t i = 0; i < n_results; i++)
    tl_maker_replace(&k, tl_result(m, n, i), out[i]);
  TL_TRY(tl_maker_status(&k));
  tl_node_erase(m, n);
  return TL_OK;
}

/* ---- While ----------------------------------------------------------------------------------- */

/* Copies a graph to where the maker stands, with `in` for its inputs, and lists what it gives. */
static void copy_graph(tl_maker *k, const tl_graph *g, const tl_value_id *in, tl_value_id *out) {
  tl_copier c = {.k = k, .whole = true};
  for (uint32_t i = 0; i < g->inputs.n; i++)
    tl_copy_set(&c, g->inputs.at[i], in[i]);
  tl_copy_constants(&c, g);
  tl_copy_nodes(&c, g);
  for (uint32_t i = 0; i < tl_graph_n_outputs(k->m, g); i++)
    out[i] = tl_copy_of(&c, tl_graph_output(k->m, g, i));
  tl_copier_release(&c);
}

static tl_value_id add_input(tl_maker *k, const char *name, tl_type_id type) {
  tl_symbol symbol = tl_maker_name(k, tl_sv_from(name));
  tl_value_id v = symbol == TL_NO_SYMBOL || tl_maker_failed(k)
                      ? TL_NO_VALUE
                      : tl_graph_add_input(k->m, k->graph, symbol, type, TL_NO_TENSOR);
  k->no_memory = k->no_memory || !v;
  return v;
}

/* Fills the body of the Loop: iteration, condition and state in; condition and state out. */
static tl_status fill_loop(tl_maker *k, const tl_graph *test, const tl_graph *body) {
  tl_module *m = k->m;
  uint32_t n = body->inputs.n;
  tl_value_id *in = values(m, n), *out = values(m, n + 1);
  if (!in || !out)
    return tl_no_memory(m);
  add_input(k, "iteration", tl_type_tensor(m, TL_DTYPE_I64, 0, NULL));
  add_input(k, "condition", tl_type_tensor(m, TL_DTYPE_BOOL, 0, NULL));
  for (uint32_t i = 0; i < n; i++)
    in[i] = add_input(k, "state", tl_value_type(m, body->inputs.at[i]));
  TL_TRY(tl_maker_status(k));
  copy_graph(k, body, in, out + 1);
  copy_graph(k, test, out + 1, out);
  out[0] = tl_make_as(k, out[0], TL_DTYPE_BOOL);
  return set_outputs(k, out, n + 1);
}

/* Makes the Loop before the While. */
static tl_status insert_loop(tl_maker *k, tl_node_id n, tl_value_id condition, tl_graph_id made) {
  tl_module *m = k->m;
  uint32_t count = tl_node_get(m, n)->n_operands;
  tl_value_id *operands = values(m, count + 2);
  if (!operands)
    return tl_no_memory(m);
  operands[1] = condition;
  for (uint32_t i = 0; i < count; i++)
    operands[2 + i] = tl_operand(m, n, i);
  tl_attr body = tl_attr_graph(TL_SYM_body, made);
  tl_node_spec spec = {.op = TL_OP_Loop,
                       .name = tl_node_get(m, n)->name,
                       .operands = operands,
                       .n_operands = count + 2,
                       .attrs = &body,
                       .n_attrs = 1,
                       .n_results = count};
  tl_node_id loop = tl_graph_insert(m, n, &spec);
  if (!loop)
    return tl_no_memory(m);
  tl_graph_get(m, made)->owner = loop;
  for (uint32_t i = 0; i < count; i++) {
    tl_value_set_type(m, tl_result(m, loop, i), tl_value_type(m, tl_result(m, n, i)));
    tl_maker_replace(k, tl_result(m, n, i), tl_result(m, loop, i));
  }
  return tl_maker_status(k);
}

tl_status tl_raise_while(tl_module *m, tl_node_id n) {
  const tl_graph *test = body_of(m, n, TL_SYM_cond), *body = body_of(m, n, TL_SYM_body);
  uint32_t count = tl_node_get(m, n)->n_operands;
  if (!fits(m, test, n, 0) || !fits(m, body, n, 0) || tl_graph_n_outputs(m, test) != 1 ||
      test->inputs.n != count || body->inputs.n != count || tl_graph_n_outputs(m, body) != count ||
      tl_node_get(m, n)->n_results != count)
    return TL_OK;
  tl_maker k = tl_maker_before(m, n);
  tl_value_id *start = values(m, count), condition = TL_NO_VALUE;
  tl_graph_id made = tl_graph_create(m, TL_GRAPH_BODY, body->name, n);
  if (!start || !made)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < count; i++)
    start[i] = tl_operand(m, n, i);
  copy_graph(&k, test, start, &condition);
  condition = tl_make_as(&k, condition, TL_DTYPE_BOOL);
  TL_TRY(tl_maker_status(&k));
  tl_maker inner = k;
  inner.graph = made;
  inner.before = TL_NO_NODE;
  TL_TRY(fill_loop(&inner, test, body));
  TL_TRY(insert_loop(&k, n, condition, made));
  tl_node_erase(m, n);
  return TL_OK;
}
