/* SPDX-License-Identifier: Apache-2.0 */
/* Implements changes of models (include/tailor/graph.h): arguments are checked, then ir/graph.h
 * does it. Inside a pass of the caller each change counts as a rewrite. */
#include <stdlib.h>

#include "ir/graph.h"
#include "ir/verify/verify.h"
#include "lib/handle.h"

static bool is_node(const tl_model *m, uint32_t node) {
  tl_node_view view;
  return tl_model_node(m, node, &view) != 0;
}

static bool is_value(const tl_model *m, uint32_t value) {
  tl_value_view view;
  return tl_model_value(m, value, &view) != 0;
}

static bool is_graph(const tl_model *m, uint32_t graph) {
  tl_graph_view view;
  return tl_model_graph(m, graph, &view) != 0;
}

static int no_node(const tl_model *m, uint32_t node) {
  return tl_lib_misuse(m->context, "the model has no node %u", node);
}

static int no_value(const tl_model *m, uint32_t value) {
  return tl_lib_misuse(m->context, "the model has no value %u", value);
}

/* Ends a change that was tried: counts it, or says that memory is out. */
static int changed(tl_model *m, bool done) {
  uint32_t errors = tl_lib_begin(m->context);
  m->unchecked = true;
  if (done && m->pass) {
    ++*m->pass->rewrites;
    m->pass->changed++;
  }
  return tl_lib_end(m->context, done ? TL_OK : TL_NO_MEMORY, errors);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns the first operand that is no value; 0 if all are, or are absent. */
static uint32_t wrong_value(const tl_model *m, const uint32_t *values, uint32_t n, bool absent) {
  for (uint32_t i = 0; i < n; i++)
    if (!(absent && values[i] == TL_NO_VALUE) && !is_value(m, values[i]))
      return values[i] ? values[i] : UINT32_MAX;
  return 0;
}

/* Makes the node; 0 without memory. */
static tl_node_id make_node(tl_module *m, const tl_new_node *spec) {
  tl_symbol domain = tl_module_intern(m, tl_sv_from(spec->domain ? spec->domain : ""));
  tl_symbol op = tl_module_intern(m, tl_sv_from(spec->op));
  tl_symbol name = spec->name ? tl_module_intern(m, tl_sv_from(spec->name)) : 0;
  tl_symbol *results = calloc(spec->n_results + 1u, sizeof *results);
  bool failed = domain == TL_NO_SYMBOL || op == TL_NO_SYMBOL || name == TL_NO_SYMBOL ||
                results == NULL;
  for (uint32_t i = 0; !failed && i < spec->n_results; i++) {
    results[i] = tl_module_fresh_name(m, tl_sv_from(spec->name ? spec->name : spec->op));
    failed = results[i] == TL_NO_SYMBOL;
  }
  tl_op_id id = failed ? UINT32_MAX : tl_op_intern(m, domain, op);
  tl_node_spec s = {.op = id,
                    .name = name,
                    .operands = spec->operands,
                    .n_operands = spec->n_operands,
                    .results = results,
                    .n_results = spec->n_results};
  tl_node_id made = TL_NO_NODE;
  if (id != UINT32_MAX)
    made = spec->before ? tl_graph_insert(m, spec->before, &s)
                        : tl_graph_append(m, spec->graph, &s);
  free(results);
  return made;
}

int tl_model_add_node(tl_model *m, const tl_new_node *spec, uint32_t *node) {
  int code;
  if (tl_lib_lacks(m->context, spec, "spec", &code) ||
      (spec->n_operands && tl_lib_lacks(m->context, spec->operands, "spec->operands", &code)))
    return code;
  uint32_t wrong = wrong_value(m, spec->operands, spec->n_operands, true);
  if (wrong)
    return no_value(m, wrong);
  if (spec->before ? !is_node(m, spec->before) : !is_graph(m, spec->graph))
    return tl_lib_misuse(m->context,
                         "a node needs a place: before a node, or at the end of a graph");
  if (!spec->op || !*spec->op)
    return tl_lib_misuse(m->context, "a node needs an op");
  tl_node_id made = make_node(m->module, spec);
  if (made && node)
    *node = made;
  return changed(m, made != TL_NO_NODE);
}

/* Returns true if a graph is a body of the node, or lies inside of one. */
static bool is_inside(const tl_module *m, tl_graph_id g, tl_node_id node) {
  tl_node_id owner = tl_graph_get(m, g)->owner;
  while (owner && owner != node)
    owner = tl_graph_get(m, tl_node_get(m, owner)->graph)->owner;
  return owner != TL_NO_NODE;
}

/* Returns true if a node outside of the bodies of `node` uses the value. */
static bool is_used_outside(const tl_module *m, tl_value_id v, tl_node_id node) {
  TL_FOR_USES(m, v, u)
    if (!is_inside(m, tl_node_get(m, tl_use_get(m, u)->user)->graph, node))
      return true;
  return false;
}

/* Returns true if a value of a body of `node`, or of a graph in it, is used outside of them. */
static bool leaks(const tl_module *m, const tl_graph *g, tl_node_id node) {
  bool found = false;
  for (uint32_t i = 0; i < g->inputs.n && !found; i++)
    found = is_used_outside(m, g->inputs.at[i], node);
  for (uint32_t i = 0; i < g->constants.n && !found; i++)
    found = g->constants.at[i] && is_used_outside(m, g->constants.at[i], node);
  for (tl_node_id n = g->first; n && !found; n = tl_node_get(m, n)->next)
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_results && !found; i++)
      found = is_used_outside(m, tl_node_get(m, n)->results + i, node);
  return found;
}

/* Takes the operands of all nodes of a graph away, so that they can go in any order: a program may
 * have made one use the result of a later one. */
static void take_operands(tl_module *m, const tl_graph *g) {
  for (tl_node_id n = g->first; n; n = tl_node_get(m, n)->next)
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++)
      tl_node_set_operand(m, n, i, TL_NO_VALUE);
  for (uint32_t i = 0; i < tl_node_get(m, g->ret)->n_operands; i++)
    tl_node_set_operand(m, g->ret, i, TL_NO_VALUE);
}

/* Makes the bodies of a node ready to go with it; false if a node outside uses a value of theirs.
 * O(graphs of the module), for nodes that have bodies. */
static bool empty_bodies(tl_module *m, tl_node_id node) {
  const tl_node *n = tl_node_get(m, node);
  bool has = false;
  for (uint32_t i = 0; i < n->n_attrs; i++)
    has = has || n->attrs[i].kind == TL_ATTR_GRAPH || n->attrs[i].kind == TL_ATTR_GRAPHS;
  for (uint32_t pass = 0; has && pass < 2; pass++)
    for (tl_graph_id g = 1; g <= m->graphs.n; g++) {
      const tl_graph *body = tl_graph_get(m, g);
      if (body->erased || !is_inside(m, g, node))
        continue;
      if (pass == 0 && leaks(m, body, node))
        return false;
      if (pass == 1)
        take_operands(m, body);
    }
  return true;
}

int tl_model_erase_node(tl_model *m, uint32_t node) {
  if (!is_node(m, node))
    return no_node(m, node);
  const tl_node *n = tl_node_get(m->module, node);
  for (uint32_t i = 0; i < n->n_results; i++)
    if (tl_value_get(m->module, n->results + i)->n_uses)
      return tl_lib_misuse(m->context, "node %u is in use: replace uses of its results first",
                           node);
  if (!empty_bodies(m->module, node))
    return tl_lib_misuse(
        m->context, "values inside of node %u are in use outside of it: replace them first", node);
  tl_node_erase(m->module, node);
  return changed(m, true);
}

int tl_model_set_operand(tl_model *m, uint32_t node, uint32_t i, uint32_t value) {
  if (!is_node(m, node) || i >= tl_node_get(m->module, node)->n_operands)
    return tl_lib_misuse(m->context, "the model has no operand %u of node %u", i, node);
  if (value != TL_NO_VALUE && !is_value(m, value))
    return no_value(m, value);
  tl_node_set_operand(m->module, node, i, value);
  return changed(m, true);
}

/* ---- values ---------------------------------------------------------------------------------- */

int tl_model_replace_uses(tl_model *m, uint32_t from, uint32_t to) {
  if (!is_value(m, from) || !is_value(m, to) || from == to)
    return no_value(m, is_value(m, from) ? to : from);
  tl_value_replace_uses(m->module, from, to);
  return changed(m, true);
}

int tl_model_rename(tl_model *m, uint32_t value, const char *name) {
  if (!is_value(m, value))
    return no_value(m, value);
  if (!name || !*name)
    return tl_lib_misuse(m->context, "a name is not empty");
  tl_symbol s = tl_module_intern(m->module, tl_sv_from(name));
  for (tl_value_id v = 1; s && s != TL_NO_SYMBOL && v < tl_module_value_end(m->module); v++)
    if (v != value && is_value(m, v) && tl_value_get(m->module, v)->name == s)
      return tl_lib_misuse(m->context, "another value has the name '%s'", name);
  if (s != TL_NO_SYMBOL)
    tl_value_set_name(m->module, value, s);
  return changed(m, s != TL_NO_SYMBOL);
}

/* Returns true for a view whose dims, type and bytes agree. */
static bool is_whole(const tl_tensor_view *t, uint64_t *bytes) {
  int64_t n = 1;
  tl_dtype d = tl_lib_dtype(t->element);
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] < 0 || __builtin_mul_overflow(n, t->dims[i], &n))
      return false;
  return t->rank >= 0 && t->rank <= TL_MAX_RANK && d != TL_DTYPE_NONE && d != TL_DTYPE_STRING &&
         tl_dtype_bytes(d, (uint64_t)n, bytes) && *bytes == t->bytes;
}

static tl_value_id make_constant(tl_module *m, uint32_t graph, const tl_tensor_view *t) {
  tl_type_id type = tl_type_tensor(m, tl_lib_dtype(t->element), t->rank, t->dims);
  tl_symbol name = tl_module_fresh_name(m, tl_sv_from(t->name ? t->name : "constant"));
  tl_tensor_id tensor = TL_NO_TENSOR;
  if (type != TL_NO_TYPE && name != TL_NO_SYMBOL)
    tensor = tl_tensor_from_bytes(m, type, t->data, t->bytes);
  return tensor ? tl_graph_add_constant(m, graph, name, tensor) : TL_NO_VALUE;
}

int tl_model_add_constant(tl_model *m, uint32_t graph, const tl_tensor_view *tensor,
                          uint32_t *value) {
  uint64_t bytes;
  int code;
  if (tl_lib_lacks(m->context, tensor, "tensor", &code))
    return code;
  if (!is_graph(m, graph))
    return tl_lib_misuse(m->context, "the model has no graph %u", graph);
  if (!is_whole(tensor, &bytes))
    return tl_lib_misuse(m->context, "the constant's type, dims and bytes do not agree");
  tl_value_id made = make_constant(m->module, graph, tensor);
  if (made && value)
    *value = made;
  return changed(m, made != TL_NO_VALUE);
}

int tl_model_set_outputs(tl_model *m, uint32_t graph, const uint32_t *values, uint32_t n) {
  int code;
  if (n && tl_lib_lacks(m->context, values, "values", &code))
    return code;
  uint32_t wrong = wrong_value(m, values, n, false);
  if (!is_graph(m, graph))
    return tl_lib_misuse(m->context, "the model has no graph %u", graph);
  if (wrong)
    return no_value(m, wrong);
  return changed(m, tl_graph_set_outputs(m->module, graph, values, n) == TL_OK);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Sets an attribute whose name is filled in here. */
static int set_attribute(tl_model *m, uint32_t node, const char *name, tl_attr a) {
  if (!is_node(m, node))
    return no_node(m, node);
  if (!name || !*name)
    return tl_lib_misuse(m->context, "an attribute needs a name");
  a.name = tl_module_intern(m->module, tl_sv_from(name));
  bool done = a.name != TL_NO_SYMBOL && a.kind != TL_ATTR_NONE &&
              tl_node_set_attr(m->module, node, a) == TL_OK;
  return changed(m, done);
}

int tl_model_set_integer(tl_model *m, uint32_t node, const char *name, int64_t v) {
  return set_attribute(m, node, name, tl_attr_int(0, v));
}

int tl_model_set_number(tl_model *m, uint32_t node, const char *name, float v) {
  return set_attribute(m, node, name, tl_attr_float(0, v));
}

int tl_model_set_text(tl_model *m, uint32_t node, const char *name, const char *v) {
  int code;
  if (tl_lib_lacks(m->context, v, "v", &code))
    return code;
  tl_symbol s = tl_module_intern(m->module, tl_sv_from(v));
  return set_attribute(m, node, name, s == TL_NO_SYMBOL ? (tl_attr){0} : tl_attr_string(0, s));
}

int tl_model_set_integers(tl_model *m, uint32_t node, const char *name, const int64_t *v,
                          uint32_t n) {
  int code;
  if (n && tl_lib_lacks(m->context, v, "v", &code))
    return code;
  return set_attribute(m, node, name, tl_attr_ints(m->module, 0, v, n));
}

int tl_model_remove_attribute(tl_model *m, uint32_t node, const char *name) {
  if (!is_node(m, node))
    return no_node(m, node);
  int code;
  if (tl_lib_lacks(m->context, name, "name", &code))
    return code;
  tl_symbol s = tl_symbol_find(&m->module->symbols, tl_sv_from(name));
  if (s != TL_NO_SYMBOL)
    tl_node_remove_attr(m->module, node, s);
  return changed(m, true);
}

/* ---- checking -------------------------------------------------------------------------------- */

static tl_status check(tl_model *m) {
  unsigned levels = TL_VERIFY_ALL & ~(unsigned)TL_VERIFY_SHAPES;
  tl_status status = tl_module_verify(m->module, levels);
  m->unchecked = status != TL_OK;
  return status;
}

tl_status tl_lib_check(tl_model *m) { return m->unchecked ? check(m) : TL_OK; }

int tl_model_check(tl_model *m) {
  uint32_t errors = tl_lib_begin(m->context);
  return tl_lib_end(m->context, check(m), errors);
}
