/* SPDX-License-Identifier: Apache-2.0 */
/* Implements digests of files (digest.h). SHA-256, since a cache may be shared and models come from
 * elsewhere: with a hash that is not cryptographic, somebody could make a model that is taken for
 * another. It costs a file one reading. */
#include "tools/cache/digest.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "support/file.h"
#include "support/sha256.h"

enum { BLOCK = 1 << 18 };
/* TICK_NS: no file system that a kernel keeps times for has a coarser clock. OLD_NS: others, such
 * as those of a server or of FAT. */
#define TICK_NS INT64_C(12000000)
#define OLD_NS INT64_C(2000000000)

/* Times beyond the year 2262 wrap: they are compared for being the same. */
static int64_t ns_of(struct timespec t) {
  return (int64_t)((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
}

static int64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return ns_of(now);
}

tl_file_state tl_file_state_of(const struct stat *st) {
  return (tl_file_state){(uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
                         ns_of(st->st_mtim), ns_of(st->st_ctim)};
}

bool tl_file_state_equal(const tl_file_state *a, const tl_file_state *b) {
  return a->device == b->device && a->inode == b->inode && a->size == b->size &&
         a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

bool tl_file_state_settled(const char *path, tl_file_state *out) {
  struct stat st;
  if (stat(path, &st) != 0)
    return false;
  /* A file of the future is not waited for: what changes it now gives it another time. */
  uint64_t age = (uint64_t)clock_ns() - (uint64_t)ns_of(st.st_ctim);
  if (age < TICK_NS) {
    nanosleep(&(struct timespec){.tv_nsec = (long)(TICK_NS - (int64_t)age)}, NULL);
    if (stat(path, &st) != 0)
      return false;
  }
  *out = tl_file_state_of(&st);
  return true;
}

bool tl_file_state_is_old(const tl_file_state *state) {
  return state->changed_ns <= clock_ns() - OLD_NS;
}

/* ---- the memo -------------------------------------------------------------------------------- */

static char *memo_path(const tl_store *s, const tl_file_state *state, char out[TL_STORE_PATH]) {
  const uint64_t id[] = {state->device, state->inode};
  char key[17];
  snprintf(key, sizeof key, "%016" PRIx64, (uint64_t)XXH3_64bits(id, sizeof id));
  return tl_store_path(s, "memo", key, out);
}

static void add_memo(const tl_file_state *s, const char *hex, tl_buf *out) {
  tl_buf_printf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %s\n", s->device,
                s->inode, s->size, s->modified_ns, s->changed_ns, hex);
}

/* Finds the digest that was kept for exactly this state. */
static bool remember(const tl_store *s, const tl_file_state *state, char hex[66]) {
  char path[TL_STORE_PATH];
  tl_buf text;
  tl_buf wanted;
  bool damaged;
  tl_buf_init(&text);
  tl_buf_init(&wanted);
  bool found = tl_record_read(memo_path(s, state, path), &text, &damaged) && text.n > 66;
  if (found) {
    memcpy(hex, text.p + text.n - 66, 65);
    hex[65] = '\0';
    add_memo(state, hex, &wanted);
    found = tl_sv_eq(tl_buf_view(&text), tl_buf_view(&wanted));
  }
  tl_buf_release(&text);
  tl_buf_release(&wanted);
  return found;
}

static void keep(const tl_store *s, const tl_file_state *state, const char *hex) {
  char path[TL_STORE_PATH];
  tl_buf text;
  tl_buf_init(&text);
  add_memo(state, hex, &text);
  if (!text.failed)
    (void)!tl_record_write(s, memo_path(s, state, path), tl_buf_view(&text));
  tl_buf_release(&text);
}

/* ---- content --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

TL_VEC(name_vec, char *);

/* Hashes the names in a folder, in order. */
static bool hash_folder(const char *path, tl_sha256 *sha) {
  name_vec names = {0};
  DIR *d = opendir(path);
  bool good = d != NULL;
  int error = 0;
  for (const struct dirent *e; good && (e = tl_folder_next(d, &error));) {
    char *copy = strdup(e->d_name);
    good = copy && name_vec_push(&names, copy);
    if (!good)
      free(copy);
  }
  if (d)
    closedir(d);
  if (names.n)
    qsort(names.at, names.n, sizeof *names.at, by_name);
  for (uint32_t i = 0; i < names.n; i++) {
    tl_sha256_add(sha, names.at[i], strlen(names.at[i]) + 1);
    free(names.at[i]);
  }
  name_vec_release(&names);
  return good && !error;
}

static bool hash_file(int fd, const volatile int *cancel, tl_sha256 *sha) {
  unsigned char *block = malloc(BLOCK);
  ssize_t got = block ? 1 : -1;
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  while (got > 0 && !(cancel && *cancel)) {
    got = read(fd, block, BLOCK);
    if (got > 0)
      tl_sha256_add(sha, block, (size_t)got);
  }
  free(block);
  return got == 0;
}

/* Hashes what a descriptor is open for; its state must not change meanwhile. */
static bool hash(tl_digests *d, int fd, const char *path, char hex[66]) {
  struct stat before;
  struct stat after;
  tl_sha256 sha;
  tl_sha256_start(&sha);
  if (fstat(fd, &before) != 0)
    return false;
  bool folder = S_ISDIR(before.st_mode);
  if (!folder && !S_ISREG(before.st_mode))
    return false;
  if (!(folder ? hash_folder(path, &sha) : hash_file(fd, d->cancel, &sha)) ||
      fstat(fd, &after) != 0)
    return false;
  tl_file_state a = tl_file_state_of(&before);
  tl_file_state b = tl_file_state_of(&after);
  hex[0] = folder ? 'd' : 'f';
  tl_sha256_finish(&sha, hex + 1);
  return tl_file_state_equal(&a, &b);
}

bool tl_digest_file(tl_digests *d, const char *path, tl_file_state *state, char hex[66]) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &st) != 0) {
    if (fd >= 0)
      close(fd);
    return false;
  }
  *state = tl_file_state_of(&st);
  for (uint32_t i = 0; i < d->known.n; i++)
    if (tl_file_state_equal(&d->known.at[i].state, state)) {
      memcpy(hex, d->known.at[i].hex, 66);
      close(fd);
      return true;
    }
  bool plain = S_ISREG(st.st_mode);
  bool found = plain && remember(d->store, state, hex);
  if (!found) {
    int64_t age = clock_ns() -
                  (state->modified_ns > state->changed_ns ? state->modified_ns : state->changed_ns);
    found = hash(d, fd, path, hex);
    if (found && plain && age > OLD_NS)
      keep(d->store, state, hex);
  }
  close(fd);
  tl_known_digest one = {.state = *state};
  memcpy(one.hex, hex, found ? 66 : 0);
  return found && tl_known_digest_vec_push(&d->known, one);
}

void tl_digests_release(tl_digests *d) { tl_known_digest_vec_release(&d->known); }
