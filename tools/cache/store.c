/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the folder of a cache (store.h). A record begins with a line that has the checksum of
 * the rest, so that a torn or changed one is known. Nothing is brought to the disk by force: what a
 * power failure takes is found by its checksum and made anew. */
#include "tools/cache/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "support/litter.h"

/* Largest record that is read: an index of very many files and messages. */
enum { LARGEST_RECORD = 1 << 28 };
#define DEFAULT_LIMIT (INT64_C(5) << 30)

static const char mark[] = "tailor cache 1\n";
static const char tag[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                          "# A cache of tailor: https://bford.info/cachedir/\n";
static const char *const kinds[TL_STORE_KINDS] = {"entry", "manifest", "memo"};

const char *tl_store_kind(int kind) { return kinds[kind]; }

/* Joins a folder and a name; returns out. */
static char *join(const char *folder, const char *name, char out[TL_STORE_PATH]) {
  snprintf(out, TL_STORE_PATH, "%s/%s", folder, name);
  return out;
}

char *tl_store_path(const tl_store *s, const char *kind, const char *key, char out[TL_STORE_PATH]) {
  snprintf(out, TL_STORE_PATH, "%s/%s/%.2s/%s", s->dir, kind, key, key + 2);
  return out;
}

/* Makes all folders of a path; with `all` the last part as well. */
static bool make_folders(const char *path, bool all) {
  char part[TL_STORE_PATH];
  snprintf(part, sizeof part, "%s", path);
  for (char *c = part + 1; *c; c++) {
    if (*c != '/')
      continue;
    *c = '\0';
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
      return false;
    *c = '/';
  }
  return !all || mkdir(part, 0777) == 0 || errno == EEXIST;
}

/* ---- plain files ----------------------------------------------------------------------------- */

static bool write_fully(int fd, const char *p, size_t n) {
  while (n) {
    ssize_t put = write(fd, p, n);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    p += put;
    n -= (size_t)put;
  }
  return true;
}

/* Reads a regular file whole. */
static bool read_whole(const char *path, tl_buf *out) {
  char block[16384];
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= LARGEST_RECORD;
  for (ssize_t got = 1; good && got > 0;) {
    got = read(fd, block, sizeof block);
    if (got < 0 && errno == EINTR)
      got = 1; /* again */
    else if (got > 0)
      tl_buf_add(out, block, (size_t)got);
    good = got >= 0;
  }
  int saved = out->failed ? ENOMEM : errno;
  if (fd >= 0)
    close(fd);
  errno = saved;
  return good && !out->failed;
}

/* Writes a file that appears whole. */
static bool write_whole(const tl_store *s, const char *path, tl_sv text) {
  char temporary[TL_STORE_PATH];
  int fd = mkstemp(join(s->dir, "tmp/record-XXXXXX", temporary));
  if (fd < 0)
    return false;
  mode_t mask = umask(0);
  umask(mask);
  bool good = write_fully(fd, text.p, text.n) && fchmod(fd, 0666 & ~mask) == 0;
  int saved = errno;
  good = close(fd) == 0 && good;
  if (good && rename(temporary, path) != 0) {
    good = errno == ENOENT && make_folders(path, false) && rename(temporary, path) == 0;
    saved = errno;
  }
  if (!good) {
    unlink(temporary);
    errno = saved;
  }
  return good;
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Returns true if a folder has no entries but dots. */
static bool is_empty(const char *path) {
  DIR *d = opendir(path);
  bool empty = d != NULL;
  for (const struct dirent *e; d && (e = readdir(d));)
    empty &= strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
  if (d)
    closedir(d);
  return empty;
}

/* Makes an empty folder a cache. The mark comes last: without it there is no cache. Another process
 * may do the same at this moment. */
static bool make_cache(tl_store *s) {
  char path[TL_STORE_PATH];
  if (!make_folders(s->dir, true) ||
      (mkdir(join(s->dir, "tmp", path), 0777) != 0 && errno != EEXIST))
    return false;
  return write_whole(s, join(s->dir, "CACHEDIR.TAG", path), tl_sv_from(tag)) &&
         write_whole(s, join(s->dir, "tailor-cache", path), tl_sv_from(mark));
}

tl_store_state tl_store_open(tl_store *s, const char *dir, bool create) {
  char path[TL_STORE_PATH];
  tl_buf text;
  if (strlen(dir) >= sizeof s->dir) {
    errno = ENAMETOOLONG;
    return TL_STORE_NONE;
  }
  snprintf(s->dir, sizeof s->dir, "%s", dir);
  tl_buf_init(&text);
  bool there = read_whole(join(s->dir, "tailor-cache", path), &text);
  bool ours = there && tl_sv_is(tl_buf_view(&text), mark);
  tl_buf_release(&text);
  if (ours)
    return TL_STORE_OK;
  struct stat st;
  bool exists = stat(dir, &st) == 0;
  bool begun = exists && access(join(s->dir, "CACHEDIR.TAG", path), F_OK) == 0;
  if (there || (exists && !begun && (!S_ISDIR(st.st_mode) || !is_empty(dir)) &&
                access(join(s->dir, "tmp", path), F_OK) != 0))
    return TL_STORE_FOREIGN;
  errno = ENOENT;
  return create && make_cache(s) ? TL_STORE_OK : TL_STORE_NONE;
}

/* ---- records --------------------------------------------------------------------------------- */

enum { HEAD = 22 }; /* "xxh3 ", 16 hex digits, line feed */

static void add_head(tl_buf *out, tl_sv text) {
  tl_buf_printf(out, "xxh3 %016" PRIx64 "\n", (uint64_t)XXH3_64bits(text.p, text.n));
}

bool tl_record_read(const char *path, tl_buf *text, bool *damaged) {
  tl_buf all;
  tl_buf head;
  tl_buf_init(&all);
  tl_buf_init(&head);
  *damaged = false;
  bool there = read_whole(path, &all);
  if (there) {
    tl_sv rest = all.n > HEAD ? (tl_sv){all.p + HEAD, all.n - HEAD} : (tl_sv){"", 0};
    add_head(&head, rest);
    *damaged = !head.failed && (all.n < HEAD || memcmp(head.p, all.p, HEAD) != 0);
    if (!*damaged && !head.failed)
      tl_buf_add_sv(text, rest);
    utimensat(AT_FDCWD, path, NULL, 0);
  }
  bool good = there && !*damaged && !head.failed && !text->failed;
  tl_buf_release(&all);
  tl_buf_release(&head);
  return good;
}

bool tl_record_write(const tl_store *s, const char *path, tl_sv text) {
  tl_buf all;
  tl_buf_init(&all);
  add_head(&all, text);
  tl_buf_add_sv(&all, text);
  errno = ENOMEM;
  bool good = !all.failed && write_whole(s, path, tl_buf_view(&all));
  int saved = errno;
  tl_buf_release(&all);
  errno = saved;
  return good;
}

/* ---- folders that are made ------------------------------------------------------------------- */

int tl_store_begin(const tl_store *s, char out[TL_STORE_PATH]) {
  if (!mkdtemp(join(s->dir, "tmp/entry-XXXXXX", out)))
    return -1;
  mode_t mask = umask(0);
  umask(mask);
  (void)chmod(out, 0777 & ~mask); /* whoever may read the cache may read this */
  int fd = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_SH) == 0)
    return fd;
  int saved = errno;
  if (fd >= 0)
    close(fd);
  rmdir(out);
  errno = saved;
  return -1;
}

/* Removes a folder of files, or a file. Returns false if it stays. */
static bool erase(const char *path) {
  return unlink(path) == 0 || ((errno == EISDIR || errno == EPERM) && tl_folder_erase(path));
}

bool tl_store_finish(const tl_store *s, const char *temporary, const char *path) {
  (void)s;
  if (rename(temporary, path) == 0)
    return true;
  if (errno == ENOENT && make_folders(path, false) && rename(temporary, path) == 0)
    return true;
  int saved = errno;
  (void)erase(temporary);
  errno = saved;
  return false;
}

/* Moves it aside under a name of its own first. Nothing is made for that: on a disk that is full,
 * removing is what makes room. */
void tl_store_remove(const tl_store *s, const char *path) {
  char aside[TL_STORE_PATH];
  const char *slash = strrchr(path, '/');
  snprintf(aside, sizeof aside, "%.*s/tmp/old-%ld-%.100s", TL_STORE_PATH - 200, s->dir,
           (long)getpid(), slash ? slash + 1 : path);
  (void)erase(rename(path, aside) == 0 ? aside : path);
}

void tl_store_sweep(const tl_store *s) {
  char tmp[TL_STORE_PATH];
  char path[TL_STORE_PATH];
  DIR *d = opendir(join(s->dir, "tmp", tmp));
  for (const struct dirent *e; d && (e = readdir(d));) {
    if (e->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "%.*s/%.255s", TL_STORE_PATH - 300, tmp, e->d_name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
      (void)erase(path);
    if (fd >= 0)
      close(fd);
  }
  if (d)
    closedir(d);
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void parse_counts(const tl_buf *text, tl_store_counts *c) {
  if (!text->p || text->failed ||
      sscanf(text->p,
             "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64,
             &c->hits, &c->misses, &c->not_cached, &c->damaged, &c->evicted, &c->bytes,
             &c->limit) != 7)
    *c = (tl_store_counts){0};
}

/* Adds, and writes what has become of it. */
static void add_counts(const tl_store *s, const char *path, tl_store_counts *c,
                       const tl_store_counts *more) {
  tl_buf text;
  tl_buf_init(&text);
  c->hits += more->hits;
  c->misses += more->misses;
  c->not_cached += more->not_cached;
  c->damaged += more->damaged;
  c->evicted += more->evicted;
  c->bytes = c->bytes + more->bytes < 0 ? 0 : c->bytes + more->bytes;
  c->limit = more->limit ? more->limit : c->limit;
  tl_buf_printf(&text,
                "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                "\n",
                c->hits, c->misses, c->not_cached, c->damaged, c->evicted, c->bytes, c->limit);
  c->error = tl_record_write(s, path, tl_buf_view(&text)) ? 0 : errno; /* counts may be lost */
  tl_buf_release(&text);
}

tl_store_counts tl_store_count(const tl_store *s, const tl_store_counts *more) {
  char path[TL_STORE_PATH];
  tl_store_counts c = {0};
  tl_buf text;
  bool damaged;
  tl_buf_init(&text);
  int lock = more ? open(join(s->dir, "lock", path), O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (lock >= 0 && flock(lock, LOCK_EX) != 0) {
    c.error = errno;
    close(lock);
    lock = -1;
  } else if (more && lock < 0) {
    c.error = errno;
  }
  errno = 0;
  if (tl_record_read(join(s->dir, "counts", path), &text, &damaged)) {
    tl_buf_add_char(&text, '\0');
    parse_counts(&text, &c);
  } else if (!damaged && errno != ENOENT) {
    c.error = errno ? errno : EIO;
  }
  if (lock >= 0 && !c.error)
    add_counts(s, path, &c, more);
  if (lock >= 0)
    close(lock);
  tl_buf_release(&text);
  c.limit = c.limit ? c.limit : DEFAULT_LIMIT;
  return c;
}
