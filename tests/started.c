/* SPDX-License-Identifier: Apache-2.0 */
/* A library to load before a program (LD_PRELOAD), which stops it before its main function and
 * calls that for each run that TAILOR_STARTED, a socket, asks for: the start of a program costs
 * ten times as much as a small run of it, and a hundred times in a sanitized one. Each run has a
 * process of its own, a fork; with TAILOR_STARTED_KEPT runs follow one another in one process,
 * which looks for leaks of them all when the socket is closed.
 *
 * A request is a `request`, with the descriptors 0 to 2 of the run beside it, and then its
 * strings: folder, arguments, environment, each with a NUL. Answers are an int each: 0 once, when
 * the program has started; then of each run the id of its process, or -1 if there can be none, and
 * at its end the status that wait() has. tests/started.py is the other end. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 3, WRONG = 71 };

typedef int main_function(int argc, char **argv, char **env);

typedef struct request {
  uint32_t size; /* of the strings, bytes */
  uint32_t argc;
  uint32_t envc;
  uint32_t seconds; /* of CPU time */
} request;

typedef struct run {
  request r;
  int stream[STREAMS];
  char *strings;
} run;

extern char **environ;
static main_function *the_main;
static int channel;
static int messages = -1; /* where this process says what it finds in the end, of kept runs */

/* What glibc's entry gives to __libc_start_main. */
#define START_PARAMETERS                                                                           \
  main_function *main, int argc, char **argv, main_function *init, void (*fini)(void),             \
      void (*rtld_fini)(void), void *stack

int __libc_start_main(START_PARAMETERS);

static void send_int(int n) {
  if (send(channel, &n, sizeof n, MSG_NOSIGNAL) != (ssize_t)sizeof n)
    _exit(WRONG);
}

/* There are no more requests. Kept runs may have leaked; a sanitizer says so at exit. */
static _Noreturn void finish(void) {
  if (messages < 0)
    _exit(0);
  dup2(messages, STDERR_FILENO);
  exit(0);
}

static void receive(void *into, size_t n) {
  for (char *p = into; n;) {
    ssize_t some = read(channel, p, n);
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0)
      _exit(WRONG);
    p += some;
    n -= (size_t)some;
  }
}

/* Descriptors come with the first byte of a request; the other end is closed between requests. */
static void receive_streams(run *u, char *first) {
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(STREAMS * sizeof(int))];
  } control;
  struct iovec byte = {.iov_base = first, .iov_len = 1};
  struct msghdr m = {.msg_iov = &byte,
                     .msg_iovlen = 1,
                     .msg_control = control.room,
                     .msg_controllen = sizeof control.room};
  ssize_t some;
  do
    some = recvmsg(channel, &m, MSG_CMSG_CLOEXEC);
  while (some < 0 && errno == EINTR);
  if (some == 0)
    finish();
  const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  if (some < 0 || !c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof u->stream))
    _exit(WRONG);
  memcpy(u->stream, CMSG_DATA(c), sizeof u->stream);
}

static run next_run(void) {
  run u;
  receive_streams(&u, (char *)&u.r);
  receive((char *)&u.r + 1, sizeof u.r - 1);
  u.strings = malloc(u.r.size);
  if (!u.strings)
    _exit(WRONG);
  receive(u.strings, u.r.size);
  return u;
}

static char **list(char **at, uint32_t n) {
  char **strings = calloc((size_t)n + 1, sizeof *strings);
  if (!strings)
    _exit(WRONG);
  for (uint32_t i = 0; i < n; i++) {
    strings[i] = *at;
    *at += strlen(*at) + 1;
  }
  return strings;
}

static void take_streams(const run *u) {
  for (int k = 0; k < STREAMS; k++)
    if (dup2(u->stream[k], k) < 0)
      _exit(WRONG);
  for (int k = 0; k < STREAMS; k++)
    close(u->stream[k]);
}

/* Allows so many seconds more than this process has taken. */
static void limit(unsigned seconds) {
  struct rusage used;
  struct rlimit cpu;
  getrlimit(RLIMIT_CPU, &cpu);
  getrusage(RUSAGE_SELF, &used);
  cpu.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds;
  if (setrlimit(RLIMIT_CPU, &cpu) < 0)
    _exit(WRONG);
}

/* Calls the main function as a run wants it; its exit code. */
static int call(const run *u) {
  char *at = u->strings + strlen(u->strings) + 1, **own = environ;
  char **argv = list(&at, u->r.argc), **env = list(&at, u->r.envc);
  take_streams(u);
  limit(u->r.seconds);
  if (chdir(u->strings) < 0)
    _exit(WRONG);
  environ = env;
  int code = the_main((int)u->r.argc, argv, env);
  environ = own;
  free(argv);
  free(env);
  return code;
}

static void run_forked(run *u) {
  int status = 0;
  pid_t pid = fork();
  if (pid == 0) {
    close(channel);
    exit(call(u));
  }
  for (int k = 0; k < STREAMS; k++)
    close(u->stream[k]);
  send_int(pid);
  if (pid < 0)
    return;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    continue;
  send_int(status);
}

/* Who reads what the run writes waits for the end of it, and a folder may go: nothing is kept. */
static void run_kept(const run *u) {
  send_int(getpid());
  int code = call(u), nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  fflush(NULL);
  for (int k = 0; k < STREAMS; k++)
    if (dup2(nothing, k) < 0)
      _exit(WRONG);
  close(nothing);
  if (chdir("/") < 0)
    _exit(WRONG);
  send_int((code & 0xff) << 8);
}

static int serve(int argc, char **argv, char **env) {
  int kept = getenv("TAILOR_STARTED_KEPT") != NULL;
  (void)argc;
  (void)argv;
  (void)env;
  if (kept)
    messages = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STREAMS);
  send_int(0);
  while (channel >= 0) {
    run u = next_run();
    if (kept)
      run_kept(&u);
    else
      run_forked(&u);
    free(u.strings);
  }
  return 0;
}

int __libc_start_main(START_PARAMETERS) {
  const char *number = getenv("TAILOR_STARTED");
  __typeof__(&__libc_start_main) real;
  *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
  the_main = main;
  channel = number ? atoi(number) : -1;
  return real(number ? serve : main, argc, argv, init, fini, rtld_fini, stack);
}
