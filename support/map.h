/* SPDX-License-Identifier: Apache-2.0 */
/* A map from 64-bit keys to 32-bit values: the one wrapper over uthash, for registries and indexes
 * that are not on a hot path. Nothing iterates over it, so results cannot depend on hash order. */
#ifndef TL_SUPPORT_MAP_H
#define TL_SUPPORT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "support/arena.h"

typedef struct tl_map_entry tl_map_entry;

/* A map; zero-initialise it. */
typedef struct tl_map {
  tl_map_entry *table; /* owned; uthash's head */
  tl_arena entries;    /* owned; where they live */
} tl_map;

/* Returns a key made of two 32-bit halves. */
static inline uint64_t tl_map_pair(uint32_t high, uint32_t low) {
  return (uint64_t)high << 32 | low;
}

/* Adds a key or changes its value. False when memory is out; the map is then as before. O(1). */
bool tl_map_set(tl_map *map, uint64_t key, uint32_t value) TL_NODISCARD;
/* Finds the value of a key; false, and *value (which may be NULL) untouched, without one. O(1). */
bool tl_map_find(const tl_map *map, uint64_t key, uint32_t *value);
/* Returns the number of keys. */
uint32_t tl_map_count(const tl_map *map);
/* Frees everything; the map is empty again. */
void tl_map_release(tl_map *map);

#endif
