/* SPDX-License-Identifier: Apache-2.0 */
/* Handles signals. A handler can reach only static storage, so the mutable state here is static.
 * Together with the count of failed allocations it is the only such state in the program; the
 * library has none of it. */
#include "tools/cli/signals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_IO = 4, MOST_ARGUMENTS = 510, STACK = 1 << 16 };

static volatile int stop_signal;
static volatile int held;
static const tl_changes *journal;
static volatile int late_code; /* exit code of a process that takes too long */
static volatile int message_form;

/* A message in each form; about: "" or what it begins with as text, then the member for JSON. A log
 * of SARIF has this message only: what was kept for it cannot be read from a handler. */
#define FORMS(code, about, member, text, hint)                                                     \
  {                                                                                                \
    "tailor: error: " about text "\n  hint: " hint "\n",                                           \
        "{\"severity\": \"error\", \"code\": \"" code "\", " member "\"message\": \"" text         \
        "\", \"hint\": \"" hint "\"}\n",                                                           \
        "{\"version\": \"2.1.0\", \"runs\": [{\"tool\": {\"driver\": {\"name\": \"tailor\"}}, "    \
        "\"results\": [{\"ruleId\": \"" code                                                       \
        "\", \"level\": \"error\", \"message\": {\"text\": \"" about text                          \
        "\"}, \"properties\": {\"hint\": \"" hint "\"}}]}]}\n"                                     \
  }

static const char *const shortened[] =
    FORMS("TL_IO", "", "", "a file that is being read became shorter",
          "do not change the model during a conversion, or use --read");
static const char *const late[] =
    FORMS("TL_LIMIT", "--max-time: ", "\"attribute\": \"--max-time\", ",
          "the command takes more processor time than it may",
          "allow more seconds with --max-time, 0 for no bound, if the model is worth it");
#undef FORMS

/* Only async-signal-safe functions may be called here. */
static _Noreturn void end_with(const char *const *forms, int code) {
  const char *message = forms[message_form];
  if (journal)
    tl_changes_abandon(journal);
  if (write(STDERR_FILENO, message, strlen(message)) < 0)
    _exit(code); /* nobody to tell */
  _exit(code);
}

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
  (void)number;
  end_with(shortened, EXIT_IO);
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

void tl_signals_say_as(tl_message_form form) { message_form = (int)form; }

void tl_signals_hold(bool hold) { held = hold; }

/* The system repeats the signal each second, so one that comes while files get their names is not
 * lost. What does not look at signals ends, too: a hostile model may keep it busy. Only
 * async-signal-safe functions may be called here. */
static void on_time(int number) {
  (void)number;
  if (!held)
    end_with(late, late_code);
}

void tl_signals_limit_time(uint64_t seconds, int code) {
  struct rlimit r;
  if (seconds == 0 || getrlimit(RLIMIT_CPU, &r) != 0 || r.rlim_cur <= seconds)
    return; /* a bound that is there already stays */
  late_code = code;
  install(SIGXCPU, on_time, 0);
  r.rlim_cur = (rlim_t)seconds;
  (void)setrlimit(RLIMIT_CPU, &r);
}

/* ---- crashes --------------------------------------------------------------------------------- */

static const int crashes[] = {SIGSEGV, SIGABRT, SIGFPE, SIGILL};
static char *again[MOST_ARGUMENTS + 2]; /* the command line of the second run; [0]: not watched */
static char reproducer[256];
static char crash_stack[STACK]; /* a stack that has overflown holds no handler */

/* Only async-signal-safe functions may be called here. */
void tl_signals_rerun(void) {
  int how;
  if (!again[0])
    return;
  pid_t pid = fork();
  if (pid == 0) {
    sigset_t none; /* the handler's mask would stay */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
      signal(crashes[i], SIG_DFL);
    execv("/proc/self/exe", again);
    _exit(EXIT_IO);
  }
  while (pid > 0 && waitpid(pid, &how, 0) < 0)
    if (stop_signal)
      return;
}

/* The handler is reset when it begins, so the signal that is raised again ends the process. */
static void on_crash(int number) {
  static const char message[] = "tailor: error: internal error: the process crashed\n";
  sigset_t mine;
  if (journal)
    tl_changes_abandon(journal);
  if (write(STDERR_FILENO, message, sizeof message - 1) > 0)
    tl_signals_rerun();
  signal(number, SIG_DFL);
  sigemptyset(&mine);
  sigaddset(&mine, number);
  sigprocmask(SIG_UNBLOCK, &mine, NULL);
  raise(number);
}

void tl_signals_watch_crashes(int argc, char **argv) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const char *base = getenv("TMPDIR");
  int n = snprintf(reproducer, sizeof reproducer, "--reproducer=%s/tailor-reproducer-%ld",
                   base && *base ? base : "/tmp", (long)getpid());
  if (argc > MOST_ARGUMENTS || n < 0 || n >= (int)sizeof reproducer)
    return;
  for (int i = 0; i < argc; i++)
    again[i] = argv[i];
  again[argc] = reproducer;
  sigaltstack(&(stack_t){.ss_sp = crash_stack, .ss_size = sizeof crash_stack}, NULL);
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
    install(crashes[i], on_crash, (int)(SA_ONSTACK | SA_RESETHAND));
#else
  (void)argc;
  (void)argv;
#endif
}

void tl_signals_forget_crashes(void) {
  again[0] = NULL;
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
    if (again[1])
      signal(crashes[i], SIG_DFL);
}
