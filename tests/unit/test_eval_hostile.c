/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel on nodes that nobody would write (hostile_case.h): each run ends with results or
 * with one clear error. Results have the types and shapes that inference promises, do not depend on
 * threads or on what memory held before, and leave nothing alive.
 *
 * Environment: HOSTILE_CASES=N cases an op; HOSTILE_OP=Name this op only; HOSTILE_CASE=K this case
 * only; HOSTILE_TRACE=1 prints each case before it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "ir/eval/eval.h"
#include "ir/graph.h"
#include "ir/infer/infer.h"
#include "ir/text/print.h"
#include "tests/unit/hostile_case.h"
#include "tests/unit/unit.h"

enum { CASES = 200, MEMORY_LIMIT = 16 << 20, MOST_SECONDS = 120 };

/* ---- memory that is never zero by luck ------------------------------------------------------ */

void *__wrap_aligned_alloc(size_t alignment, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);

static unsigned char soil; /* what fresh values hold */

void *__wrap_aligned_alloc(size_t alignment, size_t n) {
  void *p = __real_aligned_alloc(alignment, n);
  if (p && soil)
    memset(p, soil, n);
  return p;
}

/* ---- one case ------------------------------------------------------------------------------- */

typedef struct outcome {
  tl_status status;
  tl_host *results[UINT8_MAX];
} outcome;

static void print_case(hostile_case *c, const tl_op *row, uint32_t k, const char *problem) {
  tl_buf text;
  tl_buf_init(&text);
  if (tl_module_print(c->m, &text, NULL) != TL_OK)
    tl_buf_add_z(&text, "(does not print)");
  printf("\n  %s case %u: %s\n    '%s'\n%.*s\n", row->name, k, problem, c->message,
         (int)tl_buf_view(&text).n, tl_buf_view(&text).p);
  tl_buf_release(&text);
}

static void run(hostile_case *c, const tl_eval_options *o, outcome *out) {
  *out = (outcome){.status = TL_OK};
  out->status = tl_eval_one(c->m, c->node, o, &c->heap, c->operands, out->results);
}

static void release(outcome *o) {
  for (size_t i = 0; i < UINT8_MAX; i++)
    tl_host_release(o->results[i]);
}

static bool same_bytes(const tl_host *a, const tl_host *b) {
  if (!a || !b || a->kind != b->kind || a->n != b->n || a->dtype != b->dtype || a->rank != b->rank)
    return a == b;
  for (uint64_t i = 0; a->kind == TL_HOST_SEQUENCE && i < a->n; i++)
    if (!same_bytes(tl_host_item(a, i), tl_host_item(b, i)))
      return false;
  if (a->kind != TL_HOST_TENSOR || a->dtype == TL_DTYPE_STRING || !a->bytes)
    return true;
  return memcmp(a->data, b->data, (size_t)a->bytes) == 0;
}

/* NULL, or what is wrong with result i. */
static const char *judge_result(hostile_case *c, uint32_t i, const tl_host *t) {
  const tl_type *type = tl_type_get(c->m, tl_value_type(c->m, tl_result(c->m, c->node, i)));
  if (!t)
    return "a result is missing";
  if (t->kind != TL_HOST_TENSOR || type->kind != TL_KIND_TENSOR)
    return NULL;
  if (type->rank != TL_RANK_UNKNOWN && type->rank != t->rank)
    return "the rank is not the inferred one";
  for (int k = 0; k < t->rank && type->rank != TL_RANK_UNKNOWN; k++)
    if (tl_dim_is_static(type->dims[k]) && type->dims[k] != t->dims[k])
      return "a dim is not the inferred one";
  return NULL;
}

static const char *judge(hostile_case *c, const outcome *a, const outcome *b, uint32_t errors) {
  static const tl_status refusals[] = {TL_INVALID_MODEL, TL_UNSUPPORTED, TL_LIMIT, TL_NO_MEMORY};
  if (a->status != b->status && (b->status == TL_LIMIT || b->status == TL_NO_MEMORY))
    return NULL; /* the results of the first run are alive */
  if (a->status != b->status)
    return "the second run ends differently";
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    if (a->status == refusals[i])
      return errors == 1 ? NULL : "not exactly one error";
  if (a->status != TL_OK || errors)
    return "an internal error";
  for (uint32_t i = 0; i < tl_node_get(c->m, c->node)->n_results; i++) {
    const char *problem = judge_result(c, i, a->results[i]);
    if (problem)
      return problem;
    if (!same_bytes(a->results[i], b->results[i]))
      return "the second run gives other bytes";
  }
  return NULL;
}

/* Types as far as inference knows them; none when it refuses the node. */
static void infer(hostile_case *c) {
  if (tl_infer_node(c->m, c->node) != TL_OK)
    for (uint32_t i = 0; i < tl_node_get(c->m, c->node)->n_results; i++)
      tl_value_set_type(c->m, tl_result(c->m, c->node, i), TL_NO_TYPE);
  c->diag.errors = 0;
}

/* 1 when the kernel made results, 0 when it refused, -1 when something is wrong. */
static int try_case(uint32_t row, uint32_t k, uint64_t seed, tl_pool *pool) {
  const tl_eval_options first = {.exact = true, .seed = 7};
  const tl_eval_options second = {.exact = true, .seed = 7, .pool = pool};
  hostile_case c;
  outcome a, b;
  soil = 0x5a;
  hostile_open(&c, row, seed, MEMORY_LIMIT);
  infer(&c);
  if (getenv("HOSTILE_TRACE"))
    print_case(&c, &tl_op_rows[row], k, "starts");
  run(&c, &first, &a);
  uint32_t errors = c.diag.errors;
  soil = 0xff;
  run(&c, &second, &b);
  const char *problem = judge(&c, &a, &b, errors);
  release(&a);
  release(&b);
  if (problem)
    print_case(&c, &tl_op_rows[row], k, problem);
  int made = a.status == TL_OK;
  if (!hostile_close(&c)) {
    printf("\n  %s case %u: values are never released\n", tl_op_rows[row].name, k);
    problem = "values are never released";
  }
  return problem ? -1 : made;
}

/* ---- all ------------------------------------------------------------------------------------ */

static uint64_t hash_name(const char *s) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  while (*s)
    h = (h ^ (unsigned char)*s++) * UINT64_C(0x100000001b3);
  return h;
}

static uint32_t number_from(const char *variable, uint32_t fallback) {
  const char *s = getenv(variable);
  return s ? (uint32_t)strtoul(s, NULL, 10) : fallback;
}

/* Ends the program when it takes that much CPU time from now on; 0: no limit. */
static void limit_cpu(int seconds) {
  const struct itimerval limit = {.it_value = {.tv_sec = seconds}};
  CU_ASSERT_EQUAL(setitimer(ITIMER_PROF, &limit, NULL), 0);
}

static void try_row(uint32_t row, tl_pool *pool) {
  uint32_t n = number_from("HOSTILE_CASES", CASES), only = number_from("HOSTILE_CASE", UINT32_MAX);
  uint32_t made = 0, bad = 0;
  clock_t start = clock();
  for (uint32_t k = 0; k < n && bad < 3; k++) {
    if (only != UINT32_MAX && only != k)
      continue;
    limit_cpu(MOST_SECONDS);
    int got =
        try_case(row, k, hash_name(tl_op_rows[row].name) + k * UINT64_C(0x632be59bd9b4e019), pool);
    made += got == 1;
    bad += got < 0;
  }
  limit_cpu(0);
  if (getenv("HOSTILE_OP") || getenv("HOSTILE_SHOW"))
    printf("%s: %u of %u made results, %ld ms\n", tl_op_rows[row].name, made, n,
           (long)((clock() - start) * 1000 / CLOCKS_PER_SEC));
  CU_ASSERT_EQUAL(bad, 0);
}

static void kernels_survive_anything(void) {
  const char *only = getenv("HOSTILE_OP");
  tl_pool *pool = tl_pool_create(2);
  for (uint32_t row = 0; row < tl_n_op_rows; row++)
    if (hostile_can(&tl_op_rows[row]) && (!only || strcmp(only, tl_op_rows[row].name) == 0))
      try_row(row, pool);
  tl_pool_destroy(pool);
}

static const unit_test tests[] = {
    {"kernels survive anything", kernels_survive_anything},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_hostile = {"eval_hostile", tests};
