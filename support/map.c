/* SPDX-License-Identifier: Apache-2.0 */
/* The map (map.h) over uthash. Entries come from an arena; uthash itself allocates once for each
 * growth of its buckets. Lack of memory is reported, where uthash's default would end the
 * process. */
#include "support/map.h"

#include "support/hash.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->lost = true)
#define HASH_FUNCTION(key, bytes, hash) ((hash) = hash_key(key, bytes))

static unsigned hash_key(const void *key, size_t bytes);

#include <uthash.h>

enum { FIRST_ENTRIES = 8 }; /* of the first block of the arena */

struct tl_map_entry {
  uint64_t key;
  uint32_t value;
  bool lost; /* uthash had no memory to take it */
  UT_hash_handle hh;
};

/* Keys are numbers, which are mixed rather than hashed as bytes. */
static unsigned hash_key(const void *key, size_t bytes) {
  uint64_t whole;
  memcpy(&whole, key, bytes < sizeof whole ? bytes : sizeof whole);
  return (unsigned)tl_hash_mix(0, whole);
}

/* NULL when the key is not in the map. */
static tl_map_entry *entry_of(const tl_map *map, uint64_t key) {
  tl_map_entry *found;
  HASH_FIND(hh, map->table, &key, sizeof key, found);
  return found;
}

/* The arena is made with the first entry, so that an empty map costs nothing. */
bool tl_map_set(tl_map *map, uint64_t key, uint32_t value) {
  tl_map_entry *entry = entry_of(map, key);
  if (entry) {
    entry->value = value;
    return true;
  }
  if (map->entries.next_size == 0)
    tl_arena_init(&map->entries, FIRST_ENTRIES * sizeof *entry);
  entry = tl_arena_calloc(&map->entries, 1, sizeof *entry);
  if (!entry)
    return false;
  entry->key = key;
  entry->value = value;
  HASH_ADD(hh, map->table, key, sizeof entry->key, entry);
  return !entry->lost;
}

bool tl_map_find(const tl_map *map, uint64_t key, uint32_t *value) {
  const tl_map_entry *entry = entry_of(map, key);
  if (entry && value)
    *value = entry->value;
  return entry != NULL;
}

uint32_t tl_map_count(const tl_map *map) { return HASH_COUNT(map->table); }

void tl_map_release(tl_map *map) {
  HASH_CLEAR(hh, map->table);
  tl_arena_release(&map->entries);
}
