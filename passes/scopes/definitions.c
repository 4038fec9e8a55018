/* SPDX-License-Identifier: Apache-2.0 */
/* expand-definitions and outline-definitions: ops that are defined in terms of ONNX ops, tl:: ops
 * and those that a --rules file defines.
 *
 * expand-definitions replaces each tl:: or npu:: op by the nodes of its definition, and each node
 * that stands for a captured scope by the nodes of the scope, for the evaluator, which knows ONNX's
 * ops and few others. outline-definitions gives each distinct use of a defined op a body beside the
 * module, which ONNX output writes as a model-local function; the nodes stay. For the NPU the pass
 * expand replaces ops of rule files that have no NPU form.
 *
 * Requires:  infer-shapes.        Keeps: names and order of graph outputs.
 * Cost:      one sweep; outlining also in proportion to distinct uses.
 * Tests:     tests/unit/test_definitions.c, tests/conformance/nodes.py */
#include "passes/scopes/definitions.h"

#include "ir/ge_fields.h"
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"
#include "passes/scopes/body.h"
#include "passes/scopes/collective.h"
#include "passes/scopes/order.h"

/* Upper bound on rounds of the rule engine: definitions may use defined ops. */
enum { ROUNDS = 64 };

static bool is_defined_op(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  return op != TL_OP_RETURN && op != TL_OP_ERASED && tl_op_domain_symbol(m, op) == TL_SYM_tl &&
         !tl_op_has_trait(op, TL_TRAIT_BODY); /* While has no form but the NPU's */
}

/* Returns true for an op that the op table lacks; a --rules file may define it. */
static bool is_opaque_op(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  return op != TL_OP_RETURN && op != TL_OP_ERASED && !tl_op_row(op);
}

static bool is_npu_op(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  return op != TL_OP_RETURN && op != TL_OP_ERASED && tl_op_domain_symbol(m, op) == TL_SYM_npu;
}

/* Returns true for ops that get a body: tl:: ops, and collectives, whose body is the case of one
 * rank. Other ops of the domain of collectives are written as they are. */
static bool is_outlined_op(const tl_module *m, tl_node_id n) {
  const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
  return is_defined_op(m, n) || (row && row->domain_symbol == TL_SYM_npu_hcom);
}

static bool has_ops(const tl_module *m, bool (*wanted)(const tl_module *, tl_node_id)) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (wanted(m, n))
        return true;
  }
  return false;
}

/* Returns in *rules the definitions, if rule files may define ops that the module has; else NULL.
 * The module is swept only if there are rule files. */
static tl_status rules_of_users(tl_pass *p, tl_module *m, tl_ruleset **rules) {
  *rules = NULL;
  if (!p->options->n_rule_files || !has_ops(m, is_opaque_op))
    return TL_OK;
  return tl_pass_rules(p, m, TL_RULE_DEFINE, rules);
}

/* Expands definitions of rule files, round by round: shape functions know nothing of such ops, so
 * types behind them follow from what they became. */
tl_status tl_expand_users_ops(tl_pass *p, tl_module *m, bool (*wants)(void *, tl_node_id),
                              void *user) {
  tl_ruleset *rules;
  uint64_t before;
  TL_TRY(rules_of_users(p, m, &rules));
  do {
    before = p->changed;
    if (rules)
      TL_TRY(tl_rewrite(&(tl_rewriter){p, m, rules, TL_RULE_DEFINE, ROUNDS, wants, user, NULL}));
    if (p->changed > before)
      TL_TRY(tl_infer_module(m));
  } while (p->changed > before && has_ops(m, is_opaque_op));
  return TL_OK;
}

static void forget_handle(tl_module *m, tl_value_id v) {
  if (tl_type_dtype(m, tl_value_type(m, v)) == TL_DTYPE_RESOURCE)
    tl_value_set_type(m, v, TL_NO_TYPE);
}

/* Forgets types of handles: in ONNX they are sequences, whose types are inferred. */
static void forget_handles(tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased)
      continue;
    for (uint32_t k = 0; k < g->inputs.n; k++)
      forget_handle(m, g->inputs.at[k]);
    TL_FOR_NODES(m, g, n) {
      const tl_node *node = tl_node_get(m, n);
      for (uint32_t r = 0; r < node->n_results; r++)
        forget_handle(m, node->results + r);
    }
  }
}

/* Refuses constants that lost their data in a text dump: what they feed has no value. */
static tl_status check_data(tl_module *m) {
  tl_symbol lacking = tl_symbol_find(&m->symbols, TL_SV(TL_AIR_NO_DATA));
  for (uint32_t i = 0; lacking != TL_NO_SYMBOL && i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (tl_node_attr(m, n, lacking))
        return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n), TL_AIR_NO_DATA_SAYS);
  }
  return TL_OK;
}

tl_status tl_pass_expand_definitions(tl_pass *p, tl_module *m) {
  tl_ruleset *rules;
  uint64_t before = p->changed;
  TL_TRY(check_data(m));
  TL_TRY(tl_order_dims(p, m));
  if (m->definitions.n)
    TL_TRY(tl_scope_bodies_expand(m));
  TL_TRY(tl_expand_users_ops(p, m, NULL, NULL));
  if (!has_ops(m, is_defined_op) && !has_ops(m, is_npu_op))
    return TL_OK;
  forget_handles(m);
  TL_TRY(tl_pass_rules(p, m, TL_RULE_DEFINE, &rules));
  TL_TRY(tl_rewrite(&(tl_rewriter){p, m, rules, TL_RULE_DEFINE, ROUNDS, NULL, NULL, NULL}));
  if (!has_ops(m, is_npu_op))
    m->form = TL_FORM_CANONICAL;
  else if (p->changed > before && m->form == TL_FORM_NPU)
    m->form = TL_FORM_SPELLED; /* ops of both kinds */
  return TL_OK;
}

tl_status tl_definitions_expand(tl_module *m, const tl_options *options) {
  uint64_t rewrites = 0;
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  tl_engine_state engine = {0};
  tl_pass pass = {.name = "expand-definitions",
                  .options = options,
                  .scratch = &scratch,
                  .engine = &engine,
                  .rewrites = &rewrites,
                  .limit = UINT64_MAX};
  tl_status status = tl_pass_expand_definitions(&pass, m);
  tl_engine_state_release(&engine);
  tl_arena_release(&scratch);
  return status;
}

/* ---- outlining ------------------------------------------------------------------------------ */

static tl_symbol move_symbol(const tl_module *m, tl_symbol s, tl_module *body) {
  return tl_module_intern(body, tl_sym(m, s));
}

/* Returns true if all attributes can be copied to a body: numbers, lists of numbers, strings. tl::
 * ops have no others. */
static bool can_move_attrs(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    uint8_t kind = node->attrs[i].kind;
    if (kind != TL_ATTR_INT && kind != TL_ATTR_FLOAT && kind != TL_ATTR_STRING &&
        kind != TL_ATTR_INTS && kind != TL_ATTR_FLOATS)
      return false;
  }
  return true;
}

/* Copies the attributes of n to the body's node; numbers in lists are shared. */
static tl_status move_attrs(const tl_module *m, tl_node_id n, tl_module *body, tl_node_id to) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    tl_attr a = node->attrs[i];
    a.name = move_symbol(m, a.name, body);
    if (a.kind == TL_ATTR_STRING)
      a.u.s = move_symbol(m, a.u.s, body);
    if (a.name == TL_NO_SYMBOL || (a.kind == TL_ATTR_STRING && a.u.s == TL_NO_SYMBOL))
      return tl_no_memory(m);
    TL_TRY(tl_node_set_attr(body, to, a));
  }
  return TL_OK;
}

static tl_symbol port_name(tl_module *body, const tl_op_port *port, uint32_t i) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_z(&text, port ? port->name : "v");
  if (!port || port->kind == TL_PORT_VARIADIC)
    tl_buf_printf(&text, "%u", i);
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_intern(body, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

/* Returns the op in the body: ids of ops that the table lacks are the module's own. */
static tl_op_id move_op(const tl_module *m, tl_op_id op, tl_module *body) {
  if (tl_op_row(op))
    return op;
  tl_symbol domain = move_symbol(m, tl_op_domain_symbol(m, op), body);
  tl_symbol name = move_symbol(m, tl_op_name_symbol(m, op), body);
  bool lost = domain == TL_NO_SYMBOL || name == TL_NO_SYMBOL;
  return lost ? UINT32_MAX : tl_op_intern(body, domain, name);
}

/* Fills `body` with one graph: inputs, a copy of node n, outputs. */
static tl_status make_body(const tl_module *m, tl_node_id n, tl_module *body) {
  const tl_node *node = tl_node_get(m, n);
  const tl_op *row = tl_op_row(node->op);
  /* a bucket of gradients may have many */
  size_t room = (size_t)node->n_operands + node->n_results + 1;
  tl_value_id *operands = tl_arena_calloc(&body->arena, room, sizeof *operands);
  tl_symbol *results = tl_arena_calloc(&body->arena, room, sizeof *results);
  tl_graph_id g = tl_graph_create(body, TL_GRAPH_ROOT, 0, TL_NO_NODE);
  if (!g || !operands || !results)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    tl_symbol name = port_name(body, row ? tl_op_operand_port(row, i) : NULL, i);
    tl_type_id type = v ? tl_scope_formal_type(m, v, body) : TL_NO_TYPE;
    tl_value_id formal =
        name == TL_NO_SYMBOL ? TL_NO_VALUE : tl_graph_add_input(body, g, name, type, TL_NO_TENSOR);
    if (!formal || (v && !type))
      return tl_no_memory(m);
    operands[i] = v ? formal : TL_NO_VALUE; /* an absent operand keeps its input */
  }
  for (uint32_t i = 0; i < node->n_results; i++) {
    results[i] = port_name(body, row ? tl_op_result_port(row, i) : NULL, node->n_operands + i);
    if (results[i] == TL_NO_SYMBOL)
      return tl_no_memory(m);
  }
  tl_op_id op = move_op(m, node->op, body);
  if (op == UINT32_MAX)
    return tl_no_memory(m);
  tl_node_spec spec = {.op = op,
                       .operands = operands,
                       .n_operands = node->n_operands,
                       .results = results,
                       .n_results = node->n_results};
  tl_node_id copy = tl_graph_append(body, g, &spec);
  if (!copy)
    return tl_no_memory(m);
  TL_TRY(move_attrs(m, n, body, copy));
  for (uint32_t i = 0; i < node->n_results; i++)
    operands[i] = tl_result(body, copy, i);
  return tl_graph_set_outputs(body, g, operands, node->n_results);
}

/* Returns true if no op is left in the body that definitions replace. */
static bool is_expanded(const tl_module *body, const tl_ruleset *set) {
  for (uint32_t i = 0; i < body->graphs.n; i++)
    TL_FOR_NODES(body, body->graphs.at[i], n)
      if (is_defined_op(body, n) ||
          (is_opaque_op(body, n) && tl_rules_define(set, tl_node_get(body, n)->op)))
        return false;
  return true;
}

/* Expands the definitions in a body; *fits is false if none fits a node. A body is a module of its
 * own and needs rules of its own; only definitions are loaded, since there may be many bodies. */
static tl_status apply_definitions(tl_pass *p, tl_module *body, bool *fits) {
  tl_ruleset set;
  tl_ruleset_init(&set, body);
  set.only_definitions = true;
  set.lazy = true;
  set.kinds = TL_RULE_BIT(TL_RULE_DEFINE);
  tl_status status = tl_rules_load_needed(&set, p->options);
  if (status == TL_OK)
    status = tl_rewrite(&(tl_rewriter){p, body, &set, TL_RULE_DEFINE, ROUNDS, NULL, NULL, NULL});
  *fits = status == TL_OK && is_expanded(body, &set);
  tl_ruleset_release(&set);
  return status;
}

static tl_status fill_body(tl_pass *p, const tl_module *m, tl_node_id n, tl_module *body,
                           bool *fits) {
  uint64_t rewrites = 0;
  tl_pass inner = {.name = p->name,
                   .options = p->options,
                   .scratch = p->scratch,
                   .rewrites = &rewrites,
                   .limit = UINT64_MAX};
  *fits = can_move_attrs(m, n);
  if (!*fits)
    return TL_OK;
  TL_TRY(tl_module_set_opset(body, 0, tl_module_opset(m, 0)));
  TL_TRY(make_body(m, n, body));
  if (!is_defined_op(m, n) && !is_opaque_op(m, n))
    return tl_comm_outline(body);
  TL_TRY(tl_infer_module(body));
  return apply_definitions(&inner, body, fits);
}

/* Without a body, a call would be one of the function that another use of the op has. */
static tl_status report_unfit(tl_module *m, tl_node_id n) {
  tl_sv name = tl_op_name(m, tl_node_get(m, n)->op);
  tl_sv domain = tl_op_domain(m, tl_node_get(m, n)->op);
  if (is_defined_op(m, n))
    return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                   "op 'tl::%.*s' has no definition that fits its operands and attributes",
                   TL_SV_ARG(name));
  return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                 "no definition of '%.*s::%.*s' fits the operands and attributes of this node\v"
                 "add one that does; an op without any definition is written as it is",
                 TL_SV_ARG(domain), TL_SV_ARG(name));
}

/* Gives the results of node n the dtypes and ranks of its body, where inference knows none. */
static tl_status learn_types(tl_module *m, tl_node_id n, const tl_module *body) {
  const tl_graph *g = tl_module_main(body);
  bool learned = false;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_results && i < tl_graph_n_outputs(body, g); i++) {
    const tl_type *t = tl_type_get(body, tl_value_type(body, tl_graph_output(body, g, i)));
    tl_value_id v = tl_result(m, n, i);
    tl_dim dims[TL_MAX_RANK];
    if (tl_type_get(m, tl_value_type(m, v))->kind != TL_KIND_UNKNOWN || t->kind != TL_KIND_TENSOR)
      continue;
    for (int k = 0; k < TL_MAX_RANK; k++)
      dims[k] = k < t->rank && t->dims[k] >= 0 ? t->dims[k] : TL_DIM_UNKNOWN;
    tl_type_id type = tl_type_tensor(m, (tl_dtype)t->dtype, t->rank, dims);
    if (type == TL_NO_TYPE)
      return tl_no_memory(m);
    tl_value_set_type(m, v, type);
    learned = true;
  }
  return learned ? tl_infer_module(m) : TL_OK;
}

/* Returns true if a function, or an op that the module has seen, has this name in the domain. */
static bool is_named(const tl_module *m, tl_symbol domain, tl_sv name) {
  for (uint32_t i = 0; i < m->definitions.n; i++) {
    const tl_definition *d = &m->definitions.at[i];
    tl_op_id op = d->like ? tl_node_get(m, d->like)->op : d->op;
    if (tl_op_domain_symbol(m, op) == domain && tl_sv_eq(tl_sym(m, d->name), name))
      return true;
  }
  return false;
}

static bool is_op_name(const tl_module *m, tl_symbol domain, tl_sv name) {
  for (uint32_t i = 0; i < m->opaque_ops.n; i++)
    if (m->opaque_ops.at[i].domain == domain && tl_sv_eq(tl_sym(m, m->opaque_ops.at[i].name), name))
      return true;
  return false;
}

/* Names the function. The first of an op that is not ours has the name of the op, so that a runtime
 * with a kernel for it uses that; others are numbered. */
static tl_symbol function_name(tl_module *m, tl_node_id n) {
  tl_buf text;
  tl_buf_init(&text);
  tl_op_id id = tl_node_get(m, n)->op;
  tl_sv op = tl_op_name(m, id);
  tl_symbol domain = tl_op_domain_symbol(m, id);
  uint32_t number = m->definitions.n + 1;
  bool plain = !is_defined_op(m, n) && !is_named(m, domain, op);
  do {
    tl_buf_clear(&text);
    tl_buf_add_sv(&text, op);
    if (!plain)
      tl_buf_printf(&text, "_%u", number++);
  } while (!plain && !text.failed && is_op_name(m, domain, tl_buf_view(&text)));
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_intern(m, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

static tl_status outline(tl_pass *p, tl_module *m, tl_node_id n) {
  bool fits;
  const tl_definition *known = tl_module_definition(m, n);
  if (known)
    return learn_types(m, n, known->body);
  tl_definition d = {
      .like = n, .name = function_name(m, n), .body = tl_module_create(m->diag, m->path, 0)};
  tl_status status = d.body && d.name != TL_NO_SYMBOL ? fill_body(p, m, n, d.body, &fits)
                                                      : tl_no_memory(m);
  if (status == TL_OK && fits && tl_definition_vec_push(&m->definitions, d))
    return learn_types(m, n, d.body);
  if (status == TL_OK)
    status = fits ? tl_no_memory(m) : report_unfit(m, n);
  if (d.body)
    tl_module_destroy(d.body);
  return status;
}

tl_status tl_pass_outline_definitions(tl_pass *p, tl_module *m) {
  tl_ruleset *users;
  TL_TRY(rules_of_users(p, m, &users));
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (is_outlined_op(m, n) ||
          (users && is_opaque_op(m, n) && tl_rules_define(users, tl_node_get(m, n)->op)))
        TL_TRY(outline(p, m, n));
  }
  return TL_OK;
}
