/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a file being checked: of nodes seen so far, of graphs and the references to them. */
#ifndef TL_BACKEND_AIR_CHECK_NAMES_H
#define TL_BACKEND_AIR_CHECK_NAMES_H

#include <string.h>

#include "support/vec.h"

/* A piece of the file. */
typedef struct tl_air_bytes {
  const unsigned char *p;
  const unsigned char *end;
} tl_air_bytes;

static inline bool tl_air_same(tl_air_bytes a, tl_air_bytes b) {
  size_t n = (size_t)(a.end - a.p);
  return n == (size_t)(b.end - b.p) && memcmp(a.p, b.p, n) == 0;
}

/* A node already seen. */
typedef struct tl_air_seen {
  const unsigned char *name; /* NULL: free slot */
  uint32_t length;           /* of the name, bytes */
  uint32_t hash;
  uint32_t graph;
  uint32_t n_outputs;
} tl_air_seen;

typedef struct tl_air_seen_table {
  tl_air_seen *slots; /* owned */
  uint32_t n_slots;
  uint32_t n;
} tl_air_seen_table;

/* NULL when no node has the name. */
const tl_air_seen *tl_air_seen_find(const tl_air_seen_table *t, tl_air_bytes name);
/* Starts loading what adding the name will want, and returns its hash. */
uint32_t tl_air_seen_ahead(const tl_air_seen_table *t, tl_air_bytes name);
/* Adds a node of `graph`, unless *twice tells that its name is taken. name: shorter than 4 GiB.
 * False when memory is out. */
bool tl_air_seen_add(tl_air_seen_table *t, tl_air_bytes name, uint32_t hash, uint32_t graph,
                     uint32_t n_outputs, bool *twice);
void tl_air_seen_release(tl_air_seen_table *t);

/* Which list for the loader itself this is: pairs of keys and values first; -1: none of them. */
int tl_air_bookkeeping(tl_air_bytes key);

typedef struct tl_air_spans {
  const tl_air_bytes *at;
  uint32_t n;
} tl_air_spans;

/* Every reference names one graph and no two the same; every graph but the first is referred to.
 * *problem says what is wrong, NULL when nothing is. False when memory is out. */
bool tl_air_check_subgraphs(tl_air_spans graphs, tl_air_spans references, const char **problem);

#endif
