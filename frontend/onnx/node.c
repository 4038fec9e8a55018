/* SPDX-License-Identifier: Apache-2.0 */
/* Imports a NodeProto, driven by the op table.
 * This is the hot path of an import: it allocates nothing but the node itself. */
#include "frontend/onnx/check.h"
#include "frontend/onnx/constant.h"
#include "frontend/onnx/node.h"
#include "frontend/onnx/notes.h"
#include "frontend/onnx/ops.h"
#include "ir/ops_gen.h"

enum { MAX_ATTRS = 1024 }; /* of one node */

static tl_status check_domain(tl_onnx *x, const tl_node_wire *w, tl_symbol domain) {
  if (domain == 0 && x->calls.frame->opset > 0)
    return TL_OK;
  if (domain && (tl_module_opset(x->r.m, domain) || tl_onnx_in_function(&x->calls)))
    return TL_OK;
  /* ONNX Runtime accepts these domains without an import. */
  if (domain == TL_SYM_com_microsoft || domain == TL_SYM_ai_onnx_ml)
    return tl_module_set_opset(x->r.m, domain, 1);
  if (domain == 0)
    return tl_fail(x->r.d, TL_INVALID_MODEL, tl_onnx_node_where(&x->names, &x->ports, w),
                   "domain 'ai.onnx' is used but the model imports no opset of it");
  tl_warn(x->r.d, tl_onnx_node_where(&x->names, &x->ports, w),
          "domain '%.*s' is not imported by the model, version 1 is assumed",
          TL_SV_ARG(tl_sym(x->r.m, domain)));
  return tl_module_set_opset(x->r.m, domain, 1);
}

/* Returns the name that --op-name-map gives to a custom op, else the op type itself. */
static tl_sv renamed(const tl_onnx *x, tl_sv op_type) {
  const tl_options *o = x->o->options;
  for (uint32_t i = 0; o && i < o->n_op_renames; i++)
    if (tl_sv_eq(o->op_renames[i].from, op_type))
      return o->op_renames[i].to;
  return op_type;
}

/* Finds the op: first in the op table (ONNX Runtime, too, prefers its own ops to functions of the
 * same name), then among functions of the model (*call), then as an opaque op of a foreign domain.
 */
tl_status tl_onnx_resolve(tl_onnx *x, const tl_node_wire *w, tl_op_id *op, tl_function **call) {
  tl_symbol domain = tl_onnx_domain(&x->r, w->domain);
  tl_symbol name = tl_onnx_symbol(&x->r, w->op_type);
  *call = NULL;
  if (domain == TL_NO_SYMBOL || name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  TL_TRY(check_domain(x, w, domain));
  *op = tl_onnx_table_op(&x->r, domain, name);
  if (*op != UINT32_MAX)
    return TL_OK;
  if (x->functions.list.n &&
      (*call = tl_onnx_called(&x->functions, domain, name, w->overload)) != NULL) {
    *op = (*call)->raised;
    if (*op != UINT32_MAX) { /* a call of what one of our ops means is that op */
      (*call)->called = true;
      *call = NULL;
    }
    return TL_OK;
  }
  tl_sv other = renamed(x, w->op_type);
  if (other.p != w->op_type.p) {
    name = tl_module_intern(x->r.m, other);
    if (name == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    *op = tl_onnx_table_op(&x->r, 0, name);
    if (*op != UINT32_MAX)
      return TL_OK;
  } else if (domain == 0 || domain == TL_SYM_ai_onnx_ml) {
    return tl_onnx_unknown_op(&x->r, domain, w->op_type,
                              tl_onnx_node_where(&x->names, &x->ports, w));
  }
  *op = tl_op_intern(x->r.m, domain, name);
  return *op == UINT32_MAX ? TL_NO_MEMORY : TL_OK;
}

static tl_status decode_attributes(tl_onnx *x, const tl_node_wire *w) {
  if (w->n_attrs > MAX_ATTRS)
    return tl_fail(x->r.d, TL_LIMIT, tl_onnx_node_where(&x->names, &x->ports, w),
                   "%u attributes, at most %d are accepted", w->n_attrs, MAX_ATTRS);
  if (w->n_attrs == 0)
    return TL_OK;
  tl_location where = w->name.n ? tl_onnx_at(&x->r, w->name)
                                : tl_onnx_node_where(&x->names, &x->ports, w);
  uint32_t first = x->attributes.attrs.n;
  for (uint32_t i = 0; i < w->n_attrs; i++) {
    TL_TRY(tl_onnx_attribute(&x->attributes, x->calls.attributes.at[w->first_attr + i], where));
    for (uint32_t k = first; k + 1 < x->attributes.attrs.n; k++)
      if (x->attributes.attrs.at[k].name == x->attributes.attrs.at[x->attributes.attrs.n - 1].name)
        return tl_fail(x->r.d, TL_INVALID_MODEL, where, "attribute '%.*s' is given twice",
                       TL_SV_ARG(tl_sym(x->r.m, x->attributes.attrs.at[k].name)));
  }
  return TL_OK;
}

/* Returns the number of operands without absent ones at the end, which mean the same as no operand.
 * They stay if the op requires so many, if it is opaque, or in a variadic list, where the check
 * reports them. */
static uint32_t useful_operands(const tl_onnx *x, const tl_node_wire *w, tl_op_id op) {
  const tl_op *row = tl_op_row(op);
  uint32_t n = w->n_inputs;
  while (row && n > row->min_operands && row->max_operands != UINT32_MAX &&
         x->ports.inputs.at[w->first_input + n - 1] == 0)
    n--;
  return n;
}

static void warn_of_odd_flags(tl_onnx *x, const tl_node_wire *w, tl_op_id op, uint32_t first_attr) {
  for (uint32_t i = first_attr; i < x->attributes.attrs.n; i++) {
    const tl_attr *a = &x->attributes.attrs.at[i];
    if (!tl_op_is_odd_flag(op, a))
      continue;
    tl_location where = tl_onnx_node_where(&x->names, &x->ports, w);
    where.attr = tl_sym(x->r.m, a->name);
    tl_warn(x->r.d, where,
            "the flag is %lld, which counts as 1\vONNX knows 0 and 1; runtimes do not "
            "agree on other numbers",
            (long long)a->u.i);
  }
}

static tl_status name_node(tl_onnx *x, const tl_node_wire *w, tl_symbol *out) {
  *out = 0;
  if (w->name.n == 0)
    return TL_OK;
  *out = tl_intern_hashed(&x->r.m->symbols, w->name, w->name_hash);
  if (tl_onnx_in_function(&x->calls) && *out != TL_NO_SYMBOL) {
    tl_buf text;
    tl_buf_init(&text);
    tl_buf_add_sv(&text, tl_sym(x->r.m, x->calls.frame->prefix));
    tl_buf_add_char(&text, '/');
    tl_buf_add_sv(&text, w->name);
    *out = text.failed ? TL_NO_SYMBOL : tl_module_intern(x->r.m, tl_buf_view(&text));
    tl_buf_release(&text);
  }
  return *out == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

/* Looks up the operands. Unknown ones are queued in x->names.pending; the caller fills in `node`.
 */
static tl_status read_operands(tl_onnx *x, const tl_node_wire *w, uint32_t n) {
  x->values.n = 0;
  for (uint32_t i = 0; i < n; i++) {
    tl_symbol key = x->ports.inputs.at[w->first_input + i];
    tl_value_id v = key ? tl_onnx_lookup(&x->names, key) : TL_NO_VALUE;
    tl_pending wait = {key, TL_NO_NODE, i};
    if (!tl_u32_vec_push(&x->values, v) ||
        (key && !v && !tl_pending_vec_push(&x->names.pending, wait)))
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

static tl_status append_node(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_op_id op,
                             uint32_t first_attr, tl_node_id *out) {
  uint32_t first_pending = x->names.pending.n;
  tl_node_spec spec = {.op = op, .n_operands = useful_operands(x, w, op)};
  warn_of_odd_flags(x, w, op, first_attr);
  TL_TRY(name_node(x, w, &spec.name));
  TL_TRY(read_operands(x, w, spec.n_operands));
  spec.operands = x->values.at;
  spec.results = x->ports.outputs.at + w->first_output;
  spec.n_results = w->n_outputs;
  spec.attrs = x->attributes.attrs.at + first_attr;
  spec.n_attrs = x->attributes.attrs.n - first_attr;
  *out = tl_graph_append(x->r.m, g, &spec);
  if (*out == TL_NO_NODE)
    return TL_NO_MEMORY;
  for (uint32_t i = first_pending; i < x->names.pending.n; i++)
    x->names.pending.at[i].node = *out;
  tl_node_get(x->r.m, *out)->scope = x->calls.frame->prefix;
  /* A node with unresolved operands is checked when the graph is complete. */
  if (tl_onnx_needs_lift(&x->lifts, op, x->calls.frame->opset) ||
      x->names.pending.n > first_pending) {
    tl_lift lift = {*out, (int32_t)x->calls.frame->opset};
    return tl_lift_vec_push(&x->lifts.queue, lift) ? TL_OK : TL_NO_MEMORY;
  }
  return tl_onnx_check_node(&x->r, *out);
}

static tl_status define_results(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_node_id n) {
  tl_value_id first = tl_node_get(x->r.m, n)->results;
  for (uint32_t i = 0; i < w->n_outputs; i++) {
    tl_symbol key = x->ports.outputs.at[w->first_output + i];
    if (key)
      TL_TRY(tl_onnx_define(&x->names, g, key, first + i, tl_onnx_at(&x->r, w->name)));
  }
  return TL_OK;
}

tl_status tl_onnx_make_node(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_op_id op,
                            tl_node_id *out) {
  uint32_t first_attr = x->attributes.attrs.n;
  uint32_t first_body = x->attributes.bodies.n;
  *out = TL_NO_NODE;
  if (++x->n_nodes > x->max_nodes)
    return tl_fail(x->r.d, TL_LIMIT, TL_AT_FILE(x->r.path), "more than %llu nodes",
                   (unsigned long long)x->max_nodes);
  TL_TRY(decode_attributes(x, w));
  if (op == TL_OP_Constant) {
    bool done;
    TL_TRY(tl_onnx_constant(x, g, w, first_attr, &done));
    if (done) {
      x->attributes.attrs.n = first_attr;
      return TL_OK;
    }
  }
  for (uint32_t i = first_body; i < x->attributes.bodies.n; i++)
    x->attributes.bodies.at[i].attr -= first_attr;
  TL_TRY(append_node(x, g, w, op, first_attr, out));
  x->attributes.attrs.n = first_attr;
  return TL_OK;
}

tl_status tl_onnx_finish_node(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_node_id n) {
  static const tl_note_fields notes = {.known = 0xbe, .doc = 6, .metadata = 9};
  if (w->has_notes)
    TL_TRY(tl_onnx_carry_notes(&x->r, w->body, &notes, &tl_node_get(x->r.m, n)->extra));
  return define_results(x, g, w, n);
}
