/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the client of GNU make's jobserver (jobserver.h). */
#include "tools/batch/jobserver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the pipe of a descriptor anew: whether this process waits is then its own matter. Make
 * gives descriptors to recipes that it takes for makes ('+' before the recipe); for others they
 * are closed, or something else. */
static int reopen(int fd, int flags) {
  char path[40];
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))
    return -1;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return open(path, flags | O_CLOEXEC);
}

/* Finds the value of the last such option: make puts that of the innermost make there. */
static const char *find(const char *flags, const char *name) {
  const char *found = NULL;
  for (const char *at = flags; (at = strstr(at, name)); at += strlen(name))
    found = at + strlen(name);
  return found;
}

static void open_fifo(tl_jobserver *j, const char *value) {
  char path[PATH_MAX];
  size_t n = strcspn(value, " ");
  if (n >= sizeof path)
    return;
  memcpy(path, value, n);
  path[n] = '\0';
  j->from = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  j->to = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

void tl_jobserver_open(tl_jobserver *j, const char *flags) {
  int read_fd;
  int write_fd;
  j->from = -1;
  j->to = -1;
  const char *value = flags ? find(flags, "--jobserver-auth=") : NULL;
  if (!value && flags)
    value = find(flags, "--jobserver-fds=");
  if (!value)
    return;
  if (strncmp(value, "fifo:", 5) == 0) {
    open_fifo(j, value + 5);
  } else if (sscanf(value, "%d,%d", &read_fd, &write_fd) == 2) {
    j->from = reopen(read_fd, O_RDONLY | O_NONBLOCK);
    j->to = reopen(write_fd, O_WRONLY);
  }
  j->on = j->from >= 0 && j->to >= 0;
  if (!j->on)
    tl_jobserver_close(j);
}

bool tl_jobserver_take(tl_jobserver *j) {
  if (!j->on || j->n == TL_JOBSERVER_MOST || read(j->from, &j->tokens[j->n], 1) != 1)
    return false;
  j->n++;
  return true;
}

void tl_jobserver_give(tl_jobserver *j) {
  ssize_t put = 0;
  if (j->n == 0)
    return;
  j->n--;
  do
    put = write(j->to, &j->tokens[j->n], 1);
  while (put < 0 && errno == EINTR);
}

void tl_jobserver_close(tl_jobserver *j) {
  while (j->n)
    tl_jobserver_give(j);
  if (j->from >= 0)
    close(j->from);
  if (j->to >= 0)
    close(j->to);
  j->on = false;
}
