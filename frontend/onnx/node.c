/* SPDX-License-Identifier: Apache-2.0 */
/* Imports a NodeProto, driven by the op table.
 * This is the hot path of an import: it allocates nothing but the node itself. */
#include "frontend/onnx/check.h"
#include "frontend/onnx/constant.h"
#include "frontend/onnx/load.h"
#include "frontend/onnx/node.h"
#include "frontend/onnx/notes.h"
#include "frontend/onnx/ops.h"
#include "ir/options/custom_ops.h"
#include "ir/ops_gen.h"

enum { MAX_ATTRS = 1024 }; /* of one node */

static tl_status check_domain(tl_onnx *reader, const tl_node_wire *w, tl_symbol domain) {
  if (domain == 0 && reader->calls.frame->opset > 0)
    return TL_OK;
  if (domain && (tl_module_opset(reader->r.m, domain) || tl_onnx_in_function(&reader->calls)))
    return TL_OK;
  /* ONNX Runtime accepts these domains without an import. */
  if (domain == TL_SYM_com_microsoft || domain == TL_SYM_ai_onnx_ml)
    return tl_module_set_opset(reader->r.m, domain, 1);
  if (domain == 0)
    return tl_fail(reader->r.d, TL_INVALID_MODEL,
                   tl_onnx_node_where(&reader->names, &reader->ports, w),
                   "domain 'ai.onnx' is used but the model imports no opset of it");
  tl_warn(reader->r.d, tl_onnx_node_where(&reader->names, &reader->ports, w),
          "domain '%.*s' is not imported by the model, version 1 is assumed",
          TL_SV_ARG(tl_sym(reader->r.m, domain)));
  return tl_module_set_opset(reader->r.m, domain, 1);
}

/* Returns the name that --op-name-map gives to a custom op, else the op type itself. */
static tl_sv renamed(const tl_onnx *reader, tl_sv op_type) {
  const tl_options *o = reader->o->options;
  for (uint32_t i = 0; o && i < o->n_op_renames; i++)
    if (tl_sv_eq(o->op_renames[i].from, op_type))
      return o->op_renames[i].to;
  return op_type;
}

/* Returns true if an op that a standard domain lacks is carried as it is. */
static bool is_allowed(const tl_onnx *reader, tl_sv op_type) {
  const tl_options *o = reader->o->options;
  return o && (o->allow_unmapped || tl_options_custom_op(o, op_type));
}

/* Warns of the first use of such an op. */
static void warn_carried(tl_onnx *reader, tl_symbol domain, tl_sv op_type, uint32_t before) {
  tl_opaque_vec *ops = &reader->r.m->opaque_ops;
  if (ops->n > before && (domain == 0 || domain == TL_SYM_ai_onnx_ml)) {
    ops->at[ops->n - 1].told = true;
    tl_warn_code(reader->r.d, "W_CUSTOM_OP", TL_AT_FILE(reader->r.path),
                 "domain %s has no op '%.*s', which is carried as it is",
                 domain ? "ai.onnx.ml" : "ai.onnx", TL_SV_ARG(tl_sv_shown(op_type)));
  }
}

/* Finds the op: first in the op table (ONNX Runtime, too, prefers its own ops to functions of the
 * same name), then among functions of the model (*call), then as an opaque op of a foreign domain.
 */
tl_status tl_onnx_resolve(tl_onnx *reader, const tl_node_wire *w, tl_op_id *op,
                          tl_function **call) {
  tl_symbol domain = tl_onnx_domain(&reader->r, w->domain);
  tl_symbol name = tl_onnx_symbol(&reader->r, w->op_type);
  *call = NULL;
  if (domain == TL_NO_SYMBOL || name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  TL_TRY(check_domain(reader, w, domain));
  *op = tl_onnx_table_op(&reader->r, domain, name);
  if (*op != UINT32_MAX)
    return TL_OK;
  if (reader->functions.list.n &&
      (*call = tl_onnx_called(&reader->functions, domain, name, w->overload)) != NULL) {
    *op = (*call)->raised;
    if (*op != UINT32_MAX) { /* a call of what one of our ops means is that op */
      (*call)->called = true;
      *call = NULL;
    }
    return TL_OK;
  }
  tl_sv other = renamed(reader, w->op_type);
  if (other.p != w->op_type.p) {
    name = tl_module_intern(reader->r.m, other);
    if (name == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    *op = tl_onnx_table_op(&reader->r, 0, name);
    if (*op != UINT32_MAX)
      return TL_OK;
  } else if (!is_allowed(reader, w->op_type) && (domain == 0 || domain == TL_SYM_ai_onnx_ml)) {
    return tl_onnx_unknown_op(&reader->r, domain, w->op_type,
                              tl_onnx_node_where(&reader->names, &reader->ports, w));
  }
  uint32_t before = reader->r.m->opaque_ops.n;
  *op = tl_op_intern(reader->r.m, domain, name);
  warn_carried(reader, domain, other, before);
  return *op == UINT32_MAX ? TL_NO_MEMORY : TL_OK;
}

static tl_status decode_attributes(tl_onnx *reader, const tl_node_wire *w) {
  if (w->n_attrs > MAX_ATTRS)
    return tl_fail(reader->r.d, TL_LIMIT, tl_onnx_node_where(&reader->names, &reader->ports, w),
                   "%u attributes, at most %d are accepted", w->n_attrs, MAX_ATTRS);
  if (w->n_attrs == 0)
    return TL_OK;
  tl_location where = w->name.n ? tl_onnx_at(&reader->r, w->name)
                                : tl_onnx_node_where(&reader->names, &reader->ports, w);
  uint32_t first = reader->attributes.attrs.n;
  for (uint32_t i = 0; i < w->n_attrs; i++) {
    TL_TRY(tl_onnx_attribute(&reader->attributes, reader->calls.attributes.at[w->first_attr + i],
                             where));
    for (uint32_t k = first; k + 1 < reader->attributes.attrs.n; k++)
      if (reader->attributes.attrs.at[k].name ==
          reader->attributes.attrs.at[reader->attributes.attrs.n - 1].name)
        return tl_fail(reader->r.d, TL_INVALID_MODEL, where, "attribute '%.*s' is given twice",
                       TL_SV_ARG(tl_sym(reader->r.m, reader->attributes.attrs.at[k].name)));
  }
  return TL_OK;
}

/* Returns the number of operands without absent ones at the end, which mean the same as no operand.
 * They stay if the op requires so many, if it is opaque, or in a variadic list, where the check
 * reports them. */
static uint32_t useful_operands(const tl_onnx *reader, const tl_node_wire *w, tl_op_id op) {
  const tl_op *row = tl_op_row(op);
  uint32_t n = w->n_inputs;
  while (row && n > row->min_operands && row->max_operands != UINT32_MAX &&
         reader->ports.inputs.at[w->first_input + n - 1] == 0)
    n--;
  return n;
}

static void warn_of_odd_flags(tl_onnx *reader, const tl_node_wire *w, tl_op_id op,
                              uint32_t first_attr) {
  for (uint32_t i = first_attr; i < reader->attributes.attrs.n; i++) {
    const tl_attr *a = &reader->attributes.attrs.at[i];
    if (!tl_op_is_odd_flag(op, a))
      continue;
    tl_location where = tl_onnx_node_where(&reader->names, &reader->ports, w);
    where.attr = tl_sym(reader->r.m, a->name);
    tl_warn(reader->r.d, where,
            "the flag is %lld, which counts as 1\vONNX knows 0 and 1; runtimes do not "
            "agree on other numbers",
            (long long)a->u.i);
  }
}

static tl_status name_node(tl_onnx *reader, const tl_node_wire *w, tl_symbol *out) {
  *out = 0;
  if (w->name.n == 0)
    return TL_OK;
  *out = tl_intern_hashed(&reader->r.m->symbols, w->name, w->name_hash);
  if (tl_onnx_in_function(&reader->calls) && *out != TL_NO_SYMBOL) {
    tl_buf text;
    tl_buf_init(&text);
    tl_buf_add_sv(&text, tl_sym(reader->r.m, reader->calls.frame->prefix));
    tl_buf_add_char(&text, '/');
    tl_buf_add_sv(&text, w->name);
    *out = text.failed ? TL_NO_SYMBOL : tl_module_intern(reader->r.m, tl_buf_view(&text));
    tl_buf_release(&text);
  }
  return *out == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

/* Looks up the operands. Unknown ones are queued in x->names.pending; the caller fills in `node`.
 */
static tl_status read_operands(tl_onnx *reader, const tl_node_wire *w, uint32_t n) {
  reader->values.n = 0;
  for (uint32_t i = 0; i < n; i++) {
    tl_symbol key = reader->ports.inputs.at[w->first_input + i];
    tl_value_id v = key ? tl_onnx_lookup(&reader->names, key) : TL_NO_VALUE;
    tl_pending wait = {key, TL_NO_NODE, i};
    if (!tl_u32_vec_push(&reader->values, v) ||
        (key && !v && !tl_pending_vec_push(&reader->names.pending, wait)))
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

static tl_status append_node(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w, tl_op_id op,
                             uint32_t first_attr, tl_node_id *out) {
  uint32_t first_pending = reader->names.pending.n;
  tl_node_spec spec = {.op = op, .n_operands = useful_operands(reader, w, op)};
  warn_of_odd_flags(reader, w, op, first_attr);
  TL_TRY(name_node(reader, w, &spec.name));
  TL_TRY(read_operands(reader, w, spec.n_operands));
  spec.operands = reader->values.at;
  spec.results = reader->ports.outputs.at + w->first_output;
  spec.n_results = w->n_outputs;
  spec.attrs = reader->attributes.attrs.at + first_attr;
  spec.n_attrs = reader->attributes.attrs.n - first_attr;
  *out = tl_graph_append(reader->r.m, g, &spec);
  if (*out == TL_NO_NODE)
    return TL_NO_MEMORY;
  for (uint32_t i = first_pending; i < reader->names.pending.n; i++)
    reader->names.pending.at[i].node = *out;
  tl_node_get(reader->r.m, *out)->scope = reader->calls.frame->prefix;
  /* A node with unresolved operands is checked when the graph is complete. */
  if (tl_onnx_needs_lift(&reader->lifts, op, reader->calls.frame->opset) ||
      reader->names.pending.n > first_pending) {
    tl_lift lift = {*out, (int32_t)reader->calls.frame->opset};
    return tl_lift_vec_push(&reader->lifts.queue, lift) ? TL_OK : TL_NO_MEMORY;
  }
  return tl_onnx_check_node(&reader->r, *out);
}

static tl_status define_results(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w,
                                tl_node_id n) {
  tl_value_id first = tl_node_get(reader->r.m, n)->results;
  for (uint32_t i = 0; i < w->n_outputs; i++) {
    tl_symbol key = reader->ports.outputs.at[w->first_output + i];
    if (key)
      TL_TRY(tl_onnx_define(&reader->names, g, key, first + i, tl_onnx_at(&reader->r, w->name)));
  }
  return TL_OK;
}

tl_status tl_onnx_make_node(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w, tl_op_id op,
                            tl_node_id *out) {
  uint32_t first_attr = reader->attributes.attrs.n;
  uint32_t first_body = reader->attributes.bodies.n;
  *out = TL_NO_NODE;
  if (++reader->n_nodes > reader->max_nodes)
    return tl_fail(reader->r.d, TL_LIMIT, TL_AT_FILE(reader->r.path),
                   "more than %llu nodes\v"
                   "--max-nodes allows up to %d",
                   (unsigned long long)reader->max_nodes, TL_ONNX_DEFAULT_MAX_NODES);
  TL_TRY(decode_attributes(reader, w));
  if (op == TL_OP_Constant) {
    bool done;
    TL_TRY(tl_onnx_constant(reader, g, w, first_attr, &done));
    if (done) {
      reader->attributes.attrs.n = first_attr;
      return TL_OK;
    }
  }
  for (uint32_t i = first_body; i < reader->attributes.bodies.n; i++)
    reader->attributes.bodies.at[i].attr -= first_attr;
  TL_TRY(append_node(reader, g, w, op, first_attr, out));
  reader->attributes.attrs.n = first_attr;
  return TL_OK;
}

tl_status tl_onnx_finish_node(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w, tl_node_id n) {
  static const tl_note_fields notes = {.known = 0xbe, .doc = 6, .metadata = 9};
  if (w->has_notes)
    TL_TRY(tl_onnx_carry_notes(&reader->r, w->body, &notes, &tl_node_get(reader->r.m, n)->extra));
  return define_results(reader, g, w, n);
}
