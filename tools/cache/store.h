/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a cache: where its files are, small records that are whole or not there, folders
 * that are being made, counts. Nothing here reports: a cache that does not work costs time, no
 * conversion. Several processes use one folder without waiting for each other, except for the
 * moment in which counts are added.
 *
 *   DIR/tailor-cache       says that the folder is a cache, and of which form
 *   DIR/entry/ab/cdef.../  one conversion: index, and its files 0, 1, ...
 *   DIR/manifest/ab/...    which files were read by conversions with the same options
 *   DIR/memo/ab/...        what the content of a file was when it was hashed
 *   DIR/tmp/               what is being made; locked by who makes it
 *   DIR/counts             record, changed under the lock of DIR/lock */
#ifndef TL_TOOLS_CACHE_STORE_H
#define TL_TOOLS_CACHE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/str.h"

enum { TL_STORE_PATH = PATH_MAX + 200, TL_STORE_KINDS = 3 };

/* An open cache. */
typedef struct tl_store {
  char dir[PATH_MAX];
} tl_store;

/* Counts of a cache; as an argument, what is added to them. */
typedef struct tl_store_counts {
  int64_t hits;
  int64_t misses;
  int64_t not_cached; /* conversions that cannot be cached */
  int64_t damaged;    /* entries that were found so, and removed */
  int64_t evicted;    /* entries that made room for others */
  int64_t bytes;      /* of all files; an estimate between two walks (trim.h) */
  int64_t limit;      /* of bytes; set, not added, when it is not 0 */
  int error;          /* errno: they could not be read, and are not written then, or not written */
} tl_store_counts;

/* What can be wrong with a folder. */
typedef enum tl_store_state { TL_STORE_OK, TL_STORE_NONE, TL_STORE_FOREIGN } tl_store_state;

/* Opens the cache in a folder. create: makes it and its parents unless they exist. TL_STORE_NONE
 * with errno: there is none, or it cannot be made; TL_STORE_FOREIGN: the folder holds something
 * else. */
tl_store_state tl_store_open(tl_store *s, const char *dir, bool create);
/* Returns the name of a kind of files: "entry", "manifest", "memo". */
const char *tl_store_kind(int kind);
/* Writes the path of a file of a kind; key: hex digits. Returns out. */
char *tl_store_path(const tl_store *s, const char *kind, const char *key, char out[TL_STORE_PATH]);

/* Reads a record into *text, and marks it as used now. False: there is none. *damaged: there is one
 * that is not as it was written. */
bool tl_record_read(const char *path, tl_buf *text, bool *damaged);
/* Writes a record; it appears whole or not at all. False with errno. */
bool tl_record_write(const tl_store *s, const char *path, tl_sv text);

/* Makes a folder below tmp that nobody else removes as long as the returned descriptor is open. -1
 * with errno. */
int tl_store_begin(const tl_store *s, char out[TL_STORE_PATH]);
/* Gives a folder of tl_store_begin its place. False: another process was first, or errno; the
 * folder is removed then. */
bool tl_store_finish(const tl_store *s, const char *temporary, const char *path);
/* Removes a file or a folder of files at once, so that no reader sees a half of it. */
void tl_store_remove(const tl_store *s, const char *path);
/* Removes what processes that ended early have left in tmp. */
void tl_store_sweep(const tl_store *s);

/* Adds to the counts and returns the new ones; in a cache that cannot be written, or with NULL, the
 * old ones. */
tl_store_counts tl_store_count(const tl_store *s, const tl_store_counts *more);

#endif
