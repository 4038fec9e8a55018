/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of the compiler itself for Perfetto and chrome://tracing (--trace-compiler): reading,
 * passes, rewrites, matching by rule, writing. Times differ from run to run. */
#ifndef TL_TOOLS_WATCH_TRACE_H
#define TL_TOOLS_WATCH_TRACE_H

#include "support/json_writer.h"
#include "tools/watch/counts.h"

/* Zero-initialise it; with path NULL nothing is traced. */
typedef struct tl_compiler_trace {
  const char *path;
  tl_buf text;         /* so far */
  tl_json_writer list; /* of events in it */
  tl_buf event;        /* that is being made */
  uint64_t origin;     /* time 0 of the trace */
  uint64_t pass;       /* when the running pass began */
  uint32_t next_rule;  /* of the counts, that no event was made of */
} tl_compiler_trace;

/* Begins a trace if it is asked for. Release it in any case. */
void tl_trace_open(tl_compiler_trace *t, tl_cli *cli);
/* Adds work that ends now: "read" or "write", and of which file. */
void tl_trace_file(tl_compiler_trace *t, const char *what, const char *path, uint64_t start);
/* Adds a rewrite that ends now. */
void tl_trace_rewrite(tl_compiler_trace *t, tl_sv rule, uint64_t number, uint64_t start);
/* Notes that a pass begins, or adds one that has ended, with what its rules took. */
void tl_trace_pass(tl_compiler_trace *t, const tl_pass_event *e, const tl_counts *counts);
/* Writes the file into the journal of the command. */
tl_status tl_trace_end(tl_compiler_trace *t, tl_cli *cli) TL_NODISCARD;
/* Refuses a path from which the model was read. */
tl_status tl_trace_check(const tl_compiler_trace *t, tl_cli *cli, const tl_module *m) TL_NODISCARD;
void tl_trace_release(tl_compiler_trace *t);

#endif
