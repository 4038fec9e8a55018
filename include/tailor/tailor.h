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
 *       tl_model_optimize(m, TL_FOR_AIR) == 0)
 *     tl_model_save(m, "model.air");
 *   tl_model_destroy(m);
 *   tl_context_destroy(c);
 *
 * Functions that can fail return TL_SUCCESS or one of TL_ERROR_..., the exit codes of the command,
 * and have then reported at least one message. Once memory is out, the function in which that
 * happens says "out of memory" and nothing else. A context and its models belong to one thread at a
 * time; different contexts are independent. */
#ifndef TL_TAILOR_H
#define TL_TAILOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TL_API __attribute__((visibility("default")))
#else
#define TL_API
#endif

typedef struct tl_context tl_context; /* options and the sink of messages */
typedef struct tl_model tl_model;     /* one loaded model */

enum {
  TL_SUCCESS = 0,
  TL_ERROR_USAGE = 1,       /* an option or argument is wrong */
  TL_ERROR_INPUT = 2,       /* the model is not well formed, or beyond a documented limit */
  TL_ERROR_UNSUPPORTED = 3, /* well formed, beyond this version */
  TL_ERROR_IO = 4,
  TL_ERROR_INTERNAL = 70 /* out of memory, or a defect of the library */
};

typedef enum tl_message_severity {
  TL_SEVERITY_NOTE,
  TL_SEVERITY_WARNING,
  TL_SEVERITY_ERROR
} tl_message_severity;

/* A message in parts. Strings are valid during the call of the sink; NULL: there is none. Later
 * versions may add members at the end. */
typedef struct tl_message {
  tl_message_severity severity;
  const char *text;      /* the whole message: "file: error: what is wrong\n", and possibly a
                          * second line that starts with "  hint: "; never NULL */
  const char *code;      /* for programs, such as "E10016" or "W_FUSION_UNKNOWN_PASS" */
  const char *file;      /* the model or configuration that it is about */
  const char *node;      /* name of the node, or op and result of one without a name */
  const char *attribute; /* attribute, operand or option */
  const char *what;      /* one sentence without place and hint; never NULL */
  const char *hint;      /* what to do */
  int64_t offset;        /* bytes from the start of a binary file; -1: not known */
  uint32_t line;         /* of a text file, from 1; 0: not known */
  uint32_t column;       /* bytes from 1; 0: not known */
} tl_message;

/* Receives a message, on the thread that called the library. It must not call the library with the
 * same context. */
typedef void (*tl_message_fn)(void *user, const tl_message *message);

/* Version of this header. Within one major version programs that were compiled with an older header
 * work with a newer library. Major version 0 makes no promise yet between 0.x and 0.y. */
#define TL_VERSION_MAJOR 0
#define TL_VERSION_MINOR 1
#define TL_VERSION_PATCH 0
#define TL_VERSION "0.1.0"
/* One number to compare: 1002003 is 1.2.3. */
#define TL_VERSION_NUMBER (TL_VERSION_MAJOR * 1000000 + TL_VERSION_MINOR * 1000 + TL_VERSION_PATCH)

/* Version of the library that runs, such as "0.1.0"; a static string. */
TL_API const char *tl_version(void);
/* The same as TL_VERSION_NUMBER has it. */
TL_API uint32_t tl_version_number(void);

/* NULL when memory is out. Without a sink messages are dropped. */
TL_API tl_context *tl_context_create(void);
/* Models of the context must be destroyed first. NULL is allowed. */
TL_API void tl_context_destroy(tl_context *c);
TL_API void tl_context_on_message(tl_context *c, tl_message_fn fn, void *user);
/* Gives an option of `tailor convert`, name without dashes in front; value "" for a flag. Options
 * apply to models loaded afterwards. */
TL_API int tl_context_set(tl_context *c, const char *name, const char *value);

/* Loads *.tir as textual IR, anything else as ONNX. *out is owned by the caller. With the option
 * "optim-model" set it is a training model, and becomes one step with that optimizer. */
TL_API int tl_model_load(tl_context *c, const char *path, tl_model **out);
/* Loads an ONNX model from memory, which must outlive the model. `name` stands for the file in
 * messages. */
TL_API int tl_model_load_bytes(tl_context *c, const char *name, const void *bytes, size_t n,
                               tl_model **out);
TL_API void tl_model_destroy(tl_model *m); /* NULL is allowed */

typedef enum tl_purpose {
  TL_FOR_ONNX, /* canonical form */
  TL_FOR_AIR   /* NPU form: only AIR can be saved afterwards */
} tl_purpose;

/* Runs the pipeline at the level of the option "opt-level" (2 unless set). A model that failed is
 * only good for destruction. */
TL_API int tl_model_optimize(tl_model *m, tl_purpose target);
/* Nodes in all graphs of the model. */
TL_API uint32_t tl_model_count_nodes(const tl_model *m);
/* Writes by suffix: .air, .onnx, .tir. The file appears complete or not at all. */
TL_API int tl_model_save(tl_model *m, const char *path);

#ifdef __cplusplus
}
#endif

#endif
