/* SPDX-License-Identifier: Apache-2.0 */
/* libtailor: an offline graph compiler for Ascend NPUs. Reads ONNX (or textual IR), rewrites,
 * writes AIR, ONNX or textual IR. Everything is opaque; names and defaults of options are those of
 * the command line (`tailor help convert`, docs/options.md).
 *
 *   tl_context *c = tl_context_create();
 *   tl_context_on_message(c, print_message, NULL);
 *   tl_model *m = NULL;
 *   if (tl_context_set(c, "soc-version", "Ascend910B1") == 0 &&
 *       tl_model_load(c, "model.onnx", &m) == 0 &&
 *       tl_model_optimize(m, TAILOR_FOR_AIR) == 0)
 *     tl_model_save(m, "model.air");
 *   tl_model_destroy(m);
 *   tl_context_destroy(c);
 *
 * Functions that can fail return 0 or one of TAILOR_ERROR_..., the exit codes of the command, and
 * have then reported at least one message. Once memory is out, the function in which that happens
 * says "out of memory" and nothing else. A context and its models belong to one thread at a time;
 * different contexts are independent. */
#ifndef TAILOR_TAILOR_H
#define TAILOR_TAILOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TAILOR_API __attribute__((visibility("default")))
#else
#define TAILOR_API
#endif

typedef struct tl_context tl_context; /* options and the sink of messages */
typedef struct tl_model tl_model;     /* one loaded model */

enum {
  TAILOR_OK = 0,
  TAILOR_ERROR_USAGE = 1,       /* an option or argument is wrong */
  TAILOR_ERROR_INPUT = 2,       /* the model is not well formed, or beyond a documented limit */
  TAILOR_ERROR_UNSUPPORTED = 3, /* well formed, beyond this version */
  TAILOR_ERROR_IO = 4,
  TAILOR_ERROR_INTERNAL = 70 /* out of memory, or a defect of the library */
};

typedef enum tailor_severity { TAILOR_NOTE, TAILOR_WARNING, TAILOR_ERROR } tailor_severity;

/* Receives one message as text, "file: error: what is wrong", possibly with a second line that
 * starts with "  hint: ". The text is valid during the call. */
typedef void (*tailor_message_fn)(void *user, tailor_severity severity, const char *text);

/* Version of the library, such as "0.1.0". */
TAILOR_API const char *tl_version(void);

/* NULL when memory is out. Without a sink messages are dropped. */
TAILOR_API tl_context *tl_context_create(void);
/* Models of the context must be destroyed first. NULL is allowed. */
TAILOR_API void tl_context_destroy(tl_context *c);
TAILOR_API void tl_context_on_message(tl_context *c, tailor_message_fn fn, void *user);
/* Gives an option of `tailor convert`, name without dashes in front; value "" for a flag. Options
 * apply to models loaded afterwards. */
TAILOR_API int tl_context_set(tl_context *c, const char *name, const char *value);

/* Loads *.tir as textual IR, anything else as ONNX. *out is owned by the caller. With the option
 * "optim-model" set it is a training model, and becomes one step with that optimizer. */
TAILOR_API int tl_model_load(tl_context *c, const char *path, tl_model **out);
/* Loads an ONNX model from memory, which must outlive the model. `name` stands for the file in
 * messages. */
TAILOR_API int tl_model_load_bytes(tl_context *c, const char *name, const void *bytes, size_t n,
                                   tl_model **out);
TAILOR_API void tl_model_destroy(tl_model *m); /* NULL is allowed */

typedef enum tailor_target {
  TAILOR_FOR_ONNX, /* canonical form */
  TAILOR_FOR_AIR   /* NPU form: only AIR can be saved afterwards */
} tailor_target;

/* Runs the pipeline at the level of the option "opt-level" (2 unless set). A model that failed is
 * only good for destruction. */
TAILOR_API int tl_model_optimize(tl_model *m, tailor_target target);
/* Nodes in all graphs of the model. */
TAILOR_API uint32_t tl_model_count_nodes(const tl_model *m);
/* Writes by suffix: .air, .onnx, .tir. The file appears complete or not at all. */
TAILOR_API int tl_model_save(tl_model *m, const char *path);

#ifdef __cplusplus
}
#endif

#endif
