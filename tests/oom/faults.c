/* SPDX-License-Identifier: Apache-2.0 */
/* A library to load before a program (LD_PRELOAD), which makes one thing go wrong:
 *
 *   FAULT_ALLOCATION=N     the N-th allocation fails
 *   FAULT_CALL=NAME:N[:E]  the N-th call of NAME fails with the error number E (28: disk full).
 *                          NAME: one of the table below; 'change': any of those that give or
 *                          replace a name
 *   FAULT_SIGNAL=S:N       signal S arrives before the N-th call of the table
 *   FAULT_TRUNCATE=FILE:N  FILE becomes empty before the N-th call of the table
 *   FAULT_REMOVE=FILE:N    FILE is removed
 *   FAULT_REPLACE=FILE:N   the file FILE.next gets the name FILE
 *   FAULT_REWRITE=FILE:N   the bytes of FILE.next are written into FILE
 *   FAULT_COUNTS=FILE      at the end FILE says how many allocations, calls and changes there were
 *
 * A process that is forked counts on from where its parent was; FILE has the most of them all.
 *
 * Nothing here takes memory. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

enum { NONE = -1 };

static struct {
  unsigned long allocations;
  unsigned long calls;
  unsigned long changes;
  unsigned long named; /* calls of the name that is to fail */
  unsigned long fail_allocation;
  unsigned long fail_call;
  unsigned long signal_at;
  unsigned long change_at;
  int signal;
  int error;
  int armed;
  char name[32];
  char changing[64]; /* a file that is read */
  char how;          /* 'U': truncated, 'M': removed, 'P': replaced, 'W': rewritten */
} faults;

/* The most of all processes, in memory that they share: allocations, calls, changes. */
static unsigned long *most;

/* N of "NAME:N"; 0 without a colon. */
static unsigned long number_behind(const char *text, const char **rest) {
  const char *colon = strchr(text, ':');
  char *end = NULL;
  unsigned long n = colon ? strtoul(colon + 1, &end, 10) : 0;
  *rest = end && *end == ':' ? end + 1 : NULL;
  return n;
}

static void keep_most(int i, unsigned long n) {
  if (most && n > most[i])
    most[i] = n;
}

static void keep_counts(void) {
  keep_most(0, faults.allocations);
  keep_most(1, faults.calls);
  keep_most(2, faults.changes);
}

/* How a forked process ends. */
void _exit(int code) {
  keep_counts();
  syscall(SYS_exit_group, code);
  abort();
}

/* Reads what is to become of a file. */
static void arm_change(const char *variable) {
  const char *rest;
  const char *text = getenv(variable);
  if (!text || strcspn(text, ":") >= sizeof faults.changing)
    return;
  memcpy(faults.changing, text, strcspn(text, ":"));
  faults.change_at = number_behind(text, &rest);
  faults.how = variable[strlen("FAULT_RE")];
}

/* Writes the bytes of one file over those of another, which may be mapped. */
static int rewrite(const char *from, const char *to) {
  static char bytes[1 << 16];
  int in = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY);
  int out = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY);
  long n, all = 0;
  while (in >= 0 && out >= 0 && (n = syscall(SYS_read, in, bytes, sizeof bytes)) > 0)
    all += syscall(SYS_write, out, bytes, n) == n ? n : 0;
  int bad = in < 0 || out < 0 || ftruncate(out, all) != 0;
  close(in);
  close(out);
  return bad;
}

/* Does it. What was removed or replaced stays so. */
static void change_file(void) {
  char next[sizeof faults.changing + 8];
  int bad;
  snprintf(next, sizeof next, "%s.next", faults.changing);
  if (faults.how == 'M')
    bad = syscall(SYS_unlinkat, AT_FDCWD, faults.changing, 0) != 0;
  else if (faults.how == 'P')
    bad = syscall(SYS_renameat, AT_FDCWD, next, AT_FDCWD, faults.changing) != 0;
  else if (faults.how == 'W')
    bad = rewrite(next, faults.changing);
  else
    bad = truncate(faults.changing, 0) != 0;
  if (bad && errno != ENOENT)
    abort();
}

__attribute__((constructor)) static void arm(void) {
  const char *rest;
  void *shared =
      mmap(NULL, 3 * sizeof *most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, NONE, 0);
  most = shared == MAP_FAILED ? NULL : shared;
  const char *allocation = getenv("FAULT_ALLOCATION");
  const char *call = getenv("FAULT_CALL");
  const char *signal_at = getenv("FAULT_SIGNAL");
  faults.error = ENOSPC;
  if (allocation)
    faults.fail_allocation = strtoul(allocation, NULL, 10);
  if (call && strcspn(call, ":") < sizeof faults.name) {
    memcpy(faults.name, call, strcspn(call, ":"));
    faults.fail_call = number_behind(call, &rest);
    if (rest)
      faults.error = atoi(rest);
  }
  arm_change("FAULT_TRUNCATE");
  arm_change("FAULT_REMOVE");
  arm_change("FAULT_REPLACE");
  arm_change("FAULT_REWRITE");
  if (signal_at) {
    faults.signal = atoi(signal_at);
    faults.signal_at = number_behind(signal_at, &rest);
  }
  faults.armed = 1;
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("FAULT_COUNTS");
  char text[128];
  faults.armed = 0;
  keep_counts();
  int fd = path && most ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : NONE;
  if (fd < 0)
    return;
  int n = snprintf(text, sizeof text, "%lu %lu %lu\n", most[0], most[1], most[2]);
  if (n < 0 || write(fd, text, (size_t)n) < 0)
    abort();
  close(fd);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int no_memory(void) {
  if (!faults.armed ||
      __atomic_add_fetch(&faults.allocations, 1, __ATOMIC_RELAXED) != faults.fail_allocation)
    return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t n) { return no_memory() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return no_memory() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return no_memory() ? NULL : __libc_realloc(p, n); }

void *aligned_alloc(size_t alignment, size_t n) {
  return no_memory() ? NULL : __libc_memalign(alignment, n);
}

void *memalign(size_t alignment, size_t n) { return aligned_alloc(alignment, n); }

int posix_memalign(void **out, size_t alignment, size_t n) {
  void *p = aligned_alloc(alignment, n);
  if (!p)
    return ENOMEM;
  *out = p;
  return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Counts a call; true when it is to fail, with errno set. */
static int fails(const char *name, int changes) {
  if (!faults.armed)
    return 0;
  unsigned long n = __atomic_add_fetch(&faults.calls, 1, __ATOMIC_RELAXED);
  faults.changes += changes != 0;
  if (n == faults.signal_at)
    raise(faults.signal);
  if (n == faults.change_at)
    change_file();
  if (strcmp(faults.name, name) != 0 && !(changes && strcmp(faults.name, "change") == 0))
    return 0;
  if (++faults.named != faults.fail_call)
    return 0;
  errno = faults.error;
  return 1;
}

/* Defines NAME as the C library's, except where it is to fail. */
#define WRAP(type, name, changes, parameters, arguments)                                           \
  type name parameters;                                                                            \
  type name parameters {                                                                           \
    static type(*real) parameters;                                                                 \
    if (!real)                                                                                     \
      *(void **)&real = dlsym(RTLD_NEXT, #name);                                                   \
    return fails(#name, changes) ? (type)-1 : real arguments;                                      \
  }

WRAP(ssize_t, write, 0, (int fd, const void *p, size_t n), (fd, p, n))
WRAP(ssize_t, pwrite, 0, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
WRAP(ssize_t, writev, 0, (int fd, const struct iovec *v, int n), (fd, v, n))
WRAP(ssize_t, read, 0, (int fd, void *p, size_t n), (fd, p, n))
WRAP(int, fsync, 0, (int fd), (fd))
WRAP(int, fchmod, 0, (int fd, mode_t mode), (fd, mode))
WRAP(int, mkdir, 1, (const char *path, mode_t mode), (path, mode))
WRAP(int, rmdir, 0, (const char *path), (path))
WRAP(int, unlink, 0, (const char *path), (path))
WRAP(int, link, 1, (const char *from, const char *to), (from, to))
WRAP(int, rename, 1, (const char *from, const char *to), (from, to))
WRAP(int, renameat2, 1, (int a, const char *from, int b, const char *to, unsigned flags),
     (a, from, b, to, flags))
WRAP(int, linkat, 1, (int a, const char *from, int b, const char *to, int flags),
     (a, from, b, to, flags))
WRAP(ssize_t, copy_file_range, 0,
     (int in, off_t *from, int out, off_t *to, size_t n, unsigned flags),
     (in, from, out, to, n, flags))

/* open has a third argument with some flags only. */
#define WRAP_OPEN(name)                                                                            \
  int name(const char *path, int flags, ...) {                                                     \
    static int (*real)(const char *path, int flags, ...);                                          \
    va_list ap;                                                                                    \
    va_start(ap, flags);                                                                           \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;                          \
    va_end(ap);                                                                                    \
    if (!real)                                                                                     \
      *(void **)&real = dlsym(RTLD_NEXT, #name);                                                   \
    return fails("open", 0) ? NONE : real(path, flags, mode);                                      \
  }

WRAP_OPEN(open) /* open64, as the program calls it, where offsets have 64 bits */
