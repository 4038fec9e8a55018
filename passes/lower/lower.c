/* SPDX-License-Identifier: Apache-2.0 */
/* lower: rewrites nodes to NPU ops, with operands and attributes in the form of their prototypes.
 *
 * Requires:  select has run; captures of If bodies explicit.   Keeps: order, names, types, values.
 * After:     every node is npu::Type with operands in port order (absent ones TL_NO_VALUE) and
 *            attributes of the prototype's kinds, or the pass has failed and listed every node that
 *            cannot be (the module is then to be discarded). Optional results of another element
 *            type that nobody uses are gone. No input but states has a default value.
 * Cost:      one sweep, O(nodes + edges).
 * Tests:     tests/golden/lower/ */
#include "ir/options/custom_ops.h"
#include "ir/ops_gen.h"
#include "ir/verify/stage.h"
#include "passes/edit/casts.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/npu/eval.h"
#include "passes/npu/lower_index.h"
#include "passes/npu/tensor.h"
#include "passes/npu/unmapped.h"

/* Upper bound on elements of a constant that is widened to f32; larger ones are real data. */
enum { MAX_WIDENED = 1 << 16 }; /* elements */

typedef struct lowering {
  tl_pass *pass;
  tl_module *m;
  tl_npu_forms forms;
  tl_site x;
  tl_arena lists; /* scratch of one node */
  tl_u32_vec operands;
  tl_unmapped_vec unmapped;
  tl_unmapped_vec custom; /* ops of the user's package */
  tl_pinned pinned;
  tl_symbol original_type;
  tl_symbol *type_names; /* [tl_n_op_rows] "ai.onnx::13::Add", 0: not made yet */
} lowering;

TL_VEC(attr_vec, tl_attr);

/* Returns the symbol of `__dynamic_input_<port>_cnt`: how many operands a dynamic port has. GE
 * needs it only if operands follow the port. */
static tl_symbol count_name(lowering *l, const char *port) {
  char text[96];
  tl_buf name;
  tl_buf_init(&name);
  tl_buf_printf(&name, "__dynamic_input_%s_cnt", port);
  size_t n = name.n < sizeof text ? name.n : 0;
  memcpy(text, name.p ? name.p : "", n);
  tl_buf_release(&name);
  return n ? tl_module_intern(l->m, (tl_sv){text, n}) : TL_NO_SYMBOL;
}

static const tl_npu_binding *binding_of(const tl_npu_form *f, uint32_t port) {
  for (uint32_t i = 0; i < f->n_operands; i++)
    if (f->operands[i].index == port)
      return &f->operands[i];
  return NULL;
}

/* Widens a small half-precision constant at a port that takes f32 (a scale, a mean). Returns false
 * if memory is out. */
static bool widen_constant(lowering *l, const tl_op *op, const tl_op_port *p, tl_value_id *v) {
  const tl_tensor *t = *v ? tl_value_constant(l->m, *v) : NULL;
  uint64_t mask = p->var >= 0 ? op->vars[p->var].dtypes : 0;
  uint64_t n = t ? tl_tensor_elements(l->m, t) : 0;
  if (!t || (t->dtype != TL_DTYPE_F16 && t->dtype != TL_DTYPE_BF16) || n == 0 || n > MAX_WIDENED ||
      (mask & TL_DTYPE_BIT(t->dtype)) || !(mask & TL_DTYPE_BIT(TL_DTYPE_F32)))
    return true;
  const tl_type type = *tl_type_get(l->m, t->type);
  double *at = tl_npu_room(&l->x, n, sizeof *at);
  for (uint64_t i = 0; at && i < n; i++)
    if (!tl_tensor_float_at(l->m, t, i, &at[i]))
      return true;
  tl_tensor_id wide = at ? tl_npu_tensor(l->m, TL_DTYPE_F32, type.rank, type.dims, at, n) : 0;
  tl_symbol name = wide ? tl_module_fresh_name(l->m, tl_value_name(l->m, *v)) : TL_NO_SYMBOL;
  if (name != TL_NO_SYMBOL)
    *v = tl_graph_add_constant(l->m, tl_node_get(l->m, l->x.node)->graph, name, wide);
  l->x.failed = name == TL_NO_SYMBOL || !*v;
  return !l->x.failed;
}

/* Adds the operands of one port. Returns false, with the reason in x.why, if they do not fit. */
static bool add_port(lowering *l, const tl_npu_form *f, uint32_t port, attr_vec *attrs) {
  const tl_op_port *p = &f->npu->operands[port];
  const tl_npu_binding *b = binding_of(f, port);
  tl_value_id none = TL_NO_VALUE;
  tl_value_id *at = &none;
  uint32_t n = p->kind == TL_PORT_VARIADIC ? 0 : 1;
  if (b && !tl_npu_operands(&l->x, b->value, &at, &n))
    return false;
  if (p->kind == TL_PORT_REQUIRED && (n != 1 || !at[0])) {
    l->x.why = "an operand that the NPU op requires is absent";
    return false;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (p->kind == TL_PORT_VARIADIC && !at[i]) {
      l->x.why = "an operand among those of a dynamic port is absent";
      return false;
    }
    if (!widen_constant(l, f->npu, p, &at[i]))
      return false;
    if (!tl_u32_vec_push(&l->operands, at[i]))
      return !(l->x.failed = true);
  }
  if (p->kind == TL_PORT_VARIADIC && port + 1u < f->npu->n_operand_ports) {
    tl_symbol name = count_name(l, p->name);
    l->x.failed = name == TL_NO_SYMBOL || !attr_vec_push(attrs, tl_attr_int(name, n));
  }
  return !l->x.failed;
}

static bool add_attr(lowering *l, const tl_npu_form *f, const tl_npu_binding *b, attr_vec *attrs) {
  const tl_op_attr *proto = b->index == UINT32_MAX ? NULL : &f->npu->attrs[b->index];
  tl_rv v = tl_npu_convert(&l->x, b->value);
  tl_attr a = tl_npu_attr_from(&l->x, b->name, proto ? proto->value.kind : TL_ATTR_NONE, v);
  if (l->x.failed || l->x.why)
    return false;
  if (a.kind == TL_ATTR_NONE && v.kind != TL_RV_NONE) {
    l->x.why = "an attribute's value has no NPU form";
    return false;
  }
  if (a.kind == TL_ATTR_NONE && proto && proto->required) {
    l->x.why = "an attribute that the NPU op requires is not known";
    return false;
  }
  if (a.kind != TL_ATTR_NONE && !attr_vec_push(attrs, a))
    l->x.failed = true;
  return !l->x.failed;
}

/* Keeps body graphs as attributes of the node. */
static bool keep_bodies(lowering *l, attr_vec *attrs) {
  const tl_node *node = tl_node_get(l->m, l->x.node);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind == TL_ATTR_GRAPH && !attr_vec_push(attrs, node->attrs[i]))
      return !(l->x.failed = true);
  return true;
}

/* Returns "ai.onnx::13::Conv", the mark that GE's own frontend puts on nodes. Cached by op. */
static tl_symbol original_type(lowering *l, tl_op_id op) {
  if (l->type_names[op])
    return l->type_names[op];
  const tl_op *row = tl_op_row(op);
  tl_buf name;
  tl_buf_init(&name);
  int64_t version = tl_module_opset(l->m, row->domain_symbol);
  if (!row->domain_symbol && l->m->source_opset)
    version = l->m->source_opset;
  tl_buf_add_z(&name, row->domain[0] ? row->domain : "ai.onnx");
  tl_buf_add_z(&name, "::");
  tl_buf_add_i64(&name, version ? version : 1);
  tl_buf_add_z(&name, "::");
  tl_buf_add_z(&name, row->name);
  tl_symbol s = name.failed ? TL_NO_SYMBOL : tl_module_intern(l->m, tl_buf_view(&name));
  tl_buf_release(&name);
  l->type_names[op] = s == TL_NO_SYMBOL ? 0 : s;
  return s;
}

static tl_dtype dtype_of(const lowering *l, tl_value_id v) {
  return tl_type_dtype(l->m, tl_value_type(l->m, v));
}

/* Returns true if an unused optional result may go. Its dtype in ONNX need not be what the NPU op
 * gives: statistics of a LayerNorm of f16 are f16 in ONNX and f32 on the NPU. */
static bool is_spare(const lowering *l, const tl_node *node, uint32_t i) {
  const tl_op *op = tl_op_row(node->op);
  const tl_op_port *port = op ? tl_op_result_port(op, i) : NULL;
  tl_value_id v = node->results + i;
  return port && port->kind == TL_PORT_OPTIONAL && !tl_value_get(l->m, v)->n_uses &&
         dtype_of(l, v) != dtype_of(l, node->results) && !tl_is_pinned(&l->pinned, v);
}

/* Counts the results to keep. Returns false if a used one has no port. */
static bool count_results(lowering *l, const tl_npu_form *f, uint32_t *keep) {
  const tl_node *node = tl_node_get(l->m, l->x.node);
  *keep = node->n_results < f->npu->max_results ? node->n_results : f->npu->max_results;
  for (uint32_t i = *keep; i < node->n_results; i++)
    if (tl_value_get(l->m, node->results + i)->n_uses) {
      l->x.why = "a used result has no counterpart in the NPU op";
      return false;
    }
  while (*keep > 1 && is_spare(l, node, *keep - 1))
    --*keep;
  return true;
}

/* Checks the dtypes of operands and results against the ports of the NPU op. */
static bool takes_dtypes(lowering *l, const tl_npu_form *f, uint32_t n_results) {
  const tl_node *node = tl_node_get(l->m, l->x.node);
  bool ok = true;
  for (uint32_t i = 0; i < l->operands.n; i++) {
    const tl_op_port *p = tl_op_operand_port(f->npu, i);
    bool inner = i < f->npu->n_operand_ports && p->kind == TL_PORT_VARIADIC;
    if (inner && i + 1u < f->npu->n_operand_ports)
      break; /* later slots are no longer ports */
    ok = ok && tl_npu_takes(l->m, f->npu, p, l->operands.at[i]);
  }
  for (uint32_t i = 0; i < n_results; i++) {
    const tl_op_port *p = tl_op_result_port(f->npu, i);
    ok = ok && tl_npu_takes(l->m, f->npu, p, node->results + i);
  }
  if (!ok)
    l->x.why = "the NPU op does not take this element type";
  return ok;
}

/* Returns the port of operand i if it takes int32 and the operand is an int64 index; NULL
 * otherwise, also behind a dynamic port, where operands no longer correspond to ports one to
 * one. */
static const tl_op_port *index_port(const lowering *l, const tl_op *op, uint32_t i) {
  for (uint32_t k = 0; k <= i; k++)
    if (k >= op->n_operand_ports || op->operands[k].kind == TL_PORT_VARIADIC)
      return NULL;
  return tl_index_narrows(l->m, op, &op->operands[i], l->operands.at[i]) ? &op->operands[i] : NULL;
}

static bool indices_fit(lowering *l, const tl_op *op) {
  for (uint32_t i = 0; i < l->operands.n; i++)
    if (index_port(l, op, i) && !tl_index_fits(l->m, l->operands.at[i])) {
      l->x.why = "an int64 constant is out of the range of the int32 that the NPU op takes";
      return false;
    }
  return true;
}

/* Casts int64 indices to int32 at operands, and back at results, where the NPU op takes int32. */
static tl_status cast_indices(lowering *l, const tl_op *op, uint32_t keep) {
  tl_node_id n = l->x.node;
  for (uint32_t i = 0; i < l->operands.n; i++) {
    if (!index_port(l, op, i))
      continue;
    l->operands.at[i] = tl_index_narrow(l->m, n, l->operands.at[i]);
    if (!l->operands.at[i])
      return tl_no_memory(l->m);
  }
  for (uint32_t i = 0; i < keep; i++) {
    tl_value_id v = tl_result(l->m, n, i);
    if (tl_index_narrows(l->m, op, tl_op_result_port(op, i), v))
      TL_TRY(tl_index_widen(l->m, n, v));
  }
  return TL_OK;
}

/* Works out the new form completely before anything changes, so that a failure leaves the node as
 * it is. */
static bool plan(lowering *l, const tl_npu_form *f, attr_vec *attrs, uint32_t *keep) {
  l->operands.n = 0;
  for (uint32_t i = 0; i < f->n_attrs; i++)
    if (!add_attr(l, f, &f->attrs[i], attrs))
      return false;
  if (!count_results(l, f, keep) || !keep_bodies(l, attrs))
    return false;
  for (uint32_t i = 0; i < f->npu->n_operand_ports; i++)
    if (!add_port(l, f, i, attrs))
      return false;
  while (l->operands.n && !l->operands.at[l->operands.n - 1])
    l->operands.n--;
  if (!takes_dtypes(l, f, *keep) || !indices_fit(l, f->npu))
    return false;
  tl_symbol type = original_type(l, tl_node_get(l->m, l->x.node)->op);
  if (type == TL_NO_SYMBOL || !attr_vec_push(attrs, tl_attr_string(l->original_type, type)))
    l->x.failed = true;
  return !l->x.failed;
}

static tl_status rewrite(lowering *l, const tl_npu_form *f, const attr_vec *attrs, uint32_t keep) {
  tl_node_id n = l->x.node;
  tl_node_trim_results(l->m, n, keep);
  TL_TRY(cast_indices(l, f->npu, keep));
  TL_TRY(tl_node_set_operands(l->m, n, l->operands.at, l->operands.n));
  TL_TRY(tl_node_set_attrs(l->m, n, attrs->at, attrs->n));
  tl_node_set_op(l->m, n, f->npu_id);
  tl_node *node = tl_node_get(l->m, n);
  node->candidate = -1; /* the choice has been carried out */
  node->selected = false;
  return TL_OK;
}

/* Returns the form that was selected, or an earlier one of the same judged type whose guard holds
 * with the dtypes that precision passes have chosen since. */
static const tl_npu_form *form_of(lowering *l, const tl_npu_form *forms) {
  int16_t chosen = tl_node_get(l->m, l->x.node)->candidate;
  for (int16_t i = 0; forms && i < chosen; i++) {
    const tl_npu_candidate *row = forms[i].row;
    bool one = row->kind != TL_LOWER_EXPAND && row->kind != TL_LOWER_NONE;
    if (one && strcmp(row->judged, forms[chosen].row->judged) == 0 &&
        tl_npu_guard_holds(&l->x, forms[i].guard))
      return &forms[i];
  }
  return forms && chosen >= 0 ? &forms[chosen] : NULL;
}

/* Returns true if an op that the table lacks is one of the user's package. Otherwise x.why may say
 * what does not fit. */
static bool is_custom(lowering *l) {
  const tl_node *node = tl_node_get(l->m, l->x.node);
  tl_sv name = tl_op_name(l->m, node->op);
  if (tl_op_row(node->op) || !tl_options_custom_op(l->pass->options, name))
    return false;
  tl_op_info info = tl_options_custom_info(l->pass->options, name);
  bool dynamic_in = false, dynamic_out = false;
  for (uint32_t i = 0; info.row && i < info.row->n_inputs; i++)
    dynamic_in = dynamic_in || tl_op_info_slot_at(info, false, i)->kind == TL_SLOT_DYNAMIC;
  for (uint32_t i = 0; info.row && i < info.row->n_outputs; i++)
    dynamic_out = dynamic_out || tl_op_info_slot_at(info, true, i)->kind == TL_SLOT_DYNAMIC;
  bool fits = !info.row || ((dynamic_in || node->n_operands <= info.row->n_inputs) &&
                            (dynamic_out || node->n_results <= info.row->n_outputs));
  if (!fits)
    l->x.why = "it has more operands or results than its operator information (--op-info) says";
  return fits;
}

/* Lowers a node, or lists it as unmapped with the reason. */
static tl_status lower_node(lowering *l, attr_vec *attrs) {
  const tl_node *node = tl_node_get(l->m, l->x.node);
  const tl_op *row = tl_op_row(node->op);
  const tl_npu_form *f = NULL;
  uint32_t keep = 0;
  if (row && row->domain_symbol == TL_SYM_npu && row->n_npu == 0)
    return TL_OK;
  if (!row && l->m->form == TL_FORM_NPU && tl_op_domain_symbol(l->m, node->op) == TL_SYM_npu)
    return TL_OK; /* of an AIR file that was read: whoever wrote it has the kernel */
  if (row && row->n_npu)
    TL_TRY(tl_npu_forms_get(&l->forms, node->op, &f));
  f = form_of(l, f);
  attrs->n = 0;
  const tl_npu_stage_rule *rule = tl_npu_stage_forbids(l->m, TL_NPU_STAGE_EXPANDED, l->x.node);
  l->x.why = rule ? rule->message : NULL;
  if (rule && is_custom(l))
    return tl_unmapped_add(&l->custom, l->m, l->x.node, "kernel of the user's package")
               ? tl_no_memory(l->m)
               : TL_OK;
  bool ok = !rule && plan(l, f, attrs, &keep);
  if (l->x.failed)
    return tl_no_memory(l->m);
  if (!ok) {
    tl_node_get(l->m, l->x.node)->candidate = -1; /* from now on known to have no form */
    return tl_unmapped_add(&l->unmapped, l->m, l->x.node, l->x.why) ? tl_no_memory(l->m) : TL_OK;
  }
  return tl_pass_may_rewrite(l->pass) ? rewrite(l, f, attrs, keep) : TL_OK;
}

/* Returns true if an input must keep its default: it is the initial value of a training state, or
 * of a parameter that another model updates. */
static bool starts_state(const tl_module *m, tl_value_id v) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].input == v)
      return true;
  for (uint32_t i = 0; i < m->gradients.n; i++)
    if (m->gradients.at[i].param == v)
      return true;
  return false;
}

static tl_status lower_graph(lowering *l, tl_graph *g, attr_vec *attrs) {
  for (uint32_t i = g->inputs.n; i-- > 0;)
    if (tl_value_get(l->m, g->inputs.at[i])->tensor && !starts_state(l->m, g->inputs.at[i]))
      TL_TRY(tl_graph_freeze_input(l->m, g->inputs.at[i]));
  TL_FOR_NODES(l->m, g, n) {
    tl_arena_mark mark = tl_arena_save(&l->lists);
    l->x.node = n;
    TL_TRY(lower_node(l, attrs));
    tl_arena_rewind(&l->lists, mark);
  }
  return TL_OK;
}

static tl_status check_edge(lowering *l, const char *what, tl_value_id v) {
  const tl_npu_stage_rule *rule = tl_npu_stage_forbids_edge(l->m, TL_NPU_STAGE_EXPANDED, v);
  if (!rule)
    return TL_OK;
  return tl_fail_code(l->m->diag, TL_UNSUPPORTED, "E10501", TL_AT_FILE(l->m->path), "%s '%.*s' %s",
                      what, TL_SV_ARG(tl_value_name(l->m, v)), rule->message);
}

/* Checks inputs and outputs of the model; reports every finding. */
static tl_status check_edges(lowering *l) {
  const tl_graph *g = tl_module_main(l->m);
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (check_edge(l, "input", g->inputs.at[i]) != TL_OK)
      status = TL_UNSUPPORTED;
  for (uint32_t i = 0; i < tl_graph_n_outputs(l->m, g); i++)
    if (check_edge(l, "output", tl_graph_output(l->m, g, i)) != TL_OK)
      status = TL_UNSUPPORTED;
  return status;
}

static tl_status lower_module(lowering *l) {
  attr_vec attrs = {0};
  tl_status status = tl_npu_forms_init(&l->forms, l->m);
  if (status == TL_OK)
    status = tl_pinned_find(l->pass, l->m, &l->pinned);
  l->type_names = tl_arena_calloc(l->pass->scratch, tl_n_op_rows, sizeof *l->type_names);
  l->original_type = tl_module_intern(l->m, TL_SV("original_type"));
  if (!l->type_names || l->original_type == TL_NO_SYMBOL)
    status = tl_no_memory(l->m);
  for (uint32_t i = 0; i < l->m->graphs.n && status == TL_OK; i++)
    if (!l->m->graphs.at[i]->erased)
      status = lower_graph(l, l->m->graphs.at[i], &attrs);
  if (status == TL_OK)
    status = tl_custom_warn(&l->custom, l->m);
  if (status == TL_OK && !l->pass->options->allow_unmapped) {
    status = check_edges(l);
    if (l->unmapped.n)
      status = tl_unmapped_report(&l->unmapped, l->m);
  } else if (status == TL_OK && l->pass->options->tell_unmapped) {
    status = tl_unmapped_warn(&l->unmapped, l->m);
  }
  attr_vec_release(&attrs);
  return status;
}

tl_status tl_pass_lower(tl_pass *p, tl_module *m) {
  lowering l = {.pass = p, .m = m};
  tl_arena_init(&l.lists, 0);
  l.x = (tl_site){.m = m, .scratch = &l.lists, .options = p->options};
  tl_status status = lower_module(&l);
  tl_unmapped_vec_release(&l.unmapped);
  tl_unmapped_vec_release(&l.custom);
  tl_u32_vec_release(&l.operands);
  tl_arena_release(&l.lists);
  if (status == TL_OK)
    m->form = TL_FORM_NPU;
  return status;
}
