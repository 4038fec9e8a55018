/* SPDX-License-Identifier: Apache-2.0 */
/* The context: options, messages, progress, limits. A context and its models belong to one thread
 * at a time; different contexts are independent. */
#ifndef TL_TAILOR_CONTEXT_H
#define TL_TAILOR_CONTEXT_H

#include <tailor/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a context with the defaults of all options, which the caller destroys. NULL when memory is
 * out. */
TL_API tl_context *tl_context_create(void);
/* Frees the context. Its models must be destroyed first. NULL is allowed. */
TL_API void tl_context_destroy(tl_context *c);
/* Sets the sink of messages. Without one messages are dropped. `user` is handed to fn and not
 * looked at. */
TL_API void tl_context_on_message(tl_context *c, tl_message_fn fn, void *user);

/* ---- options --------------------------------------------------------------------------------- */

/* What values an option takes. */
typedef enum tl_option_type {
  TL_OPTION_TYPE_FLAG,   /* given or not; its value is "" */
  TL_OPTION_TYPE_BOOL,   /* "true" or "false", "1" or "0" */
  TL_OPTION_TYPE_CHOICE, /* one of `values` */
  TL_OPTION_TYPE_INTEGER,
  TL_OPTION_TYPE_NUMBER,
  TL_OPTION_TYPE_TEXT,
  TL_OPTION_TYPE_PATH
} tl_option_type;

/* What the option table says of an option. All strings are static and never NULL. Later versions
 * may add members at the end. */
typedef struct tl_option_info {
  const char *name;    /* with dashes, without the two in front */
  tl_option_type type; /* what values it takes */
  const char *values;  /* of a choice: "a|b|c"; of an integer: "low..high"; else a placeholder */
  const char *initial; /* its default; "": it has none */
  const char *key;     /* GE's key, which is another spelling of the name; "": none */
  const char *group;   /* heading in the documents */
  const char *help;    /* what it does */
  int repeats;         /* not 0: values that are given one after the other add up */
} tl_option_info;

/* Number of options: those of `tailor convert` that mean something to a library. Static; any thread
 * may ask. */
TL_API uint32_t tl_option_count(void);
/* Describes option i, in the order of the documents. Returns 0 if there is none. */
TL_API int tl_option_describe(uint32_t i, tl_option_info *out);

/* Gives an option, by any of its names; value "" for a flag. It counts for models that are loaded,
 * optimized or saved afterwards. TL_ERROR_USAGE for an unknown name or a wrong value,
 * TL_ERROR_UNSUPPORTED. */
TL_API int tl_context_set(tl_context *c, const char *name, const char *value);
/* The same for an option of this name with a number, or with a boolean or flag; a flag whose value
 * is 0 is taken back. */
TL_API int tl_context_set_integer(tl_context *c, const char *name, int64_t value);
TL_API int tl_context_set_bool(tl_context *c, const char *name, int value);
/* Takes back what was given. TL_ERROR_USAGE for an unknown name. */
TL_API int tl_context_unset(tl_context *c, const char *name);
/* Returns the value that was given, else the default, else ""; NULL for an unknown name,
 * unreported. Valid until the option is given again or the context is destroyed. */
TL_API const char *tl_context_get(const tl_context *c, const char *name);

/* ---- progress and limits --------------------------------------------------------------------- */

/* Where a long call is. */
typedef struct tl_progress_event {
  const char *pass; /* the pass that begins */
  uint32_t step;    /* from 0 */
  uint32_t nodes;   /* of the model */
} tl_progress_event;

/* Is told of progress, on the thread that called the library. Not 0: the call ends with
 * TL_ERROR_CANCELLED. */
typedef int (*tl_progress_fn)(void *user, const tl_progress_event *event);
/* Sets who is told: fn, NULL for nobody. */
TL_API void tl_context_on_progress(tl_context *c, tl_progress_fn fn, void *user);

/* Makes the running call, or the next one, end with TL_ERROR_CANCELLED: between two passes, between
 * two nodes of a run, or while it writes, and no output appears. The only function that may be
 * called from another thread while the context is used, and from a signal handler. */
TL_API void tl_context_cancel(tl_context *c);
/* Ends what tl_context_cancel asked for. */
TL_API void tl_context_resume(tl_context *c);

/* Sets the most bytes that a model of this context may hold (asked after each pass; mapped files do
 * not count) and that the values of a run may take. Beyond it calls fail with TL_ERROR_INPUT. 0: no
 * limit. */
TL_API void tl_context_set_memory_limit(tl_context *c, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
