/* SPDX-License-Identifier: Apache-2.0 */
/* Textual IR through the pipeline with settings: of precision, chips, levels, fusions, orders. The
 * first line of the text chooses them, so that an input keeps them while the rest of it changes.
 * What is made is the same each time, its files can be read, and compute what it computes; and it
 * computes what the model does, if no setting allows other numbers. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/forms.h"
#include "tests/fuzz/target.h"

/* An option, its values, and whether it may change numbers. */
typedef struct choice {
  const char *name, *values[10];
  int rounds;
} choice;

static const choice choices[] = {
    {"soc-version",
     {"Ascend310P3", "Ascend910A", "Ascend310B1", "Ascend910_9362", "Ascend310", "Ascend950"},
     0},
    {"opt-level", {"0", "1"}, 0},
    {"order", {"memory"}, 0},
    {"fusion", {"ALL:on", "ALL:off"}, 0},
    {"target", {"onnx", "onnxruntime", "none"}, 0},
    {"input-format", {"ND", "NCDHW"}, 0},
    {"topo-sorting-mode", {"0", "2", "3"}, 0},
    {"deterministic", {"1"}, 0},
    {"fold-limit", {"0", "64"}, 0},
    {"unroll-limit", {"0", "4"}, 0},
    {"oo-level", {"O0", "O1", "O2"}, 0},
    {"oo-constant-folding", {"false"}, 0},
    {"enable-small-channel", {"1"}, 0},
    {"ge-colours", {""}, 0},
    {"numerics", {"reassociating", "approximate"}, 1},
    {"precision-mode",
     {"force_fp16", "force_fp32", "cube_fp16in_fp32out", "allow_fp32_to_fp16",
      "must_keep_origin_dtype", "allow_mix_precision", "allow_mix_precision_bf16",
      "allow_fp32_to_bf16"},
     1},
    {"precision-mode-v2",
     {"fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16", "cube_hif8",
      "mixed_hif8"},
     1},
    {"amp-level", {"O1", "O2", "O3", "auto"}, 1},
    {"amp-dtype", {"bfloat16"}, 1},
    {"keep-io-types", {"false"}, 1},
    {"lossy-cast-removal", {"ge"}, 1},
    {"const-policy", {"keep_fp32", "error"}, 1},
    {"precision-policy", {"range"}, 1},
    {"strict-mix-low", {""}, 1},
    {"op-select-implmode", {"high_precision", "high_performance"}, 1},
    {"output-type", {"FP16", "FP32", "UINT8"}, 1},
    {"allow-hf32", {"true"}, 1},
    {"max-reduction-depth", {"4"}, 1}};

enum { N_CHOICES = sizeof choices / sizeof *choices, ONE_IN = 4 };

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Fills `made` with the options that the first line chooses and returns their number. *rounds: one
 * of them may change numbers. */
static size_t choose(const uint8_t *data, size_t size, forms_option *made, int *rounds) {
  uint32_t state = 2166136261u;
  size_t n = 0;
  for (size_t i = 0; i < size && data[i] != '\n'; i++)
    state = (state ^ data[i]) * 16777619u;
  for (size_t i = 0; i < N_CHOICES; i++) {
    const choice *c = &choices[i];
    size_t n_values = 0;
    while (n_values < sizeof c->values / sizeof *c->values && c->values[n_values])
      n_values++;
    const char *value = c->values[next(&state) % n_values];
    if (next(&state) % ONE_IN)
      continue;
    made[n++] = (forms_option){c->name, value};
    *rounds = *rounds || c->rounds;
  }
  return n;
}

/* Says which settings an input has, for who looks at a find: with SHOW_MODES in the environment. */
static void show(const forms_option *made, size_t n) {
  for (size_t i = 0; getenv("SHOW_MODES") && i < n; i++)
    fprintf(stderr, "--%s%s%s%s", made[i].name, made[i].value[0] ? "=" : "", made[i].value,
            i + 1 < n ? " " : "\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  forms_option made[N_CHOICES + 1] = {{"numerics", "exact"}};
  int rounds = 0;
  size_t n = 1 + choose(data, size, made + 1, &rounds);
  show(made, n);
  return forms_try(data, size, "m.tir", made, n, rounds);
}
