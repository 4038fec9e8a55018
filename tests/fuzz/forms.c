/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what targets of whole pipelines share (forms.h). */
#include "tests/fuzz/forms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 1 << 21, SEED = 7 };

static void keep(void *user, const tl_message *message) {
  forms_trial *t = user;
  if (message->severity == TL_SEVERITY_ERROR)
    snprintf(t->said, sizeof t->said, "%s", message->text);
  t->other_shapes = t->other_shapes || strstr(message->text, "in this run, but the model says");
}

int forms_start(forms_trial *t, const forms_option *options, size_t n) {
  int taken = 1;
  t->c = tl_context_create();
  if (!t->c)
    return 0;
  tl_context_set_memory_limit(t->c, MEMORY);
  tl_context_on_message(t->c, keep, t);
  (void)tl_context_set(t->c, "max-nodes", "2000");
  (void)tl_context_set(t->c, "max-tensor", "1048576");
  for (size_t i = 0; i < n && taken; i++)
    taken = forms_went_well(t, tl_context_set(t->c, options[i].name, options[i].value));
  return taken;
}

void forms_defect(const char *what, const char *detail) {
  fprintf(stderr, "forms: %s%s\n", what, detail);
  abort();
}

int forms_went_well(const forms_trial *t, int status) {
  if (status == TL_ERROR_INTERNAL && !strstr(t->said, "memory"))
    forms_defect("internal error: ", t->said);
  return status == TL_SUCCESS;
}

int forms_left_out(const uint8_t *data, size_t size) {
  static const char *const ops[] = {"Random",    "Bernoulli", "Multinomial", "Dropout", "Loop",
                                    "Attention", "While",     "Quantize",    "Mod"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (size && memmem(data, size, ops[i], strlen(ops[i])))
      return 1;
  return 0;
}

tl_run_settings forms_exact(uint32_t threads) {
  return (tl_run_settings){.seed = SEED, .threads = threads, .exact = 1, .random_inputs = 1};
}

int forms_run(tl_model *m, uint32_t threads, tl_tensors **out) {
  tl_run_settings s = forms_exact(threads);
  return tl_model_run(m, NULL, 0, &s, out) == TL_SUCCESS;
}

/* Returns true if all results are finite and of a size at which rounding says something. */
int forms_moderate(const tl_tensors *t) {
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

void forms_same_results(tl_model *a, tl_model *b, const char *what) {
  tl_verify_settings s = {.run = forms_exact(1), .rtol = -1, .atol = -1, .cosine = -2};
  tl_comparison *c = NULL;
  tl_difference_info d;
  int status = tl_model_verify(a, b, NULL, 0, &s, &c);
  if (status == TL_SUCCESS && !tl_comparison_equal(c))
    for (uint32_t i = 0; tl_comparison_get(c, i, &d); i++)
      if (!d.equal) {
        fprintf(stderr, "forms: output %s is %g, not %g %s\n", d.name, d.got, d.want, d.reason);
        forms_defect("wrong results: ", what);
      }
  tl_comparison_destroy(c);
}

void forms_check_file(const forms_trial *t, const forms_trial *reader, tl_model *m,
                      const char *name, int compares) {
  void *bytes = NULL;
  size_t n = 0;
  tl_model *back = NULL;
  if (!forms_went_well(t, tl_model_save_bytes(m, name, &bytes, &n)))
    return;
  int taken = tl_model_load_bytes(reader->c, name, bytes, n, &back) == TL_SUCCESS;
  if (taken && compares)
    forms_same_results(m, back, name);
  if (!taken &&
      !strstr(reader->said, "has no op '")) /* written as it is; who reads it has to know it */
    forms_defect("what was written cannot be read: ", reader->said);
  tl_model_destroy(back);
  tl_free(bytes);
}

void forms_check_text(const forms_trial *t, const forms_trial *reader, tl_model *m) {
  void *first = NULL, *second = NULL;
  size_t n = 0, k = 0;
  tl_model *back = NULL;
  if (!forms_went_well(t, tl_model_check(m)) || /* wrong types are found by inference at last */
      !forms_went_well(t, tl_model_save_bytes(m, "m.tir", &first, &n)))
    return;
  if (tl_model_load_bytes(reader->c, "m.tir", first, n, &back) != TL_SUCCESS) {
    if (!strstr(reader->said, "memory") && !strstr(reader->said, "at most"))
      forms_defect("a text dump cannot be read: ", reader->said);
  } else if (forms_went_well(reader, tl_model_save_bytes(back, "m.tir", &second, &k)) &&
             (n != k || memcmp(first, second, n) != 0)) {
    forms_defect("a text dump that was read is printed otherwise: ", second);
  }
  tl_model_destroy(back);
  tl_free(second);
  tl_free(first);
}

/* What numbers tell of a model: nothing, or those of its file alone if settings allow others, or
 * all of them, which must be the same. */
typedef enum numbers { NO_NUMBERS, FILE_NUMBERS, ALL_NUMBERS } numbers;

/* The same bytes, whoever hears why rules were not applied. */
static void same_files(const forms_trial *t, tl_model *a, tl_model *b, const char *name) {
  void *x = NULL, *y = NULL;
  size_t n = 0, k = 0;
  int one = tl_model_save_bytes(a, name, &x, &n), other = tl_model_save_bytes(b, name, &y, &k);
  if (forms_went_well(t, one) && forms_went_well(t, other) && (n != k || memcmp(x, y, n) != 0))
    forms_defect("two conversions differ: ", name);
  tl_free(x);
  tl_free(y);
}

/* Returns a copy of a model in a form, or NULL. */
static tl_model *optimized(const forms_trial *t, const tl_model *a, tl_purpose form, int listen) {
  tl_model *b = NULL;
  if (tl_model_copy(a, t->c, &b) != TL_SUCCESS)
    return NULL;
  if (listen)
    tl_model_keep_remarks(b, 1, 1);
  if (forms_went_well(t, tl_model_optimize(b, form)))
    return b;
  tl_model_destroy(b);
  return NULL;
}

/* Tries one form of a model, and its file. */
static void check_form(const forms_trial *t, const forms_trial *reader, tl_model *a,
                       tl_purpose form, numbers what) {
  const char *name = form == TL_FOR_ONNX ? "m.onnx" : "m.air";
  tl_model *b = optimized(t, a, form, 1), *c = b ? optimized(t, a, form, 0) : NULL;
  if (c)
    same_files(t, b, c, name);
  if (c && what == ALL_NUMBERS)
    forms_same_results(a, b, name);
  if (c)
    forms_check_file(t, reader, b, name, what != NO_NUMBERS);
  if (c)
    forms_check_text(t, reader, b);
  tl_model_destroy(b);
  tl_model_destroy(c);
}

static numbers comparable(const forms_trial *t, tl_model *a, const uint8_t *data, size_t size,
                          int rounds) {
  tl_tensors *one = NULL;
  if (forms_left_out(data, size))
    return NO_NUMBERS;
  int yes = !rounds && forms_run(a, 1, &one) && forms_moderate(one);
  tl_tensors_destroy(one);
  return yes && !t->other_shapes ? ALL_NUMBERS : FILE_NUMBERS;
}

static void check_model(const forms_trial *t, const forms_trial *reader, tl_model *a,
                        numbers what) {
  forms_check_text(t, reader, a);
  check_form(t, reader, a, TL_FOR_ONNX, what);
  check_form(t, reader, a, TL_FOR_AIR, what);
}

int forms_try(const uint8_t *data, size_t size, const char *name, const forms_option *options,
              size_t n, int rounds) {
  forms_trial t = {0}, reader = {0};
  tl_model *a = NULL;
  if (size && forms_start(&t, options, n) && forms_start(&reader, NULL, 0) &&
      tl_model_load_bytes(t.c, name, data, size, &a) == TL_SUCCESS)
    check_model(&t, &reader, a, comparable(&t, a, data, size, rounds));
  tl_model_destroy(a);
  tl_context_destroy(t.c);
  tl_context_destroy(reader.c);
  return 0;
}
