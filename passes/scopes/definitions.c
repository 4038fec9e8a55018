/* SPDX-License-Identifier: Apache-2.0 */
/* expand-definitions and outline-definitions: ops that are defined in terms of ONNX ops.
 *
 * expand-definitions replaces each tl:: or npu:: op by the nodes of its definition, and each node
 * that stands for a captured scope by the nodes of the scope, for the evaluator, which knows ONNX's
 * ops and few others. outline-definitions gives each distinct use of a tl:: op a body beside the
 * module, which ONNX output writes as a model-local function; the nodes stay. NPU forms need none.
 *
 * Requires:  infer-shapes.        Keeps: names and order of graph outputs.
 * Cost:      one sweep; outlining also in proportion to distinct uses.
 * Tests:     tests/unit/test_definitions.c, tests/conformance/nodes.py */
#include "passes/scopes/definitions.h"

#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"
#include "passes/scopes/body.h"
#include "passes/scopes/collective.h"

/* Upper bound on rounds of the rule engine: definitions may use defined ops. */
enum { ROUNDS = 64 };

static bool is_defined_op(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  return op != TL_OP_RETURN && op != TL_OP_ERASED && tl_op_domain_symbol(m, op) == TL_SYM_tl &&
         !tl_op_has_trait(op, TL_TRAIT_BODY); /* While has no form but the NPU's */
}

static bool is_npu_op(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  return op != TL_OP_RETURN && op != TL_OP_ERASED && tl_op_domain_symbol(m, op) == TL_SYM_npu;
}

/* Returns true for ops that get a body: tl:: ops, and collectives, whose body is the case of one
 * rank. */
static bool is_outlined_op(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  bool live = op != TL_OP_RETURN && op != TL_OP_ERASED;
  return is_defined_op(m, n) || (live && tl_op_domain_symbol(m, op) == TL_SYM_npu_hcom);
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

bool tl_has_defined_ops(const tl_module *m) { return has_ops(m, is_defined_op); }

tl_status tl_pass_expand_definitions(tl_pass *p, tl_module *m) {
  tl_ruleset *rules;
  if (m->definitions.n)
    TL_TRY(tl_scope_bodies_expand(m));
  if (!tl_has_defined_ops(m) && !has_ops(m, is_npu_op))
    return TL_OK;
  TL_TRY(tl_pass_rules(p, m, TL_RULE_DEFINE, &rules));
  TL_TRY(tl_rewrite(&(tl_rewriter){p, m, rules, TL_RULE_DEFINE, ROUNDS, NULL, NULL, NULL}));
  if (!has_ops(m, is_npu_op))
    m->form = TL_FORM_CANONICAL;
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

/* Copies the attributes of n to the body's node. tl:: ops have numbers, lists of numbers and
 * strings only; numbers in lists are shared. */
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
    tl_symbol name = port_name(body, tl_op_operand_port(row, i), i);
    tl_type_id type = v ? tl_scope_formal_type(m, v, body) : TL_NO_TYPE;
    tl_value_id formal =
        name == TL_NO_SYMBOL ? TL_NO_VALUE : tl_graph_add_input(body, g, name, type, TL_NO_TENSOR);
    if (!formal)
      return tl_no_memory(m);
    operands[i] = v ? formal : TL_NO_VALUE; /* an absent operand keeps its input */
  }
  for (uint32_t i = 0; i < node->n_results; i++) {
    results[i] = port_name(body, tl_op_result_port(row, i), i);
    if (results[i] == TL_NO_SYMBOL)
      return tl_no_memory(m);
  }
  tl_node_spec spec = {.op = node->op,
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

/* Expands the definitions in a body. A body is a module of its own and needs rules of its own; only
 * definitions are loaded, since there may be many bodies. */
static tl_status apply_definitions(tl_pass *p, tl_module *body) {
  tl_ruleset set;
  tl_ruleset_init(&set, body);
  set.only_definitions = true;
  set.kinds = TL_RULE_BIT(TL_RULE_DEFINE);
  tl_status status = tl_rules_load_needed(&set, p->options);
  if (status == TL_OK)
    status = tl_rewrite(&(tl_rewriter){p, body, &set, TL_RULE_DEFINE, ROUNDS, NULL, NULL, NULL});
  tl_ruleset_release(&set);
  return status;
}

static tl_status fill_body(tl_pass *p, const tl_module *m, tl_node_id n, tl_module *body) {
  uint64_t rewrites = 0;
  tl_pass inner = {.name = p->name,
                   .options = p->options,
                   .scratch = p->scratch,
                   .rewrites = &rewrites,
                   .limit = UINT64_MAX};
  TL_TRY(tl_module_set_opset(body, 0, tl_module_opset(m, 0)));
  TL_TRY(make_body(m, n, body));
  if (!is_defined_op(m, n))
    return tl_comm_outline(body);
  TL_TRY(tl_infer_module(body));
  TL_TRY(apply_definitions(&inner, body));
  if (!tl_has_defined_ops(body))
    return TL_OK;
  tl_sv name = tl_op_name(m, tl_node_get(m, n)->op);
  return tl_fail(m->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                 "op 'tl::%.*s' has no definition that fits its operands and attributes",
                 TL_SV_ARG(name));
}

static bool is_named(const tl_module *m, tl_sv name) {
  for (uint32_t i = 0; i < m->definitions.n; i++)
    if (tl_sv_eq(tl_sym(m, m->definitions.at[i].name), name))
      return true;
  return false;
}

static tl_symbol function_name(tl_module *m, tl_node_id n) {
  tl_buf text;
  tl_buf_init(&text);
  tl_sv op = tl_op_name(m, tl_node_get(m, n)->op);
  tl_buf_add_sv(&text, op);
  if (is_defined_op(m, n) || is_named(m, op)) /* the first collective of a kind keeps its name */
    tl_buf_printf(&text, "_%u", m->definitions.n + 1);
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_intern(m, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

static tl_status outline(tl_pass *p, tl_module *m, tl_node_id n) {
  if (tl_module_definition(m, n))
    return TL_OK;
  tl_definition d = {
      .like = n, .name = function_name(m, n), .body = tl_module_create(m->diag, m->path, 0)};
  if (!d.body || d.name == TL_NO_SYMBOL || !tl_definition_vec_push(&m->definitions, d)) {
    if (d.body)
      tl_module_destroy(d.body);
    return tl_no_memory(m);
  }
  return fill_body(p, m, n, d.body);
}

tl_status tl_pass_outline_definitions(tl_pass *p, tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (is_outlined_op(m, n))
        TL_TRY(outline(p, m, n));
  }
  return TL_OK;
}
