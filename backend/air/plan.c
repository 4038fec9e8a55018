/* SPDX-License-Identifier: Apache-2.0 */
/* Plans an AIR file: its graphs, the name of every node, the format of every value.
 * It also refuses whatever AIR cannot express, so that nothing is written for such a module. */
#include "backend/air/air.h"
#include "backend/air/check_names.h"

#include "ir/ge_fields.h"
#include "ir/ops_gen.h"

/* Checks that operands belong to the node's own graph: AIR edges never cross graphs. */
static tl_status check_scope(const tl_air *a, tl_graph_id g, tl_node_id n) {
  const tl_node *node = tl_node_get(a->m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(a->m, n, i);
    if (v && tl_value_graph(a->m, v) != g)
      return tl_fail(a->m->diag, TL_UNSUPPORTED, tl_node_where(a->m, n),
                     "a body uses '%.*s' of the outer graph, which AIR supports for If only",
                     TL_SV_ARG(tl_value_name(a->m, v)));
    if (!v && n == tl_graph_get(a->m, g)->ret)
      return tl_fail(a->m->diag, TL_INVALID_MODEL, TL_AT_FILE(a->m->path),
                     "graph output %u has no value", i);
  }
  return TL_OK;
}

/* Reports a type that a desc cannot hold. */
static tl_status check_type(const tl_air *a, tl_value_id v, tl_location where) {
  const char *problem = tl_air_type_problem(a->m, tl_value_type(a->m, v));
  if (!problem)
    return TL_OK;
  tl_buf type;
  tl_buf_init(&type);
  tl_type_print(a->m, tl_value_type(a->m, v), &type);
  tl_status status = tl_fail_code(a->m->diag, TL_UNSUPPORTED, "E13014", where,
                                  "value '%.*s' of type %s %s", TL_SV_ARG(tl_value_name(a->m, v)),
                                  type.p ? type.p : "?", problem);
  tl_buf_release(&type);
  return status;
}

/* Checks the type of an input or constant. Data and Const nodes (`holder`) allow fewer element
 * types than a desc can express. */
static tl_status check_holder(const tl_air *a, tl_value_id v, tl_op_id holder) {
  tl_location where = TL_AT_NODE(a->m->path, tl_value_name(a->m, v));
  const tl_op *op = tl_op_row(holder);
  tl_dtype d = tl_type_dtype(a->m, tl_value_type(a->m, v));
  TL_TRY(check_type(a, v, where));
  if (d == TL_DTYPE_NONE || op->vars[op->results[0].var].dtypes & TL_DTYPE_BIT(d))
    return TL_OK;
  return tl_fail_code(a->m->diag, TL_UNSUPPORTED, "E13014", where,
                      "a %s node cannot hold elements of type %s", op->name, tl_dtype_get(d)->name);
}

/* Refuses bytes that would go into the file as they are and are no value, and lists of ports. */
static tl_status check_carried(const tl_air *a, tl_node_id n) {
  tl_location where = tl_node_where(a->m, n);
  const char *problem = tl_air_carried_problem(a->m, n, &where.attr);
  return problem ? tl_fail(a->m->diag, TL_UNSUPPORTED, where, "the attribute %s", problem) : TL_OK;
}

/* Refuses results, attributes and operands of a node that AIR cannot express. */
static tl_status check_node(const tl_air *a, tl_node_id n) {
  const tl_node *node = tl_node_get(a->m, n);
  tl_symbol lacking = tl_symbol_find(&a->m->symbols, TL_SV(TL_AIR_NO_DATA));
  if (lacking != TL_NO_SYMBOL && tl_node_attr(a->m, n, lacking))
    return tl_fail(a->m->diag, TL_UNSUPPORTED, tl_node_where(a->m, n), TL_AIR_NO_DATA_SAYS);
  if (node->op == TL_OP_npu_Const && !tl_node_attr(a->m, n, TL_SYM_value))
    return tl_fail(a->m->diag, TL_UNSUPPORTED, tl_node_where(a->m, n),
                   "AIR has constants as tensors only\vrun fold-constants, as -O1 does");
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_air_type_problem(a->m, tl_value_type(a->m, node->results + i)))
      return check_type(a, node->results + i, tl_node_where(a->m, n));
  bool bodies = tl_op_has_trait(node->op, TL_TRAIT_BODY);
  bool carried = a->has_port_lists;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const char *problem = tl_air_attr_problem(a->m, &node->attrs[i]);
    carried = carried || node->attrs[i].kind == TL_ATTR_CARRIED;
    if (!problem || (bodies && node->attrs[i].kind == TL_ATTR_GRAPHS))
      continue;
    tl_location where = tl_node_where(a->m, n);
    where.attr = tl_sym(a->m, node->attrs[i].name);
    return tl_fail(a->m->diag, TL_UNSUPPORTED, where, "the attribute %s", problem);
  }
  if (carried)
    TL_TRY(check_carried(a, n));
  return check_scope(a, node->graph, n);
}

/* Refuses constants that a Const node cannot hold. */
static tl_status check_constant(const tl_air *a, tl_value_id v) {
  tl_location where = TL_AT_NODE(a->m->path, tl_value_name(a->m, v));
  if (tl_tensor_get(a->m, tl_value_get(a->m, v)->tensor)->kind == TL_SOURCE_STRINGS)
    return tl_fail(a->m->diag, TL_UNSUPPORTED, where,
                   "the constant holds strings, which AIR cannot");
  return check_holder(a, v, TL_OP_npu_Const);
}

/* ---- names ---- */

/* Makes a unique name of `wish`, which must live as long as the module. */
static tl_status name_into(tl_air *a, tl_sv wish, uint32_t hash, tl_sv *out) {
  tl_sv prefix = a->graph_prefix;
  if (prefix.n && wish.n > prefix.n && memcmp(wish.p, prefix.p, prefix.n) == 0)
    prefix = TL_SV(""); /* of an AIR file that was read: the name has it */
  *out = tl_air_name_view(&a->names, prefix, wish, hash);
  return out->p ? TL_OK : tl_air_no_memory(a);
}

/* Returns the type that a node had in the model: the text behind the last colon of
 * "ai.onnx::13::Slice". */
static tl_sv model_type(const tl_air *a, tl_node_id n) {
  tl_symbol key = tl_symbol_find(&a->m->symbols, TL_SV("original_type"));
  tl_sv type = key == TL_NO_SYMBOL ? (tl_sv){0} : tl_node_attr_string(a->m, n, key);
  size_t i = type.n;
  while (i && type.p[i - 1] != ':')
    i--;
  return type.n ? (tl_sv){type.p + i, type.n - i} : tl_op_name(a->m, tl_node_get(a->m, n)->op);
}

/* A node without a name is called after its type and a running number. */
static tl_status name_node(tl_air *a, tl_node_id n, uint32_t hash, uint32_t number) {
  const tl_node *node = tl_node_get(a->m, n);
  if (node->name)
    return name_into(a, tl_sym(a->m, node->name), hash, &a->node_names[n]);
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, model_type(a, n));
  tl_buf_add_char(&text, '_');
  tl_buf_add_u64(&text, number);
  tl_sv name = {0};
  if (!text.failed)
    name = tl_air_name(&a->names, a->graph_prefix, tl_buf_view(&text));
  tl_buf_release(&text);
  a->node_names[n] = name;
  return name.p ? TL_OK : tl_air_no_memory(a);
}

static tl_status name_value(tl_air *a, tl_value_id v) {
  tl_sv wish = tl_value_name(a->m, v);
  return name_into(a, wish, tl_air_name_ahead(&a->names, wish), &a->value_names[v]);
}

/* Warns of an input of the model without an element type: the runtime has none for it either. */
static void warn_of_untyped(const tl_air *a, const tl_graph *g, tl_value_id v) {
  if (g == tl_module_main(a->m) && tl_value_type(a->m, v) == TL_NO_TYPE)
    tl_warn(a->m->diag, TL_AT_FILE(a->m->path),
            "input '%.*s' has no element type, and what is computed from it may have none\v"
            "declare the type of the input in the model",
            TL_SV_ARG(tl_value_name(a->m, v)));
}

/* Checks and names the graph inputs. */
static tl_status name_inputs(tl_air *a, const tl_graph *g) {
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_id v = g->inputs.at[i];
    warn_of_untyped(a, g, v);
    TL_TRY(check_holder(a, v, TL_OP_npu_Data));
    TL_TRY(name_value(a, v));
  }
  return TL_OK;
}

/* Checks and names the constants that are used; others are not written. */
static tl_status name_constants(tl_air *a, const tl_graph *g) {
  for (uint32_t i = 0; i < g->constants.n; i++) {
    tl_value_id v = g->constants.at[i];
    if (!v || !tl_value_get(a->m, v)->n_uses)
      continue;
    TL_TRY(check_constant(a, v));
    TL_TRY(name_value(a, v));
  }
  return TL_OK;
}

/* Names a body graph "<node>_<position>_<attribute>", as GE's ONNX frontend does, or as it was, and
 * lists it. */
static tl_status name_body(tl_air *a, tl_node_id n, uint32_t position, tl_symbol attr,
                           tl_graph_id g) {
  tl_buf text;
  tl_sv noted = tl_extra_get(a->m, tl_graph_get(a->m, g)->extra, TL_NOTE_NAME);
  tl_buf_init(&text);
  tl_buf_add_sv(&text, noted.p ? noted : a->node_names[n]);
  if (!noted.p)
    tl_buf_printf(&text, "_%u_%.*s", position, TL_SV_ARG(tl_sym(a->m, attr)));
  tl_sv name = {0};
  if (!text.failed)
    name = tl_air_name(&a->graph_pool, TL_SV(""), tl_buf_view(&text));
  tl_buf_release(&text);
  a->graph_names[g] = name;
  return name.p && tl_u32_vec_push(&a->graphs, g) ? TL_OK : tl_air_no_memory(a);
}

/* Names the bodies of a node and appends them to the worklist of graphs. */
static tl_status add_bodies(tl_air *a, tl_node_id n) {
  const tl_op *op = tl_op_row(tl_node_get(a->m, n)->op);
  uint32_t position = 0;
  if (!op || !(op->traits & TL_TRAIT_BODY))
    return TL_OK;
  for (uint32_t i = 0; i < op->n_attrs; i++) {
    const tl_attr *own = tl_node_attr(a->m, n, op->attrs[i].value.name);
    uint32_t count = 0;
    const tl_graph_id *at = own ? tl_attr_graphs(own, &count) : NULL;
    for (uint32_t k = 0; k < count; k++)
      TL_TRY(name_body(a, n, position++, own->name, at[k]));
  }
  return TL_OK;
}

/* Sets the prefix of names in this graph: node names must be unique in the whole file. */
static tl_status set_prefix(tl_air *a, const tl_graph *g) {
  a->graph_prefix = TL_SV("");
  if (g->kind != TL_GRAPH_BODY || tl_extra_get(a->m, g->extra, TL_NOTE_NAME).p)
    return TL_OK;
  tl_sv name = a->graph_names[g->id];
  char *p = tl_arena_copy(&a->arena, name.p, name.n + 1);
  if (!p)
    return tl_air_no_memory(a);
  p[name.n] = '/';
  a->graph_prefix = (tl_sv){p, name.n + 1};
  return TL_OK;
}

/* Names and checks the contents of one graph. The order decides who keeps a name that several ask
 * for: inputs, which users address by name, then nodes, then constants. */
static tl_status plan_graph(tl_air *a, const tl_graph *g) {
  uint32_t number = 0;
  TL_TRY(set_prefix(a, g));
  TL_TRY(name_inputs(a, g));
  tl_sv noted = tl_extra_get(a->m, g->extra, TL_NOTE_OUTPUT);
  tl_sv output = noted.p ? noted : TL_SV("Node_Output");
  uint32_t hash = tl_air_name_ahead(&a->names, output);
  TL_TRY(name_into(a, output, hash, &a->node_names[g->ret]));
  TL_FOR_NODES(a->m, g, n) {
    hash = tl_air_name_ahead(&a->names, tl_sym(a->m, tl_node_get(a->m, n)->name));
    TL_TRY(check_node(a, n)); /* runs while the prefetched slot is on its way */
    TL_TRY(name_node(a, n, hash, number++));
    TL_TRY(add_bodies(a, n));
  }
  TL_TRY(name_constants(a, g));
  if (tl_graph_n_outputs(a->m, g) == 0)
    return tl_fail(a->m->diag, TL_INVALID_MODEL, TL_AT_FILE(a->m->path),
                   "graph '%.*s' has no output", TL_SV_ARG(a->graph_names[g->id]));
  return check_scope(a, g->id, g->ret);
}

/* ---- formats ---- */

/* The first format counts. One that does not fit the rank leaves room for another. */
static void set_format(tl_air *a, tl_value_id v, tl_ge_format format) {
  if (v && a->formats[v] == TL_GE_ND)
    a->formats[v] = (uint8_t)tl_ge_fitting(a->m, tl_value_type(a->m, v), format);
}

/* Gives a node its format, and the inputs and constants that it reads: Data and Const have none of
 * their own. Results of other nodes keep that of their maker, ND too: the device compiler carries
 * a format from a node that has one through nodes where every port is ND, and stops at a node
 * that has both. */
static void format_node(tl_air *a, tl_node_id n) {
  const tl_node *node = tl_node_get(a->m, n);
  tl_ge_format format = tl_ge_declared(a->m, n);
  if (format == TL_GE_ND)
    return;
  a->node_formats[n] = (uint8_t)format;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(a->m, n, i);
    if (v && tl_value_get(a->m, v)->kind != TL_VALUE_RESULT)
      set_format(a, v, format);
  }
  for (uint32_t i = 0; i < node->n_results; i++)
    set_format(a, node->results + i, format);
}

/* Sets the formats of a graph. The input format of the options applies to inputs of the root
 * only. */
static void format_graph(tl_air *a, const tl_graph *g) {
  const char *name = a->options->input_format ? a->options->input_format : "NCHW";
  tl_ge_format format = strcmp(name, "NCHW") == 0    ? TL_GE_NCHW
                        : strcmp(name, "NCDHW") == 0 ? TL_GE_NCDHW
                                                     : TL_GE_ND;
  for (uint32_t i = 0; g->kind == TL_GRAPH_ROOT && i < g->inputs.n; i++)
    set_format(a, g->inputs.at[i], format);
  TL_FOR_NODES(a->m, g, n)
    format_node(a, n);
}

/* a->graphs is the worklist: planning a graph appends the bodies of its nodes. */
tl_status tl_air_plan(tl_air *a) {
  const tl_graph *root = tl_module_main(a->m);
  if (a->m->form != TL_FORM_NPU)
    return tl_fail(a->m->diag, TL_UNSUPPORTED, TL_AT_FILE(a->m->path),
                   "AIR holds ops of the NPU, and the module is in the form '%s'\v"
                   "lower it first: 'tailor convert', tl_model_optimize with TL_FOR_AIR",
                   tl_form_name((tl_form)a->m->form));
  TL_TRY(tl_module_need_one_root(a->m, "an AIR file"));
  tl_sv name = root->name ? tl_sym(a->m, root->name) : TL_SV("graph");
  a->has_notes = tl_air_has_notes(a->m);
  a->has_port_lists = tl_air_has_bookkeeping(a->m);
  a->graph_names[root->id] = tl_air_name(&a->graph_pool, TL_SV(""), name);
  if (!a->graph_names[root->id].p || !tl_u32_vec_push(&a->graphs, root->id))
    return tl_air_no_memory(a);
  for (uint32_t i = 0; i < a->graphs.n; i++) {
    const tl_graph *g = tl_graph_get(a->m, a->graphs.at[i]);
    TL_TRY(plan_graph(a, g));
    format_graph(a, g);
  }
  return TL_OK;
}
