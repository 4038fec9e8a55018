/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics: what is wrong, where, and what to do, handed to a sink that the caller owns. Nothing
 * below tools/ prints. A fact is reported once, where it is known; callers pass the status on. */
#ifndef TL_SUPPORT_DIAG_H
#define TL_SUPPORT_DIAG_H

#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>

#include "support/status.h"
#include "support/str.h"

typedef enum tl_severity { TL_NOTE, TL_WARNING, TL_ERROR } tl_severity;

/* Where a fact was found. Every member is optional (zero: unknown). */
typedef struct tl_location {
  const char *file;
  tl_sv node;      /* node name, or "op of value" when it has none */
  tl_sv attr;      /* attribute, operand or option */
  uint64_t offset; /* bytes from the start of a binary file; meaningful when has_offset */
  uint32_t line;   /* 1-based, text files */
  uint32_t column; /* 1-based, bytes; 0: not known */
  bool has_offset;
} tl_location;

/* A message as the sink gets it; valid during the call only. */
typedef struct tl_diagnostic {
  tl_severity severity;
  const char *code; /* GE's error code ("E10016"), a warning's own ("W_...") or NULL */
  tl_location where;
  const char *message; /* one sentence, no trailing newline */
  const char *hint;    /* what to do, or NULL */
  tl_status status;    /* of an error: what kind of failure it is; else TL_OK */
} tl_diagnostic;

/* The sink: called for each diagnostic, on the thread that reports it. */
typedef void (*tl_diag_fn)(void *user, const tl_diagnostic *d);

/* Called for each regular file that is opened to be read, and each folder whose files are looked
 * for, with its path as the caller or the model named it: a build must know every one of them.
 * st: of the file that is open, which need not be that of this name any more; NULL for a folder. */
typedef void (*tl_opened_fn)(void *user, const char *path, const struct stat *st);

/* What is being done, for who hears that memory is out: "in pass" and its name, "while reading" and
 * a path. */
typedef struct tl_activity {
  const char *doing; /* static; NULL: not known */
  char subject[120]; /* a copy, since lack of memory may be told later; cut where it is longer */
} tl_activity;

/* Where diagnostics go, and how many there were; who wants to know which files are read. */
typedef struct tl_diag {
  tl_diag_fn fn; /* NULL: count only */
  void *user;
  tl_opened_fn opened; /* NULL: nobody wants to know */
  void *opened_user;   /* apart from user: who catches messages for a while does not catch files */
  uint32_t errors;
  uint32_t warnings;
  bool no_memory;       /* it was said that memory is out: nothing is said after that */
  uint64_t lacks;       /* allocations that had failed in this thread when the work began */
  tl_activity activity; /* what is being done */
} tl_diag;

/* Returns true when an allocation has failed since the work began, in this thread or one that
 * worked for it. */
bool tl_diag_lacks_memory(const tl_diag *d);
/* Begins a piece of work that is reported by itself. Returns the number of errors before it. */
uint32_t tl_diag_begin(tl_diag *d);

/* Reports an error and returns `status`, so that "return tl_fail(...)" reads well. The hint is the
 * part of the formatted text after the first '\v', if there is one. Once an allocation has failed,
 * one message says so and no other follows, since it might not be true. */
tl_status tl_fail(tl_diag *d, tl_status status, tl_location where, const char *fmt, ...)
    TL_PRINTF(4, 5);
/* Reports that memory is out and returns TL_NO_MEMORY. About a module: tl_no_memory. */
tl_status tl_fail_memory(tl_diag *d, tl_location where);
/* As tl_fail, with one of GE's error codes. */
tl_status tl_fail_code(tl_diag *d, tl_status status, const char *code, tl_location where,
                       const char *fmt, ...) TL_PRINTF(5, 6);
#ifdef TL_ANALYSIS
/* tests/analyze: tools that look at one file at a time have to see that an error is never TL_OK. */
#define tl_fail(d, status, ...) ((void)tl_fail(d, status, __VA_ARGS__), (status))
#define tl_fail_memory(d, where) ((void)tl_fail_memory(d, where), TL_NO_MEMORY)
#define tl_fail_code(d, status, ...) ((void)tl_fail_code(d, status, __VA_ARGS__), (status))
#endif
/* Reports a warning. */
void tl_warn(tl_diag *d, tl_location where, const char *fmt, ...) TL_PRINTF(3, 4);
/* As tl_warn, with a code that scripts may look for ("W_FUSION_UNKNOWN_PASS"). */
void tl_warn_code(tl_diag *d, const char *code, tl_location where, const char *fmt, ...)
    TL_PRINTF(4, 5);
/* Reports a note, which counts as nothing. */
void tl_note(tl_diag *d, tl_location where, const char *fmt, ...) TL_PRINTF(3, 4);

/* Says what is being done from now on. Returns the activity around it, for tl_activity_end. */
tl_activity tl_activity_begin(tl_diag *d, const char *doing, const char *subject);
/* Goes back to the activity around and returns status; one that failed stays. */
tl_status tl_activity_end(tl_diag *d, tl_activity around, tl_status status);

/* Ends a piece of work: says that it failed, unless an error was reported since there were
 * `errors_before`, or says that memory was lacking, in any case. Lack of memory is often known
 * where nothing could be reported. Returns status, or TL_NO_MEMORY when an allocation has
 * failed. */
tl_status tl_diag_close(tl_diag *d, tl_status status, uint32_t errors_before);

/* Tells who wants to know that a regular file is read. */
static inline void tl_diag_opened(const tl_diag *d, const char *path, const struct stat *st) {
  if (d->opened)
    d->opened(d->opened_user, path, st);
}

/* Renders a diagnostic on one line, cut to n bytes with the final NUL. Allocates nothing. */
void tl_diag_format_short(char *out, size_t n, const tl_diagnostic *d);
/* Renders "file:line:col: error: node: attr: message [code]\n  hint: ...\n" without colours. */
void tl_diag_format(tl_buf *out, const tl_diagnostic *d);

/* Returns the code of a diagnostic; one that has none of its own gets the name of its status
 * ("TL_IO"), "W_GENERAL" or "N_GENERAL". Static or borrowed from d. */
const char *tl_diagnostic_code(const tl_diagnostic *d);

#define TL_NOWHERE ((tl_location){0})
#define TL_AT_FILE(path) ((tl_location){.file = (path)})
#define TL_AT_NODE(path, name) ((tl_location){.file = (path), .node = (name)})

#endif
