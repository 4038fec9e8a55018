/* SPDX-License-Identifier: Apache-2.0 */
/* Implements calls of model-local functions.
 * Values inside are named "call/name", and nodes keep that path in their scope. Names of parameters
 * resolve to the caller's values, references to attributes to attributes of the call. */
#include "frontend/onnx/call.h"

#include <stdlib.h>

#include "frontend/onnx/type.h"
#include "ir/ops_gen.h"

static tl_symbol path_of_call(tl_onnx *reader, const tl_node_wire *w) {
  tl_buf text;
  tl_sv own = w->name;
  tl_buf_init(&text);
  for (uint32_t i = 0; own.n == 0 && i < w->n_outputs; i++)
    own = tl_sym(reader->r.m,
                 tl_onnx_display(&reader->names, reader->ports.outputs.at[w->first_output + i]));
  if (own.n == 0)
    own = w->op_type;
  /* A result's readable name has the path of the caller already. */
  if (tl_onnx_in_function(&reader->calls) && (w->name.n || w->n_outputs == 0)) {
    tl_buf_add_sv(&text, tl_sym(reader->r.m, reader->calls.frame->prefix));
    tl_buf_add_char(&text, '/');
  }
  tl_buf_add_sv(&text, own);
  size_t stem = text.n;
  tl_symbol first = text.failed ? TL_NO_SYMBOL : tl_module_intern(reader->r.m, tl_buf_view(&text));
  tl_symbol path = first;
  /* Calls of one name are numbered. call_paths has the next number, so n calls take O(n). */
  uint32_t count = first == TL_NO_SYMBOL ? 0 : tl_slot_get(&reader->call_paths, first);
  while (path != TL_NO_SYMBOL && tl_slot_get(&reader->call_paths, path)) {
    tl_buf_printf(&text, "_%u", ++count);
    path = text.failed ? TL_NO_SYMBOL : tl_module_intern(reader->r.m, tl_buf_view(&text));
    text.n = stem;
  }
  tl_buf_release(&text);
  if (path == TL_NO_SYMBOL || tl_slot_set(&reader->call_paths, path, 1) != TL_OK ||
      tl_slot_set(&reader->call_paths, first, count + (path == first)) != TL_OK)
    return TL_NO_SYMBOL;
  return path;
}

static int by_name(const void *a, const void *b) {
  const tl_formal *p = a;
  const tl_formal *q = b;
  return p->name < q->name ? -1 : p->name > q->name;
}

static tl_status too_many(tl_onnx *reader, const tl_node_wire *w, const char *what,
                          uint32_t takes) {
  return tl_fail(reader->r.d, TL_INVALID_MODEL,
                 tl_onnx_at(&reader->r, w->name.n ? w->name : w->op_type),
                 "function '%.*s' takes %u %s, the call has %u", TL_SV_ARG(w->op_type), takes, what,
                 what[0] == 'i' ? w->n_inputs : w->n_outputs);
}

/* Pushes the parameters or results of the function that one field lists. Absent arguments map to
 * key 0; absent results stay private names. */
static tl_status push_formals(tl_onnx *reader, const tl_function *fn, const tl_node_wire *w,
                              uint32_t field) {
  bool inputs = field == TL_FUNCTION_INPUT;
  tl_proto walk = fn->body;
  tl_field f;
  uint32_t i = 0;
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD) {
    tl_formal formal = {0, 0};
    if (tl_field_tag(&f) != TL_TAG(field, TL_WIRE_BYTES))
      continue;
    formal.name = tl_onnx_symbol(&reader->r, tl_proto_sv(f.body));
    if (inputs && i < w->n_inputs)
      formal.key = reader->ports.inputs.at[w->first_input + i];
    if (!inputs && i < w->n_outputs)
      formal.key = reader->ports.outputs.at[w->first_output + i];
    i++;
    if (formal.name == TL_NO_SYMBOL ||
        ((inputs || formal.key) && !tl_formal_vec_push(&reader->calls.formals, formal)))
      return TL_NO_MEMORY;
  }
  if (inputs && w->n_inputs > i)
    return too_many(reader, w, "inputs", i);
  return !inputs && w->n_outputs > i ? too_many(reader, w, "outputs", i) : TL_OK;
}

/* Inserts an Identity for each output of the function that is also an input. Without it, the
 * output's key would replace the input's. */
static tl_status pass_through(tl_onnx *reader, tl_graph_id g, tl_frame *frame, uint32_t n_inputs) {
  uint32_t kept = frame->first_formal + n_inputs;
  for (uint32_t i = kept; i < reader->calls.formals.n; i++) {
    tl_formal out = reader->calls.formals.at[i];
    tl_symbol source = TL_NO_SYMBOL;
    for (uint32_t k = 0; k < n_inputs && source == TL_NO_SYMBOL; k++)
      if (reader->calls.formals.at[frame->first_formal + k].name == out.name)
        source = reader->calls.formals.at[frame->first_formal + k].key;
    if (source == TL_NO_SYMBOL) {
      reader->calls.formals.at[kept++] = out;
      continue;
    }
    tl_value_id v = source ? tl_onnx_lookup(&reader->names, source) : TL_NO_VALUE;
    tl_node_spec spec = {
        .op = TL_OP_Identity, .operands = &v, .n_operands = 1, .results = &out.key, .n_results = 1};
    tl_node_id n = tl_graph_append(reader->r.m, g, &spec);
    if (!n ||
        (source && !v && !tl_pending_vec_push(&reader->names.pending, (tl_pending){source, n, 0})))
      return TL_NO_MEMORY;
    TL_TRY(tl_onnx_define(&reader->names, g, out.key, tl_node_get(reader->r.m, n)->results,
                          TL_AT_FILE(reader->r.path)));
  }
  reader->calls.formals.n = kept;
  return TL_OK;
}

static tl_status bind_formals(tl_onnx *reader, tl_graph_id g, const tl_function *fn,
                              const tl_node_wire *w, tl_frame *frame) {
  frame->first_formal = reader->calls.formals.n;
  TL_TRY(push_formals(reader, fn, w, TL_FUNCTION_INPUT));
  uint32_t n_inputs = reader->calls.formals.n - frame->first_formal;
  TL_TRY(push_formals(reader, fn, w, TL_FUNCTION_OUTPUT));
  TL_TRY(pass_through(reader, g, frame, n_inputs));
  frame->n_formals = reader->calls.formals.n - frame->first_formal;
  tl_formal *at = reader->calls.formals.at + frame->first_formal;
  if (frame->n_formals)
    qsort(at, frame->n_formals, sizeof *at, by_name);
  for (uint32_t i = 1; i < frame->n_formals; i++)
    if (at[i].name == at[i - 1].name)
      return tl_fail(reader->r.d, TL_INVALID_MODEL, TL_AT_FILE(reader->r.path),
                     "function '%.*s' has two parameters named '%.*s'",
                     TL_SV_ARG(tl_sym(reader->r.m, fn->name)),
                     TL_SV_ARG(tl_sym(reader->r.m, at[i].name)));
  return TL_OK;
}

static tl_status describe(tl_onnx *reader, tl_graph_id g, tl_proto body) {
  tl_value_wire info;
  TL_TRY(tl_onnx_value_info(&reader->r, body, &info));
  tl_symbol key = tl_onnx_key(&reader->names, info.name);
  if (key == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_value_id v = key ? tl_onnx_lookup(&reader->names, key) : TL_NO_VALUE;
  if (!v || tl_value_graph(reader->r.m, v) != g || tl_value_type(reader->r.m, v))
    return TL_OK;
  return tl_onnx_describe_value(&reader->r, v, &info);
}

/* Records which function the nodes in the scope of a call came from. */
static tl_status note_call(tl_onnx *reader, const tl_function *fn, tl_symbol path) {
  tl_buf text;
  tl_buf_init(&text);
  tl_sv domain = tl_sym(reader->r.m, fn->domain), name = tl_sym(reader->r.m, fn->name);
  tl_buf_printf(&text, "%.*s::%.*s", TL_SV_ARG(domain), TL_SV_ARG(name));
  tl_call call = {path,
                  text.failed ? TL_NO_SYMBOL : tl_module_intern(reader->r.m, tl_buf_view(&text))};
  tl_buf_release(&text);
  return call.function != TL_NO_SYMBOL && tl_call_vec_push(&reader->r.m->calls, call)
             ? TL_OK
             : TL_NO_MEMORY;
}

tl_status tl_onnx_open_call(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w, tl_function *fn,
                            tl_frame *frame) {
  *frame = (tl_frame){.up = reader->calls.frame,
                      .function = fn->body,
                      .opset = fn->opset,
                      .first_attr = w->first_attr,
                      .n_attrs = w->n_attrs,
                      .depth = reader->calls.frame->depth + 1};
  if (frame->depth > TL_ONNX_MAX_CALL_DEPTH)
    return tl_fail(reader->r.d, TL_LIMIT, TL_AT_FILE(reader->r.path),
                   "functions call each other too deep");
  fn->called = true;
  frame->prefix = path_of_call(reader, w);
  if (frame->prefix == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  TL_TRY(note_call(reader, fn, frame->prefix));
  if (fn->opset > tl_module_opset(reader->r.m, 0))
    TL_TRY(tl_module_set_opset(reader->r.m, 0, fn->opset));
  TL_TRY(bind_formals(reader, g, fn, w, frame));
  reader->calls.frame = frame;
  return TL_OK;
}

tl_status tl_onnx_describe_call(tl_onnx *reader, tl_graph_id g) {
  tl_proto walk = reader->calls.frame->function;
  tl_field f;
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(TL_FUNCTION_VALUE_INFO, TL_WIRE_BYTES))
      TL_TRY(describe(reader, g, f.body));
  return TL_OK;
}

void tl_onnx_close_call(tl_onnx *reader) {
  reader->calls.formals.n = reader->calls.frame->first_formal;
  reader->calls.frame = reader->calls.frame->up;
}

tl_status tl_onnx_check_call(tl_onnx *reader, const tl_function *fn, const tl_node_wire *w) {
  for (uint32_t i = 0; i < w->n_outputs; i++) {
    tl_symbol key = reader->ports.outputs.at[w->first_output + i];
    if (key && !tl_onnx_lookup(&reader->names, key))
      return tl_fail(reader->r.d, TL_INVALID_MODEL,
                     tl_onnx_at(&reader->r, w->name.n ? w->name : w->op_type),
                     "function '%.*s' does not produce its output %u",
                     TL_SV_ARG(tl_sym(reader->r.m, fn->name)), i);
  }
  return TL_OK;
}
