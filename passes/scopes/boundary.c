/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the boundary of a scope (boundary.h). */
#include "passes/scopes/boundary.h"

#include <stdlib.h>

#include "ir/marks.h"

bool tl_capture_refuse(tl_capture *c, const char *code, const char *fmt, ...) {
  va_list ap;
  c->code = code;
  tl_buf_clear(&c->why);
  va_start(ap, fmt);
  tl_buf_vprintf(&c->why, fmt, ap);
  va_end(ap);
  return false;
}

bool tl_capture_refuse_node(tl_capture *c, const char *code, tl_node_id n, const char *what) {
  tl_sv where = tl_node_where(c->m, n).node;
  return tl_capture_refuse(c, code, "`%.*s` %s", TL_SV_ARG(where), what);
}

bool tl_capture_out_of_memory(tl_capture *c) {
  c->no_memory = true;
  return false;
}

static bool list(tl_capture *c, tl_u32_vec *v, uint32_t id) {
  return tl_u32_vec_push(v, id) || tl_capture_out_of_memory(c);
}

/* ---- what is in the scope -------------------------------------------------------------------- */

/* Sorts nodes by graph order: bottom-up merge sort, since qsort passes no context to its comparison
 * and the order labels are in the module. */
static bool sort_nodes(tl_capture *c, tl_u32_vec *v) {
  uint32_t n = v->n;
  uint32_t *at = v->at, *other = malloc((n + 1u) * sizeof *other);
  if (!other)
    return tl_capture_out_of_memory(c);
  for (uint32_t width = 1; width < n; width *= 2) {
    for (uint32_t from = 0; from < n; from += 2 * width) {
      uint32_t i = from, middle = from + width < n ? from + width : n, k = middle;
      uint32_t end = middle + width < n ? middle + width : n;
      for (uint32_t to = from; to < end; to++)
        other[to] = k == end || (i < middle && tl_node_is_before(c->m, at[i], at[k])) ? at[i++]
                                                                                      : at[k++];
    }
    memcpy(at, other, n * sizeof *at);
  }
  free(other);
  return true;
}

static bool list_nodes(tl_capture *c) {
  const tl_scope *s = &c->scopes->at.at[c->scope];
  for (uint32_t i = s->first; i < s->first + s->n_nodes; i++) {
    tl_node_id n = c->scopes->nodes.at[i];
    if (tl_node_get(c->m, n)->op == TL_OP_ERASED)
      continue;
    c->marks[n] = TL_CAPTURE_INSIDE;
    if (!list(c, &c->nodes, n))
      return false;
  }
  if (c->nodes.n == 0)
    return tl_capture_refuse(c, "SCOPE", "nothing is left of the scope");
  return sort_nodes(c, &c->nodes);
}

/* Returns false if streams, marks or control edges keep the nodes from becoming one. */
static bool may_join(tl_capture *c) {
  tl_node_id first = c->nodes.at[0];
  for (uint32_t i = 0; i < c->nodes.n; i++) {
    tl_node_id n = c->nodes.at[i];
    const tl_node *node = tl_node_get(c->m, n);
    uint32_t mark = tl_node_marks_differ(c->m, n, first);
    if (node->stream != tl_node_get(c->m, first)->stream)
      return tl_capture_refuse_node(c, "STREAM_LABEL", n,
                                    "is on another stream than the first node");
    if (tl_node_has_mark(c->m, n, TL_MARK_NOFOLD))
      return tl_capture_refuse_node(c, "NOFOLD", n, "must not be rewritten");
    if (mark < TL_N_MARKS)
      return tl_capture_refuse(c, "ATTR_GROUP", "the nodes differ in %s", tl_mark_key(mark));
    if (tl_node_asks_dump(c->m, n))
      return tl_capture_refuse_node(c, "DUMPABLE", n, "requests a dump of its results");
    if (node->control_in || node->control_out)
      return tl_capture_refuse_node(c, "CTRL_INNER", n, "has a control edge");
  }
  return true;
}

/* ---- the boundary ---------------------------------------------------------------------------- */

/* Returns true for constants that belong to the arithmetic: single numbers such as an epsilon, and
 * small integer lists (shapes, axes). Others are weights and become inputs. */
static bool is_part_of_definition(const tl_module *m, const tl_tensor *t) {
  uint64_t n = tl_tensor_elements(m, t);
  bool integers = t->dtype == TL_DTYPE_I64 || t->dtype == TL_DTYPE_I32;
  return n <= 1 || (integers && n <= 64);
}

static bool add_operand(tl_capture *c, tl_value_id v) {
  tl_node_id producer = v ? tl_value_producer(c->m, v) : TL_NO_NODE;
  const tl_tensor *t = v ? tl_value_constant(c->m, v) : NULL;
  if (!v || (producer && c->marks[producer] == TL_CAPTURE_INSIDE) || c->room[v] ||
      (t && is_part_of_definition(c->m, t)))
    return true;
  c->room[v] = v; /* any nonzero mark */
  return list(c, t ? &c->weights : &c->values, v);
}

/* Returns the node of the scope's graph that is the user or encloses it; TL_NO_NODE if there is
 * none. */
static tl_node_id owner_of(const tl_capture *c, tl_node_id user) {
  while (user && tl_node_get(c->m, user)->graph != c->scopes->at.at[c->scope].graph)
    user = tl_graph_get(c->m, tl_node_get(c->m, user)->graph)->owner;
  return user;
}

static bool leaves(const tl_capture *c, tl_value_id v) {
  TL_FOR_USES(c->m, v, u) {
    tl_node_id user = tl_use_get(c->m, u)->user;
    if (tl_node_is_return(c->m, user) || c->marks[user] != TL_CAPTURE_INSIDE)
      return true;
  }
  return false;
}

static bool list_boundary(tl_capture *c) {
  for (uint32_t i = 0; i < c->nodes.n; i++) {
    const tl_node *node = tl_node_get(c->m, c->nodes.at[i]);
    for (uint32_t k = 0; k < node->n_operands; k++)
      if (!add_operand(c, tl_operand(c->m, c->nodes.at[i], k)))
        return false;
    for (uint32_t k = 0; k < node->n_results; k++) {
      if (tl_is_pinned(&c->facts.pinned, node->results + k))
        return tl_capture_refuse_node(c, "PINNED", c->nodes.at[i], "gives a gradient or a state");
      if (leaves(c, node->results + k) && !list(c, &c->outputs, node->results + k))
        return false;
    }
  }
  return true;
}

static bool find_boundary(tl_capture *c) {
  bool listed = list_boundary(c);
  for (uint32_t i = 0; i < c->values.n; i++)
    c->room[c->values.at[i]] = TL_NO_VALUE;
  for (uint32_t i = 0; i < c->weights.n; i++)
    c->room[c->weights.at[i]] = TL_NO_VALUE;
  return listed;
}

/* Assigns value v to a port of the rule; values of a list port are numbered. */
static bool bind(tl_capture *c, const tl_scope_port *port, tl_value_id v, uint32_t number) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, tl_sym(c->m, port->name));
  if (port->rest)
    tl_buf_printf(&text, "_%u", number);
  tl_symbol name = text.failed ? TL_NO_SYMBOL : tl_module_intern(c->m, tl_buf_view(&text));
  tl_buf_release(&text);
  if (name == TL_NO_SYMBOL)
    return tl_capture_out_of_memory(c);
  return list(c, &c->inputs, v) && list(c, &c->input_names, name);
}

static bool refuse_boundary(tl_capture *c) {
  const tl_scope_pattern *p = c->rule->scope;
  uint32_t constants = 0;
  bool ranked = false;
  for (uint32_t i = 0; i < p->n_inputs; i++) {
    constants += p->inputs[i].constant;
    ranked = ranked || p->inputs[i].ranked;
  }
  return tl_capture_refuse(
      c, "SCOPE_BOUNDARY",
      "the scope has %u inputs, %u constants and %u outputs; the rule has %u, %u and %u%s",
      c->values.n, c->weights.n, c->outputs.n, p->n_inputs - constants, constants, p->n_outputs,
      ranked ? ", of the ranks it says" : "");
}

static bool port_fits(const tl_capture *c, const tl_scope_port *port, tl_value_id v) {
  const tl_type *t = tl_type_get(c->m, tl_value_type(c->m, v));
  return !port->ranked || (t->kind == TL_KIND_TENSOR && t->rank >= 0 &&
                           (uint32_t)t->rank >= port->low && (uint32_t)t->rank <= port->high);
}

/* Assigns to a port the first free value that fits; a list port takes all that remain. */
static bool fill_port(tl_capture *c, const tl_scope_port *port, tl_u32_vec *from) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < from->n && (port->rest || number == 0); i++) {
    tl_value_id v = from->at[i];
    if (!v || !port_fits(c, port, v))
      continue;
    from->at[i] = TL_NO_VALUE;
    if (!bind(c, port, v, ++number))
      return false;
  }
  return port->rest || number == 1 || refuse_boundary(c);
}

/* Assigns all inputs and outputs to the ports of the rule; every value and port must be used. */
static bool bind_boundary(tl_capture *c) {
  const tl_scope_pattern *p = c->rule->scope;
  if (c->outputs.n != p->n_outputs)
    return refuse_boundary(c);
  for (uint32_t i = 0; i < p->n_inputs; i++)
    if (!fill_port(c, &p->inputs[i], p->inputs[i].constant ? &c->weights : &c->values))
      return false;
  if (c->inputs.n != c->values.n + c->weights.n)
    return refuse_boundary(c);
  for (uint32_t i = 0; i < p->n_outputs; i++)
    if (!list(c, &c->output_names, p->outputs[i].name))
      return false;
  return true;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Lists users of v before the last node of the scope. If the scope depends on one of them,
 * contracting it would close a cycle: refused. */
static bool note_users(tl_capture *c, tl_value_id v, bool of_scope) {
  tl_node_id last = c->nodes.at[c->nodes.n - 1];
  TL_FOR_USES(c->m, v, u) {
    tl_node_id n = owner_of(c, tl_use_get(c->m, u)->user);
    if (!c->steps || !--c->steps)
      return tl_capture_refuse(c, "SCOPE", "too many nodes depend on scopes that are scattered");
    if (!n || tl_node_is_return(c->m, n))
      continue;
    if (c->marks[n] == TL_CAPTURE_INSIDE && !of_scope) /* the last node included */
      return tl_capture_refuse_node(c, "CYCLE", n,
                                    "depends on a node outside that depends on the scope");
    if (c->marks[n] || !tl_node_is_before(c->m, n, last))
      continue;
    c->marks[n] = TL_CAPTURE_BEHIND;
    if (!list(c, &c->behind, n))
      return false;
  }
  return true;
}

/* Finds the nodes in between that depend on the scope; they will move behind the new node. */
static bool find_behind(tl_capture *c) {
  for (uint32_t i = 0; i < c->outputs.n; i++)
    if (!note_users(c, c->outputs.at[i], true))
      return false;
  for (uint32_t i = 0; i < c->behind.n; i++) {
    const tl_node *node = tl_node_get(c->m, c->behind.at[i]);
    if (node->control_in || node->control_out)
      return tl_capture_refuse_node(c, "CTRL_INNER", c->behind.at[i],
                                    "is between the nodes, with a control edge");
    for (uint32_t k = 0; k < node->n_results; k++)
      if (!note_users(c, node->results + k, false))
        return false;
  }
  return sort_nodes(c, &c->behind);
}

bool tl_capture_find_boundary(tl_capture *c) {
  return list_nodes(c) && may_join(c) && find_boundary(c) && bind_boundary(c) && find_behind(c);
}
