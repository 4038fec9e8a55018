/* SPDX-License-Identifier: Apache-2.0 */
/* A library to load before a program (LD_PRELOAD), which makes one thing go wrong:
 *
 *   FAULT_ALLOCATION=N     the N-th allocation fails
 *   FAULT_FROM=N           the N-th allocation and all later ones fail
 *   FAULT_CALL=NAME:N[:E]  the N-th call of NAME fails with the error number E (28: disk full).
 *                          NAME: one of the table below; 'change': any of those that give or
 *                          replace a name; 'any': any of the table
 *   FAULT_SHORT=N          the N-th call of the table, if it reads or writes, does half of it
 *   FAULT_SIGNAL=S:N       signal S arrives before the N-th call of the table
 *   FAULT_TRUNCATE=FILE:N  FILE becomes empty before the N-th call of the table
 *   FAULT_REMOVE=FILE:N    FILE is removed
 *   FAULT_REPLACE=FILE:N   the file FILE.next gets the name FILE
 *   FAULT_REWRITE=FILE:N   the bytes of FILE.next are written into FILE
 *   FAULT_PROGRAM=NAME     programs of other names, which this one starts, are left alone
 *   FAULT_COUNTS=FILE      at the end FILE says how many allocations, calls and changes there were,
 *                          how many blocks nobody has given back, and the names of the calls
 *
 * A process that is forked counts on from where its parent was; FILE has the most of them all, and
 * the blocks of the parent.
 *
 * Nothing here takes memory. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);

enum { NONE = -1, MOST_CALLS = 4096, MOST_NAMES = 64 };

static struct {
  unsigned long allocations;
  unsigned long calls;
  unsigned long changes;
  unsigned long named; /* calls of the name that is to fail */
  unsigned long fail_allocation;
  unsigned long fail_from;
  unsigned long short_at;
  long live; /* blocks that were taken and not given back */
  unsigned long fail_call;
  unsigned long signal_at;
  unsigned long change_at;
  int signal;
  int error;
  int armed;
  int told; /* where the counts go; a sandbox would not let it be opened at the end */
  char name[32];
  char changing[64]; /* a file that is read */
  char how;          /* 'U': truncated, 'M': removed, 'P': replaced, 'W': rewritten */
} faults;

/* Of all processes, in memory that they share. */
static struct shared {
  unsigned long most[3];                 /* allocations, calls, changes */
  uint64_t made[MOST_CALLS];             /* which names the n-th call had: bits */
  const char *_Atomic names[MOST_NAMES]; /* of the bits */
} * shared;

/* N of "NAME:N"; 0 without a colon. */
static unsigned long number_behind(const char *text, const char **rest) {
  const char *colon = strchr(text, ':');
  char *end = NULL;
  unsigned long n = colon ? strtoul(colon + 1, &end, 10) : 0;
  *rest = end && *end == ':' ? end + 1 : NULL;
  return n;
}

static void keep_most(int i, unsigned long n) {
  if (shared && n > shared->most[i])
    shared->most[i] = n;
}

/* Notes the name of the n-th call. */
static void keep_name(unsigned long n, const char *name) {
  for (int i = 0; shared && n < MOST_CALLS && i < MOST_NAMES; i++) {
    const char *none = NULL;
    if (__atomic_compare_exchange_n((const char **)&shared->names[i], &none, name, 0,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
        strcmp(none, name) == 0) {
      __atomic_fetch_or(&shared->made[n], (uint64_t)1 << i, __ATOMIC_RELAXED);
      return;
    }
  }
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

/* The file has a number that no program expects. */
static void arm_counts(const char *path) {
  int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600)
                : NONE;
  if (fd < 0)
    return;
  faults.told = fcntl(fd, F_DUPFD_CLOEXEC, 500);
  syscall(SYS_close, fd);
}

__attribute__((constructor)) static void arm(void) {
  const char *rest;
  void *room =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, NONE, 0);
  shared = room == MAP_FAILED ? NULL : room;
  const char *allocation = getenv("FAULT_ALLOCATION");
  const char *from = getenv("FAULT_FROM");
  const char *half = getenv("FAULT_SHORT");
  const char *call = getenv("FAULT_CALL");
  const char *signal_at = getenv("FAULT_SIGNAL");
  faults.error = ENOSPC;
  if (allocation)
    faults.fail_allocation = strtoul(allocation, NULL, 10);
  faults.fail_from = from ? strtoul(from, NULL, 10) : ULONG_MAX;
  if (half)
    faults.short_at = strtoul(half, NULL, 10);
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
  const char *program = getenv("FAULT_PROGRAM");
  const char *counts = getenv("FAULT_COUNTS");
  faults.told = NONE;
  if (!program || strcmp(program, program_invocation_short_name) == 0)
    arm_counts(counts);
  faults.armed = !program || strcmp(program, program_invocation_short_name) == 0;
}

__attribute__((destructor)) static void tell(void) {
  int fd = faults.told;
  faults.armed = 0;
  keep_counts();
  if (fd < 0 || !shared)
    return;
  faults.live -= __fbufsize(stdout) > 0; /* which the C library keeps */
  dprintf(fd, "%lu %lu %lu %ld\n", shared->most[0], shared->most[1], shared->most[2], faults.live);
  for (unsigned long n = 1; n <= shared->most[1] && n < MOST_CALLS; n++) {
    for (int i = 0; i < MOST_NAMES; i++)
      if (shared->made[n] >> i & 1)
        dprintf(fd, "%s ", shared->names[i]);
    dprintf(fd, "\n");
  }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int no_memory(void) {
  if (!faults.armed)
    return 0;
  unsigned long n = __atomic_add_fetch(&faults.allocations, 1, __ATOMIC_RELAXED);
  if (n != faults.fail_allocation && n < faults.fail_from)
    return 0;
  errno = ENOMEM;
  return 1;
}

static void *taken(void *p) {
  if (p && faults.armed)
    __atomic_add_fetch(&faults.live, 1, __ATOMIC_RELAXED);
  return p;
}

void *malloc(size_t n) { return no_memory() ? NULL : taken(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return no_memory() ? NULL : taken(__libc_calloc(n, size)); }

void *realloc(void *p, size_t n) {
  if (no_memory())
    return NULL;
  return p ? __libc_realloc(p, n) : taken(__libc_malloc(n));
}

void free(void *p) {
  if (p && faults.armed)
    __atomic_sub_fetch(&faults.live, 1, __ATOMIC_RELAXED);
  __libc_free(p);
}

void *aligned_alloc(size_t alignment, size_t n) {
  return no_memory() ? NULL : taken(__libc_memalign(alignment, n));
}

void *memalign(size_t alignment, size_t n) { return aligned_alloc(alignment, n); }

int posix_memalign(void **out, size_t alignment, size_t n) {
  void *p = aligned_alloc(alignment, n);
  if (!p)
    return ENOMEM;
  *out = p;
  return 0;
}

/* ---- the operating system -------------------------------------------------------------------- */

/* Counts a call; true when it is to fail, with errno set. */
static int fails(const char *name, int changes) {
  if (!faults.armed)
    return 0;
  unsigned long n = __atomic_add_fetch(&faults.calls, 1, __ATOMIC_RELAXED);
  keep_name(n, name);
  faults.changes += changes != 0;
  if (n == faults.signal_at)
    raise(faults.signal);
  if (n == faults.change_at)
    change_file();
  if (strcmp(faults.name, name) != 0 && strcmp(faults.name, "any") != 0 &&
      !(changes && strcmp(faults.name, "change") == 0))
    return 0;
  if (++faults.named != faults.fail_call)
    return 0;
  errno = faults.error;
  return 1;
}

/* Bytes that the call that was counted last reads or writes. */
static size_t part(size_t n) {
  return faults.armed && faults.calls == faults.short_at ? (n + 1) / 2 : n;
}

/* Defines NAME as the C library's, except where it is to fail: then it does nothing but return
 * FAILURE. */
#define WRAP_AS(type, name, failure, changes, parameters, arguments)                               \
  type name parameters;                                                                            \
  type name parameters {                                                                           \
    static type(*real) parameters;                                                                 \
    if (!real)                                                                                     \
      *(void **)&real = dlsym(RTLD_NEXT, #name);                                                   \
    return fails(#name, changes) ? failure : real arguments;                                       \
  }
#define WRAP(type, name, changes, parameters, arguments)                                           \
  WRAP_AS(type, name, (type)-1, changes, parameters, arguments)

WRAP(ssize_t, write, 0, (int fd, const void *p, size_t n), (fd, p, part(n)))
WRAP(ssize_t, pwrite, 0, (int fd, const void *p, size_t n, off_t at), (fd, p, part(n), at))
WRAP(ssize_t, writev, 0, (int fd, const struct iovec *v, int n), (fd, v, (int)part((size_t)n)))
WRAP(ssize_t, read, 0, (int fd, void *p, size_t n), (fd, p, part(n)))
WRAP(ssize_t, pread, 0, (int fd, void *p, size_t n, off_t at), (fd, p, part(n), at))
WRAP(ssize_t, copy_file_range, 0,
     (int in, off_t *from, int out, off_t *to, size_t n, unsigned flags),
     (in, from, out, to, part(n), flags))
WRAP(off_t, lseek, 0, (int fd, off_t at, int from), (fd, at, from))
WRAP(int, ftruncate, 0, (int fd, off_t n), (fd, n))
WRAP(int, fsync, 0, (int fd), (fd))
WRAP(int, fchmod, 0, (int fd, mode_t mode), (fd, mode))
WRAP(int, chmod, 0, (const char *path, mode_t mode), (path, mode))
WRAP(int, futimens, 0, (int fd, const struct timespec t[2]), (fd, t))
WRAP(int, utimensat, 0, (int fd, const char *path, const struct timespec t[2], int flags),
     (fd, path, t, flags))
WRAP(int, stat, 0, (const char *path, struct stat *st), (path, st))
WRAP(int, lstat, 0, (const char *path, struct stat *st), (path, st))
WRAP(int, fstat, 0, (int fd, struct stat *st), (fd, st))
WRAP(int, fstatat, 0, (int fd, const char *path, struct stat *st, int flags), (fd, path, st, flags))
WRAP(int, access, 0, (const char *path, int mode), (path, mode))
WRAP(ssize_t, readlink, 0, (const char *path, char *to, size_t n), (path, to, n))
WRAP_AS(char *, realpath, NULL, 0, (const char *path, char *to), (path, to))
WRAP_AS(DIR *, opendir, NULL, 0, (const char *path), (path))
WRAP_AS(struct dirent *, readdir, NULL, 0, (DIR * d), (d))
WRAP(void *, mmap, 0, (void *p, size_t n, int how, int flags, int fd, off_t at),
     (p, n, how, flags, fd, at))
WRAP(int, memfd_create, 0, (const char *name, unsigned flags), (name, flags))
WRAP(int, mkstemp, 1, (char *path), (path))
WRAP_AS(char *, mkdtemp, NULL, 1, (char *path), (path))
WRAP(int, mkdir, 1, (const char *path, mode_t mode), (path, mode))
WRAP(int, rmdir, 0, (const char *path), (path))
WRAP(int, unlink, 0, (const char *path), (path))
WRAP(int, unlinkat, 0, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(int, link, 1, (const char *from, const char *to), (from, to))
WRAP(int, rename, 1, (const char *from, const char *to), (from, to))
WRAP(int, renameat2, 1, (int a, const char *from, int b, const char *to, unsigned flags),
     (a, from, b, to, flags))
WRAP(int, linkat, 1, (int a, const char *from, int b, const char *to, int flags),
     (a, from, b, to, flags))
WRAP(int, flock, 0, (int fd, int how), (fd, how))
WRAP(int, pipe, 0, (int ends[2]), (ends))
WRAP(int, dup2, 0, (int from, int to), (from, to))
WRAP(int, chdir, 0, (const char *path), (path))
WRAP(pid_t, fork, 0, (void), ())
WRAP(pid_t, waitpid, 0, (pid_t pid, int *status, int how), (pid, status, how))
WRAP_AS(int, posix_spawnp, faults.error, 0,
        (pid_t * pid, const char *file, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const *argv, char *const *environment),
        (pid, file, actions, attributes, argv, environment))
WRAP_AS(int, pthread_create, faults.error, 0,
        (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *user),
        (thread, attributes, start, user))

/* A file is closed even where that fails. */
int close(int fd) {
  int failed = fails("close", 0), saved = errno;
  int result = (int)syscall(SYS_close, fd);
  if (!failed)
    return result;
  errno = saved;
  return NONE;
}

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
