/* SPDX-License-Identifier: Apache-2.0 */
/* The main function of programs with mutants inside (tests/mutate/copies.py), linked by
 * --wrap=main. TAILOR_MUTANT says which mutant is on: 0 none, -1 the probes that tell what a run
 * reaches. The probes write into the file TAILOR_REACH, a byte each.
 * With the argument --serve CASES the program forks for each mutant and runs many cases in one
 * process: there are a million of them. CASES has a line a case, with tabs between: which outputs
 * count (1 stdout, 2 stderr), the file for its input, the arguments. Requests on standard input are
 * lines "MUTANT SECONDS CASE...": the cases run in their order until one ends otherwise than it
 * does without a mutant, and the answer is its number, or -1. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  MAX_ARGS = 64,
  MAX_PROBES = 1 << 16,
  MAX_MEMORY_GB = 8,
  MAIN_SECONDS = 6,
  OOM_SECONDS = 150
};

int tl_mutant;
unsigned char *tl_reach;

/* Of the sanitizer, in sanitized programs: whether anything leaked so far. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
/* Of a build that counts what runs (tests/coverage): writes the counts. */
int __llvm_profile_write_file(void) __attribute__((weak));
int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

typedef struct end {
  int status;
  size_t n[2];
  char *text[2];
} end;

typedef struct test_case {
  int compared;
  int argc;
  char *input;
  char **argv;
  int known; /* how it ends without a mutant */
  end usual;
} test_case;

static void give_up(const char *what) {
  fprintf(stderr, "mutants: %s: %s\n", what, strerror(errno));
  exit(70);
}

static void limit(rlim_t seconds) {
  const struct rlimit cpu = {.rlim_cur = seconds, .rlim_max = RLIM_INFINITY};
  const struct rlimit memory = {.rlim_cur = (rlim_t)MAX_MEMORY_GB << 30,
                                .rlim_max = (rlim_t)MAX_MEMORY_GB << 30};
  const struct rlimit core = {0};
  setrlimit(RLIMIT_CPU, &cpu);
  if (!__lsan_do_recoverable_leak_check) /* a sanitized program takes terabytes of addresses */
    setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &core);
}

static void map_reach(void) {
  const char *path = getenv("TAILOR_REACH");
  int fd = path ? open(path, O_RDWR) : -1;
  void *p = MAP_FAILED;
  if (fd >= 0)
    p = mmap(NULL, MAX_PROBES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED)
    p = mmap(NULL, MAX_PROBES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    give_up("mmap");
  tl_reach = p;
}

static void read_case(test_case *c, char *rest) {
  char *args[MAX_ARGS] = {NULL};
  *c = (test_case){.compared = atoi(strsep(&rest, "\t"))};
  c->input = strsep(&rest, "\t");
  while (rest && c->argc < MAX_ARGS - 1)
    args[c->argc++] = strsep(&rest, "\t");
  c->argv = calloc((size_t)c->argc + 1, sizeof *c->argv);
  if (!c->argv)
    give_up("memory");
  memcpy(c->argv, args, (size_t)c->argc * sizeof *args);
}

static test_case *read_cases(const char *path, size_t *n) {
  FILE *f = fopen(path, "r");
  char *line = NULL;
  size_t room = 0, most = 0;
  test_case *cases = NULL;
  if (!f)
    give_up(path);
  for (*n = 0; getline(&line, &room, f) > 0; ++*n) {
    if (*n == most && !(cases = realloc(cases, (most = most * 2 + 64) * sizeof *cases)))
      give_up("memory");
    line[strcspn(line, "\n")] = 0;
    read_case(&cases[*n], strdup(line));
  }
  free(line);
  fclose(f);
  return cases;
}

/* ---- the child ------------------------------------------------------------------------------- */

typedef struct header {
  int status;
  size_t n[2];
} header;

static void send_all(int to, const void *bytes, size_t n) {
  for (const char *p = bytes; n;) {
    ssize_t some = write(to, p, n);
    if (some <= 0)
      _exit(71);
    p += some;
    n -= (size_t)some;
  }
}

/* Sends what was written to a descriptor, and empties it. */
static void send_text(int to, int fd, size_t n) {
  char *text = malloc(n + 1);
  if (!text || pread(fd, text, n, 0) != (ssize_t)n || ftruncate(fd, 0) < 0)
    _exit(71);
  send_all(to, text, n);
  free(text);
}

static void run_case(const test_case *c, unsigned seconds, const int *out, int to) {
  const struct itimerval limit = {.it_value.tv_sec = seconds};
  struct stat s;
  header h = {0};
  int in = open(c->input, O_RDONLY);
  if (in < 0 || dup2(in, 0) < 0)
    _exit(71);
  close(in);
  signal(SIGPROF, SIG_DFL);
  setitimer(ITIMER_PROF, &limit, NULL);
  h.status = __real_main(c->argc, c->argv);
  fflush(NULL);
  for (int k = 0; k < 2; k++) {
    if (fstat(out[k], &s) < 0)
      _exit(71);
    h.n[k] = (size_t)s.st_size;
  }
  send_all(to, &h, sizeof h);
  for (int k = 0; k < 2; k++) {
    send_text(to, out[k], h.n[k]);
    lseek(k + 1, 0, SEEK_SET);
  }
}

/* Runs cases one after the other: what they leave behind is little, and a start costs ten times as
 * much as a small case. */
static _Noreturn void child(const test_case *cases, const long *list, size_t n, int mutant,
                            unsigned seconds, int to) {
  static const char *const names[] = {"stdout", "stderr"};
  int out[2];
  limit(RLIM_INFINITY);
  for (int k = 0; k < 2; k++)
    if ((out[k] = memfd_create(names[k], 0)) < 0 || dup2(out[k], k + 1) < 0)
      _exit(71);
  tl_mutant = mutant;
  for (size_t i = 0; i < n; i++)
    run_case(&cases[list[i]], seconds, out, to);
  if (__llvm_profile_write_file)
    (void)__llvm_profile_write_file();
  _exit(__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check() ? 72 : 0);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static int receive(int from, void *bytes, size_t n) {
  for (char *p = bytes; n;) {
    ssize_t some = read(from, p, n);
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0)
      return 0;
    p += some;
    n -= (size_t)some;
  }
  return 1;
}

static void forget(end *e) {
  free(e->text[0]);
  free(e->text[1]);
  *e = (end){.status = -1};
}

/* Returns 0 if the child has died. */
static int receive_end(int from, end *e) {
  header h;
  *e = (end){.status = -1};
  if (!receive(from, &h, sizeof h))
    return 0;
  for (int k = 0; k < 2; k++) {
    e->n[k] = h.n[k];
    e->text[k] = malloc(h.n[k] + 1);
    if (!e->text[k])
      give_up("memory");
    if (!receive(from, e->text[k], h.n[k]))
      return 0;
  }
  e->status = h.status;
  return 1;
}

static int is_usual(const test_case *c, const end *e) {
  if (c->usual.status != e->status)
    return 0;
  for (int k = 0; k < 2; k++)
    if ((c->compared >> k & 1) &&
        (c->usual.n[k] != e->n[k] || memcmp(c->usual.text[k], e->text[k], e->n[k]) != 0))
      return 0;
  return 1;
}

typedef struct runner {
  pid_t pid;
  int from;
} runner;

static runner start(const test_case *cases, const long *list, size_t n, int mutant,
                    unsigned seconds) {
  int ends[2];
  if (pipe(ends) < 0)
    give_up("pipe");
  fflush(NULL);
  pid_t pid = fork();
  if (pid < 0)
    give_up("fork");
  if (pid == 0)
    child(cases, list, n, mutant, seconds, ends[1]);
  close(ends[1]);
  return (runner){.pid = pid, .from = ends[0]};
}

/* Waits for the child, which is killed unless it has sent all. Returns 0 if it ended well. */
static int stop(runner r, int all) {
  int status = 0;
  if (!all)
    kill(r.pid, SIGKILL);
  while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR)
    continue;
  close(r.from);
  return status;
}

/* Runs cases with a mutant and compares; without one, remembers how they end. Returns the place of
 * the first that ends otherwise, or -1. */
static long run(test_case *cases, const long *list, size_t n, int mutant, unsigned seconds) {
  for (size_t i = 0; i < n;) {
    runner r = start(cases, list + i, n - i, mutant, seconds);
    int lives = 1;
    for (; lives && i < n; i++) {
      test_case *c = &cases[list[i]];
      end e;
      lives = receive_end(r.from, &e);
      if (mutant == 0) {
        forget(&c->usual);
        c->usual = e;
        c->known = 1;
        continue;
      }
      int usual = mutant < 0 || is_usual(c, &e);
      forget(&e);
      if (!usual) {
        (void)stop(r, 0);
        return (long)i;
      }
    }
    if (stop(r, lives) && lives && mutant > 0)
      return (long)n - 1; /* memory of one of them leaked */
  }
  return -1;
}

/* Answers a request: the number of the first case that ends otherwise, or -1. */
static long answer(test_case *cases, size_t n, char *request) {
  char *rest = request;
  int mutant = (int)strtol(rest, &rest, 10);
  unsigned seconds = (unsigned)strtoul(rest, &rest, 10);
  long *list = calloc(2 * n + 1, sizeof *list);
  long *fresh = list + n;
  size_t m = 0, k = 0;
  if (!list)
    give_up("memory");
  for (char *after; m < n; rest = after) {
    long i = strtol(rest, &after, 10);
    if (after == rest || i < 0 || (size_t)i >= n)
      break;
    list[m++] = i;
    if (!cases[i].known)
      fresh[k++] = i;
  }
  if (mutant > 0)
    (void)run(cases, fresh, k, 0, seconds);
  long place = run(cases, list, m, mutant, seconds);
  long found = place < 0 ? -1 : list[place];
  free(list);
  return found;
}

static int serve(const char *path) {
  size_t n, room = 0;
  char *line = NULL;
  test_case *cases = read_cases(path, &n);
  while (getline(&line, &room, stdin) > 0) {
    printf("%ld\n", answer(cases, n, line));
    fflush(stdout);
  }
  return 0;
}

int __wrap_main(int argc, char **argv) {
  const char *which = getenv("TAILOR_MUTANT");
  map_reach();
  if (argc == 3 && strcmp(argv[1], "--serve") == 0)
    return serve(argv[2]);
  tl_mutant = which ? atoi(which) : 0;
  if (tl_mutant > 0) { /* oom-test converts a model thousands of times */
    const unsigned seconds = strstr(argv[0], "oom-test") ? OOM_SECONDS : MAIN_SECONDS;
    const struct itimerval timer = {.it_value.tv_sec = seconds};
    limit(seconds);
    setitimer(ITIMER_PROF, &timer, NULL); /* whoever started this may set another limit */
  }
  return __real_main(argc, argv);
}
