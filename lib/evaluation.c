/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one model in the evaluator on values of the caller. */
#include "lib/evaluation.h"

#include <stdlib.h>

#include "ir/fork.h"
#include "ir/infer/infer.h"
#include "lib/values/random.h"

tl_status tl_lib_run_begin(tl_lib_run *r, tl_model *m) {
  tl_context *c = m->context;
  r->context = c;
  tl_host_heap_init(&r->heap, c->memory_limit);
  tl_host_heap_hand_over(&c->spare, &r->heap);
  r->has_heap = true;
  TL_TRY(tl_lib_check(m));
  TL_TRY(tl_lib_settle(c));
  r->heap.most = c->settings.options.max_tensor;
  r->module = tl_module_fork(m->module, &c->diag);
  if (!r->module)
    return tl_fail_memory(&c->diag, TL_NOWHERE);
  if (r->module->form == TL_FORM_CANONICAL || r->module->form == TL_FORM_SPELLED)
    TL_TRY(tl_session_settle(&c->session, r->module));
  return tl_session_run_passes(&c->session, r->module, "expand-definitions");
}

void tl_lib_run_release(tl_lib_run *r) {
  for (uint32_t i = 0; r->inputs && i < r->n_inputs; i++)
    tl_host_release(r->inputs[i]);
  for (uint32_t i = 0; r->outputs && i < r->n_outputs; i++)
    tl_host_release(r->outputs[i]);
  free(r->inputs);
  free(r->outputs);
  if (r->has_heap)
    tl_host_heap_release(&r->heap);
  tl_module_destroy(r->module);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static tl_status bad_input(tl_lib_run *r, const char *name, const char *why) {
  return tl_fail(&r->context->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(r->module->path),
                 "input '%s' %s", name ? name : "", why);
}

/* Says why an input could not be made: it is beyond a limit, or memory is out. */
static tl_status no_room(tl_lib_run *r, tl_sv name, tl_dtype d, int rank, const int64_t *dims) {
  const tl_host_heap *h = &r->heap;
  tl_location where = TL_AT_FILE(r->module->path);
  uint64_t n = 1, bytes = 0;
  bool sized = true;
  for (int i = 0; i < rank; i++)
    sized = sized && !__builtin_mul_overflow(n, (uint64_t)dims[i], &n);
  sized = sized && (d == TL_DTYPE_STRING ? !__builtin_mul_overflow(n, sizeof(tl_sv), &bytes)
                                         : tl_dtype_bytes(d, n, &bytes));
  bool fits = sized && (!h->most || bytes <= h->most) &&
              (!h->limit || (bytes <= h->limit && h->used <= h->limit - bytes));
  return fits ? tl_fail_memory(&r->context->diag, where)
              : tl_fail(&r->context->diag, TL_LIMIT, where, "input '%.*s' does not fit into memory",
                        TL_SV_ARG(name));
}

/* Makes a string tensor over the texts of the caller. */
static tl_host *borrow_texts(tl_lib_run *r, const tl_tensor_view *v) {
  const char *const *texts = v->data;
  tl_host *t = tl_host_new(&r->heap, TL_DTYPE_STRING, v->rank, v->dims);
  for (uint64_t i = 0; t && i < t->n; i++)
    ((tl_sv *)t->data)[i] = tl_sv_from(texts[i]);
  return t;
}

/* Makes a value over the bytes of the caller, or of a copy that is aligned. */
static tl_status borrow(tl_lib_run *r, const tl_tensor_view *v, tl_host **out) {
  tl_dtype d = tl_lib_dtype(v->element);
  uint64_t bytes = 0, n = 1;
  for (int i = 0; i < v->rank; i++)
    if (v->dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)v->dims[i], &n))
      return bad_input(r, v->name, "has dims that are no sizes");
  if (v->rank < 0 || v->rank > TL_MAX_RANK || d == TL_DTYPE_NONE)
    return bad_input(r, v->name, "has no type");
  bool sized = d == TL_DTYPE_STRING || (tl_dtype_bytes(d, n, &bytes) && bytes == v->bytes);
  if (!sized || (!v->data && n))
    return bad_input(r, v->name, "has dims and a number of bytes that do not agree");
  size_t align = d == TL_DTYPE_STRING ? 1 : tl_host_element_size(d);
  if (d == TL_DTYPE_STRING)
    *out = borrow_texts(r, v);
  else if (align > 1 && (uintptr_t)v->data % align != 0) {
    *out = tl_host_new(&r->heap, d, v->rank, v->dims);
    if (*out)
      memcpy((*out)->data, v->data, (size_t)bytes);
  } else
    *out = tl_host_borrow(&r->heap, d, v->rank, v->dims, n ? v->data : "");
  return *out ? TL_OK : no_room(r, tl_sv_from(v->name ? v->name : ""), d, v->rank, v->dims);
}

/* Checks a value against the type that the model declares; an input without a type gets that of its
 * value. */
static tl_status check_type(tl_lib_run *r, tl_value_id input, const tl_host *v, const char *name) {
  const tl_type *t = tl_type_get(r->module, tl_value_type(r->module, input));
  if (t->kind == TL_KIND_UNKNOWN || (t->kind == TL_KIND_TENSOR && t->dtype == TL_DTYPE_NONE)) {
    tl_type_id type = tl_type_tensor(r->module, (tl_dtype)v->dtype, v->rank, v->dims);
    tl_value_set_type(r->module, input, type);
    return type ? tl_infer_module(r->module) : tl_no_memory(r->module);
  }
  bool fits = t->kind == TL_KIND_TENSOR && t->dtype == v->dtype &&
              (t->rank == TL_RANK_UNKNOWN || t->rank == v->rank);
  for (int i = 0; fits && t->rank > 0 && i < t->rank; i++)
    fits = !tl_dim_is_static(t->dims[i]) || t->dims[i] == v->dims[i];
  if (fits)
    return TL_OK;
  tl_buf wants;
  tl_buf_init(&wants);
  tl_buf_add_z(&wants, "is ");
  tl_type_print(r->module, tl_value_type(r->module, input), &wants);
  tl_buf_add_z(&wants, ", and the value has another type or shape");
  tl_status status = bad_input(r, name, wants.failed ? "has another type" : wants.p);
  tl_buf_release(&wants);
  return status;
}

static tl_status take_one(tl_lib_run *r, const tl_tensor_view *v) {
  const tl_graph *g = tl_module_main(r->module);
  for (uint32_t i = 0; v->name && i < g->inputs.n; i++) {
    tl_value_id input = g->inputs.at[i];
    if (!tl_sv_is(tl_value_name(r->module, input), v->name))
      continue;
    if (r->inputs[i])
      return bad_input(r, v->name, "is given twice");
    TL_TRY(borrow(r, v, &r->inputs[i]));
    return check_type(r, input, r->inputs[i], v->name);
  }
  return bad_input(r, v->name, "is none of the model");
}

/* Makes a random value for an input; an open dim is 1. */
static tl_status make_random(tl_lib_run *r, tl_value_id input, uint64_t seed, tl_host **out) {
  const tl_type *t = tl_type_get(r->module, tl_value_type(r->module, input));
  tl_sv name = tl_value_name(r->module, input);
  int64_t dims[TL_MAX_RANK];
  bool good = t->kind == TL_KIND_TENSOR && tl_dtype_has_numbers((tl_dtype)t->dtype) && t->rank >= 0;
  for (int i = 0; good && i < t->rank; i++)
    dims[i] = tl_dim_is_static(t->dims[i]) ? t->dims[i] : 1;
  if (!good)
    return tl_fail(&r->context->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(r->module->path),
                   "input '%.*s' needs a value: none can be made for its type", TL_SV_ARG(name));
  *out = tl_host_new(&r->heap, (tl_dtype)t->dtype, t->rank, dims);
  if (!*out)
    return no_room(r, name, (tl_dtype)t->dtype, t->rank, dims);
  memset((*out)->data, 0, (*out)->bytes);
  tl_fill_random(*out, name, seed);
  return TL_OK;
}

tl_status tl_lib_run_take(tl_lib_run *r, const tl_tensor_view *inputs, uint32_t n,
                          const tl_run_settings *settings) {
  const tl_graph *g = tl_module_main(r->module);
  r->n_inputs = g->inputs.n;
  r->inputs = calloc(r->n_inputs + 1u, sizeof *r->inputs);
  if (!r->inputs)
    return tl_no_memory(r->module);
  for (uint32_t i = 0; i < n; i++)
    TL_TRY(take_one(r, &inputs[i]));
  for (uint32_t i = 0; settings->random_inputs && i < r->n_inputs; i++)
    if (!r->inputs[i] && tl_value_get(r->module, g->inputs.at[i])->tensor == TL_NO_TENSOR)
      TL_TRY(make_random(r, g->inputs.at[i], settings->seed, &r->inputs[i]));
  return TL_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

tl_status tl_lib_run_go(tl_lib_run *r, const tl_run_settings *settings) {
  const tl_graph *g = tl_module_main(r->module);
  tl_dtype emulate = tl_lib_dtype(settings->emulate);
  if (emulate != TL_DTYPE_NONE && emulate != TL_DTYPE_F16 && emulate != TL_DTYPE_BF16)
    return tl_fail(&r->context->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "only f16 and bf16 can be emulated");
  TL_TRY(tl_module_need_one_root(r->module, "a run"));
  r->n_outputs = tl_graph_n_outputs(r->module, g);
  r->outputs = calloc(r->n_outputs + 1u, sizeof *r->outputs);
  tl_pool *pool = tl_pool_create(settings->threads > 64 ? 64 : settings->threads);
  tl_eval_options o = {.exact = settings->exact != 0,
                       .emulate = emulate,
                       .pool = pool,
                       .cancel = &r->context->cancel,
                       .seed = settings->seed};
  tl_status status = r->outputs && pool ? tl_eval_check(r->module, g->id) : tl_no_memory(r->module);
  if (status == TL_OK)
    status = tl_eval_graph(r->module, g->id, &o, &r->heap, r->inputs, r->outputs);
  tl_pool_destroy(pool);
  tl_host_heap_hand_over(&r->heap, &r->context->spare);
  return status;
}
