/* SPDX-License-Identifier: Apache-2.0 */
/* NodeProto to node, driven by the op table. The hot path of an import: one walk over the bytes,
 * one hash per name, no allocation besides the node itself. */
#include "frontend/onnx/import.h"
#include "ir/ops_gen.h"

tl_symbol tl_onnx_domain(tl_onnx *x, tl_sv domain) {
  tl_symbol s = tl_onnx_symbol(x, domain);
  return s == TL_SYM_ai_onnx ? 0 : s;
}

static tl_status push_name(tl_onnx *x, tl_proto name, bool output) {
  tl_sv s = tl_proto_sv(name);
  tl_name_ahead ahead = {s, tl_intern_ahead(&x->m->symbols, s), output};
  return tl_ahead_vec_push(&x->names, ahead) ? TL_OK : TL_NO_MEMORY;
}

/* Keys of the names that decode has met; by now their slots are on the way into the cache. */
static tl_status take_names(tl_onnx *x) {
  for (uint32_t i = 0; i < x->names.n; i++) {
    const tl_name_ahead *a = &x->names.at[i];
    tl_symbol key = x->frame->function || a->name.n == 0
                        ? tl_onnx_key(x, a->name)
                        : tl_intern_hashed(&x->m->symbols, a->name, a->hash);
    if (key == TL_NO_SYMBOL || !tl_u32_vec_push(a->output ? &x->outputs : &x->inputs, key))
      return TL_NO_MEMORY;
  }
  x->names.n = 0;
  return TL_OK;
}

static tl_status take_field(tl_onnx *x, tl_node_wire *w, const tl_field *f) {
  switch (tl_field_tag(f)) {
  case TL_TAG(1, TL_WIRE_BYTES): return push_name(x, f->body, false);
  case TL_TAG(2, TL_WIRE_BYTES): return push_name(x, f->body, true);
  case TL_TAG(3, TL_WIRE_BYTES):
    w->name = tl_proto_sv(f->body);
    w->name_hash = tl_intern_ahead(&x->m->symbols, w->name);
    return TL_OK;
  case TL_TAG(4, TL_WIRE_BYTES): w->op_type = tl_proto_sv(f->body); return TL_OK;
  case TL_TAG(5, TL_WIRE_BYTES):
    return tl_proto_vec_push(&x->attr_ranges, f->body) ? TL_OK : TL_NO_MEMORY;
  case TL_TAG(7, TL_WIRE_BYTES): w->domain = tl_proto_sv(f->body); return TL_OK;
  case TL_TAG(8, TL_WIRE_BYTES): w->overload = tl_proto_sv(f->body); break;
  default: break;
  }
  w->has_notes |= f->type != TL_WIRE_BYTES || f->body.p != f->body.end;
  return TL_OK;
}

static tl_status decode(tl_onnx *x, tl_proto body, tl_node_wire *w) {
  static const tl_sv none = {"", 0};
  tl_field f;
  tl_step step;
  *w = (tl_node_wire){.body = body, .name = none, .op_type = none, .domain = none,
                      .overload = none, .first_input = x->inputs.n,
                      .first_output = x->outputs.n, .first_attr = x->attr_ranges.n};
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD)
    TL_TRY(take_field(x, w, &f));
  TL_TRY(take_names(x));
  w->n_inputs = x->inputs.n - w->first_input;
  w->n_outputs = x->outputs.n - w->first_output;
  w->n_attrs = x->attr_ranges.n - w->first_attr;
  return step == TL_STEP_BAD ? tl_onnx_malformed(x, body.p, "NodeProto") : TL_OK;
}

tl_status tl_onnx_node_header(tl_onnx *x, tl_proto body, tl_node_wire *out) {
  tl_field f;
  tl_step step;
  *out = (tl_node_wire){.op_type = {"", 0}, .domain = {"", 0}, .overload = {"", 0}};
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD) {
    switch (tl_field_tag(&f)) {
    case TL_TAG(4, TL_WIRE_BYTES): out->op_type = tl_proto_sv(f.body); break;
    case TL_TAG(7, TL_WIRE_BYTES): out->domain = tl_proto_sv(f.body); break;
    case TL_TAG(8, TL_WIRE_BYTES): out->overload = tl_proto_sv(f.body); break;
    default: break;
    }
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(x, body.p, "NodeProto") : TL_OK;
}

/* Location of a node that does not exist yet: its name, or "Op->result". */
static tl_location where_of(tl_onnx *x, const tl_node_wire *w) {
  if (w->name.n || w->n_outputs == 0)
    return tl_onnx_at(x, w->name.n ? w->name : w->op_type);
  tl_sv result = tl_sym(x->m, tl_onnx_display(x, x->outputs.at[w->first_output]));
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, w->op_type);
  tl_buf_add_z(&text, "->");
  tl_buf_add_sv(&text, result);
  const char *copy = text.failed ? NULL : tl_arena_copy(&x->m->arena, text.p, text.n);
  tl_location where = tl_onnx_at(x, copy ? (tl_sv){copy, text.n} : w->op_type);
  tl_buf_release(&text);
  return where;
}

static tl_status check_domain(tl_onnx *x, const tl_node_wire *w, tl_symbol domain) {
  if (domain == 0 && x->frame->opset > 0)
    return TL_OK;
  if (domain && (tl_module_opset(x->m, domain) || x->frame->function))
    return TL_OK;
  /* ONNX Runtime knows these without an import. */
  if (domain == TL_SYM_com_microsoft || domain == TL_SYM_ai_onnx_ml)
    return tl_module_set_opset(x->m, domain, 1);
  if (domain == 0)
    return tl_fail(x->d, TL_INVALID_MODEL, where_of(x, w),
                   "domain 'ai.onnx' is used but the model imports no opset of it");
  tl_warn(x->d, where_of(x, w), "domain '%.*s' is not imported by the model, version 1 is assumed",
          TL_SV_ARG(tl_sym(x->m, domain)));
  return tl_module_set_opset(x->m, domain, 1);
}

/* --op-name-map: another name for a custom op. */
static tl_sv renamed(const tl_onnx *x, tl_sv op_type) {
  const tl_options *o = x->o->options;
  for (uint32_t i = 0; o && i < o->n_op_renames; i++)
    if (tl_sv_eq(o->op_renames[i].from, op_type))
      return o->op_renames[i].to;
  return op_type;
}

/* Op of the default domain, remembered by symbol. */
static tl_op_id standard_op(tl_onnx *x, tl_symbol name) {
  if (name > tl_n_seeds)
    return UINT32_MAX;
  uint32_t known = tl_onnx_slot(&x->ops, name);
  if (known)
    return known - 1;
  tl_op_id op = tl_op_find(0, name);
  return tl_onnx_set_slot(&x->ops, name, op + 1) == TL_OK ? op : UINT32_MAX;
}

tl_op_id tl_onnx_table_op(tl_onnx *x, tl_symbol domain, tl_symbol name) {
  if (domain == 0)
    return standard_op(x, name);
  return domain <= tl_n_seeds && name <= tl_n_seeds ? tl_op_find(domain, name) : UINT32_MAX;
}

/* Finds the op: the table first (ONNX Runtime, too, prefers its own ops to functions of the same
 * name), then functions of the model (*call), then an opaque op of a foreign domain. */
static tl_status resolve(tl_onnx *x, tl_node_wire *w, tl_op_id *op, tl_function **call) {
  tl_symbol domain = tl_onnx_domain(x, w->domain);
  tl_symbol name = tl_onnx_symbol(x, w->op_type);
  *call = NULL;
  if (domain == TL_NO_SYMBOL || name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  TL_TRY(check_domain(x, w, domain));
  *op = tl_onnx_table_op(x, domain, name);
  if (*op != UINT32_MAX)
    return TL_OK;
  if (x->has_functions && (*call = tl_onnx_called(x, domain, name, w->overload)) != NULL) {
    *op = (*call)->raised;
    if (*op != UINT32_MAX) { /* a call of what one of our ops means is that op */
      (*call)->called = true;
      *call = NULL;
    }
    return TL_OK;
  }
  tl_sv other = renamed(x, w->op_type);
  if (other.p != w->op_type.p) {
    name = tl_module_intern(x->m, other);
    if (name == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    *op = standard_op(x, name);
    if (*op != UINT32_MAX)
      return TL_OK;
  } else if (domain == 0 || domain == TL_SYM_ai_onnx_ml) {
    return tl_onnx_unknown_op(x, w, where_of(x, w));
  }
  *op = tl_op_intern(x->m, domain, name);
  return *op == UINT32_MAX ? TL_NO_MEMORY : TL_OK;
}

static tl_status decode_attributes(tl_onnx *x, const tl_node_wire *w) {
  if (w->n_attrs > TL_ONNX_MAX_ATTRS)
    return tl_fail(x->d, TL_LIMIT, where_of(x, w), "%u attributes, at most %d are accepted",
                   w->n_attrs, TL_ONNX_MAX_ATTRS);
  if (w->n_attrs == 0)
    return TL_OK;
  tl_location where = w->name.n ? tl_onnx_at(x, w->name) : where_of(x, w);
  uint32_t first = x->attrs.n;
  for (uint32_t i = 0; i < w->n_attrs; i++) {
    TL_TRY(tl_onnx_attribute(x, x->attr_ranges.at[w->first_attr + i], where));
    for (uint32_t k = first; k + 1 < x->attrs.n; k++)
      if (x->attrs.at[k].name == x->attrs.at[x->attrs.n - 1].name)
        return tl_fail(x->d, TL_INVALID_MODEL, where, "attribute '%.*s' is given twice",
                       TL_SV_ARG(tl_sym(x->m, x->attrs.at[k].name)));
  }
  return TL_OK;
}

/* Trailing absent operands say nothing, unless the op needs that many or nobody knows it. One of a
 * list stays for the check to find. */
static uint32_t useful_operands(const tl_onnx *x, const tl_node_wire *w, tl_op_id op) {
  const tl_op *row = tl_op_row(op);
  uint32_t n = w->n_inputs;
  while (row && n > row->min_operands && row->max_operands != UINT32_MAX &&
         x->inputs.at[w->first_input + n - 1] == 0)
    n--;
  return n;
}

static void warn_of_odd_flags(tl_onnx *x, const tl_node_wire *w, tl_op_id op,
                              uint32_t first_attr) {
  for (uint32_t i = first_attr; i < x->attrs.n; i++) {
    const tl_attr *a = &x->attrs.at[i];
    if (!tl_op_is_odd_flag(op, a))
      continue;
    tl_location where = where_of(x, w);
    where.attr = tl_sym(x->m, a->name);
    tl_warn(x->d, where, "the flag is %lld, which counts as 1\vONNX knows 0 and 1; runtimes do not "
            "agree on other numbers", (long long)a->u.i);
  }
}

static tl_status name_node(tl_onnx *x, const tl_node_wire *w, tl_symbol *out) {
  *out = 0;
  if (w->name.n == 0)
    return TL_OK;
  *out = tl_intern_hashed(&x->m->symbols, w->name, w->name_hash);
  if (x->frame->function && *out != TL_NO_SYMBOL) {
    tl_buf text;
    tl_buf_init(&text);
    tl_buf_add_sv(&text, tl_sym(x->m, x->frame->prefix));
    tl_buf_add_char(&text, '/');
    tl_buf_add_sv(&text, w->name);
    *out = text.failed ? TL_NO_SYMBOL : tl_module_intern(x->m, tl_buf_view(&text));
    tl_buf_release(&text);
  }
  return *out == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

/* Looks the operands up; unknown ones wait in x->pending for `node` to be filled in. */
static tl_status read_operands(tl_onnx *x, const tl_node_wire *w, uint32_t n) {
  x->values.n = 0;
  for (uint32_t i = 0; i < n; i++) {
    tl_symbol key = x->inputs.at[w->first_input + i];
    tl_value_id v = key ? tl_onnx_lookup(x, key) : TL_NO_VALUE;
    tl_pending wait = {key, TL_NO_NODE, i};
    if (!tl_u32_vec_push(&x->values, v) ||
        (key && !v && !tl_pending_vec_push(&x->pending, wait)))
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

static tl_status append_node(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_op_id op,
                             uint32_t first_attr, tl_node_id *out) {
  uint32_t first_pending = x->pending.n;
  tl_node_spec spec = {.op = op, .n_operands = useful_operands(x, w, op)};
  warn_of_odd_flags(x, w, op, first_attr);
  TL_TRY(name_node(x, w, &spec.name));
  TL_TRY(read_operands(x, w, spec.n_operands));
  spec.operands = x->values.at;
  spec.results = x->outputs.at + w->first_output;
  spec.n_results = w->n_outputs;
  spec.attrs = x->attrs.at + first_attr;
  spec.n_attrs = x->attrs.n - first_attr;
  *out = tl_graph_append(x->m, g, &spec);
  if (*out == TL_NO_NODE)
    return TL_NO_MEMORY;
  for (uint32_t i = first_pending; i < x->pending.n; i++)
    x->pending.at[i].node = *out;
  tl_node_get(x->m, *out)->scope = x->frame->prefix;
  /* A node whose operands are not there yet is checked when the graph is complete. */
  if (tl_onnx_needs_lift(x, op, x->frame->opset) || x->pending.n > first_pending) {
    tl_lift lift = {*out, (int32_t)x->frame->opset};
    return tl_lift_vec_push(&x->lifts, lift) ? TL_OK : TL_NO_MEMORY;
  }
  return tl_onnx_check_node(x, *out);
}

/* Imports the graphs queued since first_body and puts their ids into the attributes. */
static tl_status import_bodies(tl_onnx *x, tl_node_id n, uint32_t first_body) {
  const tl_frame *own = x->frame;
  for (uint32_t i = first_body; i < x->bodies.n; i++) {
    tl_body_job job = x->bodies.at[i];
    tl_graph_id body = TL_NO_GRAPH;
    x->frame = job.frame;
    tl_status status = tl_onnx_graph(x, job.graph, n, &body);
    x->frame = own;
    TL_TRY(status);
    tl_attr attr = tl_node_get(x->m, n)->attrs[job.attr];
    if (attr.kind == TL_ATTR_GRAPH) {
      attr.u.g = body;
    } else {
      uint32_t *ids = (uint32_t *)(void *)tl_arena_copy(&x->m->arena, attr.u.ids,
                                                        attr.count * sizeof *attr.u.ids);
      if (!ids)
        return TL_NO_MEMORY;
      ids[job.index] = body;
      attr.u.ids = ids;
    }
    TL_TRY(tl_node_set_attr(x->m, n, attr));
  }
  x->bodies.n = first_body;
  return TL_OK;
}

static tl_status define_results(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_node_id n) {
  tl_value_id first = tl_node_get(x->m, n)->results;
  for (uint32_t i = 0; i < w->n_outputs; i++) {
    tl_symbol key = x->outputs.at[w->first_output + i];
    if (key)
      TL_TRY(tl_onnx_define(x, g, key, first + i, tl_onnx_at(x, w->name)));
  }
  return TL_OK;
}

static tl_status make_node(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_op_id op) {
  static const tl_note_fields notes = {.known = 0xbe, .doc = 6, .metadata = 9};
  uint32_t first_attr = x->attrs.n;
  uint32_t first_body = x->bodies.n;
  tl_node_id n;
  if (++x->n_nodes > x->max_nodes)
    return tl_fail(x->d, TL_LIMIT, TL_AT_FILE(x->path), "more than %llu nodes",
                   (unsigned long long)x->max_nodes);
  TL_TRY(decode_attributes(x, w));
  if (op == TL_OP_Constant) {
    bool done;
    TL_TRY(tl_onnx_constant(x, g, w, first_attr, &done));
    if (done) {
      x->attrs.n = first_attr;
      return TL_OK;
    }
  }
  for (uint32_t i = first_body; i < x->bodies.n; i++)
    x->bodies.at[i].attr -= first_attr;
  TL_TRY(append_node(x, g, w, op, first_attr, &n));
  x->attrs.n = first_attr;
  if (x->bodies.n > first_body)
    TL_TRY(import_bodies(x, n, first_body));
  if (w->has_notes)
    TL_TRY(tl_onnx_carry_notes(x, w->body, &notes, &tl_node_get(x->m, n)->extra));
  return define_results(x, g, w, n);
}

tl_status tl_onnx_node(tl_onnx *x, tl_graph_id g, tl_proto body) {
  tl_node_wire w;
  tl_op_id op;
  tl_function *call;
  TL_TRY(decode(x, body, &w));
  TL_TRY(resolve(x, &w, &op, &call));
  if (call)
    TL_TRY(tl_onnx_inline(x, g, &w, call));
  else
    TL_TRY(make_node(x, g, &w, op));
  x->inputs.n = w.first_input;
  x->outputs.n = w.first_output;
  x->attr_ranges.n = w.first_attr;
  return TL_OK;
}
