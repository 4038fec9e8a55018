/* SPDX-License-Identifier: Apache-2.0 */
/* Running models in the evaluator of the host, and comparing two of them (docs/evaluator.md). The
 * evaluator is no runtime: it is there to see whether a rewritten model computes the same. */
#ifndef TL_TAILOR_RUN_H
#define TL_TAILOR_RUN_H

#include <tailor/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How to run. All zero for the defaults. */
typedef struct tl_run_settings {
  uint64_t seed;      /* of random inputs and random ops */
  uint32_t threads;   /* 0: one for each processor; results do not depend on it */
  int exact;          /* not 0: the same bytes on every machine, slower */
  int random_inputs;  /* not 0: inputs that are not given are random; an open dim is 1 */
  tl_element emulate; /* F16 or BF16: f32 and f64 values are rounded to it when they are made */
} tl_run_settings;

typedef struct tl_tensors tl_tensors; /* the results of a run */

/* Runs the main graph. inputs: by their names, and borrowed; an input that has a default may be
 * left out. settings: NULL for the defaults. *out is the caller's to destroy, before the model.
 * Errors: TL_ERROR_USAGE for inputs that do not fit, TL_ERROR_UNSUPPORTED for an op without a
 * kernel and an output that is no tensor, TL_ERROR_INPUT for faults of the model and beyond the
 * memory limit. */
TL_API int tl_model_run(tl_model *m, const tl_tensor_view *inputs, uint32_t n,
                        const tl_run_settings *settings, tl_tensors **out);
/* Number of results, one for each output of the main graph; 0 for NULL. */
TL_API uint32_t tl_tensors_count(const tl_tensors *t);
/* Result i, valid until t is destroyed. Returns 0 beyond the end. */
TL_API int tl_tensors_get(const tl_tensors *t, uint32_t i, tl_tensor_view *out);
/* Frees the results. NULL is allowed. */
TL_API void tl_tensors_destroy(tl_tensors *t);

/* What counts as equal. A negative number: as `tailor verify` does without that option. */
typedef struct tl_verify_settings {
  tl_run_settings run; /* random_inputs is taken as set */
  double rtol;         /* relative bound of a difference */
  double atol;         /* absolute bound */
  double cosine;       /* least similarity; rtol and atol count beside it only if they are given */
} tl_verify_settings;

/* How far one output of two models is apart. Strings live as long as the comparison. */
typedef struct tl_difference_info {
  const char *name;   /* of the output */
  const char *reason; /* why elements cannot be compared ("shapes differ"); "" if they can */
  int equal;          /* within what counts as equal */
  uint64_t elements;  /* number of elements */
  uint64_t off;       /* of them beyond it */
  double max_abs;     /* greatest absolute difference */
  double max_rel;     /* greatest relative one */
  double ulp;         /* greatest difference in units in the last place */
  double cosine;      /* NaN where it has no meaning */
  double got;         /* the element farthest off, in the second model */
  double want;        /* and in the first */
} tl_difference_info;

typedef struct tl_comparison tl_comparison; /* what a comparison found */

/* Runs both models on the same inputs, given or random, and compares the outputs of b with those of
 * a: of the same name, else at the same position. Both may be of different contexts; messages go to
 * that of a. settings: NULL for the defaults. A difference is no error: ask tl_comparison_equal.
 * *out is the caller's to destroy. Errors as tl_model_run. */
TL_API int tl_model_verify(tl_model *a, tl_model *b, const tl_tensor_view *inputs, uint32_t n,
                           const tl_verify_settings *settings, tl_comparison **out);
/* Returns not 0 if all outputs are equal. */
TL_API int tl_comparison_equal(const tl_comparison *c);
/* Number of outputs, and output i. Returns 0 beyond the end. */
TL_API uint32_t tl_comparison_count(const tl_comparison *c);
TL_API int tl_comparison_get(const tl_comparison *c, uint32_t i, tl_difference_info *out);
/* Frees the comparison. NULL is allowed. */
TL_API void tl_comparison_destroy(tl_comparison *c);

#ifdef __cplusplus
}
#endif

#endif
