/* SPDX-License-Identifier: Apache-2.0 */
/* Reproducers: a folder with the IR before the pass that fails, its options, and what it said, so
 * that somebody else can run just that (tailor replay). */
#ifndef TL_TOOLS_DEBUG_REPRODUCE_H
#define TL_TOOLS_DEBUG_REPRODUCE_H

#include "tools/cli/cli.h"

/* How a run of passes ended. */
typedef struct tl_ending {
  tl_status status;
  int signal;        /* that ended the process, 0: none */
  char pass[64];     /* that was running; "": all have ended */
  char message[400]; /* the first error */
} tl_ending;

/* --reproducer: runs the passes of the conversion in a process of its own, and writes the folder
 * that the option names; instead of the conversion. If no pass fails, the folder holds the model as
 * it was read and all passes. */
tl_status tl_reproduce(tl_cli *cli) TL_NODISCARD;
/* Returns true for endings that are the same failure. */
bool tl_same_ending(const tl_ending *a, const tl_ending *b);
/* Runs passes over a file of textual IR in a process of its own. passes: comma-separated names;
 * NULL: those of the stage. */
tl_status tl_run_apart(tl_cli *cli, const char *path, const char *passes, tl_stage stage,
                       tl_ending *out) TL_NODISCARD;

/* What the file reproducer.json of a folder says; lists are owned by the settings' arena. */
typedef struct tl_reproducer {
  const char *input;  /* path of the IR */
  const char *passes; /* NULL: those of the stage */
  tl_stage stage;
  tl_path_vec arguments; /* owned */
  tl_ending ending;
} tl_reproducer;

/* Writes reproducer.json, whose paths are relative to the folder. */
tl_status tl_reproducer_write(tl_cli *cli, const char *folder, const tl_reproducer *r,
                              bool stripped) TL_NODISCARD;
/* Reads it. TL_INVALID_MODEL, TL_IO, TL_NO_MEMORY, reported. */
tl_status tl_reproducer_read(tl_cli *cli, const char *folder, tl_reproducer *out) TL_NODISCARD;

#endif
