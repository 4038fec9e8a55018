/* SPDX-License-Identifier: Apache-2.0 */
/* Handles signals. A handler can reach only static storage, so the mutable state here is static.
 * Together with the count of failed allocations it is the only such state in the program; the
 * library has none of it. */
#include "tools/cli/signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_IO = 4 };

static volatile int stop_signal;
static volatile int held;
static const tl_changes *journal;

/* The first signal asks the process to stop, the second ends it, but not while files get their
 * names. */
static void ask_to_stop(int number) {
  if (stop_signal && !held) {
    signal(number, SIG_DFL);
    raise(number);
  }
  stop_signal = number;
}

/* A mapped file that shrinks raises SIGBUS when its lost pages are read. Only async-signal-safe
 * functions may be called here, so files are removed by tl_changes_abandon and the process ends at
 * once. */
static void on_bus_error(int number) {
  static const char message[] =
      "tailor: error: a file that is being read became shorter\n"
      "  hint: do not change the model during a conversion, or use --read\n";
  (void)number;
  if (journal)
    tl_changes_abandon(journal);
  if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
    _exit(EXIT_IO); /* nobody to tell */
  _exit(EXIT_IO);
}

static void install(int number, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

const volatile int *tl_signals_install(const tl_changes *changes) {
  journal = changes;
  install(SIGINT, ask_to_stop, 0);
  install(SIGTERM, ask_to_stop, 0);
  install(SIGHUP, ask_to_stop, 0);
  install(SIGBUS, on_bus_error, (int)SA_RESETHAND);
  /* A reader that went away, and a full quota, are then errors of write like others. */
  install(SIGPIPE, SIG_IGN, 0);
  install(SIGXFSZ, SIG_IGN, 0);
  return &stop_signal;
}

void tl_signals_hold(bool hold) { held = hold; }
