/* SPDX-License-Identifier: Apache-2.0 */
/* Files: mapped or read input, and output that appears complete or not at all. */
#ifndef TL_SUPPORT_FILE_H
#define TL_SUPPORT_FILE_H

#include <dirent.h>

#include "support/diag.h"

/* A whole file in memory, read-only. */
typedef struct tl_file {
  char *path; /* owned; as the caller named it */
  const unsigned char *data;
  uint64_t size;   /* bytes */
  int fd;          /* of a mapped file, lets a writer copy in the kernel; -1: there is none */
  bool mapped;     /* false: data is a heap copy */
  uint64_t device; /* identity, for refusing to write over an input */
  uint64_t inode;
  void (*give_back)(void *user, const void *data, uint64_t size); /* of lent bytes; NULL: they are
                                                                   * not lent */
  void *user;
} tl_file;

typedef enum tl_file_mode {
  TL_FILE_MAP, /* map; a file that shrinks later raises SIGBUS, which tools/ guards */
  TL_FILE_READ /* read into memory: slower, immune to changes of the file */
} tl_file_mode;

/* Opens a regular file (or reads a pipe or device whole). Reports TL_IO with the path. *out is
 * owned by the caller. */
tl_status tl_file_open(tl_diag *d, const char *path, tl_file_mode mode, tl_file **out) TL_NODISCARD;
/* Makes a file of bytes in memory that were made from the contents of `of`, and stand for it: path
 * and identity are the same. bytes: malloc; they go over to the file, and are freed after a failure
 * as well. TL_NO_MEMORY. */
tl_status tl_file_adopt(const tl_file *of, void *bytes, uint64_t size, tl_file **out) TL_NODISCARD;
/* Bytes of somebody else, who gets them back when the file is closed. */
typedef struct tl_lent_bytes {
  const void *data;
  uint64_t size;
  void (*give_back)(void *user, const void *data, uint64_t size);
  void *user;
} tl_lent_bytes;

/* Makes a file of lent bytes, which `path` stands for in messages. After a failure they are given
 * back as well. TL_NO_MEMORY, reported. */
tl_status tl_file_lend(tl_diag *d, const char *path, const tl_lent_bytes *bytes,
                       tl_file **out) TL_NODISCARD;
/* Frees the file and its contents. NULL is allowed. */
void tl_file_close(tl_file *f);
/* Closes the descriptor and keeps the contents: a writer then copies from memory. */
void tl_file_drop_descriptor(tl_file *f);

/* Refuses (TL_INVALID_MODEL) a location that is no relative path, or contains "..". `where` names
 * the tensor in messages. */
tl_status tl_file_check_location(tl_diag *d, tl_sv location, tl_location where) TL_NODISCARD;
/* Opens `location` (relative, '/' separated, from a model) below the folder of `model_path`.
 * Absolute paths, "..", links that leave the folder and non-regular files are refused
 * (TL_INVALID_MODEL) before anything is opened; TL_IO when it cannot be read. `where` names the
 * tensor in messages. */
tl_status tl_file_open_beside(tl_diag *d, const char *model_path, tl_sv location, tl_file_mode mode,
                              tl_location where, tl_file **out) TL_NODISCARD;

/* Output that appears under its name complete or not at all: an unnamed temporary file in the
 * target's folder (a named one where the file system lacks that), fsync, rename. */
typedef struct tl_writer tl_writer;

/* Opens an output. If d->take is set, the file goes there at commit, and nothing is written to any
 * folder. path "-" writes to standard output at commit. cancel: polled during writes;
 * non-zero makes them fail with TL_IO and the temporary file vanish (NULL: never). Reports TL_IO,
 * TL_NO_MEMORY. */
tl_status tl_writer_open(tl_diag *d, const char *path, const volatile int *cancel,
                         tl_writer **out) TL_NODISCARD;
/* Appends n bytes. The first error is reported; every later call returns it. */
tl_status tl_writer_write(tl_writer *w, const void *p, size_t n);
/* Appends n runs of bytes, at most TL_MOST_RUNS, one behind the other: the kernel takes them where
 * they are. It pays for runs of a kilobyte and more. */
enum { TL_MOST_RUNS = 256 };
tl_status tl_writer_gather(tl_writer *w, const tl_sv *runs, uint32_t n);
/* Appends `length` bytes of a file view, in the kernel where that is possible. */
tl_status tl_writer_copy(tl_writer *w, const tl_file *f, uint64_t offset, uint64_t length);
/* Appends the first `length` bytes of an open file, in the kernel where that is possible. *copied:
 * false, with nothing appended, where the kernel cannot; the file may have become shorter: then
 * fewer are appended. */
tl_status tl_writer_copy_open(tl_writer *w, int fd, uint64_t length, bool *copied);
/* Returns room for at least n bytes at the write position, to be filled and then taken with
 * tl_writer_advance; NULL on error. n at most 65536. */
unsigned char *tl_writer_room(tl_writer *w, size_t n);
/* Takes the first n bytes of the room as written. */
void tl_writer_advance(tl_writer *w, size_t n);
/* Returns the bytes written so far. */
uint64_t tl_writer_position(const tl_writer *w);
/* Maps what was written so far for reading back (self-checks): flushes, then returns a view that
 * lives until commit or abort. NULL with an error reported on failure. */
const unsigned char *tl_writer_view(tl_writer *w, uint64_t *size);
/* Makes the file share the blocks of another file where the file system can (FICLONE). Returns
 * false when it cannot; nothing is changed then. Call it on a writer that has no bytes yet. */
bool tl_writer_clone(tl_writer *w, int fd);
/* The bytes can be made again at any time, so nobody waits until the disk has them. */
void tl_writer_spare_disk(tl_writer *w);
/* Returns the path as the caller named it. */
const char *tl_writer_path(const tl_writer *w);
/* Returns the descriptor of the staging file, which stays the writer's. */
int tl_writer_descriptor(const tl_writer *w);
/* Lets the caller write the next bytes to the descriptor itself: the first goes to *offset. */
tl_status tl_writer_lend(tl_writer *w, uint64_t *offset);
/* Takes n bytes that the caller wrote since tl_writer_lend as written. error: what stopped it, a
 * number of errno, which is reported; 0: nothing. */
tl_status tl_writer_take_back(tl_writer *w, uint64_t n, int error);
/* Returns true once `cancel` is set. */
bool tl_writer_is_cancelled(const tl_writer *w);
/* Brings everything to the disk, so that a later commit has only to give the name. */
tl_status tl_writer_settle(tl_writer *w) TL_NODISCARD;
/* Flushes, syncs and renames into place. Frees the writer in every case. */
tl_status tl_writer_commit(tl_writer *w) TL_NODISCARD;
/* Prepares a commit that waits for others (changes.h): settles, and keeps the descriptor alone. */
tl_status tl_writer_hold(tl_writer *w) TL_NODISCARD;
/* Returns true when the bytes go into a pipe, a device or standard output. */
bool tl_writer_is_stream(const tl_writer *w);
/* Hands the bytes of a held writer to its stream. */
tl_status tl_writer_feed(tl_writer *w, tl_diag *d) TL_NODISCARD;
/* Gives the file of a held writer a hidden name beside its own. Frees the writer in every case.
 * *target: its own name; *hidden: the hidden one; both are the caller's to free. */
tl_status tl_writer_hide(tl_writer *w, tl_diag *d, char **target, char **hidden) TL_NODISCARD;
/* Discards everything and frees the writer. NULL is allowed. */
void tl_writer_abort(tl_writer *w);

/* Returns the next entry of a folder; NULL at the end, or where it cannot be read: *error is then
 * the number of errno, else unchanged. */
struct dirent *tl_folder_next(DIR *folder, int *error);
/* Creates the folder (one level) unless it exists. Reports TL_IO. */
tl_status tl_make_folder(tl_diag *d, const char *path) TL_NODISCARD;

#endif
