/* SPDX-License-Identifier: Apache-2.0 */
/* Shows on a terminal what a command is doing once that takes more than two seconds: one line,
 * which is renewed each second and removed before anything else is printed. Without a terminal as
 * standard error, and with --quiet, nothing of it happens. A thread of its own prints, so that the
 * work needs no hooks. */
#ifndef TL_TOOLS_CLI_PROGRESS_H
#define TL_TOOLS_CLI_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "support/str.h"

/* Zero-initialise it. Everything but `done` is guarded by `lock` once the thread runs. */
typedef struct tl_progress {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool asked;   /* it was decided whether there is a thread */
  bool running; /* there is one */
  bool stop;
  bool visible;          /* the line is on the screen */
  char what[160];        /* "evaluating m.onnx" */
  uint32_t total;        /* nodes; 0: no count is shown */
  _Atomic uint32_t done; /* nodes so far; the work counts */
} tl_progress;

/* Says what is done from now on. quiet: show nothing. */
void tl_progress_say(tl_progress *p, bool quiet, const char *fmt, ...) TL_PRINTF(3, 4);
/* Says that the work consists of so many nodes, which p->done counts. */
void tl_progress_count(tl_progress *p, uint32_t total);
/* Removes the line, if it is on the screen; it comes back a second later. */
void tl_progress_hide(tl_progress *p);
/* Removes the line and ends the thread. */
void tl_progress_stop(tl_progress *p);

#endif
