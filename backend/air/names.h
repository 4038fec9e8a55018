/* SPDX-License-Identifier: Apache-2.0 */
/* Makes unique names for nodes and graphs of an AIR file, within the limits of GE.
 * A name is unique in its table, has 1 to 255 bytes, and consists of [A-Za-z0-9_./-]. */
#ifndef TL_BACKEND_AIR_NAMES_H
#define TL_BACKEND_AIR_NAMES_H

#include "ir/module.h"

/* A name in use. */
typedef struct tl_name_slot {
  const char *p; /* NULL: free */
  uint32_t n;
  uint32_t hash;
} tl_name_slot;

/* A table of names in use. */
typedef struct tl_air_names {
  tl_arena *arena;     /* borrowed; holds the names */
  tl_name_slot *slots; /* owned; open addressing */
  uint32_t n_slots;    /* power of two */
  uint32_t n;
  tl_buf text; /* scratch */
} tl_air_names;

/* Prepares a table for about `expect` names; it grows beyond. TL_NO_MEMORY, unreported; release it
 * in any case. */
tl_status tl_air_names_init(tl_air_names *t, tl_arena *arena, uint32_t expect) TL_NODISCARD;
/* Releases the table. The names live on in their arena. */
void tl_air_names_release(tl_air_names *t);

/* Returns a fresh name made of prefix ("" or "graph/") and wish, and adds it to the table: other
 * characters become '_', a name in use gets "_1", "_2" ..., a long one is cut and gets a hash. The
 * result lives in the arena; p is NULL if memory is out. */
tl_sv tl_air_name(tl_air_names *t, tl_sv prefix, tl_sv wish);
/* Returns the hash of a wish and prefetches its slot, which hides the cache miss of the
 * tl_air_name_view that follows. */
uint32_t tl_air_name_ahead(const tl_air_names *t, tl_sv wish);
/* Does as tl_air_name for a wish whose bytes outlive the table: if the wish itself is free and
 * legal, the result views it instead of a copy. hash: result of tl_air_name_ahead for the wish. */
tl_sv tl_air_name_view(tl_air_names *t, tl_sv prefix, tl_sv wish, uint32_t hash);
/* Returns true for a name of the length, and with the hash, that a long one has after the cut. */
bool tl_air_name_is_cut(tl_sv name);

#endif
