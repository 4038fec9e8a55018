/* SPDX-License-Identifier: Apache-2.0 */
/* Implements work in a process of its own. */
#include "tools/debug/child.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/memory.h"
#include "tools/cli/signals.h"

/* How a process ends that has not told all that it should have. */
enum { LACKED_MEMORY = 1, NOT_SENT };

/* Writes all of a buffer. */
static bool send_all(int pipe, const tl_buf *b) {
  size_t sent = 0;
  while (sent < b->n) {
    ssize_t n = write(pipe, b->p + sent, b->n - sent);
    if (n < 0 && errno != EINTR)
      return false;
    sent += n > 0 ? (size_t)n : 0;
  }
  return true;
}

/* Does the work and ends the process, without the clean-up that is the parent's. What was found
 * without memory says nothing of the model. */
static void work(tl_cli *cli, int pipe, tl_child_fn fn, void *user) {
  uint64_t lacks = tl_memory_failures();
  tl_buf reply;
  tl_buf_init(&reply);
  cli->progress = (tl_progress){.asked = true}; /* its thread is the parent's */
  cli->diag.opened = NULL; /* so is the list of files; the work may take diagnostics for itself */
  tl_signals_forget_crashes();
  fn(cli, user, &reply);
  bool sent = send_all(pipe, &reply);
  close(pipe);
  bool lacked = reply.failed || tl_memory_failures() != lacks;
  _exit(lacked ? LACKED_MEMORY : sent ? 0 : NOT_SENT);
}

tl_status tl_child_start(tl_child *c, tl_cli *cli, tl_child_fn fn, void *user) {
  int ends[2];
  if (pipe(ends) != 0)
    return tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot create a pipe: %s", strerror(errno));
  fflush(stdout);
  c->pipe = ends[0];
  c->pid = fork();
  if (c->pid == 0) {
    close(ends[0]);
    work(cli, ends[1], fn, user);
  }
  close(ends[1]);
  if (c->pid > 0)
    return TL_OK;
  close(ends[0]);
  return tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot start a process: %s", strerror(errno));
}

tl_status tl_child_wait(tl_child *c, tl_cli *cli, tl_buf *reply, int *signal) {
  char block[1 << 16];
  int how;
  ssize_t n;
  for (;;) {
    n = read(c->pipe, block, sizeof block);
    if (n > 0)
      tl_buf_add(reply, block, (size_t)n);
    else if (n == 0 || errno != EINTR)
      break;
  }
  bool lost = n < 0;
  close(c->pipe);
  while (waitpid(c->pid, &how, 0) < 0)
    if (errno != EINTR)
      return tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot wait for a process: %s",
                     strerror(errno));
  *signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
  if (WIFEXITED(how) && WEXITSTATUS(how) == LACKED_MEMORY)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (lost || (WIFEXITED(how) && WEXITSTATUS(how) != 0))
    return tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot read what a process has found");
  return reply->failed ? TL_NO_MEMORY : TL_OK;
}
