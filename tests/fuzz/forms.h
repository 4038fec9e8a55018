/* SPDX-License-Identifier: Apache-2.0 */
/* What targets of whole pipelines share: a context for one input, and forms of a model that must
 * compute the same. A defect ends the process, as fuzzers want it. */
#ifndef TL_TESTS_FUZZ_FORMS_H
#define TL_TESTS_FUZZ_FORMS_H

#include <tailor/tailor.h>

typedef struct forms_option {
  const char *name, *value;
} forms_option;

/* One input at work. */
typedef struct forms_trial {
  tl_context *c;  /* owned by the target */
  char said[512]; /* the last error */
  /* A run made other shapes than the model declares: conversions may compute those. */
  int other_shapes;
} forms_trial;

/* Makes t->c with these options; NULL if memory is out. Each input has to be quick: models that
 * take more than 2 MB, or have a tensor of more than 1 MB or more than 2,000 nodes, are refused.
 * Returns false if an option is refused. */
int forms_start(forms_trial *t, const forms_option *options, size_t n);

/* Says what is wrong, and ends. */
void forms_defect(const char *what, const char *detail);

/* Returns true for success. Ends where a pass left a broken module; memory may be out. */
int forms_went_well(const forms_trial *t, int status);

/* Random results depend on which nodes there are. A loop that does not end takes ten million trips
 * until it is an error. Known differences on the NPU: of a query that sees no key, attention makes
 * zero there and an average here; quantization adds the zero point before it rounds, so that ties
 * differ; a remainder comes from a rounded quotient, which may be the next integer. Returns true
 * for models with such ops. */
int forms_left_out(const uint8_t *data, size_t size);

/* Settings of an exact run with random inputs of the one seed that all forms get. */
tl_run_settings forms_exact(uint32_t threads);

/* Runs a model so; false if it cannot run. *out is owned by the caller. */
int forms_run(tl_model *m, uint32_t threads, tl_tensors **out);

/* Returns true if all results are tensors, finite, and of a size at which rounding says
 * something. */
int forms_moderate(const tl_tensors *t);

/* Ends if both models run and the results differ; a cannot compute what b does not. */
void forms_same_results(tl_model *a, tl_model *b, const char *what);

/* Writes m, a model of t, in the format of the name's suffix, and reads it back with the settings
 * of `reader`, which must be possible. compares: both must compute the same. Nothing happens
 * if m has no such form. */
void forms_check_file(const forms_trial *t, const forms_trial *reader, tl_model *m,
                      const char *name, int compares);

/* Writes m, a model of t, as text, and reads it with the settings of `reader`, which must be
 * possible; printed again it must be the same text. */
void forms_check_text(const forms_trial *t, const forms_trial *reader, tl_model *m);

/* Reads an input as the file `name` with settings, and converts it to ONNX and AIR, twice each, and
 * to text. The bytes must be the same, the files must be read, and compute what is written into
 * them; and what the model computes, unless `rounds` says that settings allow other numbers.
 * Returns 0, as targets do. */
int forms_try(const uint8_t *data, size_t size, const char *name, const forms_option *options,
              size_t n, int rounds);

#endif
