/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces scopes by single nodes (capture.h). Nothing is changed before everything is known to
 * fit. */
#include "passes/scopes/capture.h"

#include "ir/marks.h"
#include "ir/trace.h"
#include "passes/edit/values.h"
#include "passes/engine/rule_values.h"
#include "passes/scopes/body.h"
#include "passes/scopes/verify.h"

/* Marks of nodes, and the budget of steps for walks behind scopes. */
enum { INSIDE = 1, BEHIND = 2, STEPS_A_NODE = 64, STEPS_AT_LEAST = 100000 };

typedef struct capture {
  tl_pass *p;
  tl_module *m;
  tl_scopes *scopes;
  const tl_rule *rule;
  uint32_t scope;
  tl_merge_facts facts;
  uint8_t *marks; /* owned, by node id: INSIDE the scope; BEHIND: outside, but depends on it */
  uint32_t n_marks;
  uint64_t steps;     /* steps left for walks behind scopes in this run */
  tl_u32_vec nodes;   /* nodes of the scope in graph order */
  tl_u32_vec behind;  /* nodes outside that depend on the scope and stand before its last node */
  tl_u32_vec values;  /* values from outside, in order of first use */
  tl_u32_vec weights; /* such constants, unless part of the definition */
  tl_u32_vec outputs;
  tl_u32_vec inputs;      /* inputs in the order of the rule's boundary ... */
  tl_u32_vec input_names; /* ... and their names there */
  tl_u32_vec output_names;
  tl_value_id *room; /* owned; by value id; scratch of each step, zero in between */
  uint32_t n_room;
  tl_node_id foreign;               /* a node of the rule's op in the model, without a definition */
  tl_attr attrs[TL_SCOPE_SETTINGS]; /* attributes of the new node */
  const char *code;                 /* reason code of a refusal; NULL: the scope fits */
  tl_buf why;
  bool no_memory;
} capture;

/* ---- why not --------------------------------------------------------------------------------- */

static bool refuse(capture *c, const char *code, const char *fmt, ...) TL_PRINTF(3, 4);
static bool refuse(capture *c, const char *code, const char *fmt, ...) {
  va_list ap;
  c->code = code;
  tl_buf_clear(&c->why);
  va_start(ap, fmt);
  tl_buf_vprintf(&c->why, fmt, ap);
  va_end(ap);
  return false;
}

static bool refuse_node(capture *c, const char *code, tl_node_id n, const char *what) {
  tl_sv where = tl_node_where(c->m, n).node;
  return refuse(c, code, "`%.*s` %s", TL_SV_ARG(where), what);
}

static bool out_of_memory(capture *c) {
  c->no_memory = true;
  return false;
}

static bool list(capture *c, tl_u32_vec *v, uint32_t id) {
  return tl_u32_vec_push(v, id) || out_of_memory(c);
}

/* ---- what is in the scope -------------------------------------------------------------------- */

/* Sorts nodes by graph order: bottom-up merge sort, since qsort passes no context to its comparison
 * and the order labels are in the module. */
static bool sort_nodes(capture *c, tl_u32_vec *v) {
  uint32_t n = v->n;
  uint32_t *at = v->at, *other = malloc((n + 1u) * sizeof *other);
  if (!other)
    return out_of_memory(c);
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

static bool list_nodes(capture *c) {
  const tl_scope *s = &c->scopes->at.at[c->scope];
  for (uint32_t i = s->first; i < s->first + s->n_nodes; i++) {
    tl_node_id n = c->scopes->nodes.at[i];
    if (tl_node_get(c->m, n)->op == TL_OP_ERASED)
      continue;
    c->marks[n] = INSIDE;
    if (!list(c, &c->nodes, n))
      return false;
  }
  if (c->nodes.n == 0)
    return refuse(c, "SCOPE", "nothing is left of the scope");
  return sort_nodes(c, &c->nodes);
}

/* Returns false if streams, marks or control edges keep the nodes from becoming one. */
static bool may_join(capture *c) {
  tl_node_id first = c->nodes.at[0];
  for (uint32_t i = 0; i < c->nodes.n; i++) {
    tl_node_id n = c->nodes.at[i];
    const tl_node *node = tl_node_get(c->m, n);
    uint32_t mark = tl_node_marks_differ(c->m, n, first);
    if (node->stream != tl_node_get(c->m, first)->stream)
      return refuse_node(c, "STREAM_LABEL", n, "is on another stream than the first node");
    if (tl_node_has_mark(c->m, n, TL_MARK_NOFOLD))
      return refuse_node(c, "NOFOLD", n, "must not be rewritten");
    if (mark < TL_N_MARKS)
      return refuse(c, "ATTR_GROUP", "the nodes differ in %s", tl_mark_key(mark));
    if (tl_node_asks_dump(c->m, n))
      return refuse_node(c, "DUMPABLE", n, "requests a dump of its results");
    if (node->control_in || node->control_out)
      return refuse_node(c, "CTRL_INNER", n, "has a control edge");
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

static bool add_operand(capture *c, tl_value_id v) {
  tl_node_id producer = v ? tl_value_producer(c->m, v) : TL_NO_NODE;
  const tl_tensor *t = v ? tl_value_constant(c->m, v) : NULL;
  if (!v || (producer && c->marks[producer] == INSIDE) || c->room[v] ||
      (t && is_part_of_definition(c->m, t)))
    return true;
  c->room[v] = v; /* any nonzero mark */
  return list(c, t ? &c->weights : &c->values, v);
}

/* Returns the node of the scope's graph that is the user or encloses it; TL_NO_NODE if there is
 * none. */
static tl_node_id owner_of(const capture *c, tl_node_id user) {
  while (user && tl_node_get(c->m, user)->graph != c->scopes->at.at[c->scope].graph)
    user = tl_graph_get(c->m, tl_node_get(c->m, user)->graph)->owner;
  return user;
}

static bool leaves(const capture *c, tl_value_id v) {
  TL_FOR_USES(c->m, v, u) {
    tl_node_id user = tl_use_get(c->m, u)->user;
    if (tl_node_is_return(c->m, user) || c->marks[user] != INSIDE)
      return true;
  }
  return false;
}

static bool list_boundary(capture *c) {
  for (uint32_t i = 0; i < c->nodes.n; i++) {
    const tl_node *node = tl_node_get(c->m, c->nodes.at[i]);
    for (uint32_t k = 0; k < node->n_operands; k++)
      if (!add_operand(c, tl_operand(c->m, c->nodes.at[i], k)))
        return false;
    for (uint32_t k = 0; k < node->n_results; k++) {
      if (tl_is_pinned(&c->facts.pinned, node->results + k))
        return refuse_node(c, "PINNED", c->nodes.at[i], "gives a gradient or a state");
      if (leaves(c, node->results + k) && !list(c, &c->outputs, node->results + k))
        return false;
    }
  }
  return true;
}

static bool find_boundary(capture *c) {
  bool listed = list_boundary(c);
  for (uint32_t i = 0; i < c->values.n; i++)
    c->room[c->values.at[i]] = TL_NO_VALUE;
  for (uint32_t i = 0; i < c->weights.n; i++)
    c->room[c->weights.at[i]] = TL_NO_VALUE;
  return listed;
}

/* Assigns value v to a port of the rule; values of a list port are numbered. */
static bool bind(capture *c, const tl_scope_port *port, tl_value_id v, uint32_t number) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, tl_sym(c->m, port->name));
  if (port->rest)
    tl_buf_printf(&text, "_%u", number);
  tl_symbol name = text.failed ? TL_NO_SYMBOL : tl_module_intern(c->m, tl_buf_view(&text));
  tl_buf_release(&text);
  if (name == TL_NO_SYMBOL)
    return out_of_memory(c);
  return list(c, &c->inputs, v) && list(c, &c->input_names, name);
}

static bool refuse_boundary(capture *c) {
  const tl_scope_pattern *p = c->rule->scope;
  uint32_t constants = 0;
  bool ranked = false;
  for (uint32_t i = 0; i < p->n_inputs; i++) {
    constants += p->inputs[i].constant;
    ranked = ranked || p->inputs[i].ranked;
  }
  return refuse(
      c, "SCOPE_BOUNDARY",
      "the scope has %u inputs, %u constants and %u outputs; the rule has %u, %u and %u%s",
      c->values.n, c->weights.n, c->outputs.n, p->n_inputs - constants, constants, p->n_outputs,
      ranked ? ", of the ranks it says" : "");
}

static bool port_fits(const capture *c, const tl_scope_port *port, tl_value_id v) {
  const tl_type *t = tl_type_get(c->m, tl_value_type(c->m, v));
  return !port->ranked || (t->kind == TL_KIND_TENSOR && t->rank >= 0 &&
                           (uint32_t)t->rank >= port->low && (uint32_t)t->rank <= port->high);
}

/* Assigns to a port the first free value that fits; a list port takes all that remain. */
static bool fill_port(capture *c, const tl_scope_port *port, tl_u32_vec *from) {
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
static bool bind_boundary(capture *c) {
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
static bool note_users(capture *c, tl_value_id v, bool of_scope) {
  tl_node_id last = c->nodes.at[c->nodes.n - 1];
  TL_FOR_USES(c->m, v, u) {
    tl_node_id n = owner_of(c, tl_use_get(c->m, u)->user);
    if (!c->steps || !--c->steps)
      return refuse(c, "SCOPE", "too many nodes depend on scopes that are scattered");
    if (!n || tl_node_is_return(c->m, n))
      continue;
    if (c->marks[n] == INSIDE && !of_scope) /* the last node included */
      return refuse_node(c, "CYCLE", n, "depends on a node outside that depends on the scope");
    if (c->marks[n] || !tl_node_is_before(c->m, n, last))
      continue;
    c->marks[n] = BEHIND;
    if (!list(c, &c->behind, n))
      return false;
  }
  return true;
}

/* Finds the nodes in between that depend on the scope; they will move behind the new node. */
static bool find_behind(capture *c) {
  for (uint32_t i = 0; i < c->outputs.n; i++)
    if (!note_users(c, c->outputs.at[i], true))
      return false;
  for (uint32_t i = 0; i < c->behind.n; i++) {
    const tl_node *node = tl_node_get(c->m, c->behind.at[i]);
    if (node->control_in || node->control_out)
      return refuse_node(c, "CTRL_INNER", c->behind.at[i],
                         "is between the nodes, with a control edge");
    for (uint32_t k = 0; k < node->n_results; k++)
      if (!note_users(c, node->results + k, false))
        return false;
  }
  return sort_nodes(c, &c->behind);
}

/* ---- the definition -------------------------------------------------------------------------- */

/* Returns the body that an earlier capture gave the op of the rule; NULL if there is none. */
static tl_module *known_body(const capture *c) {
  for (uint32_t i = 0; i < c->m->definitions.n; i++) {
    const tl_definition *d = &c->m->definitions.at[i];
    if (!d->like && d->op == c->rule->scope->op)
      return d->body;
  }
  return NULL;
}

/* Returns a node of the rule's op that came with the model, without a known meaning. */
static tl_node_id find_foreign(const capture *c) {
  for (uint32_t i = 0; i < c->m->graphs.n; i++)
    if (!c->m->graphs.at[i]->erased)
      TL_FOR_NODES(c->m, c->m->graphs.at[i], n)
        if (tl_node_get(c->m, n)->op == c->rule->scope->op)
          return n;
  return TL_NO_NODE;
}

/* Makes the scope the definition of the op. */
static bool define(capture *c, const tl_scope_cut *cut) {
  tl_op_id op = c->rule->scope->op;
  tl_definition d = {.op = op, .name = tl_op_name_symbol(c->m, op)};
  const char *why;
  tl_node_id where;
  if (c->foreign)
    return refuse_node(c, "DEFINITION", c->foreign,
                       "has this op type already, without a known meaning");
  if (tl_scope_body_make(c->m, cut, &d.body, &why, &where) != TL_OK)
    return out_of_memory(c);
  if (!d.body)
    return refuse_node(c, "SCOPE_BODY", where, why);
  if (tl_definition_vec_push(&c->m->definitions, d))
    return true;
  tl_module_destroy(d.body);
  return out_of_memory(c);
}

/* Takes an attribute from the scope: the constant operand of the first suitable node. */
static bool find_number(capture *c, const tl_scope_setting *s, tl_attr *out) {
  double v;
  for (uint32_t i = 0; i < c->nodes.n; i++) {
    const tl_node *node = tl_node_get(c->m, c->nodes.at[i]);
    tl_value_id o = node->op == s->op && s->operand < node->n_operands
                        ? tl_operand(c->m, c->nodes.at[i], s->operand)
                        : TL_NO_VALUE;
    const tl_tensor *t = o ? tl_value_constant(c->m, o) : NULL;
    int64_t whole;
    if (!t || tl_tensor_elements(c->m, t) != 1)
      continue;
    bool integer = tl_tensor_int_at(c->m, t, 0, &whole);
    if (!integer && (!tl_tensor_float_at(c->m, t, 0, &v) || s->attr.kind != TL_ATTR_FLOAT))
      continue;
    tl_rv number = integer ? (tl_rv){.kind = TL_RV_INT, .i = whole}
                           : (tl_rv){.kind = TL_RV_FLOAT, .f = v};
    *out = tl_rule_attr(c->m, s->attr.name, (tl_attr_kind)s->attr.kind, number);
    return true;
  }
  tl_sv op = tl_op_name(c->m, s->op), name = tl_sym(c->m, s->attr.name);
  return refuse(c, "CONST_VALUE", "no %.*s has one number as operand %u, for %.*s", TL_SV_ARG(op),
                s->operand, TL_SV_ARG(name));
}

static bool find_attrs(capture *c) {
  const tl_scope_pattern *p = c->rule->scope;
  for (uint32_t i = 0; i < p->n_settings; i++) {
    c->attrs[i] = p->settings[i].attr;
    if (p->settings[i].found && !find_number(c, &p->settings[i], &c->attrs[i]))
      return false;
  }
  return true;
}

/* clang-format off */
/* Compares the scope on random samples with the op, or with its definition. */
static bool agrees(capture *c, const tl_scope_cut *cut, tl_module *body) {
  tl_scope_trial t = {.options = c->p->options, .m = c->m, .pattern = c->rule->scope, .cut = cut,
                      .body = body, .attrs = c->attrs, .n_attrs = c->rule->scope->n_settings};
  tl_buf why;
  bool agree;
  tl_buf_init(&why);
  c->no_memory = tl_scope_try(&t, &agree, &why) != TL_OK;
  tl_sv text = why.failed ? TL_SV("") : tl_buf_view(&why);
  if (!agree && !c->no_memory)
    refuse(c, "SCOPE_VERIFY", "%.*s", TL_SV_ARG(text));
  tl_buf_release(&why);
  return agree && !c->no_memory;
}

/* Checks or makes the definition: that of the op table, or of the first captured scope. */
static bool make_definition(capture *c) {
  tl_scope_cut cut = {.nodes = c->nodes.at, .n_nodes = c->nodes.n,
                      .inputs = c->inputs.at, .input_names = c->input_names.at,
                      .n_inputs = c->inputs.n, .outputs = c->outputs.at,
                      .output_names = c->output_names.at, .n_outputs = c->outputs.n};
  if (tl_op_row(c->rule->scope->op))
    return find_attrs(c) && agrees(c, &cut, NULL);
  tl_module *known = known_body(c);
  if (!known)
    return define(c, &cut);
  if (tl_scope_body_is(c->m, &cut, known, c->room))
    return true;
  return c->rule->scope->verify.samples
             ? agrees(c, &cut, known)
             : refuse(c, "DEFINITION",
                      "the scope computes something other than the first one that became this op");
}

/* ---- the node -------------------------------------------------------------------------------- */

/* Returns a name such as "encoder/self_attn/SelfAttention": the path without the first '/', and the
 * op. */
static tl_symbol node_name(capture *c) {
  tl_buf text;
  tl_buf_init(&text);
  tl_scope_path(c->scopes, c->scope, &text);
  tl_sv op = tl_op_name(c->m, c->rule->scope->op);
  tl_buf_printf(&text, "/%.*s", TL_SV_ARG(op));
  tl_symbol name = text.failed ? TL_NO_SYMBOL
                               : tl_module_fresh_name(c->m, (tl_sv){text.p + 1, text.n - 1});
  tl_buf_release(&text);
  return name;
}

static tl_node_id insert(capture *c) {
  tl_node_id first = c->nodes.at[0], last = c->nodes.at[c->nodes.n - 1];
  tl_node_spec spec = {.op = c->rule->scope->op, .name = node_name(c), .operands = c->inputs.at,
                       .n_operands = c->inputs.n, .n_results = c->outputs.n, .attrs = c->attrs,
                       .n_attrs = c->rule->scope->n_settings};
  tl_node_id made = spec.name == TL_NO_SYMBOL ? TL_NO_NODE : tl_graph_insert(c->m, last, &spec);
  if (!made)
    return TL_NO_NODE;
  tl_node_get(c->m, made)->scope = tl_node_get(c->m, first)->scope;
  tl_node_get(c->m, made)->stream = tl_node_get(c->m, first)->stream;
  for (uint32_t i = 0; i < c->outputs.n; i++)
    tl_value_set_type(c->m, tl_result(c->m, made, i), tl_value_type(c->m, c->outputs.at[i]));
  if (tl_trace_record(c->m, made, c->nodes.at, c->nodes.n, tl_sym(c->m, c->rule->pass), false) ==
      TL_OK)
    return made;
  tl_node_erase(c->m, made);
  return TL_NO_NODE;
}

static void replace(capture *c, tl_node_id made) {
  tl_node_id at = c->nodes.at[c->nodes.n - 1];
  for (uint32_t i = 0; i < c->behind.n; i++) {
    tl_node_move_after(c->m, c->behind.at[i], at);
    at = c->behind.at[i];
  }
  for (uint32_t i = 0; i < c->outputs.n; i++)
    tl_value_merge(c->m, c->outputs.at[i], tl_result(c->m, made, i));
  for (uint32_t i = c->nodes.n; i-- > 0;)
    tl_node_erase(c->m, c->nodes.at[i]);
}

/* ---- remarks --------------------------------------------------------------------------------- */

static void remark(capture *c, tl_node_id n, const tl_sv *names, uint32_t n_names, tl_sv made) {
  tl_fusion_remark f = {.fusion = tl_sym(c->m, c->rule->pass), .rule = tl_sym(c->m, c->rule->name),
                        .numerics = (tl_numerics)c->rule->numerics, .code = c->code, .made = made,
                        .reason = !c->code ? NULL : c->why.failed || !c->why.p ? "" : c->why.p,
                        .n_made = made.n > 0, .nodes = names, .n_nodes = n_names,
                        .wanted = n_names};
  tl_pass_fusion_remark(c->p, c->m, n, &f);
}
/* clang-format on */

static void count(capture *c, uint32_t matched, uint32_t effective) {
  if (c->p->fusions &&
      tl_fusion_stats_add(c->p->fusions,
                          &(tl_fusion_event){TL_FUSION_SCOPE, tl_sym(c->m, c->rule->pass), matched,
                                             effective, 0, 0}) != TL_OK)
    c->no_memory = true;
}

/* Returns the names of the nodes for a remark after they are erased; NULL if remarks are off. */
static tl_sv *names_of(capture *c) {
  size_t room = c->nodes.n + 1u;
  tl_sv *names = c->p->remark ? tl_arena_calloc(c->p->scratch, room, sizeof *names) : NULL;
  for (uint32_t i = 0; names && i < c->nodes.n; i++)
    names[i] = tl_node_where(c->m, c->nodes.at[i]).node;
  return names;
}

/* ---- one scope ------------------------------------------------------------------------------- */

static void apply(capture *c) {
  tl_sv *names = names_of(c);
  tl_node_id made = insert(c);
  if (!made) {
    c->no_memory = true;
    return;
  }
  (void)tl_pass_may_rewrite(c->p); /* counts the rewrite; capture_scope checked the limit */
  count(c, 0, 1);
  replace(c, made);
  remark(c, made, names, names ? c->nodes.n : 0, tl_op_name(c->m, c->rule->scope->op));
}

static void clear(capture *c) {
  for (uint32_t i = 0; i < c->nodes.n; i++)
    c->marks[c->nodes.at[i]] = 0;
  for (uint32_t i = 0; i < c->behind.n; i++)
    c->marks[c->behind.at[i]] = 0;
  tl_u32_vec *lists[] = {&c->nodes,  &c->behind,      &c->values,       &c->weights,
                         &c->inputs, &c->input_names, &c->output_names, &c->outputs};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    lists[i]->n = 0;
  c->code = NULL;
}

/* Grows an array to n entries and a quarter more; new entries are zero. */
static bool grow(capture *c, void **at, uint32_t *have, uint32_t n, size_t size) {
  if (n <= *have)
    return true;
  char *more = realloc(*at, (n + n / 4) * size);
  if (!more)
    return out_of_memory(c);
  memset(more + *have * size, 0, (n + n / 4 - *have) * size);
  *at = more;
  *have = n + n / 4;
  return true;
}

/* Makes room for nodes and values made since the last scope. */
static bool grow_room(capture *c) {
  void *marks = c->marks, *room = c->room;
  bool fits = grow(c, &marks, &c->n_marks, tl_module_node_end(c->m), sizeof *c->marks);
  c->marks = marks;
  fits = fits && grow(c, &room, &c->n_room, tl_module_value_end(c->m), sizeof *c->room);
  c->room = room;
  return fits;
}

/* Captures one scope. Returns true if it is replaced. A rule that is off is only explained. */
static bool capture_scope(capture *c) {
  bool fits = grow_room(c) && list_nodes(c) && may_join(c) && find_boundary(c) &&
              bind_boundary(c) && find_behind(c);
  bool stop = *c->p->rewrites >= c->p->limit;
  if (!c->rule->off)
    count(c, 1, 0);
  if (fits && c->rule->off)
    fits = refuse(c, c->rule->unsupported ? "UNSUPPORTED" : "SWITCH_OFF",
                  "the scope fits, but the rule is off: %s", c->rule->off);
  fits = fits && !stop && make_definition(c);
  if (fits)
    apply(c);
  else if (c->p->explain && c->code && c->nodes.n)
    remark(c, c->nodes.at[0], NULL, 0, TL_SV(""));
  clear(c);
  return fits;
}

static void explain_nodes(capture *c) {
  tl_buf_clear(&c->why);
  (void)tl_scope_judge(c->scopes, c->rule, c->scope, &c->why);
  c->code = "SCOPE";
  remark(c, c->scopes->nodes.at[c->scopes->at.at[c->scope].first], NULL, 0, TL_SV(""));
  c->code = NULL;
}

static void run_rule(capture *c) {
  bool means = tl_op_row(c->rule->scope->op) || known_body(c);
  c->foreign = means ? TL_NO_NODE : find_foreign(c);
  for (c->scope = 1; c->scope < c->scopes->at.n && !c->no_memory; c->scope++) {
    tl_scope_verdict v = tl_scope_judge(c->scopes, c->rule, c->scope, NULL);
    if (v == TL_SCOPE_OTHER_NODES && c->p->explain)
      explain_nodes(c);
    if (v == TL_SCOPE_FITS && capture_scope(c))
      c->scope = c->scopes->at.at[c->scope].last;
  }
}

static void release(capture *c) {
  clear(c);
  tl_u32_vec *lists[] = {&c->nodes,  &c->behind,      &c->values,       &c->weights,
                         &c->inputs, &c->input_names, &c->output_names, &c->outputs};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    tl_u32_vec_release(lists[i]);
  tl_buf_release(&c->why);
  tl_merge_facts_release(&c->facts);
  free(c->marks);
  free(c->room);
}

tl_status tl_capture_scopes(tl_pass *p, tl_module *m, const tl_ruleset *rules, tl_scopes *scopes) {
  capture c = {.p = p, .m = m, .scopes = scopes};
  if (!tl_rules_have(rules, TL_RULE_BIT(TL_RULE_CAPTURE), p->explain))
    return TL_OK;
  if (!tl_scopes_ask(scopes))
    return tl_no_memory(m);
  TL_TRY(tl_merge_facts_find(p, m, &c.facts));
  tl_buf_init(&c.why);
  c.steps = scopes->n_of * (uint64_t)STEPS_A_NODE + STEPS_AT_LEAST;
  for (uint32_t i = 0; i < rules->rules.n && !c.no_memory; i++) {
    c.rule = rules->rules.at[i];
    if (c.rule->kind == TL_RULE_CAPTURE && (!c.rule->off || p->explain))
      run_rule(&c);
  }
  release(&c);
  return c.no_memory ? tl_no_memory(m) : TL_OK;
}
