/* SPDX-License-Identifier: Apache-2.0 */
/* Work in a process of its own, a copy of this one: it shares the model that was read, it may
 * change it, and a crash or an endless use of memory ends it alone. */
#ifndef TL_TOOLS_DEBUG_CHILD_H
#define TL_TOOLS_DEBUG_CHILD_H

#include <sys/types.h>

#include "tools/cli/cli.h"

/* The work. What it adds to `reply` reaches the parent; messages are collected in `said`, of which
 * the first error is what the parent should show. */
typedef void (*tl_child_fn)(tl_cli *cli, void *user, tl_buf *reply);

/* One process. Zero-initialise it. */
typedef struct tl_child {
  pid_t pid;
  int pipe;
} tl_child;

/* Starts fn. No thread may run in this process but that of the progress line. TL_IO, reported. */
tl_status tl_child_start(tl_child *c, tl_cli *cli, tl_child_fn fn, void *user) TL_NODISCARD;
/* Waits for the end. *reply (initialised) receives what the work has added until its end or crash;
 * *signal: that ended it, 0: it returned. TL_IO, TL_NO_MEMORY, reported, also where the work lacked
 * memory. */
tl_status tl_child_wait(tl_child *c, tl_cli *cli, tl_buf *reply, int *signal) TL_NODISCARD;

#endif
