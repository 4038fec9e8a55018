/* SPDX-License-Identifier: Apache-2.0 */
/* Shows what a long command is doing (progress.h). */
#include "tools/cli/progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 2, DEFAULT_WIDTH = 80 };

static size_t screen_width(void) {
  struct winsize w;
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1;
  return known ? w.ws_col : DEFAULT_WIDTH;
}

static void put(const char *text, size_t n) {
  if (write(STDERR_FILENO, text, n) < 0)
    return; /* nobody reads it */
}

/* Draws the line; the lock is held. One column stays free: some terminals wrap a full line. */
static void draw(tl_progress *p, long seconds) {
  char line[256], screen[sizeof line + 8];
  uint32_t done = atomic_load_explicit(&p->done, memory_order_relaxed);
  int n = p->total && done < p->total ? snprintf(line, sizeof line, "%s, node %u of %u (%ld s)",
                                                 p->what, done + 1, p->total, seconds)
                                      : snprintf(line, sizeof line, "%s (%ld s)", p->what, seconds);
  if (n < 0)
    return;
  size_t most = screen_width() - 1, shown = strlen(line);
  shown = shown < most ? shown : most;
  n = snprintf(screen, sizeof screen, "\r\033[K%.*s", (int)shown, line);
  put(screen, n > 0 ? (size_t)n : 0);
  p->visible = true;
}

static void erase(tl_progress *p) {
  if (p->visible)
    put("\r\033[K", 4);
  p->visible = false;
}

static void *tick(void *user) {
  tl_progress *p = user;
  struct timespec begun, next, now;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  next = begun;
  next.tv_sec += PATIENCE;
  pthread_mutex_lock(&p->lock);
  while (!p->stop) {
    if (pthread_cond_timedwait(&p->wake, &p->lock, &next) == 0)
      continue;
    draw(p, (long)(next.tv_sec - begun.tv_sec));
    clock_gettime(CLOCK_MONOTONIC, &now); /* later by far after the process was stopped */
    next.tv_sec = now.tv_sec > next.tv_sec ? now.tv_sec + 1 : next.tv_sec + 1;
  }
  erase(p);
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

/* Starts the thread. Signals are for the thread that works. */
static bool start(tl_progress *p) {
  pthread_condattr_t clock;
  sigset_t all, before;
  if (pthread_mutex_init(&p->lock, NULL) != 0 || pthread_condattr_init(&clock) != 0)
    return false;
  bool ok = pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) == 0 &&
            pthread_cond_init(&p->wake, &clock) == 0;
  pthread_condattr_destroy(&clock);
  if (!ok)
    return false;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  ok = pthread_create(&p->thread, NULL, tick, p) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ok;
}

/* Copies what can be shown on a terminal. */
static void set_what(tl_progress *p, const char *text) {
  size_t n = 0;
  for (; text[n] && n + 1 < sizeof p->what; n++)
    p->what[n] = (unsigned char)text[n] < 0x20 || text[n] == 0x7f ? '?' : text[n];
  p->what[n] = '\0';
  p->total = 0;
  atomic_store_explicit(&p->done, 0, memory_order_relaxed);
}

void tl_progress_say(tl_progress *p, bool quiet, const char *fmt, ...) {
  char text[sizeof p->what];
  if (!p->asked) {
    const char *term = getenv("TERM");
    bool wanted = !quiet && isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
    p->asked = true;
    p->running = wanted && start(p);
  }
  if (!p->running)
    return;
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (n < 0)
    return;
  pthread_mutex_lock(&p->lock);
  set_what(p, text);
  pthread_mutex_unlock(&p->lock);
}

void tl_progress_count(tl_progress *p, uint32_t total) {
  if (!p->running)
    return;
  pthread_mutex_lock(&p->lock);
  atomic_store_explicit(&p->done, 0, memory_order_relaxed);
  p->total = total;
  pthread_mutex_unlock(&p->lock);
}

void tl_progress_hide(tl_progress *p) {
  if (!p->running)
    return;
  pthread_mutex_lock(&p->lock);
  erase(p);
  pthread_mutex_unlock(&p->lock);
}

void tl_progress_stop(tl_progress *p) {
  if (!p->running)
    return;
  pthread_mutex_lock(&p->lock);
  p->stop = true;
  pthread_cond_signal(&p->wake);
  pthread_mutex_unlock(&p->lock);
  pthread_join(p->thread, NULL);
  pthread_cond_destroy(&p->wake);
  pthread_mutex_destroy(&p->lock);
  p->running = false;
}
