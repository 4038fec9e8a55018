/* SPDX-License-Identifier: Apache-2.0 */
/* Response files: an argument @FILE stands for the arguments in FILE, so that a build can pass more
 * of them than a command line takes. */
#ifndef TL_TOOLS_CLI_RESPONSE_H
#define TL_TOOLS_CLI_RESPONSE_H

#include "support/arena.h"
#include "support/diag.h"
#include "support/vec.h"

TL_VEC(tl_argument_vec, char *);

/* A command line with its response files put in. Zero-initialise. */
typedef struct tl_arguments {
  tl_argument_vec list;  /* as argv: the first is the program; ends with NULL */
  tl_argument_vec files; /* the response files, in the order they were read */
  tl_arena arena;        /* owns what came from files */
  bool is_job;           /* of a batch (tools/batch) */
  int log;     /* of a job: descriptor for what it has to say in the log of the batch; 0: none */
  int written; /* of a job: descriptor for the files that it wrote (written.h); 0: none */
} tl_arguments;

/* Makes the arguments of argv. Blanks and line ends separate the arguments of a file. In '...'
 * every character stands for itself; elsewhere a backslash takes its meaning from the next
 * character, and in "..." only from '"', '\' and '$'. Files may name others, relative to the
 * current folder. A file that begins with '{' holds options as JSON (options_json.h).
 * Behind "--" no argument is a file. TL_IO for a file that cannot be read,
 * TL_INVALID_ARGUMENT for a quote without its end, a NUL byte or files that name each other in a
 * circle, TL_NO_MEMORY; all are reported. The caller releases *out in any case. */
tl_status tl_arguments_read(tl_diag *d, int argc, char **argv, tl_arguments *out) TL_NODISCARD;
void tl_arguments_release(tl_arguments *a);

#endif
