/* SPDX-License-Identifier: Apache-2.0 */
/* Runs small graphs for the tests of evaluator kernels. */
#include "tests/unit/eval_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "passes/manager.h"

enum { MEMORY_LIMIT = 1 << 30, MAX_TEXT = 1 << 16 };

static void remember(void *user, const tl_diagnostic *d) {
  if (d->severity == TL_ERROR)
    snprintf(user, sizeof((eval_run *)0)->message, "%s", d->message);
}

static tl_status run_main(eval_run *r, bool infer, const tl_eval_options *o,
                          tl_host *const *inputs) {
  static const tl_eval_options exact = {.exact = true};
  tl_options options = tl_options_default();
  tl_pipeline_options definitions = {.passes = "expand-definitions"};
  if (infer)
    TL_TRY(tl_infer_module(r->m));
  if (infer)
    TL_TRY(tl_pipeline_run(r->m, &options, &definitions, NULL));
  tl_graph *g = tl_module_main(r->m);
  TL_TRY(tl_eval_check(r->m, g->id));
  return tl_eval_graph(r->m, g->id, o ? o : &exact, &r->heap, inputs, r->outputs);
}

void eval_run_open(eval_run *r, const char *text, bool infer, const tl_eval_options *o,
                   tl_host *const *inputs) {
  *r = (eval_run){.diag = {.fn = remember, .user = r->message}};
  tl_host_heap_init(&r->heap, MEMORY_LIMIT);
  r->status = tl_module_parse(&r->diag, "case", tl_sv_from(text), &r->m);
  if (r->status != TL_OK)
    printf("\n  does not parse: %s: %s\n", text, r->message);
  CU_ASSERT_EQUAL_FATAL(r->status, TL_OK);
  r->n_outputs = tl_graph_n_outputs(r->m, tl_module_main(r->m));
  r->outputs = calloc((size_t)r->n_outputs + 1, sizeof(tl_host *));
  CU_ASSERT_PTR_NOT_NULL_FATAL(r->outputs);
  r->status = run_main(r, infer, o, inputs);
}

void eval_run_close(eval_run *r) {
  for (uint32_t i = 0; i < r->n_outputs; i++)
    tl_host_release(r->outputs[i]);
  free(r->outputs);
  if (r->heap.used != r->heap.text_bytes)
    printf("\n  %llu bytes of values are never released\n", (unsigned long long)r->heap.used);
  CU_ASSERT_EQUAL(r->heap.used, r->heap.text_bytes);
  tl_host_heap_release(&r->heap);
  tl_module_destroy(r->m);
}

/* ---- comparison ----------------------------------------------------------------------------- */

static bool same_shape(const tl_host *a, const tl_host *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank && a->n == b->n &&
         (a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

static bool same(const tl_host *a, const tl_host *b) {
  if (!same_shape(a, b))
    return false;
  for (uint64_t i = 0; a->kind == TL_HOST_SEQUENCE && i < a->n; i++)
    if (!same(tl_host_item(a, i), tl_host_item(b, i)))
      return false;
  if (a->kind != TL_HOST_TENSOR)
    return true;
  for (uint64_t i = 0; a->dtype == TL_DTYPE_STRING && i < a->n; i++)
    if (!tl_sv_eq(((const tl_sv *)a->data)[i], ((const tl_sv *)b->data)[i]))
      return false;
  return a->dtype == TL_DTYPE_STRING || !a->bytes ||
         memcmp(a->data, b->data, (size_t)a->bytes) == 0;
}

static bool near(const tl_host *a, const tl_host *b, double rtol, double atol) {
  if (!same_shape(a, b) || a->kind != TL_HOST_TENSOR || a->dtype == TL_DTYPE_STRING)
    return false;
  for (uint64_t i = 0; i < a->n; i++) {
    double x = tl_host_at(a, i), want = tl_host_at(b, i);
    bool equal = x == want || (isnan(x) && isnan(want));
    if (!equal && !(fabs(x - want) <= atol + rtol * fabs(want)))
      return false;
  }
  return true;
}

static void show(const char *what, const tl_host *t) {
  printf("    %s: %s kind %d, rank %d [", what, tl_dtype_get((tl_dtype)t->dtype)->name, t->kind,
         t->rank);
  for (int i = 0; i < t->rank; i++)
    printf("%s%lld", i ? "," : "", (long long)t->dims[i]);
  printf("]");
  for (uint64_t i = 0; t->kind == TL_HOST_TENSOR && i < t->n && i < 24; i++)
    if (t->dtype == TL_DTYPE_STRING)
      printf(" \"%.*s\"", TL_SV_ARG(((const tl_sv *)t->data)[i]));
    else
      printf(" %.9g", tl_host_at(t, i));
  printf("\n");
}

/* ---- cases ---------------------------------------------------------------------------------- */

typedef struct tolerance {
  bool bytes;
  double rtol;
  double atol;
} tolerance;

static void compare(const eval_run *r, const char *body, const tolerance *t) {
  if (r->status != TL_OK) {
    printf("\n  %s\n    fails: %s\n", body, r->message);
    CU_FAIL("the case does not run");
    return;
  }
  for (uint32_t i = 0; i + 1 < r->n_outputs; i += 2) {
    const tl_host *z = r->outputs[i], *want = r->outputs[i + 1];
    bool good = t->bytes ? same(z, want) : near(z, want, t->rtol, t->atol);
    if (!good) {
      printf("\n  %s\n", body);
      show("got ", z);
      show("want", want);
    }
    CU_ASSERT_TRUE(good);
  }
}

static char *whole_text(const char *body, unsigned pairs, bool want) {
  char *text = malloc(MAX_TEXT);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  int n = snprintf(text, MAX_TEXT, "graph @g() -> (");
  if (!want)
    n += snprintf(text + n, MAX_TEXT - (size_t)n, "%%z");
  for (unsigned i = 0; want && i < pairs; i++)
    n += pairs == 1
             ? snprintf(text + n, MAX_TEXT - (size_t)n, "%%z, %%want")
             : snprintf(text + n, MAX_TEXT - (size_t)n, "%s%%z%u, %%want%u", i ? ", " : "", i, i);
  n += snprintf(text + n, MAX_TEXT - (size_t)n, ") {\n%s\n}\n", body);
  CU_ASSERT_TRUE_FATAL(n < MAX_TEXT);
  return text;
}

static void run_case(const char *body, unsigned pairs, const tolerance *t) {
  char *text = whole_text(body, pairs, true);
  tl_pool *pool = tl_pool_create(2);
  const tl_eval_options modes[] = {
      {.exact = true}, {.exact = true, .pool = pool}, {.exact = false}};
  for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
    eval_run r;
    eval_run_open(&r, text, true, &modes[k], NULL);
    compare(&r, body, t);
    eval_run_close(&r);
  }
  tl_pool_destroy(pool);
  free(text);
}

void eval_same(const char *body) { run_case(body, 1, &(tolerance){.bytes = true}); }

void eval_same_pairs(const char *body, unsigned n) {
  run_case(body, n, &(tolerance){.bytes = true});
}

void eval_near(const char *body, double rtol, double atol) {
  run_case(body, 1, &(tolerance){.rtol = rtol, .atol = atol});
}

void eval_refused(const char *body, const char *part) {
  char *text = whole_text(body, 1, false);
  eval_run r;
  eval_run_open(&r, text, false, NULL, NULL);
  bool refused = r.status != TL_OK && r.diag.errors == 1 && strstr(r.message, part) != NULL;
  if (!refused)
    printf("\n  %s\n    status %d, message '%s', expected '%s'\n", body, (int)r.status, r.message,
           part);
  CU_ASSERT_TRUE(refused);
  eval_run_close(&r);
  free(text);
}
