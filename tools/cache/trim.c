/* SPDX-License-Identifier: Apache-2.0 */
/* Implements walks over a cache (trim.h). Entries, manifests and memos are one list, by the time of
 * their last use: who reads a record gives it the present time. */
#include "tools/cache/trim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/file.h"
#include "support/vec.h"

enum { KEY_BYTES = 80, SHARDS = 256, DISK_BLOCK = 512 };
/* How far ahead the clock of a file server may be. */
#define AHEAD_NS (INT64_C(3600) * 1000000000)

/* One thing that can be removed. */
typedef struct stored {
  char key[KEY_BYTES];
  int kind; /* of tl_store_kind; 0: an entry */
  uint64_t bytes;
  int64_t used_ns;
} stored;

TL_VEC(stored_vec, stored);

static int64_t modified_ns(const struct stat *st) {
  const int64_t most = INT64_MAX / 1000000000 - 1; /* the year 2262 */
  int64_t s = st->st_mtim.tv_sec;
  return s > most ? INT64_MAX : s < -most ? -INT64_MAX : s * 1000000000 + st->st_mtim.tv_nsec;
}

/* What has gone meanwhile is no mistake. */
static bool is_gone(void) { return errno == ENOENT || errno == ENOTDIR; }

/* Leaves in errno what went wrong; false: reading the folder did. */
static bool close_folder(DIR *d, int error) {
  int saved = error ? error : errno;
  if (d)
    closedir(d);
  errno = saved;
  return !error;
}

/* Adds up the files of an entry; its last use is that of the index. False with errno: it cannot be
 * read. */
static bool measure_entry(const char *path, stored *it) {
  DIR *d = opendir(path);
  bool good = d || is_gone();
  int error = 0;
  for (const struct dirent *e; good && d && (e = tl_folder_next(d, &error));) {
    struct stat st;
    if (strcmp(e->d_name, "..") == 0)
      continue;
    if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
      good = is_gone();
      continue;
    }
    it->bytes += (uint64_t)st.st_blocks * DISK_BLOCK;
    if (strcmp(e->d_name, "index") == 0)
      it->used_ns = modified_ns(&st);
  }
  return close_folder(d, error) && good;
}

/* Adds the items of one folder of a kind. False with errno. */
static bool add_shard(const tl_store *s, int kind, unsigned shard, stored_vec *out) {
  char folder[TL_STORE_PATH];
  char path[TL_STORE_PATH];
  snprintf(folder, sizeof folder, "%s/%.20s/%02x", s->dir, tl_store_kind(kind), shard);
  DIR *d = opendir(folder);
  bool good = d || is_gone();
  int error = 0;
  for (const struct dirent *e; good && d && (e = tl_folder_next(d, &error));) {
    struct stat st;
    stored it = {.kind = kind};
    if (e->d_name[0] == '.' || strlen(e->d_name) > 62)
      continue;
    if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
      good = is_gone();
      continue;
    }
    snprintf(it.key, sizeof it.key, "%02x%.62s", shard % SHARDS, e->d_name);
    it.used_ns = modified_ns(&st);
    if (S_ISDIR(st.st_mode))
      good = measure_entry(tl_store_path(s, tl_store_kind(kind), it.key, path), &it);
    else
      it.bytes = (uint64_t)st.st_blocks * DISK_BLOCK;
    if (good && !stored_vec_push(out, it)) {
      errno = ENOMEM;
      good = false;
    }
  }
  return close_folder(d, error) && good;
}

static int by_use(const void *a, const void *b) {
  const stored *x = a, *y = b;
  return x->used_ns != y->used_ns ? (x->used_ns < y->used_ns ? -1 : 1) : strcmp(x->key, y->key);
}

static int by_key(const void *a, const void *b) {
  return strcmp(((const stored *)a)->key, ((const stored *)b)->key);
}

/* What was used in the future was used before the clock was set right. Else it would stay for ever,
 * and a cache that is full of it would keep nothing new. */
static void set_right(stored_vec *items) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t latest = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + AHEAD_NS;
  for (uint32_t i = 0; i < items->n; i++)
    if (items->at[i].used_ns > latest)
      items->at[i].used_ns -= INT64_MAX; /* before all others, in their order */
}

/* Lists everything that can be removed. False with errno. */
static bool list(const tl_store *s, stored_vec *out, tl_store_size *size) {
  *size = (tl_store_size){0};
  for (int kind = 0; kind < TL_STORE_KINDS; kind++)
    for (unsigned shard = 0; shard < SHARDS; shard++)
      if (!add_shard(s, kind, shard, out))
        return false;
  for (uint32_t i = 0; i < out->n; i++) {
    size->entries += out->at[i].kind == 0;
    size->bytes += out->at[i].bytes;
  }
  return true;
}

bool tl_store_measure(const tl_store *s, tl_store_size *size) {
  stored_vec items = {0};
  bool good = list(s, &items, size);
  int saved = errno;
  stored_vec_release(&items);
  errno = saved;
  return good;
}

bool tl_store_each(const tl_store *s, tl_entry_fn fn, void *user) {
  stored_vec items = {0};
  tl_store_size size;
  bool good = list(s, &items, &size);
  int saved = errno;
  if (good && items.n)
    qsort(items.at, items.n, sizeof *items.at, by_key);
  for (uint32_t i = 0; good && i < items.n; i++)
    if (items.at[i].kind == 0)
      fn(user, items.at[i].key);
  stored_vec_release(&items);
  errno = saved;
  return good;
}

bool tl_store_trim(const tl_store *s, uint64_t limit, tl_store_size *left, uint64_t *evicted) {
  stored_vec items = {0};
  char path[TL_STORE_PATH];
  tl_store_sweep(s);
  bool good = list(s, &items, left);
  int saved = errno;
  set_right(&items);
  if (good && items.n)
    qsort(items.at, items.n, sizeof *items.at, by_use);
  *evicted = 0;
  for (uint32_t i = 0; good && i < items.n && left->bytes > limit; i++) {
    const stored *it = &items.at[i];
    tl_store_remove(s, tl_store_path(s, tl_store_kind(it->kind), it->key, path));
    left->bytes -= it->bytes;
    left->entries -= it->kind == 0;
    *evicted += it->kind == 0;
  }
  stored_vec_release(&items);
  if (!good) {
    errno = saved;
    return false;
  }
  tl_store_counts now = tl_store_count(s, NULL);
  tl_store_count(s, &(tl_store_counts){.evicted = (int64_t)*evicted,
                                       .bytes = (int64_t)left->bytes - now.bytes});
  return true;
}
