/* SPDX-License-Identifier: Apache-2.0 */
/* Input files: mapped, or read whole. The path rules for data beside a model are here too, so that
 * no reader can open a file that the model's author was not entitled to name. */
#include "support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A pipe or device has no size to check first; beyond this it is taken for endless. */
#define MAX_STREAM_BYTES (UINT64_C(1) << 31)

/* Lack of memory is reported as such. */
static tl_status report_errno(tl_diag *d, tl_location where, const char *verb, const char *path) {
  if (errno == ENOMEM)
    return tl_fail_memory(d, where);
  return tl_fail(d, TL_IO, where, "cannot %s '%s': %s", verb, path, strerror(errno));
}

static tl_status report_no_memory(tl_diag *d, tl_location where, uint64_t bytes) {
  return tl_fail(d, TL_NO_MEMORY, where, "out of memory reading %llu bytes",
                 (unsigned long long)bytes);
}

/* Reads up to n bytes, fewer only at the end of the file; -1 on error. An interrupted read is an
 * error: whoever waits for a pipe must be able to give up. Reads of regular files are not
 * interrupted. */
static ssize_t read_fully(int fd, unsigned char *p, size_t n) {
  size_t done = 0;
  while (done < n) {
    ssize_t got = read(fd, p + done, n - done);
    if (got < 0)
      return -1;
    if (got == 0)
      break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

/* Reads a pipe or device to its end. Its size is not known ahead, so the buffer doubles. */
static tl_status read_stream(tl_diag *d, tl_location where, int fd, tl_file *f) {
  unsigned char *data = NULL;
  size_t n = 0;
  for (size_t cap = 65536;; cap *= 2) {
    unsigned char *grown = realloc(data, cap);
    if (!grown) {
      free(data);
      return report_no_memory(d, where, cap);
    }
    data = grown;
    ssize_t got = read_fully(fd, data + n, cap - n);
    if (got < 0) {
      free(data);
      return report_errno(d, where, "read", f->path);
    }
    n += (size_t)got;
    if (n < cap)
      break;
    if (cap >= MAX_STREAM_BYTES) {
      free(data);
      return tl_fail(d, TL_LIMIT, where, "'%s' gives more than %llu bytes\vsave it to a file first",
                     f->path, (unsigned long long)MAX_STREAM_BYTES);
    }
  }
  f->data = data;
  f->size = n;
  return TL_OK;
}

/* The file may change while it is read; then its size no longer fits. */
static tl_status read_regular(tl_diag *d, tl_location where, int fd, tl_file *f) {
  if (f->size > SIZE_MAX / 2)
    return report_no_memory(d, where, f->size);
  unsigned char *data = malloc(f->size ? (size_t)f->size : 1);
  if (!data)
    return report_no_memory(d, where, f->size);
  ssize_t got = read_fully(fd, data, (size_t)f->size);
  if (got < 0 || (uint64_t)got != f->size) {
    free(data);
    if (got < 0)
      return report_errno(d, where, "read", f->path);
    return tl_fail(d, TL_IO, where, "'%s' shrank from %llu to %lld bytes while it was read",
                   f->path, (unsigned long long)f->size, (long long)got);
  }
  f->data = data;
  return TL_OK;
}

/* A private mapping: weights are paged in when they are first used. */
static tl_status map_regular(tl_diag *d, tl_location where, int fd, tl_file *f) {
  if (f->size > SIZE_MAX / 2)
    return report_no_memory(d, where, f->size);
  void *data = mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED)
    return report_errno(d, where, "map", f->path);
  f->data = data;
  f->mapped = true;
  return TL_OK;
}

/* Fills f from an open descriptor, which it keeps in mapping mode only. */
static tl_status fill(tl_diag *d, tl_location where, int fd, tl_file_mode mode, tl_file *f) {
  struct stat st;
  if (fstat(fd, &st) != 0)
    return report_errno(d, where, "examine", f->path);
  if (S_ISDIR(st.st_mode))
    return tl_fail(d, TL_IO, where, "'%s' is a folder, a file was expected\vname a file in it",
                   f->path);
  f->device = (uint64_t)st.st_dev;
  f->inode = (uint64_t)st.st_ino;
  if (!S_ISREG(st.st_mode))
    return read_stream(d, where, fd, f);
  tl_diag_opened(d, f->path, &st);
  f->size = (uint64_t)st.st_size;
  if (mode == TL_FILE_READ || f->size == 0) /* an empty file cannot be mapped */
    return read_regular(d, where, fd, f);
  TL_TRY(map_regular(d, where, fd, f));
  f->fd = fd;
  return TL_OK;
}

/* Makes a file of a descriptor, which is closed here unless the file keeps it. */
static tl_status open_fd(tl_diag *d, tl_location where, int fd, const char *path, tl_file_mode mode,
                         tl_file **out) {
  tl_file *f = calloc(1, sizeof *f);
  char *copy = strdup(path);
  if (!f || !copy) {
    free(f);
    free(copy);
    close(fd);
    return report_no_memory(d, where, sizeof *f);
  }
  f->path = copy;
  f->fd = -1;
  tl_status status = fill(d, where, fd, mode, f);
  if (f->fd < 0)
    close(fd);
  if (status != TL_OK) {
    tl_file_close(f);
    return status;
  }
  *out = f;
  return TL_OK;
}

/* "-" is standard input, by a descriptor of its own that can be closed. */
tl_status tl_file_open(tl_diag *d, const char *path, tl_file_mode mode, tl_file **out) {
  *out = NULL;
  tl_location where = TL_AT_FILE(path);
  bool is_stdin = strcmp(path, "-") == 0;
  int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return report_errno(d, where, "open", is_stdin ? "standard input" : path);
  return open_fd(d, where, fd, path, mode, out);
}

tl_status tl_file_adopt(const tl_file *of, void *bytes, uint64_t size, tl_file **out) {
  tl_file *f = calloc(1, sizeof *f);
  char *copy = strdup(of->path);
  if (!f || !copy) {
    free(f);
    free(copy);
    free(bytes);
    return TL_NO_MEMORY;
  }
  *f = (tl_file){.path = copy,
                 .data = bytes,
                 .size = size,
                 .fd = -1,
                 .device = of->device,
                 .inode = of->inode};
  *out = f;
  return TL_OK;
}

tl_status tl_file_lend(tl_diag *d, const char *path, const tl_lent_bytes *bytes, tl_file **out) {
  tl_file *f = calloc(1, sizeof *f);
  char *copy = strdup(path);
  *out = NULL;
  if (!f || !copy) {
    free(f);
    free(copy);
    bytes->give_back(bytes->user, bytes->data, bytes->size);
    return tl_fail_memory(d, TL_AT_FILE(path));
  }
  *f = (tl_file){.path = copy,
                 .data = bytes->data,
                 .size = bytes->size,
                 .fd = -1,
                 .give_back = bytes->give_back,
                 .user = bytes->user};
  *out = f;
  return TL_OK;
}

/* The mapping stays without it. */
void tl_file_drop_descriptor(tl_file *f) {
  if (f->fd >= 0)
    close(f->fd);
  f->fd = -1;
}

void tl_file_close(tl_file *f) {
  if (!f)
    return;
  if (f->give_back)
    f->give_back(f->user, f->data, f->size);
  else if (f->mapped)
    munmap((void *)(uintptr_t)f->data, (size_t)f->size);
  else
    free((void *)(uintptr_t)f->data);
  tl_file_drop_descriptor(f);
  free(f->path);
  free(f);
}

/* Returns what is wrong with the spelling of a location, NULL when nothing is. */
static const char *location_fault(tl_sv location) {
  if (location.n == 0)
    return "is empty";
  if (location.n >= PATH_MAX)
    return "is longer than a path can be";
  if (memchr(location.p, '\0', location.n))
    return "contains a NUL byte";
  if (location.p[0] == '/')
    return "is an absolute path";
  for (tl_sv rest = location; rest.p;) {
    if (tl_sv_is(tl_sv_split(&rest, '/'), ".."))
      return "contains '..'";
  }
  return NULL;
}

/* Returns the folder of model_path, '/' and location, on the heap. */
static char *join_beside(const char *model_path, tl_sv location) {
  const char *slash = strrchr(model_path, '/');
  tl_buf path;
  tl_buf_init(&path);
  if (slash)
    tl_buf_add(&path, model_path, (size_t)(slash - model_path) + 1);
  else
    tl_buf_add_z(&path, "./");
  tl_buf_add_sv(&path, location);
  if (path.failed) {
    tl_buf_release(&path);
    return NULL;
  }
  return path.p;
}

/* Returns true when a resolved path lies below a resolved folder. */
static bool is_inside(const char *folder, const char *path) {
  size_t n = strlen(folder);
  while (n && folder[n - 1] == '/')
    n--;
  return strncmp(folder, path, n) == 0 && path[n] == '/';
}

static tl_status report_leaves(tl_diag *d, tl_location where, tl_sv location) {
  return tl_fail(d, TL_INVALID_MODEL, where,
                 "external data location '%.*s' is a link that leaves the model's folder\v"
                 "copy the data next to the model",
                 TL_SV_ARG(location));
}

/* Opens a name below a folder, refusing in the kernel every way out (openat2, Linux 5.6).
 * O_NONBLOCK keeps a FIFO from blocking the open. */
static int below(int folder, const char *name, uint64_t resolve) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve};
  return (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
}

/* Opens a resolved path without following links, and then asks the kernel what was opened: for
 * kernels without openat2. EXDEV when it lies outside. */
static int open_and_ask(const char *folder, const char *real) {
  char self[40], opened[PATH_MAX];
  int fd = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return -1;
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(self, opened, sizeof opened - 1);
  if (n >= 0)
    opened[n] = '\0';
  if (n < 0 || is_inside(folder, opened)) /* without /proc the resolved path must do */
    return fd;
  close(fd);
  errno = EXDEV;
  return -1;
}

/* Handles an absolute link that leads back into the folder, which RESOLVE_BENEATH refuses: what it
 * leads to is opened by its own path, without links. */
static int open_resolved(int at, const char *folder, const char *joined) {
  char *inside = realpath(folder, NULL);
  char *real = inside ? realpath(joined, NULL) : NULL;
  int fd = -1;
  if (real && !is_inside(inside, real)) {
    errno = EXDEV;
  } else if (real) {
    size_t n = strlen(inside);
    fd = below(at, real + n + (inside[n - 1] != '/'), RESOLVE_NO_SYMLINKS);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
      fd = open_and_ask(inside, real);
  }
  int saved = errno;
  free(inside);
  free(real);
  errno = saved;
  return fd;
}

/* Opens location below the folder in one step of the kernel. Links are followed, but none that
 * leads out, even if it is exchanged at this moment. EXDEV: a link leads out. */
static int open_below(const char *folder, const char *joined, tl_sv location) {
  int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0)
    return -1;
  int fd = below(at, joined + (strlen(joined) - location.n), 0);
  if (fd < 0 && (errno == EXDEV || errno == ENOSYS || errno == EPERM || errno == EAGAIN))
    fd = open_resolved(at, folder, joined);
  int saved = errno;
  close(at);
  errno = saved;
  return fd;
}

/* Opens a regular file below the folder; reports what is in the way. */
static tl_status open_inside(tl_diag *d, char *joined, tl_sv location, tl_location where,
                             int *out) {
  char *end = joined + (strlen(joined) - location.n);
  char *folder = strndup(joined, (size_t)(end - joined));
  struct stat st;
  if (!folder)
    return report_no_memory(d, where, location.n);
  int fd = open_below(folder, joined, location);
  int saved = errno;
  free(folder);
  errno = saved;
  if (fd < 0)
    return errno == EXDEV ? report_leaves(d, where, location)
                          : report_errno(d, where, "open external data", joined);
  *out = fd;
  bool known = fstat(fd, &st) == 0;
  if (known && S_ISREG(st.st_mode))
    return TL_OK;
  saved = errno;
  close(fd);
  errno = saved;
  if (!known)
    return report_errno(d, where, "examine external data", joined);
  return tl_fail(d, TL_INVALID_MODEL, where, "external data location '%.*s' is not a regular file",
                 TL_SV_ARG(location));
}

tl_status tl_file_check_location(tl_diag *d, tl_sv location, tl_location where) {
  const char *fault = location_fault(location);
  if (!fault)
    return TL_OK;
  return tl_fail(d, TL_INVALID_MODEL, where,
                 "external data location '%.*s' %s\v"
                 "it must be a relative path below the model's folder",
                 (int)(location.n > 200 ? 200 : location.n), location.p ? location.p : "", fault);
}

tl_status tl_file_open_beside(tl_diag *d, const char *model_path, tl_sv location, tl_file_mode mode,
                              tl_location where, tl_file **out) {
  *out = NULL;
  TL_TRY(tl_file_check_location(d, location, where));
  char *joined = join_beside(model_path, location);
  if (!joined)
    return report_no_memory(d, where, location.n);
  int fd;
  tl_status status = open_inside(d, joined, location, where, &fd);
  if (status == TL_OK)
    status = open_fd(d, where, fd, joined, mode, out);
  free(joined);
  return status;
}

/* A folder that exists already is fine; a link to one is as well. */
struct dirent *tl_folder_next(DIR *folder, int *error) {
  errno = 0;
  struct dirent *e = readdir(folder);
  if (!e && errno)
    *error = errno;
  return e;
}

tl_status tl_make_folder(tl_diag *d, const char *path) {
  struct stat st;
  if (mkdir(path, 0777) == 0)
    return TL_OK;
  int saved = errno;
  if (saved == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    return TL_OK;
  errno = saved;
  return report_errno(d, TL_AT_FILE(path), "create folder", path);
}
