/* SPDX-License-Identifier: Apache-2.0 */
/* Textual IR through the whole pipeline, by the public API. What computes before must compute the
 * same afterwards: in canonical form, read back from ONNX, in NPU form, and read back from AIR;
 * with one thread and with four; and nearly the same where sums are taken in a fast order. A
 * difference is a defect, even if nothing crashes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailor/tailor.h>

#include "tests/fuzz/target.h"

/* A model that needs more memory than MEMORY is not tried: each input has to be quick. */
static const struct {
  const char *name, *value;
} options[] = {
    {"numerics", "exact"}, {"precision-mode", "must_keep_origin_dtype"}, {"max-nodes", "2000"}};
enum { MEMORY = 1 << 21, SEED = 7 };

/* One input at work. */
typedef struct trial {
  tl_context *c;
  char said[512]; /* the last error */
} trial;

static void keep(void *user, const tl_message *message) {
  trial *t = user;
  if (message->severity == TL_SEVERITY_ERROR)
    snprintf(t->said, sizeof t->said, "%s", message->text);
}

static tl_context *start(trial *t) {
  tl_context *c = tl_context_create();
  for (size_t i = 0; c && i < sizeof options / sizeof *options; i++)
    (void)tl_context_set(c, options[i].name, options[i].value);
  if (c) {
    tl_context_set_memory_limit(c, MEMORY);
    tl_context_on_message(c, keep, t);
  }
  return c;
}

static tl_run_settings settings(uint32_t threads) {
  return (tl_run_settings){.seed = SEED, .threads = threads, .exact = 1, .random_inputs = 1};
}

/* Says what is wrong, and ends. */
static void defect(const char *what, const char *detail) {
  fprintf(stderr, "pipeline: %s%s\n", what, detail);
  abort();
}

/* Returns true if all results are finite and of a size at which rounding says something. */
static int is_moderate(const tl_tensors *t) {
  for (uint32_t i = 0; i < tl_tensors_count(t); i++) {
    tl_tensor_view v;
    if (!tl_tensors_get(t, i, &v))
      return 0;
    const float *p = v.data;
    size_t n = v.element == TL_ELEMENT_F32 ? v.bytes / sizeof *p : 0;
    for (size_t k = 0; k < n; k++)
      if (!(fabsf(p[k]) < 1e6F))
        return 0;
  }
  return 1;
}

static int compute(tl_model *m, uint32_t threads, tl_tensors **out) {
  tl_run_settings s = settings(threads);
  return tl_model_run(m, NULL, 0, &s, out) == TL_SUCCESS;
}

/* Returns true for success. Ends where a pass left a broken module; memory may be out. */
static int went_well(const trial *t, int status) {
  if (status == TL_ERROR_INTERNAL && !strstr(t->said, "memory"))
    defect("internal error: ", t->said);
  return status == TL_SUCCESS;
}

/* Words of ops whose results jump: a small difference before may be a large one behind. */
static int jumps(const uint8_t *data, size_t size) {
  static const char *const ops[] = {"Floor",   "Ceil",       "Round", "Sign",   "Equal",  "Less",
                                    "Greater", "Arg",        "TopK",  "Unique", "Mod",    "Cast",
                                    "Where",   "NonZero",    "Hard",  "Max",    "NonMax", "Relu",
                                    "Div",     "Reciprocal", "Tan",   "Log",    "Pow",    "Acos",
                                    "Asin",    "Atanh",      "Acosh", "Sqrt",   "npu::"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (size && memmem(data, size, ops[i], strlen(ops[i])))
      return 1;
  return 0;
}

/* Sums in a fast order differ by roundings: far less than a thousandth of the largest element. */
static void check_fast(tl_model *m, const tl_tensors *exact) {
  tl_run_settings s = settings(2);
  tl_tensors *fast = NULL;
  s.exact = 0;
  if (tl_model_run(m, NULL, 0, &s, &fast) != TL_SUCCESS)
    defect("a model that ran exactly does not run fast", "");
  for (uint32_t i = 0; i < tl_tensors_count(exact); i++) {
    tl_tensor_view x, y;
    float most = 1;
    if (!tl_tensors_get(exact, i, &x) || !tl_tensors_get(fast, i, &y) || x.bytes != y.bytes)
      defect("fast results differ in size", "");
    size_t n = x.element == TL_ELEMENT_F32 ? x.bytes / sizeof(float) : 0;
    const float *a = x.data, *b = y.data;
    for (size_t k = 0; k < n; k++)
      most = fabsf(a[k]) > most ? fabsf(a[k]) : most;
    for (size_t k = 0; k < n; k++)
      if (!(fabsf(a[k] - b[k]) <= most * 1e-3F))
        defect("fast results differ", "");
  }
  tl_tensors_destroy(fast);
}

/* The bytes of results depend on nothing but the model and the seed. */
static void same_bytes(const tl_tensors *a, const tl_tensors *b) {
  for (uint32_t i = 0; i < tl_tensors_count(a); i++) {
    tl_tensor_view x, y;
    int one = tl_tensors_get(a, i, &x), other = tl_tensors_get(b, i, &y);
    if (one != other || (one && x.bytes != y.bytes))
      defect("results differ in size", "");
    if (one && x.element != TL_ELEMENT_STRING && x.bytes && memcmp(x.data, y.data, x.bytes) != 0)
      defect("results differ between runs", "");
  }
}

/* Both models run; a cannot compute what b does not. */
static void same_results(tl_model *a, tl_model *b, const char *what) {
  tl_verify_settings s = {.run = settings(1), .rtol = -1, .atol = -1, .cosine = -2};
  tl_comparison *c = NULL;
  tl_difference_info d;
  int status = tl_model_verify(a, b, NULL, 0, &s, &c);
  if (status == TL_SUCCESS && !tl_comparison_equal(c))
    for (uint32_t i = 0; tl_comparison_get(c, i, &d); i++)
      if (!d.equal) {
        fprintf(stderr, "pipeline: output %s is %g, not %g %s\n", d.name, d.got, d.want, d.reason);
        defect("wrong results: ", what);
      }
  tl_comparison_destroy(c);
}

/* Writes a form to a file of the name's format and reads it back. */
static void check_file(const trial *t, tl_model *m, const char *name) {
  void *bytes = NULL;
  size_t n = 0;
  tl_model *back = NULL;
  if (!went_well(t, tl_model_save_bytes(m, name, &bytes, &n)))
    return;
  if (tl_model_load_bytes(t->c, name, bytes, n, &back) == TL_SUCCESS)
    same_results(m, back, name);
  else
    fprintf(stderr, "pipeline: %s\n", t->said), defect("what was written cannot be read: ", name);
  tl_model_destroy(back);
  tl_free(bytes);
}

/* Optimizes a copy and compares. */
static void check_form(const trial *t, tl_model *a, tl_purpose form, const char *file) {
  tl_tensors *now = NULL;
  tl_model *b = NULL;
  if (tl_model_copy(a, t->c, &b) == TL_SUCCESS && went_well(t, tl_model_optimize(b, form))) {
    if (form == TL_FOR_ONNX && !compute(b, 1, &now))
      defect("a model that ran does not run in canonical form", "");
    same_results(a, b, form == TL_FOR_ONNX ? "canonical form" : "NPU form");
    check_file(t, b, file);
  }
  tl_tensors_destroy(now);
  tl_model_destroy(b);
}

/* Random results depend on which nodes there are. A loop that does not end takes ten million trips
 * until it is an error. Known differences on the NPU: of a query that sees no key, attention makes
 * zero there and an average here; quantization adds the zero point before it rounds, so that ties
 * differ. */
static int is_left_out(const uint8_t *data, size_t size) {
  static const char *const ops[] = {"Random", "Bernoulli", "Multinomial", "Dropout",
                                    "Loop",   "Attention", "While",       "Quantize"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (size && memmem(data, size, ops[i], strlen(ops[i])))
      return 1;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  trial t = {0};
  tl_model *a = NULL;
  tl_tensors *one = NULL, *four = NULL;
  t.c = start(&t);
  if (t.c && !is_left_out(data, size) &&
      tl_model_load_bytes(t.c, "m.tir", data, size, &a) == TL_SUCCESS && compute(a, 1, &one) &&
      is_moderate(one)) {
    if (!compute(a, 4, &four))
      defect("a model that ran does not run with four threads", "");
    same_bytes(one, four);
    if (!jumps(data, size))
      check_fast(a, one);
    check_form(&t, a, TL_FOR_ONNX, "m.onnx");
    check_form(&t, a, TL_FOR_AIR, "m.air");
  }
  tl_tensors_destroy(one);
  tl_tensors_destroy(four);
  tl_model_destroy(a);
  tl_context_destroy(t.c);
  return 0;
}
