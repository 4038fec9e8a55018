/* SPDX-License-Identifier: Apache-2.0 */
/* The jobserver of GNU make: a pipe with one byte for each process that may run beside the others.
 * A process below make has one such right from the start and takes a byte for each further one. */
#ifndef TL_TOOLS_BATCH_JOBSERVER_H
#define TL_TOOLS_BATCH_JOBSERVER_H

#include <stdbool.h>

enum { TL_JOBSERVER_MOST = 256 };

/* A connection. Zero-initialise; closed by tl_jobserver_close. */
typedef struct tl_jobserver {
  int from; /* reads tokens, without waiting */
  int to;   /* takes them back */
  bool on;
  unsigned n;                     /* tokens that are held */
  char tokens[TL_JOBSERVER_MOST]; /* bytes as they were read: make may tell them apart */
} tl_jobserver;

/* Connects to the jobserver that MAKEFLAGS names (--jobserver-auth=fifo:PATH or =R,W; of older
 * makes --jobserver-fds=R,W). flags: NULL for none. Leaves j->on false if there is none, or if make
 * did not hand it down. */
void tl_jobserver_open(tl_jobserver *j, const char *flags);
/* Takes a token if there is one at this moment. */
bool tl_jobserver_take(tl_jobserver *j);
/* Gives one back. */
void tl_jobserver_give(tl_jobserver *j);
/* Gives all back and closes. */
void tl_jobserver_close(tl_jobserver *j);

#endif
