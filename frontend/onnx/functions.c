/* SPDX-License-Identifier: Apache-2.0 */
/* Model-local functions: every call is replaced by the body. Values inside get "call/name", nodes
 * keep the path in their scope; formal names stand for the caller's values, references to
 * attributes for the call's. How many nodes come out is counted, without making any, before the
 * import. A name that the op table has is never a call: ONNX Runtime, too, prefers its own ops. */
#include <stdlib.h>

#include "frontend/onnx/import.h"
#include "ir/ops_gen.h"

enum { F_NAME = 1, F_INPUT = 4, F_OUTPUT = 5, F_NODE = 7, F_OPSET = 9, F_DOMAIN = 10,
       F_DEFAULT = 11, F_VALUE_INFO = 12, F_OVERLOAD = 13, F_METADATA = 14 };

/* ---- index ----------------------------------------------------------------------------------- */

static tl_status read_opset(tl_onnx *x, tl_proto w, tl_function *fn, bool *any) {
  tl_symbol domain;
  int64_t version;
  TL_TRY(tl_onnx_read_opset(x, w, &domain, &version));
  *any = true;
  if (domain)
    return TL_OK;
  if (version < 1 || version > TL_ONNX_NEWEST_OPSET)
    return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path),
                   "function '%.*s' imports opset %lld, not between 1 and %d",
                   TL_SV_ARG(tl_sym(x->m, fn->name)), (long long)version, TL_ONNX_NEWEST_OPSET);
  fn->opset = version;
  return TL_OK;
}

/* metadata_props {"tailor.op": "RmsNorm"} of a function that our own ONNX output wrote. */
static void read_origin(const tl_onnx *x, tl_proto entry, tl_symbol *op) {
  tl_field f;
  tl_sv key = {NULL, 0}, value = {NULL, 0};
  while (tl_proto_next(&entry, &f) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES))
      key = tl_proto_sv(f.body);
    if (tl_field_tag(&f) == TL_TAG(2, TL_WIRE_BYTES))
      value = tl_proto_sv(f.body);
  }
  if (tl_sv_is(key, "tailor.op"))
    *op = tl_symbol_find(&x->m->symbols, value);
}

/* The op of ours that a function in one of our domains stands for. */
static tl_op_id raised_by(tl_symbol domain, tl_symbol op) {
  if (op == TL_NO_SYMBOL || op > tl_n_seeds)
    return UINT32_MAX;
  if (domain == TL_SYM_ai_tailor)
    return tl_op_find(TL_SYM_tl, op);
  return domain == TL_SYM_npu_hcom ? tl_op_find(domain, op) : UINT32_MAX;
}

static tl_status read_function(tl_onnx *x, const tl_field *field, tl_function *fn) {
  tl_proto w = field->body;
  tl_field f;
  tl_step step;
  bool any = false;
  tl_symbol op = TL_NO_SYMBOL;
  *fn = (tl_function){.body = field->body, .start = field->start, .raised = UINT32_MAX};
  while ((step = tl_proto_next(&w, &f)) == TL_STEP_FIELD) {
    if (f.type != TL_WIRE_BYTES)
      continue;
    switch (f.number) {
    case F_NAME: fn->name = tl_onnx_symbol(x, tl_proto_sv(f.body)); break;
    case F_DOMAIN: fn->domain = tl_onnx_domain(x, tl_proto_sv(f.body)); break;
    case F_OVERLOAD: fn->overload = tl_onnx_symbol(x, tl_proto_sv(f.body)); break;
    case F_OPSET: TL_TRY(read_opset(x, f.body, fn, &any)); break;
    case F_METADATA: read_origin(x, f.body, &op); break;
    default: break;
    }
  }
  if (!any)
    fn->opset = tl_module_opset(x->m, 0);
  fn->raised = raised_by(fn->domain, op);
  if (fn->name == TL_NO_SYMBOL || fn->domain == TL_NO_SYMBOL || fn->overload == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  return step == TL_STEP_BAD ? tl_onnx_malformed(x, w.p, "FunctionProto") : TL_OK;
}

static tl_function *find(tl_onnx *x, tl_symbol domain, tl_symbol name, tl_symbol overload) {
  for (uint32_t i = tl_onnx_slot(&x->functions_named, name); i; i = x->functions.at[i - 1].next) {
    tl_function *f = &x->functions.at[i - 1];
    if (f->domain == domain && f->overload == overload)
      return f;
  }
  return NULL;
}

tl_status tl_onnx_index_functions(tl_onnx *x) {
  tl_proto w = x->model;
  tl_field field;
  while (tl_proto_next(&w, &field) == TL_STEP_FIELD) {
    tl_function fn;
    if (tl_field_tag(&field) != TL_TAG(25, TL_WIRE_BYTES))
      continue;
    TL_TRY(read_function(x, &field, &fn));
    if (find(x, fn.domain, fn.name, fn.overload))
      return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path),
                     "there are two functions named '%.*s'", TL_SV_ARG(tl_sym(x->m, fn.name)));
    fn.next = tl_onnx_slot(&x->functions_named, fn.name);
    if (!tl_function_vec_push(&x->functions, fn))
      return TL_NO_MEMORY;
    TL_TRY(tl_onnx_set_slot(&x->functions_named, fn.name, x->functions.n));
    x->has_functions = true;
  }
  return TL_OK;
}

tl_function *tl_onnx_called(tl_onnx *x, tl_symbol domain, tl_symbol name, tl_sv overload) {
  if (!tl_onnx_slot(&x->functions_named, name))
    return NULL;
  tl_symbol s = tl_symbol_find(&x->m->symbols, overload);
  return s == TL_NO_SYMBOL ? NULL : find(x, domain, name, s);
}

/* ---- growth ---------------------------------------------------------------------------------- */

static void add_saturating(uint64_t *sum, uint64_t more) {
  if (__builtin_add_overflow(*sum, more, sum))
    *sum = UINT64_MAX;
}

static tl_status count_nodes(tl_onnx *x, tl_proto w, uint32_t node_field, uint32_t graphs,
                             uint32_t calls, uint64_t *sum);

static tl_status count_call(tl_onnx *x, tl_function *fn, uint32_t graphs, uint32_t calls,
                            uint64_t *sum) {
  tl_sv name = tl_sym(x->m, fn->name);
  if (fn->state == 1)
    return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path),
                   "function '%.*s' calls itself", TL_SV_ARG(name));
  if (calls == TL_ONNX_MAX_CALL_DEPTH)
    return tl_fail(x->d, TL_LIMIT, TL_AT_FILE(x->path),
                   "functions call each other %d deep at '%.*s', at most %d",
                   TL_ONNX_MAX_CALL_DEPTH + 1, TL_SV_ARG(name), TL_ONNX_MAX_CALL_DEPTH);
  if (fn->state == 0) {
    uint64_t cost = 0;
    fn->state = 1;
    TL_TRY(count_nodes(x, fn->body, F_NODE, graphs, calls + 1, &cost));
    fn->state = 2;
    fn->cost = cost;
  }
  add_saturating(sum, fn->cost);
  return TL_OK;
}

/* Graphs inside the attributes of a node. */
static tl_status count_bodies(tl_onnx *x, tl_proto node, uint32_t graphs, uint32_t calls,
                              uint64_t *sum) {
  tl_field attr;
  tl_field f;
  while (tl_proto_next(&node, &attr) == TL_STEP_FIELD) {
    if (tl_field_tag(&attr) != TL_TAG(5, TL_WIRE_BYTES))
      continue;
    while (tl_proto_next(&attr.body, &f) == TL_STEP_FIELD)
      if ((f.number == 6 || f.number == 11) && f.type == TL_WIRE_BYTES)
        TL_TRY(count_nodes(x, f.body, 1, graphs + 1, calls, sum));
  }
  return TL_OK;
}

static tl_status count_nodes(tl_onnx *x, tl_proto w, uint32_t node_field, uint32_t graphs,
                             uint32_t calls, uint64_t *sum) {
  tl_field f;
  if (graphs > TL_ONNX_MAX_DEPTH)
    return TL_OK; /* the import says so, and where */
  while (tl_proto_next(&w, &f) == TL_STEP_FIELD) {
    tl_node_wire node;
    if (tl_field_tag(&f) != TL_TAG(node_field, TL_WIRE_BYTES))
      continue;
    TL_TRY(tl_onnx_node_header(x, f.body, &node));
    tl_symbol domain = tl_onnx_domain(x, node.domain);
    tl_symbol name = tl_onnx_symbol(x, node.op_type);
    if (domain == TL_NO_SYMBOL || name == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    tl_function *fn = tl_onnx_table_op(x, domain, name) == UINT32_MAX
                          ? tl_onnx_called(x, domain, name, node.overload)
                          : NULL;
    if (fn)
      TL_TRY(count_call(x, fn, graphs, calls, sum));
    else
      add_saturating(sum, 1);
    TL_TRY(count_bodies(x, f.body, graphs, calls, sum));
  }
  return TL_OK;
}

tl_status tl_onnx_check_growth(tl_onnx *x, tl_proto graph) {
  uint64_t sum = 0;
  TL_TRY(count_nodes(x, graph, 1, 1, 0, &sum));
  if (sum > x->max_nodes)
    return tl_fail(x->d, TL_LIMIT, TL_AT_FILE(x->path),
                   "inlining the functions gives %llu nodes, more than %llu",
                   (unsigned long long)sum, (unsigned long long)x->max_nodes);
  return TL_OK;
}

/* ---- one call -------------------------------------------------------------------------------- */

static tl_symbol path_of_call(tl_onnx *x, const tl_node_wire *w) {
  tl_buf text;
  tl_sv own = w->name;
  tl_buf_init(&text);
  for (uint32_t i = 0; own.n == 0 && i < w->n_outputs; i++)
    own = tl_sym(x->m, tl_onnx_display(x, x->outputs.at[w->first_output + i]));
  if (own.n == 0)
    own = w->op_type;
  /* A result's readable name has the path of the caller already. */
  if (x->frame->function && (w->name.n || w->n_outputs == 0)) {
    tl_buf_add_sv(&text, tl_sym(x->m, x->frame->prefix));
    tl_buf_add_char(&text, '/');
  }
  tl_buf_add_sv(&text, own);
  size_t stem = text.n;
  tl_symbol first = text.failed ? TL_NO_SYMBOL : tl_module_intern(x->m, tl_buf_view(&text));
  tl_symbol path = first;
  /* Calls of one name are numbered; the count beside the name says where to go on. */
  uint32_t count = first == TL_NO_SYMBOL ? 0 : tl_onnx_slot(&x->prefixes, first);
  while (path != TL_NO_SYMBOL && tl_onnx_slot(&x->prefixes, path)) {
    tl_buf_printf(&text, "_%u", ++count);
    path = text.failed ? TL_NO_SYMBOL : tl_module_intern(x->m, tl_buf_view(&text));
    text.n = stem;
  }
  tl_buf_release(&text);
  if (path == TL_NO_SYMBOL || tl_onnx_set_slot(&x->prefixes, path, 1) != TL_OK ||
      tl_onnx_set_slot(&x->prefixes, first, count + (path == first)) != TL_OK)
    return TL_NO_SYMBOL;
  return path;
}

static int by_name(const void *a, const void *b) {
  const tl_formal *p = a;
  const tl_formal *q = b;
  return p->name < q->name ? -1 : p->name > q->name;
}

static tl_status too_many(tl_onnx *x, const tl_node_wire *w, const char *what, uint32_t takes) {
  return tl_fail(x->d, TL_INVALID_MODEL, tl_onnx_at(x, w->name.n ? w->name : w->op_type),
                 "function '%.*s' takes %u %s, the call has %u", TL_SV_ARG(w->op_type), takes, what,
                 what[0] == 'i' ? w->n_inputs : w->n_outputs);
}

/* Pushes the formals of one field. Absent arguments map to key 0; absent results stay private. */
static tl_status push_formals(tl_onnx *x, const tl_function *fn, const tl_node_wire *w,
                              uint32_t field) {
  bool inputs = field == F_INPUT;
  tl_proto walk = fn->body;
  tl_field f;
  uint32_t i = 0;
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD) {
    tl_formal formal = {0, 0};
    if (tl_field_tag(&f) != TL_TAG(field, TL_WIRE_BYTES))
      continue;
    formal.name = tl_onnx_symbol(x, tl_proto_sv(f.body));
    if (inputs && i < w->n_inputs)
      formal.key = x->inputs.at[w->first_input + i];
    if (!inputs && i < w->n_outputs)
      formal.key = x->outputs.at[w->first_output + i];
    i++;
    if (formal.name == TL_NO_SYMBOL ||
        ((inputs || formal.key) && !tl_formal_vec_push(&x->formals, formal)))
      return TL_NO_MEMORY;
  }
  if (inputs && w->n_inputs > i)
    return too_many(x, w, "inputs", i);
  return !inputs && w->n_outputs > i ? too_many(x, w, "outputs", i) : TL_OK;
}

/* An output that is also an input is handed through by an Identity; it must not hide the input. */
static tl_status pass_through(tl_onnx *x, tl_graph_id g, tl_frame *frame, uint32_t n_inputs) {
  uint32_t kept = frame->first_formal + n_inputs;
  for (uint32_t i = kept; i < x->formals.n; i++) {
    tl_formal out = x->formals.at[i];
    tl_symbol source = TL_NO_SYMBOL;
    for (uint32_t k = 0; k < n_inputs && source == TL_NO_SYMBOL; k++)
      if (x->formals.at[frame->first_formal + k].name == out.name)
        source = x->formals.at[frame->first_formal + k].key;
    if (source == TL_NO_SYMBOL) {
      x->formals.at[kept++] = out;
      continue;
    }
    tl_value_id v = source ? tl_onnx_lookup(x, source) : TL_NO_VALUE;
    tl_node_spec spec = {.op = TL_OP_Identity, .operands = &v, .n_operands = 1,
                         .results = &out.key, .n_results = 1};
    tl_node_id n = tl_graph_append(x->m, g, &spec);
    if (!n || (source && !v && !tl_pending_vec_push(&x->pending, (tl_pending){source, n, 0})))
      return TL_NO_MEMORY;
    TL_TRY(tl_onnx_define(x, g, out.key, tl_node_get(x->m, n)->results, TL_AT_FILE(x->path)));
  }
  x->formals.n = kept;
  return TL_OK;
}

static tl_status bind_formals(tl_onnx *x, tl_graph_id g, const tl_function *fn,
                              const tl_node_wire *w, tl_frame *frame) {
  frame->first_formal = x->formals.n;
  TL_TRY(push_formals(x, fn, w, F_INPUT));
  uint32_t n_inputs = x->formals.n - frame->first_formal;
  TL_TRY(push_formals(x, fn, w, F_OUTPUT));
  TL_TRY(pass_through(x, g, frame, n_inputs));
  frame->n_formals = x->formals.n - frame->first_formal;
  tl_formal *at = x->formals.at + frame->first_formal;
  if (frame->n_formals)
    qsort(at, frame->n_formals, sizeof *at, by_name);
  for (uint32_t i = 1; i < frame->n_formals; i++)
    if (at[i].name == at[i - 1].name)
      return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path),
                     "function '%.*s' has two parameters named '%.*s'",
                     TL_SV_ARG(tl_sym(x->m, fn->name)), TL_SV_ARG(tl_sym(x->m, at[i].name)));
  return TL_OK;
}

static tl_status describe(tl_onnx *x, tl_graph_id g, tl_proto body) {
  tl_value_wire info;
  TL_TRY(tl_onnx_value_info(x, body, &info));
  tl_symbol key = tl_onnx_key(x, info.name);
  if (key == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_value_id v = key ? tl_onnx_lookup(x, key) : TL_NO_VALUE;
  if (!v || tl_value_graph(x->m, v) != g || tl_value_type(x->m, v))
    return TL_OK;
  return tl_onnx_describe_value(x, v, &info);
}

static tl_status check_results(tl_onnx *x, const tl_function *fn, const tl_node_wire *w) {
  for (uint32_t i = 0; i < w->n_outputs; i++) {
    tl_symbol key = x->outputs.at[w->first_output + i];
    if (key && !tl_onnx_lookup(x, key))
      return tl_fail(x->d, TL_INVALID_MODEL, tl_onnx_at(x, w->name.n ? w->name : w->op_type),
                     "function '%.*s' does not produce its output %u",
                     TL_SV_ARG(tl_sym(x->m, fn->name)), i);
  }
  return TL_OK;
}

/* The body, with x->frame being the call's. */
static tl_status expand(tl_onnx *x, tl_graph_id g, const tl_function *fn) {
  tl_proto walk = fn->body;
  tl_field f;
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(F_NODE, TL_WIRE_BYTES))
      TL_TRY(tl_onnx_node(x, g, f.body));
  walk = fn->body;
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(F_VALUE_INFO, TL_WIRE_BYTES))
      TL_TRY(describe(x, g, f.body));
  return TL_OK;
}

/* Notes which function the nodes in the scope of a call came from. */
static tl_status note_call(tl_onnx *x, const tl_function *fn, tl_symbol path) {
  tl_buf text;
  tl_buf_init(&text);
  tl_sv domain = tl_sym(x->m, fn->domain), name = tl_sym(x->m, fn->name);
  tl_buf_printf(&text, "%.*s::%.*s", TL_SV_ARG(domain), TL_SV_ARG(name));
  tl_call call = {path, text.failed ? TL_NO_SYMBOL : tl_module_intern(x->m, tl_buf_view(&text))};
  tl_buf_release(&text);
  return call.function != TL_NO_SYMBOL && tl_call_vec_push(&x->m->calls, call) ? TL_OK
                                                                              : TL_NO_MEMORY;
}

tl_status tl_onnx_inline(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_function *fn) {
  tl_frame frame = {.up = x->frame,
                    .function = fn,
                    .opset = fn->opset,
                    .first_attr = w->first_attr,
                    .n_attrs = w->n_attrs,
                    .depth = x->frame->depth + 1};
  if (frame.depth > TL_ONNX_MAX_CALL_DEPTH)
    return tl_fail(x->d, TL_LIMIT, TL_AT_FILE(x->path), "functions call each other too deep");
  fn->called = true;
  frame.prefix = path_of_call(x, w);
  if (frame.prefix == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  TL_TRY(note_call(x, fn, frame.prefix));
  if (fn->opset > tl_module_opset(x->m, 0))
    TL_TRY(tl_module_set_opset(x->m, 0, fn->opset));
  TL_TRY(bind_formals(x, g, fn, w, &frame));
  x->frame = &frame;
  tl_status status = expand(x, g, fn);
  x->frame = frame.up;
  x->formals.n = frame.first_formal;
  TL_TRY(status);
  return check_results(x, fn, w);
}

tl_status tl_onnx_referred(tl_onnx *x, tl_sv name, tl_proto *out, const tl_frame **frame) {
  tl_proto walk = x->frame->function->body;
  tl_field f;
  tl_sv found;
  *out = (tl_proto){NULL, NULL};
  *frame = x->frame->up;
  for (uint32_t i = 0; i < x->frame->n_attrs; i++) {
    tl_proto body = x->attr_ranges.at[x->frame->first_attr + i];
    TL_TRY(tl_onnx_attribute_name(x, body, &found));
    if (tl_sv_eq(found, name)) {
      *out = body;
      return TL_OK;
    }
  }
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) != TL_TAG(F_DEFAULT, TL_WIRE_BYTES))
      continue;
    TL_TRY(tl_onnx_attribute_name(x, f.body, &found));
    if (tl_sv_eq(found, name))
      *out = f.body;
  }
  return TL_OK;
}
