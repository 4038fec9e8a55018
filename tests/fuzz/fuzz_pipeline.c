/* SPDX-License-Identifier: Apache-2.0 */
/* Textual IR through the whole pipeline, by the public API. What computes before must compute the
 * same afterwards: in canonical form, read back from ONNX, in NPU form, and read back from AIR;
 * with one thread and with four; and nearly the same where sums are taken in a fast order. A
 * difference is a defect, even if nothing crashes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/forms.h"
#include "tests/fuzz/target.h"

static const forms_option options[] = {{"numerics", "exact"},
                                       {"precision-mode", "must_keep_origin_dtype"}};

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
  tl_run_settings s = forms_exact(2);
  tl_tensors *fast = NULL;
  s.exact = 0;
  if (tl_model_run(m, NULL, 0, &s, &fast) != TL_SUCCESS)
    forms_defect("a model that ran exactly does not run fast", "");
  for (uint32_t i = 0; i < tl_tensors_count(exact); i++) {
    tl_tensor_view x, y;
    float most = 1;
    if (!tl_tensors_get(exact, i, &x) || !tl_tensors_get(fast, i, &y) || x.bytes != y.bytes)
      forms_defect("fast results differ in size", "");
    size_t n = x.element == TL_ELEMENT_F32 ? x.bytes / sizeof(float) : 0;
    const float *a = x.data, *b = y.data;
    for (size_t k = 0; k < n; k++)
      most = fabsf(a[k]) > most ? fabsf(a[k]) : most;
    for (size_t k = 0; k < n; k++)
      if (!(fabsf(a[k] - b[k]) <= most * 1e-3F))
        forms_defect("fast results differ", "");
  }
  tl_tensors_destroy(fast);
}

/* The bytes of results depend on nothing but the model and the seed. */
static void same_bytes(const tl_tensors *a, const tl_tensors *b) {
  for (uint32_t i = 0; i < tl_tensors_count(a); i++) {
    tl_tensor_view x, y;
    int one = tl_tensors_get(a, i, &x), other = tl_tensors_get(b, i, &y);
    if (one != other || (one && x.bytes != y.bytes))
      forms_defect("results differ in size", "");
    if (one && x.element != TL_ELEMENT_STRING && x.bytes && memcmp(x.data, y.data, x.bytes) != 0)
      forms_defect("results differ between runs", "");
  }
}

/* Optimizes a copy and compares. */
static void check_form(const forms_trial *t, tl_model *a, tl_purpose form, const char *file) {
  tl_tensors *now = NULL;
  tl_model *b = NULL;
  if (tl_model_copy(a, t->c, &b) == TL_SUCCESS && forms_went_well(t, tl_model_optimize(b, form))) {
    if (form == TL_FOR_ONNX && !forms_run(b, 1, &now))
      forms_defect("a model that ran does not run in canonical form", "");
    forms_same_results(a, b, form == TL_FOR_ONNX ? "canonical form" : "NPU form");
    forms_check_file(t, t, b, file, 1);
  }
  tl_tensors_destroy(now);
  tl_model_destroy(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  forms_trial t = {0};
  tl_model *a = NULL;
  tl_tensors *one = NULL, *four = NULL;
  (void)forms_start(&t, options, sizeof options / sizeof *options);
  if (t.c && !forms_left_out(data, size) &&
      tl_model_load_bytes(t.c, "m.tir", data, size, &a) == TL_SUCCESS && forms_run(a, 1, &one) &&
      forms_moderate(one) && !t.other_shapes) {
    if (!forms_run(a, 4, &four))
      forms_defect("a model that ran does not run with four threads", "");
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
