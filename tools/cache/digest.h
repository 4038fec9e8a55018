/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a file, as SHA-256. A file that was hashed before is not read again: its digest is
 * kept with the state that the file had, if that state was older than the clock of a file system
 * is coarse. */
#ifndef TL_TOOLS_CACHE_DIGEST_H
#define TL_TOOLS_CACHE_DIGEST_H

#include "support/vec.h"
#include "tools/cache/store.h"

/* What a file system tells of a file. Two equal states are the same content, unless the file was
 * changed within one tick of the clock. */
typedef struct tl_file_state {
  uint64_t device;
  uint64_t inode;
  uint64_t size;
  int64_t modified_ns;
  int64_t changed_ns;
} tl_file_state;

struct stat;
/* Returns the state that stat has told. */
tl_file_state tl_file_state_of(const struct stat *st);
bool tl_file_state_equal(const tl_file_state *a, const tl_file_state *b);
/* Reads the state of a file; one that changed just now is waited for until a later change would
 * have another time. False: there is no such file. */
bool tl_file_state_settled(const char *path, tl_file_state *out);
/* Returns true if a change from now on would give another time, whatever clock keeps the times. */
bool tl_file_state_is_old(const tl_file_state *state);

/* Digests of this run. Zero-initialise, with the store. */
typedef struct tl_known_digest {
  tl_file_state state;
  char hex[66];
} tl_known_digest;

TL_VEC(tl_known_digest_vec, tl_known_digest);

typedef struct tl_digests {
  const tl_store *store;
  tl_known_digest_vec known;
  const volatile int *cancel; /* nonzero: stop */
} tl_digests;

/* Writes what is in the file: "f" and 64 hex digits, or for a folder "d" and the digest of the
 * names in it. *state: that in which it was read. False: it cannot be read, or changes
 * meanwhile. */
bool tl_digest_file(tl_digests *d, const char *path, tl_file_state *state, char hex[66]);
void tl_digests_release(tl_digests *d);

#endif
