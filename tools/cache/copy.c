/* SPDX-License-Identifier: Apache-2.0 */
/* Implements checked copies (copy.h). */
#include "tools/cache/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { BLOCK = 1 << 18 }; /* stays in the cache of a core between reading, hashing and writing */

/* Takes the bytes of a block. False with errno: no more. */
typedef bool (*take_fn)(void *to, const void *p, size_t n);

static void finish(XXH3_state_t *state, tl_checksum *out) {
  XXH128_hash_t h = XXH3_128bits_digest(state);
  snprintf(out->hex, sizeof out->hex, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64,
           (uint64_t)h.low64);
}

/* Reads all of a file block by block, hashes each and hands it on; take may be NULL. */
static bool walk(const tl_copy *c, take_fn take, void *to, tl_checksum *sum) {
  unsigned char *block = malloc(BLOCK);
  XXH3_state_t *state = XXH3_createState();
  bool good = block && state && XXH3_128bits_reset(state) == XXH_OK;
  off_t at = 0;
  sum->hex[0] = '\0';
  posix_fadvise(c->from, 0, 0, POSIX_FADV_SEQUENTIAL);
  for (ssize_t got = 1; good && got != 0; at += got > 0 ? got : 0) {
    got = pread(c->from, block, BLOCK, at);
    if (got < 0 && errno == EINTR && !(c->cancel && *c->cancel))
      continue;
    good = got >= 0 && !(c->cancel && *c->cancel);
    if (good && got > 0)
      good = XXH3_128bits_update(state, block, (size_t)got) == XXH_OK &&
             (!take || take(to, block, (size_t)got));
  }
  if (good)
    finish(state, sum);
  int saved = errno;
  XXH3_freeState(state);
  free(block);
  errno = saved;
  return good;
}

bool tl_checksum_of(int fd, const volatile int *cancel, tl_checksum *out) {
  return walk(&(tl_copy){.from = fd, .cancel = cancel}, NULL, NULL, out);
}

/* ---- into the cache -------------------------------------------------------------------------- */

static bool take_into_file(void *to, const void *p, size_t n) {
  const char *at = p;
  while (n) {
    ssize_t put = write(*(int *)to, at, n);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    at += put;
    n -= (size_t)put;
  }
  return true;
}

bool tl_copy_in(const tl_copy *c, tl_checksum *sum) {
  char source[40];
  snprintf(source, sizeof source, "/proc/self/fd/%d", c->from);
  if (c->mode == TL_COPY_LINK &&
      linkat(AT_FDCWD, source, AT_FDCWD, c->path, AT_SYMLINK_FOLLOW) == 0)
    return tl_checksum_of(c->from, c->cancel, sum);
  int to = open(c->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (to < 0)
    return false;
  bool cloned = c->mode != TL_COPY_BYTES && ioctl(to, FICLONE, c->from) == 0;
  bool good = cloned ? tl_checksum_of(c->from, c->cancel, sum) : walk(c, take_into_file, &to, sum);
  int saved = errno;
  good = close(to) == 0 && good;
  errno = saved;
  return good;
}

/* ---- out of it ------------------------------------------------------------------------------- */

static bool take_into_writer(void *to, const void *p, size_t n) {
  return tl_writer_write(to, p, n) == TL_OK;
}

tl_status tl_copy_out(const tl_copy *c, tl_changes *changes, tl_diag *d, tl_checksum *sum) {
  tl_writer *w;
  uint32_t before = d->errors;
  TL_TRY(tl_writer_open(d, c->path, c->cancel, &w));
  tl_writer_spare_disk(w);
  bool cloned = c->mode != TL_COPY_BYTES && tl_writer_clone(w, c->from);
  bool known = c->known && cloned, good = true;
  if (c->known && !cloned)
    good = tl_writer_copy_open(w, c->from, c->size, &known) == TL_OK;
  tl_copy check = *c;
  if (cloned)
    check.from = tl_writer_descriptor(w);
  if (known)
    *sum = *c->known;
  else
    good = good && walk(&check, cloned ? NULL : take_into_writer, w, sum);
  if (good)
    return tl_changes_commit(changes, d, w);
  tl_writer_abort(w);
  sum->hex[0] = '\0';
  return d->errors > before || (c->cancel && *c->cancel) ? TL_IO : TL_OK;
}
