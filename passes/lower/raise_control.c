/* SPDX-License-Identifier: Apache-2.0 */
/* Turns If, Case, While and calls of the NPU into ONNX's (raise_control.h). */
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

/* Puts the nodes of graph `id`, which has no inputs, in the place of node n. */
static tl_status splice(tl_module *m, tl_node_id n, tl_graph_id id) {
  const tl_graph *g = tl_graph_get(m, id);
  uint32_t n_results = tl_node_get(m, n)->n_results;
  tl_value_id *out = values(m, n_results);
  tl_maker k = tl_maker_before(m, n);
  if (!out)
    return tl_no_memory(m);
  list_outputs(m, g, out);
  TL_TRY(tl_graph_splice(m, id, n));
  for (uint32_t i = 0; i < n_results; i++)
    tl_maker_replace(&k, tl_result(m, n, i), out[i]);
  TL_TRY(tl_maker_status(&k));
  tl_node_erase(m, n);
  return TL_OK;
}

/* ---- If -------------------------------------------------------------------------------------- */

/* Makes a branch of node n use the operands behind the first one. */
static tl_status open_branch(tl_module *m, tl_node_id n, tl_graph_id id) {
  tl_graph *g = tl_graph_get(m, id);
  tl_value_id *out = values(m, tl_graph_n_outputs(m, g));
  tl_maker k = tl_maker_before(m, n);
  if (!out)
    return tl_no_memory(m);
  k.graph = id;
  k.before = TL_NO_NODE;
  use_operands(m, g, n, 1);
  return set_outputs(&k, out, list_outputs(m, g, out));
}

tl_status tl_raise_if(tl_module *m, tl_node_id n) {
  tl_maker k = tl_maker_before(m, n);
  if (!fits(m, body_of(m, n, TL_SYM_then_branch), n, 1) ||
      !fits(m, body_of(m, n, TL_SYM_else_branch), n, 1))
    return TL_OK;
  TL_TRY(open_branch(m, n, body_id(m, n, TL_SYM_then_branch)));
  TL_TRY(open_branch(m, n, body_id(m, n, TL_SYM_else_branch)));
  tl_value_id condition = tl_make_as(&k, tl_operand(m, n, 0), TL_DTYPE_BOOL);
  TL_TRY(tl_maker_status(&k));
  const tl_attr attrs[] = {*tl_node_attr(m, n, TL_SYM_then_branch),
                           *tl_node_attr(m, n, TL_SYM_else_branch)};
  TL_TRY(tl_node_set_operands(m, n, &condition, 1));
  TL_TRY(tl_node_set_attrs(m, n, attrs, 2));
  tl_node_set_op(m, n, TL_OP_If);
  return TL_OK;
}

/* ---- Case ------------------------------------------------------------------------------------ */

/* A Case that becomes Ifs. */
typedef struct choice {
  tl_node_id n;
  const tl_graph_id *at; /* its graphs */
  tl_value_id index;     /* 0..number of graphs - 1 */
} choice;

static tl_graph_id make_range(tl_maker *k, const choice *c, tl_node_id owner, uint32_t from,
                              uint32_t to);

/* Makes an If where the maker stands, which runs one of the graphs from..to-1, at least two. */
static tl_node_id make_halves(tl_maker *k, const choice *c, uint32_t from, uint32_t to) {
  tl_module *m = k->m;
  uint32_t middle = from + (to - from) / 2, count = tl_node_get(m, c->n)->n_results;
  tl_value_id bound = tl_make_int(k, middle);
  tl_value_id condition = tl_make(k, TL_OP_Less, c->index, bound, TL_NO_VALUE);
  if (tl_maker_failed(k))
    return TL_NO_NODE;
  tl_node_spec spec = {.op = TL_OP_If, .operands = &condition, .n_operands = 1, .n_results = count};
  tl_node_id n = k->before ? tl_graph_insert(m, k->before, &spec)
                           : tl_graph_append(m, k->graph, &spec);
  k->no_memory = k->no_memory || !n;
  tl_attr attrs[] = {tl_attr_graph(TL_SYM_then_branch, TL_NO_GRAPH),
                     tl_attr_graph(TL_SYM_else_branch, TL_NO_GRAPH)};
  attrs[0].u.g = n ? make_range(k, c, n, from, middle) : TL_NO_GRAPH;
  attrs[1].u.g = n ? make_range(k, c, n, middle, to) : TL_NO_GRAPH;
  if (tl_maker_failed(k) || tl_node_set_attrs(m, n, attrs, 2) != TL_OK) {
    k->no_memory = true;
    return TL_NO_NODE;
  }
  for (uint32_t i = 0; i < count; i++) {
    tl_value_id v = tl_result(m, n, i);
    tl_value_set_type(m, v, tl_value_type(m, tl_result(m, c->n, i)));
    tl_value_set_name(m, v, tl_maker_name(k, TL_SV("chosen")));
  }
  return n;
}

/* Returns a graph that runs one of the graphs from..to-1: that graph if it is one, else a body with
 * an If. */
static tl_graph_id make_range(tl_maker *k, const choice *c, tl_node_id owner, uint32_t from,
                              uint32_t to) {
  tl_module *m = k->m;
  if (to - from == 1) {
    tl_graph_get(m, c->at[from])->owner = owner;
    return c->at[from];
  }
  tl_maker inner = *k;
  inner.graph = tl_graph_create(m, TL_GRAPH_BODY, tl_graph_get(m, c->at[from])->name, owner);
  inner.before = TL_NO_NODE;
  inner.no_memory = k->no_memory || !inner.graph;
  tl_node_id n = tl_maker_failed(&inner) ? TL_NO_NODE : make_halves(&inner, c, from, to);
  uint32_t count = tl_node_get(m, c->n)->n_results;
  tl_value_id *out = values(m, count);
  for (uint32_t i = 0; n && out && i < count; i++)
    out[i] = tl_result(m, n, i);
  k->no_memory = inner.no_memory || !n || !out ||
                 tl_graph_set_outputs(m, inner.graph, out, count) != TL_OK;
  return inner.graph;
}

/* Returns the index as int64, with that of the last graph for a negative one. */
static tl_value_id make_index(tl_maker *k, tl_node_id n, uint32_t count) {
  tl_value_id index = tl_make_as(k, tl_operand(k->m, n, 0), TL_DTYPE_I64);
  tl_value_id zero = tl_make_int(k, 0);
  tl_value_id below = tl_make(k, TL_OP_Less, index, zero, TL_NO_VALUE);
  tl_value_id last = tl_make_int(k, count - 1);
  return tl_make(k, TL_OP_Where, below, last, index);
}

tl_status tl_raise_case(tl_module *m, tl_node_id n) {
  const tl_attr *branches = tl_node_attr(m, n, TL_SYM_branches);
  uint32_t count = 0, n_results = tl_node_get(m, n)->n_results;
  choice c = {.n = n, .at = branches ? tl_attr_graphs(branches, &count) : NULL};
  tl_maker k = tl_maker_before(m, n);
  if (!count)
    return TL_OK;
  for (uint32_t i = 0; i < count; i++)
    if (!fits(m, tl_graph_get(m, c.at[i]), n, 1) ||
        tl_graph_n_outputs(m, tl_graph_get(m, c.at[i])) != n_results)
      return TL_OK;
  for (uint32_t i = 0; i < count; i++)
    TL_TRY(open_branch(m, n, c.at[i]));
  if (count == 1)
    return splice(m, n, c.at[0]);
  c.index = make_index(&k, n, count);
  TL_TRY(tl_maker_status(&k));
  TL_TRY(tl_node_set_attrs(m, n, NULL, 0)); /* the Ifs own the graphs from here on */
  tl_node_id top = make_halves(&k, &c, 0, count);
  TL_TRY(tl_maker_status(&k));
  for (uint32_t i = 0; i < n_results; i++)
    tl_maker_replace(&k, tl_result(m, n, i), tl_result(m, top, i));
  TL_TRY(tl_maker_status(&k));
  tl_node_erase(m, n);
  return TL_OK;
}

/* ---- PartitionedCall ------------------------------------------------------------------------- */

tl_status tl_raise_call(tl_module *m, tl_node_id n) {
  tl_graph *g = body_of(m, n, TL_SYM_f);
  if (!fits(m, g, n, 0) || tl_graph_n_outputs(m, g) != tl_node_get(m, n)->n_results)
    return TL_OK;
  use_operands(m, g, n, 0);
  return splice(m, n, body_id(m, n, TL_SYM_f));
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
