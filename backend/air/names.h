/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes and graphs in an AIR file: unique over the whole file, at most 255 bytes, made of
 * [A-Za-z0-9_./-] only. */
#ifndef TL_BACKEND_AIR_NAMES_H
#define TL_BACKEND_AIR_NAMES_H

#include "ir/module.h"

/* A name in use. */
typedef struct tl_name_slot {
  const char *p; /* NULL: free */
  uint32_t n;
  uint32_t hash;
} tl_name_slot;

typedef struct tl_air_names {
  tl_arena *arena;     /* borrowed; holds the names */
  tl_name_slot *slots; /* owned; open addressing */
  uint32_t n_slots;    /* power of two */
  uint32_t n;
  tl_buf text; /* scratch */
} tl_air_names;

tl_status tl_air_names_init(tl_air_names *t, tl_arena *arena, uint32_t expect) TL_NODISCARD;
void tl_air_names_release(tl_air_names *t);

/* Makes a fresh name out of prefix ("" or "graph/") and wish: other characters become '_', a name
 * in use gets "_1", "_2" ..., a long one is cut and gets a hash. The result lives in the arena; p
 * is NULL when memory is out. */
tl_sv tl_air_name(tl_air_names *t, tl_sv prefix, tl_sv wish);
/* The same for a wish whose bytes outlive the table: a name that is the wish itself is no copy.
 * hash: what tl_air_name_ahead, which starts loading the slot, said of the wish. */
uint32_t tl_air_name_ahead(const tl_air_names *t, tl_sv wish);
tl_sv tl_air_name_view(tl_air_names *t, tl_sv prefix, tl_sv wish, uint32_t hash);

#endif
