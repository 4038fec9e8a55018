/* SPDX-License-Identifier: Apache-2.0 */
/* Implements runs (include/tailor/run.h). lib/verify.c compares two of them. */
#include <stdlib.h>

#include "lib/evaluation.h"

/* The run itself is kept: results may view its module. */
struct tl_tensors {
  tl_lib_run run;
  tl_arena arena;
  tl_tensor_view *at; /* [run.n_outputs]; arena */
};

/* Copies strings behind each other, each with a NUL. */
static const void *copy_texts(tl_arena *a, const tl_host *t) {
  const tl_sv *from = t->data;
  const char **made = tl_arena_calloc(a, (size_t)t->n + 1, sizeof *made);
  for (uint64_t i = 0; made && i < t->n; i++) {
    made[i] = tl_arena_copy(a, from[i].n ? from[i].p : "", from[i].n);
    if (!made[i])
      return NULL;
  }
  return made;
}

/* Makes the view of output i. */
static tl_status view_output(tl_tensors *t, uint32_t i) {
  const tl_module *m = t->run.module;
  const tl_host *v = t->run.outputs[i];
  tl_sv name = tl_value_name(m, tl_graph_output(m, tl_module_main(m), i));
  const char *copy = tl_arena_copy(&t->arena, name.n ? name.p : "", name.n);
  if (!v || v->kind != TL_HOST_TENSOR)
    return tl_fail(&t->run.context->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                   "output '%.*s' is no tensor\vsequences and optionals have no form here",
                   TL_SV_ARG(name));
  const void *data = v->dtype == TL_DTYPE_STRING ? copy_texts(&t->arena, v) : v->data;
  t->at[i] = (tl_tensor_view){.name = copy,
                              .element = tl_lib_element((tl_dtype)v->dtype),
                              .rank = v->rank,
                              .dims = v->dims,
                              .data = data,
                              .bytes = v->bytes};
  return copy && data ? TL_OK : tl_no_memory(m);
}

static tl_status run(tl_tensors *t, tl_model *m, const tl_tensor_view *inputs, uint32_t n,
                     const tl_run_settings *settings) {
  TL_TRY(tl_lib_run_begin(&t->run, m));
  TL_TRY(tl_lib_run_take(&t->run, inputs, n, settings));
  TL_TRY(tl_lib_run_go(&t->run, settings));
  t->at = tl_arena_calloc(&t->arena, t->run.n_outputs + 1u, sizeof *t->at);
  if (!t->at)
    return tl_no_memory(t->run.module);
  for (uint32_t i = 0; i < t->run.n_outputs; i++)
    TL_TRY(view_output(t, i));
  return TL_OK;
}

int tl_model_run(tl_model *m, const tl_tensor_view *inputs, uint32_t n,
                 const tl_run_settings *settings, tl_tensors **out) {
  static const tl_run_settings defaults = {0};
  int inside;
  if ((n && tl_lib_lacks(m->context, inputs, "inputs", &inside)) ||
      tl_lib_lacks(m->context, out, "out", &inside) ||
      tl_lib_is_inside(m->context, "run a model", &inside))
    return inside;
  uint32_t errors = tl_lib_begin(m->context);
  tl_tensors *t = calloc(1, sizeof *t);
  if (!t)
    return tl_lib_end(m->context, TL_NO_MEMORY, errors);
  tl_arena_init(&t->arena, 0);
  int code = tl_lib_end(m->context, run(t, m, inputs, n, settings ? settings : &defaults), errors);
  if (code == TL_SUCCESS)
    *out = t;
  else
    tl_tensors_destroy(t);
  return code;
}

uint32_t tl_tensors_count(const tl_tensors *t) { return t ? t->run.n_outputs : 0; }

int tl_tensors_get(const tl_tensors *t, uint32_t i, tl_tensor_view *out) {
  if (i >= tl_tensors_count(t))
    return 0;
  *out = t->at[i];
  return 1;
}

void tl_tensors_destroy(tl_tensors *t) {
  if (!t)
    return;
  tl_lib_run_release(&t->run);
  tl_arena_release(&t->arena);
  free(t);
}
