/* SPDX-License-Identifier: Apache-2.0 */
/* A library to load before a program (LD_PRELOAD), under which clocks jump:
 *
 *   CLOCK=NAME:SECONDS:N   after each N calls the clock (realtime, monotonic) is as far ahead of
 *                          the true one, or behind it, or no longer so
 *   CLOCK_COUNT=FILE       at its end each process adds a line: how often it read that clock
 *
 * Times of files are the kernel's, and go on as ever. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct {
  clockid_t id;
  long long seconds;
  unsigned long every;
  unsigned long calls;
} jump;

__attribute__((constructor)) static void arm(void) {
  char name[16] = "";
  const char *text = getenv("CLOCK");
  if (!text || sscanf(text, "%15[a-z]:%lld:%lu", name, &jump.seconds, &jump.every) != 3)
    return;
  jump.id = strcmp(name, "monotonic") == 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("CLOCK_COUNT");
  FILE *f = path ? fopen(path, "a") : NULL;
  if (!f)
    return;
  fprintf(f, "%lu\n", jump.calls);
  fclose(f);
}

/* How a forked process ends. */
void _exit(int code) {
  tell();
  syscall(SYS_exit_group, code);
  abort();
}

int clock_gettime(clockid_t id, struct timespec *t) {
  long got = syscall(SYS_clock_gettime, id, t);
  if (got == 0 && jump.every && id == jump.id &&
      __atomic_add_fetch(&jump.calls, 1, __ATOMIC_RELAXED) / jump.every % 2)
    t->tv_sec += (time_t)jump.seconds;
  return (int)got;
}

time_t time(time_t *out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (out)
    *out = t.tv_sec;
  return t.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  struct timespec t;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &t);
  *out = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
  return 0;
}
