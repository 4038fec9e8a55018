/* SPDX-License-Identifier: Apache-2.0 */
/* Implements comparisons of two models (include/tailor/run.h), with the bounds of `tailor verify`.
 * */
#include <math.h>
#include <stdlib.h>

#include "lib/evaluation.h"
#include "lib/values/compare.h"
#include "lib/values/elements.h"
#include "lib/values/grain.h"

struct tl_comparison {
  tl_arena arena;
  tl_difference_info *at; /* arena */
  uint32_t n;
};

/* What `tailor verify` takes without options. */
#define DEFAULT_RTOL 1e-3
#define DEFAULT_ATOL 1e-7

/* The two models of a comparison while it is made. */
typedef struct pair {
  tl_lib_run runs[2];
  tl_grains grains[2];
  tl_tolerance tolerance;
} pair;

static tl_tolerance tolerance_of(const tl_verify_settings *s) {
  bool bounds = s->rtol >= 0 || s->atol >= 0, cosine = s->cosine >= 0;
  return (tl_tolerance){.rtol = s->rtol >= 0 ? s->rtol : DEFAULT_RTOL,
                        .atol = s->atol >= 0 ? s->atol : DEFAULT_ATOL,
                        .cosine = cosine ? s->cosine : (double)NAN,
                        .elements = bounds || !cosine,
                        .by_type = !(s->rtol >= 0),
                        .by_depth = !bounds && !cosine};
}

/* ---- inputs of the second model -------------------------------------------------------------- */

static bool is_real(tl_dtype d) {
  return tl_dtype_has_numbers(d) &&
         (tl_dtype_is_float(d) || tl_dtype_is_integer(d) || d == TL_DTYPE_BOOL);
}

/* Gives the value as another type if the input has one. */
static tl_host *adapt(tl_lib_run *to, tl_value_id input, tl_host *v) {
  tl_dtype wants = tl_type_dtype(to->module, tl_value_type(to->module, input));
  if (v->kind != TL_HOST_TENSOR || wants == TL_DTYPE_NONE || v->dtype == wants || !is_real(wants) ||
      !is_real((tl_dtype)v->dtype))
    return tl_host_retain(v);
  tl_host *made = tl_zeros(&to->heap, wants, v->rank, v->dims);
  for (uint64_t i = 0; made && i < v->n; i++) {
    if (tl_dtype_is_float(wants))
      tl_put_float(made, i, tl_host_at(v, i));
    else
      tl_put_int(made, i, tl_host_int_at(v, i));
  }
  return made;
}

/* Returns the input of a that stands for input i of b: of its name, else at its position. */
static uint32_t counterpart(const tl_module *a, const tl_module *b, uint32_t i) {
  const tl_graph *of_a = tl_module_main(a), *of_b = tl_module_main(b);
  tl_sv name = tl_value_name(b, of_b->inputs.at[i]);
  for (uint32_t k = 0; k < of_a->inputs.n; k++)
    if (tl_sv_eq(tl_value_name(a, of_a->inputs.at[k]), name))
      return k;
  return of_a->inputs.n == of_b->inputs.n ? i : UINT32_MAX;
}

static tl_status take_same(tl_lib_run *a, tl_lib_run *b) {
  const tl_graph *g = tl_module_main(b->module);
  b->n_inputs = g->inputs.n;
  b->inputs = calloc(b->n_inputs + 1u, sizeof *b->inputs);
  if (!b->inputs)
    return tl_no_memory(b->module);
  for (uint32_t i = 0; i < b->n_inputs; i++) {
    uint32_t k = counterpart(a->module, b->module, i);
    tl_host *v = k == UINT32_MAX ? NULL : a->inputs[k];
    if (v) {
      b->inputs[i] = adapt(b, g->inputs.at[i], v);
      if (!b->inputs[i])
        return tl_fail(&b->context->diag, TL_LIMIT, TL_NOWHERE, "inputs do not fit into memory");
    } else if (tl_value_get(b->module, g->inputs.at[i])->tensor == TL_NO_TENSOR) {
      return tl_fail(&b->context->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(b->module->path),
                     "input '%.*s' has no counterpart in the other model",
                     TL_SV_ARG(tl_value_name(b->module, g->inputs.at[i])));
    }
  }
  return TL_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static tl_value_id output_of(const tl_lib_run *r, uint32_t i) {
  return tl_graph_output(r->module, tl_module_main(r->module), i);
}

/* Returns the output of a that output i of b is compared with, or UINT32_MAX. */
static uint32_t paired(const tl_lib_run *a, const tl_lib_run *b, uint32_t i) {
  tl_sv name = tl_value_name(b->module, output_of(b, i));
  for (uint32_t k = 0; k < a->n_outputs; k++)
    if (tl_sv_eq(tl_value_name(a->module, output_of(a, k)), name))
      return k;
  return a->n_outputs == b->n_outputs ? i : UINT32_MAX;
}

static tl_status compare_output(tl_comparison *c, pair *p, uint32_t i) {
  tl_lib_run *a = &p->runs[0], *b = &p->runs[1];
  uint32_t k = paired(a, b, i);
  tl_sv name = tl_value_name(b->module, output_of(b, i));
  if (k == UINT32_MAX)
    return tl_fail(&a->context->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(b->module->path),
                   "output '%.*s' has no counterpart in the other model", TL_SV_ARG(name));
  tl_grain grain = tl_grain_worse(tl_grain_of(&p->grains[0], output_of(a, k)),
                                  tl_grain_of(&p->grains[1], output_of(b, i)));
  tl_tolerance own = tl_tolerance_for(&p->tolerance, grain);
  tl_difference d;
  tl_compare(b->outputs[i], a->outputs[k], &own, true, &d);
  const char *copy = tl_arena_copy(&c->arena, name.n ? name.p : "", name.n);
  c->at[c->n++] = (tl_difference_info){.name = copy ? copy : "",
                                       .reason = d.reason ? d.reason : "",
                                       .equal = d.equal,
                                       .elements = d.n,
                                       .off = d.off,
                                       .max_abs = d.max_abs,
                                       .max_rel = d.max_rel,
                                       .ulp = d.ulp,
                                       .cosine = d.cosine,
                                       .got = d.got,
                                       .want = d.want};
  return copy ? TL_OK : tl_no_memory(b->module);
}

static tl_status compare(tl_comparison *c, pair *p, const tl_run_settings *run) {
  tl_dtype emulate = tl_lib_dtype(run->emulate);
  for (int i = 0; i < 2; i++)
    if (!tl_grains_find(p->runs[i].module, emulate, &p->grains[i]))
      return tl_no_memory(p->runs[i].module);
  c->at = tl_arena_calloc(&c->arena, p->runs[1].n_outputs + 1u, sizeof *c->at);
  if (!c->at)
    return tl_no_memory(p->runs[1].module);
  for (uint32_t i = 0; i < p->runs[1].n_outputs; i++)
    TL_TRY(compare_output(c, p, i));
  return TL_OK;
}

/* The inputs of a call. */
typedef struct given {
  const tl_tensor_view *at;
  uint32_t n;
} given;

static tl_status verify(tl_comparison *c, pair *p, tl_model *const models[2], const given *inputs,
                        const tl_run_settings *run) {
  TL_TRY(tl_lib_run_begin(&p->runs[0], models[0]));
  TL_TRY(tl_lib_run_begin(&p->runs[1], models[1]));
  TL_TRY(tl_lib_run_take(&p->runs[0], inputs->at, inputs->n, run));
  TL_TRY(take_same(&p->runs[0], &p->runs[1]));
  TL_TRY(tl_lib_run_go(&p->runs[0], run));
  TL_TRY(tl_lib_run_go(&p->runs[1], run));
  return compare(c, p, run);
}

int tl_model_verify(tl_model *a, tl_model *b, const tl_tensor_view *inputs, uint32_t n,
                    const tl_verify_settings *settings, tl_comparison **out) {
  static const tl_verify_settings defaults = {.rtol = -1, .atol = -1, .cosine = -1};
  int inside;
  if (tl_lib_lacks(a->context, b, "b", &inside) ||
      (n && tl_lib_lacks(a->context, inputs, "inputs", &inside)) ||
      tl_lib_lacks(a->context, out, "out", &inside) ||
      tl_lib_is_inside(a->context, "compare models", &inside) ||
      tl_lib_is_inside(b->context, "compare models", &inside))
    return inside;
  if (!settings)
    settings = &defaults;
  uint32_t errors = tl_lib_begin(a->context);
  uint32_t errors_of_b = a->context == b->context ? errors : tl_lib_begin(b->context);
  pair p = {.tolerance = tolerance_of(settings)};
  tl_comparison *c = calloc(1, sizeof *c);
  tl_run_settings run = settings->run;
  run.random_inputs = 1;
  if (c)
    tl_arena_init(&c->arena, 0);
  tl_status status = c ? verify(c, &p, (tl_model *const[]){a, b}, &(given){inputs, n}, &run)
                       : TL_NO_MEMORY;
  for (int i = 1; i >= 0; i--) { /* values of the first model may be inputs of the second */
    tl_grains_release(&p.grains[i]);
    tl_lib_run_release(&p.runs[i]);
  }
  int code = a->context != b->context && b->context->diag.errors != errors_of_b
                 ? tl_lib_end(b->context, status, errors_of_b)
                 : tl_lib_end(a->context, status, errors);
  if (code == TL_SUCCESS)
    *out = c;
  else
    tl_comparison_destroy(c);
  return code;
}

int tl_comparison_equal(const tl_comparison *c) {
  for (uint32_t i = 0; i < c->n; i++)
    if (!c->at[i].equal)
      return 0;
  return 1;
}

uint32_t tl_comparison_count(const tl_comparison *c) { return c ? c->n : 0; }

int tl_comparison_get(const tl_comparison *c, uint32_t i, tl_difference_info *out) {
  if (i >= tl_comparison_count(c))
    return 0;
  *out = c->at[i];
  return 1;
}

void tl_comparison_destroy(tl_comparison *c) {
  if (!c)
    return;
  tl_arena_release(&c->arena);
  free(c);
}
