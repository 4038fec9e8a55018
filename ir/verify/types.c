/* SPDX-License-Identifier: Apache-2.0 */
/* Typed level: every node against its row of the op table. Opaque ops have no row and pass. */
#include "ir/ops_gen.h"
#include "ir/verify/internal.h"

static const tl_op *row_of(const tl_module *m, tl_node_id n) {
  return tl_op_row(tl_node_get(m, n)->op);
}

static void report_count(tl_verifier *v, tl_node_id n, const char *what, uint32_t count,
                         uint32_t least, uint32_t most) {
  if (most == UINT32_MAX)
    tl_verify_report(v, n, "has %u %s, needs at least %u", count, what, least);
  else
    tl_verify_report(v, n, "has %u %s, needs %u to %u", count, what, least, most);
}

/* Graphs that see nothing from outside have an input for each operand: the branches of If for those
 * behind the condition (pass isolate), those of Case for those behind the index, the graphs of
 * While for all. */
static void check_captures_of(tl_verifier *v, tl_node_id n) {
  const tl_node *node = tl_node_get(v->m, n);
  bool branches = node->op == TL_OP_If || node->op == TL_OP_npu_If || node->op == TL_OP_npu_Case;
  uint32_t other = branches ? 1 : 0;
  if (!branches && node->op != TL_OP_tl_While && node->op != TL_OP_npu_While)
    return;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    uint32_t n_graphs;
    const tl_graph_id *at = tl_attr_graphs(&node->attrs[i], &n_graphs);
    for (uint32_t k = 0; k < n_graphs; k++) {
      uint32_t inputs = tl_graph_get(v->m, at[k])->inputs.n;
      if (inputs + other != node->n_operands)
        tl_verify_report(v, n, "has %u operands, but graph '%.*s' takes %u values%s",
                         node->n_operands, TL_SV_ARG(tl_sym(v->m, node->attrs[i].name)), inputs,
                         branches ? " behind the condition" : "");
    }
  }
}

static void check_captures(tl_verifier *v) { tl_verify_each_node(v, check_captures_of); }

static void check_counts_of(tl_verifier *v, tl_node_id n) {
  const tl_op *row = row_of(v->m, n);
  const tl_node *node = tl_node_get(v->m, n);
  if (!row)
    return;
  bool many = node->n_operands > row->max_operands && node->op != TL_OP_If;
  if (node->n_operands < row->min_operands || many)
    report_count(v, n, "operands", node->n_operands, row->min_operands, row->max_operands);
  /* Lowering adds no result that nobody uses, though NPU prototypes require them all. */
  uint32_t least = row->domain_symbol == TL_SYM_npu ? 0 : row->min_results;
  if (node->n_results < least || node->n_results > row->max_results)
    report_count(v, n, "results", node->n_results, least, row->max_results);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    const tl_op_port *port = tl_op_operand_port(row, i);
    if (port && port->kind != TL_PORT_OPTIONAL && !tl_operand(v->m, n, i))
      tl_verify_report(v, n, "operand '%s' is absent but required", port->name);
  }
}

static void check_counts(tl_verifier *v) { tl_verify_each_node(v, check_counts_of); }

/* ---- attributes ------------------------------------------------------------------------------ */

/* NPU ops carry more than their prototypes list, as GE's own frontend does (auto_pad,
 * original_type), and bookkeeping of back ends begins with an underscore. Ops of ONNX have neither:
 * an ONNX file with such an attribute is read by nobody. */
static bool may_be_unlisted(const tl_op *row, tl_sv name) {
  return row->domain_symbol == TL_SYM_npu ||
         (row->domain_symbol == TL_SYM_tl && name.n && name.p[0] == '_');
}

static void check_attr(tl_verifier *v, tl_node_id n, const tl_op *row, const tl_attr *a) {
  tl_sv name = tl_sym(v->m, a->name);
  const tl_op_attr *proto = tl_op_attr_find(row, a->name);
  if (!proto) {
    if (!may_be_unlisted(row, name))
      tl_verify_report(v, n, "attribute '%.*s' is unknown to the op", TL_SV_ARG(name));
  } else if (proto->value.kind != a->kind) {
    tl_verify_report(v, n, "attribute '%.*s' is of kind %s, not %s", TL_SV_ARG(name),
                     tl_attr_kind_name((tl_attr_kind)a->kind),
                     tl_attr_kind_name((tl_attr_kind)proto->value.kind));
  }
  if (tl_node_attr(v->m, n, a->name) != a)
    tl_verify_report(v, n, "attribute '%.*s' is given twice", TL_SV_ARG(name));
}

static void check_attrs_of(tl_verifier *v, tl_node_id n) {
  const tl_op *row = row_of(v->m, n);
  const tl_node *node = tl_node_get(v->m, n);
  for (uint32_t i = 0; row && i < node->n_attrs; i++)
    check_attr(v, n, row, &node->attrs[i]);
  for (uint32_t i = 0; row && i < row->n_attrs; i++)
    if (row->attrs[i].required && !tl_node_attr(v->m, n, row->attrs[i].value.name))
      tl_verify_report(v, n, "attribute '%.*s' is missing but required",
                       TL_SV_ARG(tl_sym(v->m, row->attrs[i].value.name)));
}

static void check_attrs(tl_verifier *v) { tl_verify_each_node(v, check_attrs_of); }

/* ---- types ----------------------------------------------------------------------------------- */

enum { MAX_VARS = 256 }; /* indices are int8_t */

typedef struct port_types {
  tl_verifier *v;
  tl_node_id node;
  bool mixed;
  const tl_op *row;
  uint8_t dtypes[MAX_VARS]; /* by variable: element type bound so far */
} port_types;

static bool is_tensor(const tl_type *t) {
  return t->kind == TL_KIND_TENSOR || t->kind == TL_KIND_SPARSE_TENSOR;
}

static bool is_float(unsigned dtype) {
  return dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F16 || dtype == TL_DTYPE_BF16 ||
         dtype == TL_DTYPE_HIF8;
}

/* At a mixed node one of the floats that precision gives stands for all. */
static bool allows_dtype(const port_types *x, const tl_type_var *var, unsigned dtype) {
  uint64_t floats = TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_F16) |
                    TL_DTYPE_BIT(TL_DTYPE_BF16);
  return dtype == TL_DTYPE_NONE || (var->dtypes & TL_DTYPE_BIT(dtype)) ||
         (x->mixed && is_float(dtype) && (var->dtypes & floats));
}

/* NPU prototypes know tensors; what else there is becomes a handle, or the writer refuses it. */
static bool is_allowed(const port_types *x, const tl_type_var *var, const tl_type *t) {
  const tl_op *row = x->row;
  if (row->domain_symbol == TL_SYM_npu && !is_tensor(t))
    return true;
  if (!(var->kinds & TL_KIND_BIT(t->kind)))
    return false;
  return t->kind != TL_KIND_TENSOR || allows_dtype(x, var, t->dtype);
}

static void report_type(port_types *x, const char *side, const tl_op_port *port, tl_type_id id) {
  tl_buf text;
  tl_buf allowed;
  tl_buf_init(&text);
  tl_buf_init(&allowed);
  tl_type_print(x->v->m, id, &text);
  tl_dtype_print_set(x->row->vars[port->var].dtypes, &allowed);
  tl_verify_report(x->v, x->node, "%s '%s' has the type %.*s, which %s does not allow%s%.*s", side,
                   port->name, TL_SV_ARG(tl_buf_view(&text)), x->row->name,
                   allowed.n ? ", but " : "", TL_SV_ARG(tl_buf_view(&allowed)));
  tl_buf_release(&allowed);
  tl_buf_release(&text);
}

static void check_port(port_types *x, const char *side, const tl_op_port *port, tl_value_id id) {
  tl_type_id type = tl_value_type(x->v->m, id);
  if (!port || port->var == TL_ANY_TYPE || type == TL_NO_TYPE)
    return;
  const tl_type *t = tl_type_get(x->v->m, type);
  const tl_type_var *var = &x->row->vars[port->var];
  if (!is_allowed(x, var, t)) {
    report_type(x, side, port, type);
    return;
  }
  if (!var->shared || port->heterogeneous || !is_tensor(t) || t->dtype == TL_DTYPE_NONE)
    return;
  uint8_t *bound = &x->dtypes[port->var];
  if (*bound == TL_DTYPE_NONE)
    *bound = t->dtype;
  else if (*bound != t->dtype && !(x->mixed && is_float(*bound) && is_float(t->dtype)))
    tl_verify_report(x->v, x->node, "%s '%s' is %s where '%s' is %s already", side, port->name,
                     tl_dtype_get((tl_dtype)t->dtype)->name, var->name,
                     tl_dtype_get((tl_dtype)*bound)->name);
}

static void check_types_of(tl_verifier *v, tl_node_id n) {
  const tl_node *node = tl_node_get(v->m, n);
  port_types x = {.v = v, .node = n, .row = row_of(v->m, n), .mixed = node->mixed};
  if (!x.row)
    return;
  for (uint32_t i = 0; i < node->n_operands; i++)
    check_port(&x, "operand", tl_op_operand_port(x.row, i), tl_operand(v->m, n, i));
  for (uint32_t i = 0; i < node->n_results; i++)
    check_port(&x, "result", tl_op_result_port(x.row, i), node->results + i);
}

static void check_types(tl_verifier *v) { tl_verify_each_node(v, check_types_of); }

/* The branch that runs gives the results. */
static void check_branch(tl_verifier *v, tl_node_id n, tl_sv attr, const tl_graph *g) {
  const tl_module *m = v->m;
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_results && i < tl_graph_n_outputs(m, g); i++) {
    tl_dtype stated = tl_type_dtype(m, tl_value_type(m, node->results + i));
    tl_dtype given = tl_type_dtype(m, tl_value_type(m, tl_graph_output(m, g, i)));
    if (stated && given && stated != given)
      tl_verify_report(v, n, "result %u is %s, but '%.*s' gives %s", i, tl_dtype_get(stated)->name,
                       TL_SV_ARG(attr), tl_dtype_get(given)->name);
  }
}

/* ONNX's If has a rule of inference, which says more. */
static void check_branches_of(tl_verifier *v, tl_node_id n) {
  const tl_module *m = v->m;
  const tl_node *node = tl_node_get(m, n);
  if (node->op != TL_OP_npu_If && node->op != TL_OP_npu_Case)
    return;
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    const tl_attr *a = &node->attrs[k];
    if (a->kind == TL_ATTR_GRAPH)
      check_branch(v, n, tl_sym(m, a->name), tl_graph_get(m, a->u.g));
    for (uint32_t i = 0; a->kind == TL_ATTR_GRAPHS && i < a->count; i++)
      check_branch(v, n, tl_sym(m, a->name), tl_graph_get(m, a->u.ids[i]));
  }
}

static void check_branches(tl_verifier *v) { tl_verify_each_node(v, check_branches_of); }

static void check_candidate_of(tl_verifier *v, tl_node_id n) {
  const tl_node *node = tl_node_get(v->m, n);
  const tl_op *row = row_of(v->m, n);
  int candidates = row ? row->n_npu : 0;
  if (!tl_node_is_return(v->m, n) && node->candidate >= candidates)
    tl_verify_report(v, n, "candidate %d is beyond the %d of the op", node->candidate, candidates);
}

static void check_candidates(tl_verifier *v) { tl_verify_each_node(v, check_candidate_of); }

/* ---- data ------------------------------------------------------------------------------------ */

static void check_data_of(tl_verifier *v, const char *what, const tl_u32_vec *list) {
  for (uint32_t i = 0; i < list->n; i++) {
    const tl_value *value = tl_value_get(v->m, list->at[i]);
    if (list->at[i] && value->tensor &&
        tl_types_clash(v->m, value->type, tl_tensor_get(v->m, value->tensor)->type))
      tl_verify_report(v, TL_NO_NODE, "%s '%.*s' has another type than its data", what,
                       TL_SV_ARG(tl_value_name(v->m, list->at[i])));
  }
}

static void check_data(tl_verifier *v) {
  for (uint32_t i = 0; i < v->m->graphs.n; i++) {
    const tl_graph *g = v->m->graphs.at[i];
    if (g->erased)
      continue;
    check_data_of(v, "input", &g->inputs);
    check_data_of(v, "constant", &g->constants);
  }
}

const tl_check tl_type_checks[] = {
    {"branches", check_branches},    {"data", check_data},
    {"counts", check_counts},        {"captures", check_captures},
    {"attributes", check_attrs},     {"types", check_types},
    {"candidate", check_candidates}, {NULL, NULL},
};
