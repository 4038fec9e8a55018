/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a cache, and making room in it. */
#ifndef TL_TOOLS_CACHE_TRIM_H
#define TL_TOOLS_CACHE_TRIM_H

#include "tools/cache/store.h"

/* What a walk has found. */
typedef struct tl_store_size {
  uint64_t entries;
  uint64_t bytes; /* that all files take on the disk */
} tl_store_size;

/* Called for each entry; key: hex digits. */
typedef void (*tl_entry_fn)(void *user, const char *key);

/* Walks over all entries in a fixed order. False with errno: it cannot be read. */
bool tl_store_each(const tl_store *s, tl_entry_fn fn, void *user);
/* Removes what was not used for the longest time until at most `limit` bytes are left, and what
 * ended processes have left. Sets the count of bytes to what is there. *evicted: entries that were
 * removed. False with errno: it cannot be read. */
bool tl_store_trim(const tl_store *s, uint64_t limit, tl_store_size *left, uint64_t *evicted);
/* Measures, and removes nothing. */
bool tl_store_measure(const tl_store *s, tl_store_size *size);

#endif
