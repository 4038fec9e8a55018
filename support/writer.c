/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic output (file.h). Everything is staged in a file without a name, so that a killed process
 * leaves nothing; the name appears by link or rename once the bytes are on disk. Where the file
 * system has no unnamed files, a hidden name is used and removed on failure. Pipes, devices and
 * standard output are staged as well and receive the bytes at commit. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support/assert.h"
#include "support/file.h"
#include "support/litter.h"

/* ROOM: what a caller of tl_writer_room may ask for; larger writes bypass the buffer. COPY_STEP:
 * bytes between two looks at `cancel`. */
enum {
  ROOM = 65536,
  BUFFER_BYTES = 2 * ROOM,
  COPY_STEP = 16 << 20,
  LEAST_HOLE = 1 << 20, /* a hole of a file that is copied stays one from this size on */
  NAME_TRIES = 1000
};

struct tl_writer {
  tl_diag *diag;
  const volatile int *cancel; /* borrowed, may be NULL */
  char *path;                 /* owned; for messages */
  char *target;               /* owned; path with links resolved, NULL when it is a stream */
  char *temporary;            /* owned; name to remove again, NULL while unnamed */
  unsigned char *buffer;      /* owned, BUFFER_BYTES */
  size_t used;                /* bytes in the buffer */
  uint64_t flushed;           /* bytes in the file */
  void *view;                 /* mapping handed out, or NULL */
  size_t view_bytes;
  int fd;            /* staging file */
  int stream;        /* descriptor that gets the bytes at commit, -1: none */
  bool spares_disk;  /* no fsync */
  bool ends_in_hole; /* the file is shorter than what was written: nothing came behind a hole */
  mode_t mode;       /* permissions of the file being replaced, 0: the usual ones */
  tl_status status;  /* first failure */
};

static tl_status fail_memory(tl_writer *w) {
  w->status = tl_fail_memory(w->diag, TL_AT_FILE(w->path));
  return w->status;
}

/* Lack of memory is reported as such, whatever was being done. */
static tl_status fail_errno(tl_writer *w, const char *verb) {
  if (errno == ENOMEM)
    return fail_memory(w);
  w->status = tl_fail(w->diag, TL_IO, TL_AT_FILE(w->path), "cannot %s '%s': %s", verb, w->path,
                      strerror(errno));
  return w->status;
}

/* What fails where bytes are appended: the disk that the bytes of a stream wait on is not the one
 * that they go to. */
static const char *appending(const tl_writer *w) {
  return w->stream >= 0 ? "stage in " P_tmpdir " what goes to" : "write";
}

/* Reports the interruption once. */
static bool is_cancelled(tl_writer *w) {
  if (!w->cancel || !*w->cancel)
    return false;
  if (w->status == TL_OK)
    w->status = tl_fail(w->diag, TL_IO, TL_AT_FILE(w->path), "writing was interrupted");
  return true;
}

/* Writes all of p to a descriptor, in steps between which it can be cancelled. */
static tl_status write_fully(tl_writer *w, int fd, const unsigned char *p, size_t n) {
  while (n) {
    if (is_cancelled(w))
      return w->status;
    ssize_t put = write(fd, p, n > COPY_STEP ? COPY_STEP : n);
    w->ends_in_hole = w->ends_in_hole && put <= 0;
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return fail_errno(w, fd == w->fd ? appending(w) : "write");
    p += put;
    n -= (size_t)put;
  }
  return TL_OK;
}

/* After a failure nothing more is written. */
static tl_status flush(tl_writer *w) {
  if (w->status != TL_OK)
    return w->status;
  TL_TRY(write_fully(w, w->fd, w->buffer, w->used));
  w->flushed += w->used;
  w->used = 0;
  return TL_OK;
}

/* Returns the length of the folder part including its slash; 0 for the current folder. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

/* On the heap. */
static char *folder_of(const char *path) {
  size_t n = folder_length(path);
  return n ? strndup(path, n) : strdup(".");
}

/* Returns a hidden sibling of the target on the heap: "<folder>/.<name>.<pid>-<i>.tmp". The name is
 * cut so that the whole fits any file system. */
static char *temporary_name(const char *target, int i) {
  tl_buf name;
  tl_buf_init(&name);
  size_t folder = folder_length(target);
  tl_buf_add(&name, target, folder);
  tl_buf_printf(&name, ".%.*s.%ld-%d.tmp", TL_LITTER_NAME, target + folder, (long)getpid(), i);
  if (name.failed) {
    tl_buf_release(&name);
    return NULL;
  }
  return name.p;
}

/* Creates the hidden sibling, by opening it or by linking the unnamed file to it. */
static tl_status take_temporary(tl_writer *w, bool link_unnamed) {
  char source[40];
  snprintf(source, sizeof source, "/proc/self/fd/%d", w->fd);
  for (int i = 0; i < NAME_TRIES; i++) {
    char *name = temporary_name(w->target, i);
    if (!name)
      return fail_memory(w);
    int got = link_unnamed ? linkat(AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW)
                           : open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (got >= 0) {
      w->temporary = name;
      w->fd = link_unnamed ? w->fd : got;
      return TL_OK;
    }
    free(name);
    if (errno != EEXIST)
      break;
  }
  return fail_errno(w, "create a temporary file for");
}

/* Opens the staging file of a target with a name. */
static tl_status open_staging(tl_writer *w) {
  char *folder = folder_of(w->target);
  if (!folder)
    return fail_memory(w);
  /* The name is given through /proc later; without /proc an unnamed file could never be linked. */
  if (access("/proc/self/fd", X_OK) == 0)
    w->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  free(folder);
  if (w->fd >= 0)
    return TL_OK;
  return take_temporary(w, false);
}

/* Opens the staging file for bytes that end in a stream. */
static tl_status open_stream_staging(tl_writer *w) {
  w->fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (w->fd < 0)
    w->fd = memfd_create("tailor", MFD_CLOEXEC);
  return w->fd < 0 ? fail_errno(w, "stage output for") : TL_OK;
}

/* Returns true if stat has failed because there is no such file, or for a reason that keeps a new
 * one from appearing there as well. For any other reason it may be a device, which a file must not
 * replace. */
static bool is_absent(void) {
  return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ENAMETOOLONG ||
         errno == ELOOP;
}

/* Decides between a file to replace and a stream to feed, and sets target, mode or stream. */
static tl_status choose_target(tl_writer *w) {
  struct stat st;
  if (strcmp(w->path, "-") == 0) {
    w->stream = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return w->stream < 0 ? fail_errno(w, "write to standard output as") : TL_OK;
  }
  if (stat(w->path, &st) != 0) {
    if (!is_absent())
      return fail_errno(w, "examine");
    w->target = strdup(w->path);
    return w->target ? TL_OK : fail_memory(w);
  }
  if (S_ISDIR(st.st_mode)) {
    w->status = tl_fail(w->diag, TL_IO, TL_AT_FILE(w->path),
                        "'%s' is a folder, a file name was expected", w->path);
    return w->status;
  }
  if (!S_ISREG(st.st_mode)) {
    w->stream = open(w->path, O_WRONLY | O_CLOEXEC);
    return w->stream < 0 ? fail_errno(w, "open") : TL_OK;
  }
  if (access(w->path, W_OK) != 0) /* rename would replace a read-only file all the same */
    return fail_errno(w, "write");
  w->mode = st.st_mode & 07777;
  w->target = realpath(w->path, NULL);
  return w->target ? TL_OK : fail_errno(w, "resolve");
}

tl_status tl_writer_open(tl_diag *d, const char *path, const volatile int *cancel,
                         tl_writer **out) {
  *out = NULL;
  tl_writer *w = calloc(1, sizeof *w);
  if (!w)
    return tl_fail_memory(d, TL_AT_FILE(path));
  w->diag = d;
  w->cancel = cancel;
  w->fd = -1;
  w->stream = -1;
  w->path = strdup(path);
  w->buffer = malloc(BUFFER_BYTES);
  tl_status status = TL_OK;
  if (!w->path || !w->buffer)
    status = tl_fail_memory(d, TL_AT_FILE(path));
  if (status == TL_OK)
    status = choose_target(w);
  if (status == TL_OK)
    status = w->target ? open_staging(w) : open_stream_staging(w);
  if (status != TL_OK) {
    tl_writer_abort(w);
    return status;
  }
  *out = w;
  return TL_OK;
}

tl_status tl_writer_write(tl_writer *w, const void *p, size_t n) {
  if (w->status != TL_OK)
    return w->status;
  bool large = n > ROOM; /* written to the file directly, after what is in the buffer */
  if (large || n > BUFFER_BYTES - w->used)
    TL_TRY(flush(w));
  if (large) {
    TL_TRY(write_fully(w, w->fd, p, n));
    w->flushed += n;
    return TL_OK;
  }
  if (n)
    memcpy(w->buffer + w->used, p, n);
  w->used += n;
  return TL_OK;
}

/* Writes what it can of the runs with one call: the kernel takes the bytes where they are. What is
 * left is written as usual, which also says why a run could not be read. */
tl_status tl_writer_gather(tl_writer *w, const tl_sv *runs, uint32_t n) {
  struct iovec all[TL_MOST_RUNS];
  TL_TRY(flush(w));
  TL_ASSERT(n <= TL_MOST_RUNS);
  for (uint32_t i = 0; i < n; i++)
    all[i] = (struct iovec){(void *)(uintptr_t)runs[i].p, runs[i].n};
  ssize_t put = is_cancelled(w) ? 0 : writev(w->fd, all, (int)n);
  size_t done = put > 0 ? (size_t)put : 0;
  w->ends_in_hole = w->ends_in_hole && !done;
  w->flushed += done;
  for (uint32_t i = 0; i < n; i++) {
    size_t skip = done < runs[i].n ? done : runs[i].n;
    done -= skip;
    if (skip < runs[i].n)
      TL_TRY(tl_writer_write(w, runs[i].p + skip, runs[i].n - skip));
  }
  return w->status;
}

/* Returns true when the failure only means that the kernel cannot copy between these two files. */
static bool copy_is_unavailable(void) {
  return errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ||
         errno == EPERM || errno == EBADF;
}

/* Returns true if a file has room for fewer bytes than it is long: to look for holes costs as much
 * as a third of copying. */
static bool is_sparse(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 + LEAST_HOLE <= (uint64_t)st.st_size;
}

/* Leaves a hole where the file that is copied has one: `left` bytes are wanted from `from` on. Sets
 * *skipped to its length, 0 for data, and *left to the data before the next hole. What a file
 * system does not tell is data. */
static tl_status skip_hole(tl_writer *w, int fd, off_t from, uint64_t *left, uint64_t *skipped) {
  off_t data = lseek(fd, from, SEEK_DATA);
  *skipped = 0;
  if (data < 0 && errno == ENXIO)
    data = from + (off_t)*left; /* nothing else comes */
  if (data - from >= LEAST_HOLE) {
    *skipped = (uint64_t)(data - from) < *left ? (uint64_t)(data - from) : *left;
    w->ends_in_hole = true;
    w->flushed += *skipped;
    return lseek(w->fd, (off_t)*skipped, SEEK_CUR) < 0 ? fail_errno(w, "write") : TL_OK;
  }
  off_t end = data < 0 ? data : lseek(fd, data, SEEK_HOLE);
  if (end > from && (uint64_t)(end - from) < *left)
    *left = (uint64_t)(end - from);
  return TL_OK;
}

/* Copies in the kernel as much as it is willing to. *done: bytes copied. */
static tl_status copy_in_kernel(tl_writer *w, int fd, uint64_t offset, uint64_t length,
                                uint64_t *done) {
  off_t from = (off_t)offset;
  bool sparse = length >= LEAST_HOLE && is_sparse(fd);
  for (*done = 0; *done < length;) {
    if (is_cancelled(w))
      return w->status;
    uint64_t left = length - *done, skipped = 0;
    if (sparse && left >= LEAST_HOLE)
      TL_TRY(skip_hole(w, fd, from, &left, &skipped));
    from += (off_t)skipped;
    *done += skipped;
    if (skipped)
      continue;
    size_t step = left > COPY_STEP ? COPY_STEP : (size_t)left;
    ssize_t put = copy_file_range(fd, &from, w->fd, NULL, step, 0);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0 && !copy_is_unavailable())
      return fail_errno(w, appending(w));
    if (put <= 0)
      return TL_OK;
    w->ends_in_hole = false;
    *done += (uint64_t)put;
    w->flushed += (uint64_t)put;
  }
  return TL_OK;
}

/* Copies through the empty buffer, from *done on, where the kernel does not copy: between two file
 * systems. Reading costs a third of what it costs to map each page of the file and write from
 * there. Stops where the file cannot be read; the view of it is tried then. */
static tl_status copy_by_reading(tl_writer *w, int fd, uint64_t offset, uint64_t length,
                                 uint64_t *done) {
  while (*done < length) {
    uint64_t left = length - *done;
    size_t n = left > BUFFER_BYTES ? BUFFER_BYTES : (size_t)left;
    ssize_t got = pread(fd, w->buffer, n, (off_t)(offset + *done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return TL_OK;
    TL_TRY(write_fully(w, w->fd, w->buffer, (size_t)got));
    w->flushed += (uint64_t)got;
    *done += (uint64_t)got;
  }
  return TL_OK;
}

tl_status tl_writer_copy(tl_writer *w, const tl_file *f, uint64_t offset, uint64_t length) {
  if (w->status != TL_OK)
    return w->status;
  if (offset > f->size || length > f->size - offset) {
    w->status = tl_fail(w->diag, TL_INTERNAL, TL_AT_FILE(w->path),
                        "range %llu+%llu lies outside '%s' of %llu bytes",
                        (unsigned long long)offset, (unsigned long long)length, f->path,
                        (unsigned long long)f->size);
    return w->status;
  }
  uint64_t done = 0;
  if (f->fd >= 0 && length > ROOM) {
    TL_TRY(flush(w));
    TL_TRY(copy_in_kernel(w, f->fd, offset, length, &done));
    TL_TRY(copy_by_reading(w, f->fd, offset, length, &done));
  }
  return tl_writer_write(w, f->data + offset + done, (size_t)(length - done));
}

tl_status tl_writer_copy_open(tl_writer *w, int fd, uint64_t length, bool *copied) {
  uint64_t done = 0;
  tl_status status = w->status;
  if (status == TL_OK)
    status = flush(w);
  if (status == TL_OK)
    status = copy_in_kernel(w, fd, 0, length, &done);
  *copied = done > 0;
  return status;
}

bool tl_writer_clone(tl_writer *w, int fd) {
  struct stat st;
  if (w->status != TL_OK || w->stream >= 0 || tl_writer_position(w) || fstat(fd, &st) != 0 ||
      ioctl(w->fd, FICLONE, fd) != 0)
    return false;
  w->flushed = (uint64_t)st.st_size;
  return true;
}

void tl_writer_spare_disk(tl_writer *w) { w->spares_disk = true; }

const char *tl_writer_path(const tl_writer *w) { return w->path; }

int tl_writer_descriptor(const tl_writer *w) { return w->fd; }

unsigned char *tl_writer_room(tl_writer *w, size_t n) {
  if (w->status != TL_OK)
    return NULL;
  if (n > ROOM) {
    w->status = tl_fail(w->diag, TL_INTERNAL, TL_AT_FILE(w->path), "room for %llu bytes asked",
                        (unsigned long long)n);
    return NULL;
  }
  if (n > BUFFER_BYTES - w->used && flush(w) != TL_OK)
    return NULL;
  return w->buffer + w->used;
}

void tl_writer_advance(tl_writer *w, size_t n) { w->used += n; }

uint64_t tl_writer_position(const tl_writer *w) { return w->flushed + w->used; }

bool tl_writer_is_cancelled(const tl_writer *w) { return w->cancel && *w->cancel; }

tl_status tl_writer_lend(tl_writer *w, uint64_t *offset) {
  *offset = 0;
  TL_TRY(flush(w));
  *offset = w->flushed;
  return is_cancelled(w) ? w->status : TL_OK;
}

tl_status tl_writer_take_back(tl_writer *w, uint64_t n, int error) {
  if (is_cancelled(w))
    return w->status;
  errno = error;
  if (error)
    return fail_errno(w, "write");
  w->ends_in_hole = w->ends_in_hole && n == 0;
  w->flushed += n;
  return lseek(w->fd, (off_t)w->flushed, SEEK_SET) < 0 ? fail_errno(w, "write") : TL_OK;
}

static void drop_view(tl_writer *w) {
  if (w->view)
    munmap(w->view, w->view_bytes);
  w->view = NULL;
}

const unsigned char *tl_writer_view(tl_writer *w, uint64_t *size) {
  *size = 0;
  if (flush(w) != TL_OK)
    return NULL;
  drop_view(w);
  if (w->flushed == 0)
    return (const unsigned char *)"";
  if (w->flushed > SIZE_MAX) {
    fail_memory(w);
    return NULL;
  }
  void *p = mmap(NULL, (size_t)w->flushed, PROT_READ, MAP_SHARED, w->fd, 0);
  if (p == MAP_FAILED) {
    fail_errno(w, "read back");
    return NULL;
  }
  w->view = p;
  w->view_bytes = (size_t)w->flushed;
  *size = w->flushed;
  return p;
}

/* Hands the staged bytes to a pipe, device or standard output. */
static tl_status feed_stream(tl_writer *w) {
  uint64_t size;
  const unsigned char *p = tl_writer_view(w, &size);
  return p ? write_fully(w, w->stream, p, (size_t)size) : w->status;
}

/* Gives the staged file its name. Only a rename can replace an existing file, and only a linked
 * file can be renamed, so replacing takes a hidden name for a moment. */
static tl_status name_file(tl_writer *w) {
  char source[40];
  snprintf(source, sizeof source, "/proc/self/fd/%d", w->fd);
  if (!w->temporary) {
    if (linkat(AT_FDCWD, source, AT_FDCWD, w->target, AT_SYMLINK_FOLLOW) == 0)
      return TL_OK;
    if (errno != EEXIST)
      return fail_errno(w, "create");
    TL_TRY(take_temporary(w, true));
  }
  if (rename(w->temporary, w->target) != 0)
    return fail_errno(w, "create");
  free(w->temporary); /* the name is gone: nothing to remove */
  w->temporary = NULL;
  return TL_OK;
}

/* Permissions are set before the name appears, and the bytes are on disk by then. */
tl_status tl_writer_settle(tl_writer *w) {
  if (tl_diag_lacks_memory(w->diag)) /* then what was written may be incomplete */
    return fail_memory(w);
  TL_TRY(flush(w));
  if (w->ends_in_hole && ftruncate(w->fd, (off_t)w->flushed) != 0)
    return fail_errno(w, "write");
  if (w->stream >= 0)
    return TL_OK;
  if (w->mode && fchmod(w->fd, w->mode) != 0)
    return fail_errno(w, "set the permissions of");
  return w->spares_disk || fsync(w->fd) == 0 ? TL_OK : fail_errno(w, "write");
}

/* The last look at `cancel` is before the name. */
static tl_status finish(tl_writer *w) {
  TL_TRY(tl_writer_settle(w));
  if (w->stream >= 0)
    return feed_stream(w);
  if (is_cancelled(w))
    return w->status;
  return name_file(w);
}

tl_status tl_writer_commit(tl_writer *w) {
  tl_status status = finish(w);
  if (status == TL_OK && w->target)
    tl_litter_remove((const char *const *)&w->target, 1);
  tl_writer_abort(w);
  return status;
}

/* Frees what a writer that waits does not need. */
tl_status tl_writer_hold(tl_writer *w) {
  TL_TRY(tl_writer_settle(w));
  if (is_cancelled(w))
    return w->status;
  drop_view(w);
  free(w->buffer);
  w->buffer = NULL;
  return TL_OK;
}

bool tl_writer_is_stream(const tl_writer *w) { return w->stream >= 0; }

tl_status tl_writer_feed(tl_writer *w, tl_diag *d) {
  w->diag = d;
  return feed_stream(w);
}

tl_status tl_writer_hide(tl_writer *w, tl_diag *d, char **target, char **hidden) {
  w->diag = d;
  tl_status status = w->temporary ? TL_OK : take_temporary(w, true);
  *target = NULL;
  *hidden = NULL;
  if (status == TL_OK) {
    *target = w->target;
    *hidden = w->temporary;
    w->target = NULL;
    w->temporary = NULL;
  }
  tl_writer_abort(w);
  return status;
}

void tl_writer_abort(tl_writer *w) {
  if (!w)
    return;
  drop_view(w);
  if (w->temporary)
    unlink(w->temporary);
  if (w->fd >= 0)
    close(w->fd);
  if (w->stream >= 0)
    close(w->stream);
  free(w->temporary);
  free(w->target);
  free(w->path);
  free(w->buffer);
  free(w);
}
