/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes model-local functions by name and counts the nodes that inlining their calls makes.
 * Counting happens before the import and makes no nodes, so a small hostile file cannot exhaust
 * memory. A name of the op table is never a call: ONNX Runtime, too, prefers its own ops. */
#include "frontend/onnx/functions.h"
#include "frontend/onnx/load.h"
#include "frontend/onnx/node_wire.h"
#include "frontend/onnx/ops.h"
#include "ir/ops_gen.h"

enum { NAME = 1, OPSET = 9, DOMAIN = 10, OVERLOAD = 13, METADATA = 14 }; /* of FunctionProto */

void tl_onnx_functions_release(tl_onnx_functions *functions) {
  tl_function_vec_release(&functions->list);
  tl_u32_vec_release(&functions->named);
}

/* ---- index ----------------------------------------------------------------------------------- */

static tl_status read_opset(tl_onnx_functions *functions, tl_proto w, tl_function *fn, bool *any) {
  tl_symbol domain;
  int64_t version;
  TL_TRY(tl_onnx_read_opset(functions->r, w, &domain, &version));
  *any = true;
  if (domain)
    return TL_OK;
  if (version < 1 || version > TL_ONNX_NEWEST_OPSET)
    return tl_fail(functions->r->d, TL_INVALID_MODEL, TL_AT_FILE(functions->r->path),
                   "function '%.*s' imports opset %lld, not between 1 and %d",
                   TL_SV_ARG(tl_sym(functions->r->m, fn->name)), (long long)version,
                   TL_ONNX_NEWEST_OPSET);
  if (fn->opset && fn->opset != version)
    tl_note(functions->r->d, TL_AT_FILE(functions->r->path),
            "function '%.*s' imports ai.onnx in versions %lld and %lld; the last one counts",
            TL_SV_ARG(tl_sv_shown(tl_sym(functions->r->m, fn->name))), (long long)fn->opset,
            (long long)version);
  fn->opset = version;
  return TL_OK;
}

/* Reads metadata_props {"tailor.op": "RmsNorm"}, which our ONNX writer gives to functions. */
static void read_origin(const tl_onnx_functions *functions, tl_proto entry, tl_symbol *op) {
  tl_field f;
  tl_sv key = {NULL, 0}, value = {NULL, 0};
  while (tl_proto_next(&entry, &f) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES))
      key = tl_proto_sv(f.body);
    if (tl_field_tag(&f) == TL_TAG(2, TL_WIRE_BYTES))
      value = tl_proto_sv(f.body);
  }
  if (tl_sv_is(key, "tailor.op"))
    *op = tl_symbol_find(&functions->r->m->symbols, value);
}

/* Returns the op that a function in one of our domains stands for. */
static tl_op_id raised_by(tl_symbol domain, tl_symbol op) {
  if (op == TL_NO_SYMBOL || op > tl_n_seeds)
    return UINT32_MAX;
  if (domain == TL_SYM_ai_tailor)
    return tl_op_find(TL_SYM_tl, op);
  return domain == TL_SYM_npu_hcom ? tl_op_find(domain, op) : UINT32_MAX;
}

static tl_status read_function(tl_onnx_functions *functions, const tl_field *field,
                               tl_function *fn) {
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
    case NAME: fn->name = tl_onnx_symbol(functions->r, tl_proto_sv(f.body)); break;
    case DOMAIN: fn->domain = tl_onnx_domain(functions->r, tl_proto_sv(f.body)); break;
    case OVERLOAD: fn->overload = tl_onnx_symbol(functions->r, tl_proto_sv(f.body)); break;
    case OPSET: TL_TRY(read_opset(functions, f.body, fn, &any)); break;
    case METADATA: read_origin(functions, f.body, &op); break;
    default: break;
    }
  }
  if (!any)
    fn->opset = tl_module_opset(functions->r->m, 0);
  fn->raised = raised_by(fn->domain, op);
  if (fn->name == TL_NO_SYMBOL || fn->domain == TL_NO_SYMBOL || fn->overload == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  return step == TL_STEP_BAD ? tl_onnx_malformed(functions->r, w.p, "FunctionProto") : TL_OK;
}

static tl_function *find(const tl_onnx_functions *functions, tl_symbol domain, tl_symbol name,
                         tl_symbol overload) {
  for (uint32_t i = tl_slot_get(&functions->named, name); i; i = functions->list.at[i - 1].next) {
    tl_function *f = &functions->list.at[i - 1];
    if (f->domain == domain && f->overload == overload)
      return f;
  }
  return NULL;
}

tl_status tl_onnx_index_functions(tl_onnx_functions *functions) {
  tl_proto w = functions->r->model;
  tl_field field;
  while (tl_proto_next(&w, &field) == TL_STEP_FIELD) {
    tl_function fn;
    if (tl_field_tag(&field) != TL_TAG(25, TL_WIRE_BYTES))
      continue;
    TL_TRY(read_function(functions, &field, &fn));
    if (find(functions, fn.domain, fn.name, fn.overload))
      return tl_fail(functions->r->d, TL_INVALID_MODEL, TL_AT_FILE(functions->r->path),
                     "there are two functions named '%.*s'",
                     TL_SV_ARG(tl_sym(functions->r->m, fn.name)));
    fn.next = tl_slot_get(&functions->named, fn.name);
    if (!tl_function_vec_push(&functions->list, fn))
      return TL_NO_MEMORY;
    TL_TRY(tl_slot_set(&functions->named, fn.name, functions->list.n));
  }
  return TL_OK;
}

tl_function *tl_onnx_called(const tl_onnx_functions *functions, tl_symbol domain, tl_symbol name,
                            tl_sv overload) {
  if (!tl_slot_get(&functions->named, name))
    return NULL;
  tl_symbol s = tl_symbol_find(&functions->r->m->symbols, overload);
  return s == TL_NO_SYMBOL ? NULL : find(functions, domain, name, s);
}

/* ---- growth ---------------------------------------------------------------------------------- */

static void add_saturating(uint64_t *sum, uint64_t more) {
  if (__builtin_add_overflow(*sum, more, sum))
    *sum = UINT64_MAX;
}

static tl_status count_nodes(tl_onnx_functions *functions, tl_proto w, uint32_t node_field,
                             uint32_t graphs, uint32_t calls, uint64_t *sum);

static tl_status count_call(tl_onnx_functions *functions, tl_function *fn, uint32_t graphs,
                            uint32_t calls, uint64_t *sum) {
  tl_sv name = tl_sym(functions->r->m, fn->name);
  if (fn->state == 1)
    return tl_fail(functions->r->d, TL_INVALID_MODEL, TL_AT_FILE(functions->r->path),
                   "function '%.*s' calls itself", TL_SV_ARG(name));
  if (calls == TL_ONNX_MAX_CALL_DEPTH)
    return tl_fail(functions->r->d, TL_LIMIT, TL_AT_FILE(functions->r->path),
                   "functions call each other %d deep at '%.*s', at most %d",
                   TL_ONNX_MAX_CALL_DEPTH + 1, TL_SV_ARG(name), TL_ONNX_MAX_CALL_DEPTH);
  if (fn->state == 0) {
    uint64_t cost = 0;
    fn->state = 1;
    TL_TRY(count_nodes(functions, fn->body, TL_FUNCTION_NODE, graphs, calls + 1, &cost));
    fn->state = 2;
    fn->cost = cost;
  }
  add_saturating(sum, fn->cost);
  return TL_OK;
}

/* Counts the nodes of graphs inside the attributes of a node. */
static tl_status count_bodies(tl_onnx_functions *functions, tl_proto node, uint32_t graphs,
                              uint32_t calls, uint64_t *sum) {
  tl_field attr;
  tl_field f;
  while (tl_proto_next(&node, &attr) == TL_STEP_FIELD) {
    if (tl_field_tag(&attr) != TL_TAG(5, TL_WIRE_BYTES))
      continue;
    while (tl_proto_next(&attr.body, &f) == TL_STEP_FIELD)
      if ((f.number == 6 || f.number == 11) && f.type == TL_WIRE_BYTES)
        TL_TRY(count_nodes(functions, f.body, 1, graphs + 1, calls, sum));
  }
  return TL_OK;
}

static tl_status count_nodes(tl_onnx_functions *functions, tl_proto w, uint32_t node_field,
                             uint32_t graphs, uint32_t calls, uint64_t *sum) {
  tl_field f;
  if (graphs > TL_ONNX_MAX_DEPTH)
    return TL_OK; /* the import says so, and where */
  while (tl_proto_next(&w, &f) == TL_STEP_FIELD) {
    tl_node_wire node;
    if (tl_field_tag(&f) != TL_TAG(node_field, TL_WIRE_BYTES))
      continue;
    TL_TRY(tl_onnx_node_header(functions->r, f.body, &node));
    tl_symbol domain = tl_onnx_domain(functions->r, node.domain);
    tl_symbol name = tl_onnx_symbol(functions->r, node.op_type);
    if (domain == TL_NO_SYMBOL || name == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    tl_function *fn = tl_onnx_table_op(functions->r, domain, name) == UINT32_MAX
                          ? tl_onnx_called(functions, domain, name, node.overload)
                          : NULL;
    if (fn)
      TL_TRY(count_call(functions, fn, graphs, calls, sum));
    else
      add_saturating(sum, 1);
    TL_TRY(count_bodies(functions, f.body, graphs, calls, sum));
  }
  return TL_OK;
}

tl_status tl_onnx_check_growth(tl_onnx_functions *functions, tl_proto graph, uint64_t most) {
  uint64_t sum = 0;
  TL_TRY(count_nodes(functions, graph, 1, 1, 0, &sum));
  if (sum > most)
    return tl_fail(functions->r->d, TL_LIMIT, TL_AT_FILE(functions->r->path),
                   "inlining the functions gives %llu nodes, more than %llu\v"
                   "--max-nodes allows up to %d",
                   (unsigned long long)sum, (unsigned long long)most, TL_ONNX_DEFAULT_MAX_NODES);
  return TL_OK;
}
