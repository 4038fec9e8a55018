/* SPDX-License-Identifier: Apache-2.0 */
/* Models: load, optimize, save. */
#ifndef TL_TAILOR_MODEL_H
#define TL_TAILOR_MODEL_H

#include <tailor/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- loading --------------------------------------------------------------------------------- */

/* Loads the file at a path: ONNX, AIR, or textual IR (*.tir). Weights stay in the mapped file,
 * which must not change. *out is the caller's to destroy, and untouched after a failure. With the
 * option "optim-model" set it is a training model, and becomes one step with that optimizer.
 * Errors: TL_ERROR_IO, TL_ERROR_INPUT, TL_ERROR_UNSUPPORTED, and TL_ERROR_USAGE for options that do
 * not go together. */
TL_API int tl_model_load(tl_context *c, const char *path, tl_model **out);
/* Loads from n bytes of memory, which must stay as it is until the model is destroyed: weights are
 * views of it. `name` stands for the file in messages, and its suffix says the format as that of a
 * file does. External data is refused. *out as above. */
TL_API int tl_model_load_bytes(tl_context *c, const char *name, const void *bytes, size_t n,
                               tl_model **out);

/* Files that the caller provides. Begin with = {0}, so that members of later versions are zero. */
typedef struct tl_source {
  /* Gives the bytes of a file: of the model, or of external data as the model names it. They must
   * stay as they are until give_back. Not 0: there is no such file. */
  int (*open)(void *user, const char *name, const void **bytes, uint64_t *n);
  /* Takes the bytes back, once for each success of open; NULL: nobody wants them. */
  void (*give_back)(void *user, const void *bytes, uint64_t n);
  void *user; /* handed to both functions */
} tl_source;

/* Loads `name` and its files of weights by functions of the caller, each file at most once. Names
 * of files of weights that leave the model's folder are refused before anybody is asked. The source
 * is copied; `user` must live until the model is destroyed, which gives all bytes back; a failure
 * has given them back. *out and errors are those of tl_model_load; TL_ERROR_IO for a file that is
 * not there. */
TL_API int tl_model_load_from(tl_context *c, const char *name, const tl_source *source,
                              tl_model **out);
/* Makes a second model with the same graphs, names and weights, in the same context or in another
 * one, for *out; `of` must outlive it, and is only read. What options change at loading (a linked
 * optimizer, a declared training step) stays; other options are those of `into`. */
TL_API int tl_model_copy(const tl_model *of, tl_context *into, tl_model **out);
/* Frees the model. NULL is allowed. */
TL_API void tl_model_destroy(tl_model *m);

/* ---- optimizing ------------------------------------------------------------------------------ */

/* What a model is optimized for. */
typedef enum tl_purpose {
  TL_FOR_ONNX, /* canonical form */
  TL_FOR_AIR   /* NPU form: only AIR and textual IR can be saved afterwards */
} tl_purpose;

/* Runs the pipeline of a purpose, at the level of the option "opt-level" (2 unless set), or the
 * passes of the option "passes". A model that failed is only good for destruction. */
TL_API int tl_model_optimize(tl_model *m, tl_purpose purpose);
/* Runs passes by their names, commas between, in this order: those of `tailor passes`
 * and registered ones (extend.h). TL_ERROR_USAGE for a name that there is not. Otherwise as
 * tl_model_optimize. */
TL_API int tl_model_run_passes(tl_model *m, const char *passes);
/* Infers types and shapes of all values, and gives inputs the shapes and values that options ask
 * for. Optimizing does it as well. */
TL_API int tl_model_infer(tl_model *m);

/* Number of passes of the table, and the name and summary of pass i in the order of the pipeline;
 * static strings, NULL beyond the end. *summary is left out if summary is NULL. */
TL_API uint32_t tl_pass_count(void);
TL_API const char *tl_pass_name(uint32_t i, const char **summary);

/* ---- saving ---------------------------------------------------------------------------------- */

/* Writes to a path, by its suffix: .air, .onnx, .tir. The file appears complete or not at all. AIR
 * needs a model that was optimized for it: TL_ERROR_UNSUPPORTED for another one, and for NPU form
 * as ONNX. Files of weights, if options ask for them, are put beside it. */
TL_API int tl_model_save(tl_model *m, const char *path);

/* Takes a file that is complete. The bytes are valid during the call. Not 0: saving fails with
 * TL_ERROR_IO. */
typedef int (*tl_take_file_fn)(void *user, const char *name, const void *bytes, uint64_t n);
/* Hands what tl_model_save would write to the function `take`: files of weights first, by their
 * paths beside the model, the model last. `name` gives the format by its suffix, and names the
 * files. They are staged in memory, in a folder of /dev/shm, or in the system's temporary
 * folder. */
TL_API int tl_model_save_to(tl_model *m, const char *name, tl_take_file_fn take, void *user);
/* Gives the n bytes of the model, which tl_free frees, in the format of the suffix of `name`. Files
 * of weights are refused (TL_ERROR_UNSUPPORTED): tl_model_save_to takes them. */
TL_API int tl_model_save_bytes(tl_model *m, const char *name, void **bytes, size_t *n);
/* Frees bytes of tl_model_save_bytes. NULL is allowed. */
TL_API void tl_free(void *bytes);

/* ---- what was done --------------------------------------------------------------------------- */

/* Something that a pass did or declined to do. Strings live as long as the model, or until it is
 * optimized again; "" where there is none. Later versions may add members at the end. */
typedef struct tl_remark_info {
  const char *pass;    /* that made the remark */
  const char *node;    /* that it is about */
  const char *message; /* one clause */
  const char *rule;    /* of a fusion rule: its name */
  const char *fusion;  /* and the public name of the fusion */
  const char *reason;  /* why a rule was not applied, as a code of docs/rules.md */
  int applied;         /* 0: declined */
} tl_remark_info;

/* What one pass did in the last run. */
typedef struct tl_pass_info {
  const char *pass;      /* its name */
  uint64_t rewrites;     /* what it changed */
  uint64_t nanoseconds;  /* that it took */
  uint32_t nodes_before; /* of all graphs */
  uint32_t nodes_after;  /* and behind it */
} tl_pass_info;

/* Makes passes keep their remarks from now on; near_misses: also why rules were not applied, which
 * takes longer. */
TL_API void tl_model_keep_remarks(tl_model *m, int keep, int near_misses);
/* Number of remarks of the last run, and remark i. Returns 0 if there is none. */
TL_API uint32_t tl_model_remark_count(const tl_model *m);
TL_API int tl_model_remark(const tl_model *m, uint32_t i, tl_remark_info *out);
/* The same for the passes that ran, in order. */
TL_API uint32_t tl_model_ran_count(const tl_model *m);
TL_API int tl_model_ran(const tl_model *m, uint32_t i, tl_pass_info *out);

#ifdef __cplusplus
}
#endif

#endif
