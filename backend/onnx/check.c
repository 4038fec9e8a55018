/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares a module for ONNX: refuses what ONNX cannot express, imports domains, names values.
 * After it every domain in use is imported, and every value that a file may refer to has a name. */
#include "backend/onnx/emit.h"
#include "ir/graph.h"
#include "ir/names.h"
#include "ir/ops_gen.h"

static tl_status check_attr_graphs(tl_module *m, const tl_node *node, uint32_t depth);

/* Returns true for the domain of NPU ops. */
static bool is_npu(const tl_module *m, tl_symbol domain) {
  return domain && tl_sv_is(tl_sym(m, domain), "npu");
}

/* Returns the last version of a domain that changed the op, without the one that ended it: for a
 * module that does not say which it means. 1 for an op that no table knows. */
static int64_t newest_version(const tl_op *row) {
  if (!row || !row->n_since)
    return 1;
  bool ended = row->traits & TL_TRAIT_DEPRECATED && row->n_since > 1;
  return row->since[row->n_since - 1 - ended];
}

/* Warns, once, of an op that readers of the file do not know: its standard domain never had it (the
 * reader of the module may have said so), or has ended it. */
static void warn_missing(tl_module *m, tl_op_id op, tl_symbol domain) {
  tl_sv name = tl_sv_shown(tl_op_name(m, op));
  if (op < tl_n_op_rows && !(m->had_ops[op] & TL_OP_TOLD)) {
    m->had_ops[op] |= TL_OP_TOLD;
    tl_warn_code(m->diag, "W_DEPRECATED_OP", TL_AT_FILE(m->path),
                 "op '%.*s' is deprecated, and opset %d of ai.onnx lacks it: other readers refuse "
                 "the file",
                 TL_SV_ARG(name), (int)TL_ONNX_CANONICAL_OPSET);
  } else if (op >= tl_n_op_rows && !m->opaque_ops.at[op - tl_n_op_rows].told) {
    m->opaque_ops.at[op - tl_n_op_rows].told = true;
    tl_warn_code(m->diag, "W_CUSTOM_OP", TL_AT_FILE(m->path),
                 "domain %s has no op '%.*s', which is written as it is"
                 "\vTailor reads the file with --allow-custom-ops=%.*s",
                 domain ? "ai.onnx.ml" : "ai.onnx", TL_SV_ARG(name), TL_SV_ARG(name));
  }
}

/* Returns true for an op that a file of the newest opsets must not have. */
static bool is_missing(const tl_op *row, tl_symbol domain) {
  if (row)
    return row->traits & TL_TRAIT_DEPRECATED && domain == 0;
  return domain == 0 || domain == TL_SYM_ai_onnx_ml;
}

/* Checks that an op has an ONNX form and that its domain is imported. Ops of the domain "npu" are
 * refused unless the model imports that domain: then the ops are the model's own. */
static tl_status check_op(tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  tl_symbol domain = tl_op_domain_symbol(m, op);
  if (domain == TL_SYM_tl) {
    if (!tl_module_definition(m, n))
      return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                     "op 'tl::%.*s' has no body\vrun the pass outline-definitions before; control "
                     "flow in NPU form has no ONNX form",
                     TL_SV_ARG(tl_op_name(m, op)));
    domain = TL_SYM_ai_tailor;
  }
  int64_t imported = tl_module_opset(m, domain);
  const tl_op *row = tl_op_row(op);
  if (is_missing(row, domain) && !tl_module_definition(m, n))
    warn_missing(m, op, domain);
  if (imported && (!row || !row->n_since || imported >= row->since[0]))
    return TL_OK;
  if (is_npu(m, domain))
    return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                   "NPU op 'npu::%.*s' has no ONNX form\vwrite AIR, or export before lowering",
                   TL_SV_ARG(tl_op_name(m, op)));
  return tl_module_set_opset(m, domain, imported ? row->since[0] : newest_version(row));
}

/* Refuses element types that ONNX lacks. */
static tl_status check_tensor(tl_module *m, tl_location where, const tl_tensor *t) {
  const tl_dtype_info *info = tl_dtype_get((tl_dtype)t->dtype);
  if (info->onnx > 0)
    return TL_OK;
  return tl_fail(m->diag, TL_UNSUPPORTED, where, "element type %s does not exist in ONNX",
                 info->name);
}

/* Refuses an attribute without an ONNX form. Kinds from TL_ATTR_BOOL on exist only in the IR. */
static tl_status check_attr(tl_module *m, tl_node_id n, const tl_attr *a) {
  tl_location where = tl_node_where(m, n);
  where.attr = tl_sym(m, a->name);
  if (a->kind == TL_ATTR_NONE || a->kind >= TL_ATTR_BOOL)
    return tl_fail(m->diag, TL_UNSUPPORTED, where, "an attribute of kind %s has no ONNX form",
                   tl_attr_kind_name((tl_attr_kind)a->kind));
  if (a->kind == TL_ATTR_TENSOR)
    return check_tensor(m, where, tl_tensor_get(m, a->u.t));
  for (uint32_t i = 0; a->kind == TL_ATTR_TENSORS && i < a->count; i++)
    TL_TRY(check_tensor(m, where, tl_tensor_get(m, a->u.ids[i])));
  bool lost = a->kind == TL_ATTR_TYPE && !tl_onnx_has_type(m, a->u.type);
  for (uint32_t i = 0; a->kind == TL_ATTR_TYPES && i < a->count; i++)
    lost = lost || !tl_onnx_has_type(m, a->u.ids[i]);
  if (lost)
    return tl_fail(m->diag, TL_UNSUPPORTED, where, "this type cannot be expressed in ONNX");
  return TL_OK;
}

/* Gives a value a fresh name unless it has one. */
static tl_status name_value(tl_module *m, tl_value_id v, tl_sv base) {
  if (tl_value_get(m, v)->name)
    return TL_OK;
  tl_symbol name = tl_module_fresh_name(m, base);
  if (name == TL_NO_SYMBOL)
    return tl_no_memory(m);
  tl_value_get(m, v)->name = name;
  return TL_OK;
}

/* Names a result after its node (or op) and value id, so that the first try is nearly always free.
 */
static tl_status name_result(tl_module *m, const tl_node *node, tl_value_id v) {
  tl_buf base;
  tl_buf_init(&base);
  tl_buf_add_sv(&base, node->name ? tl_sym(m, node->name) : tl_op_name(m, node->op));
  tl_buf_add_char(&base, '_');
  tl_buf_add_u64(&base, v);
  tl_status status = base.failed ? tl_no_memory(m) : name_value(m, v, tl_buf_view(&base));
  tl_buf_release(&base);
  return status;
}

/* Names the results that need a name. Only an optional result without users may stay unnamed, which
 * tells runtimes not to compute it. */
static tl_status name_results(tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  const tl_op *row = tl_op_row(node->op);
  for (uint32_t i = 0; i < node->n_results; i++) {
    const tl_value *value = tl_value_get(m, node->results + i);
    const tl_op_port *port = row ? tl_op_result_port(row, i) : NULL;
    bool wanted = value->n_uses || (port && port->kind != TL_PORT_OPTIONAL);
    if (!value->name && wanted)
      TL_TRY(name_result(m, node, node->results + i));
  }
  return TL_OK;
}

/* Refuses an If after the pass isolate: its branches have inputs, which ONNX does not allow. */
static tl_status check_captures(tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  if (node->op != TL_OP_If || node->n_operands <= 1)
    return TL_OK;
  return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                 "an If with captured values as operands has no ONNX form"
                 "\vexport without the pass isolate");
}

/* Checks a node and its bodies, and names its results. */
static tl_status check_node(tl_module *m, tl_node_id n, uint32_t depth) {
  const tl_node *node = tl_node_get(m, n);
  TL_TRY(check_op(m, n));
  TL_TRY(check_captures(m, n));
  for (uint32_t i = 0; i < node->n_attrs; i++)
    TL_TRY(check_attr(m, n, &node->attrs[i]));
  TL_TRY(name_results(m, n));
  return check_attr_graphs(m, node, depth);
}

/* Names an input or constant, and checks the dtype of its tensor. */
static tl_status check_data(tl_module *m, tl_value_id v, tl_sv base) {
  TL_TRY(name_value(m, v, base));
  const tl_value *value = tl_value_get(m, v);
  tl_location where = TL_AT_NODE(m->path, tl_sym(m, value->name));
  return value->tensor ? check_tensor(m, where, tl_tensor_get(m, value->tensor)) : TL_OK;
}

/* Refuses an input or output whose known type ONNX cannot express: leaving the type out would
 * change the signature of the model without notice. */
static tl_status check_border(tl_module *m, tl_value_id v) {
  const tl_value *value = tl_value_get(m, v);
  const tl_type *t = tl_type_get(m, value->type);
  bool known = t->kind != TL_KIND_UNKNOWN && !(t->kind == TL_KIND_TENSOR && !t->dtype);
  if (!known || tl_onnx_has_type(m, value->type))
    return TL_OK;
  return tl_fail(m->diag, TL_UNSUPPORTED, TL_AT_NODE(m->path, tl_sym(m, value->name)),
                 "the type of this input or output cannot be expressed in ONNX");
}

/* Checks a graph and the graphs in it. The upper bound on depth is that of the recursion here and
 * in the emission. */
static tl_status check_graph(tl_module *m, const tl_graph *g, uint32_t depth) {
  if (depth > TL_ONNX_MAX_DEPTH)
    return tl_fail(m->diag, TL_LIMIT, TL_AT_FILE(m->path), "graphs are nested more than %d deep",
                   TL_ONNX_MAX_DEPTH);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    TL_TRY(check_data(m, g->inputs.at[i], TL_SV("input")));
    TL_TRY(check_border(m, g->inputs.at[i]));
  }
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i])
      TL_TRY(check_data(m, g->constants.at[i], TL_SV("constant")));
  TL_FOR_NODES(m, g, n)
    TL_TRY(check_node(m, n, depth));
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g); i++)
    TL_TRY(check_border(m, tl_graph_output(m, g, i)));
  return TL_OK;
}

/* Checks the bodies of a node. */
static tl_status check_attr_graphs(tl_module *m, const tl_node *node, uint32_t depth) {
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      TL_TRY(check_graph(m, tl_graph_get(m, a->u.g), depth + 1));
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      TL_TRY(check_graph(m, tl_graph_get(m, a->u.ids[k]), depth + 1));
  }
  return TL_OK;
}

/* Imports the opset of ai.onnx that nodes and definitions need; nodes import the other domains. */
static tl_status import_needed(tl_module *m) {
  int64_t needed = tl_module_needed_opset(m);
  return tl_module_opset(m, 0) < needed ? tl_module_set_opset(m, 0, needed) : TL_OK;
}

tl_status tl_onnx_prepare(tl_module *m) {
  if (m->form == TL_FORM_NPU || m->form == TL_FORM_SPELLED)
    return tl_fail(
        m->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
        "a module with NPU ops cannot be written as ONNX\vexport before expansion; 'tailor convert "
        "MODEL.air -o MODEL.onnx' turns the ops of an AIR file into ONNX's");
  TL_TRY(tl_module_need_one_root(m, "an ONNX model"));
  if (tl_graph_n_outputs(m, tl_module_main(m)) == 0)
    return tl_fail(m->diag, TL_INVALID_MODEL, TL_AT_FILE(m->path),
                   "the graph has no output, and an ONNX model needs one");
  TL_TRY(import_needed(m));
  if (tl_names_part_nodes(m, NULL, NULL) != TL_OK)
    return tl_no_memory(m);
  return check_graph(m, tl_module_main(m), 0);
}
