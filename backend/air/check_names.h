/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of names for the self-check of an AIR file: nodes seen so far, graphs and references. */
#ifndef TL_BACKEND_AIR_CHECK_NAMES_H
#define TL_BACKEND_AIR_CHECK_NAMES_H

#include <string.h>

#include "ir/module.h"
#include "support/vec.h"

/* A range of bytes of the file; it is never copied. */
typedef struct tl_air_bytes {
  const unsigned char *p;
  const unsigned char *end;
} tl_air_bytes;

/* Returns true if the two ranges hold the same bytes. */
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

/* A hash table of nodes with open addressing and linear probing. */
typedef struct tl_air_seen_table {
  tl_air_seen *slots; /* owned */
  uint32_t n_slots;
  uint32_t n;
} tl_air_seen_table;

/* Returns the node of that name, NULL if none has it. Valid until the next tl_air_seen_add. */
const tl_air_seen *tl_air_seen_find(const tl_air_seen_table *t, tl_air_bytes name);
/* Returns the hash of a name and prefetches its slot for the tl_air_seen_add that follows. */
uint32_t tl_air_seen_ahead(const tl_air_seen_table *t, tl_air_bytes name);
/* Adds a node of `graph`; if its name is taken, sets *twice and adds nothing. name: shorter than
 * 4 GiB; the table views it. hash: result of tl_air_seen_ahead. False if memory is out. */
bool tl_air_seen_add(tl_air_seen_table *t, tl_air_bytes name, uint32_t hash, uint32_t graph,
                     uint32_t n_outputs, bool *twice);
/* Frees the table and resets *t. */
void tl_air_seen_release(tl_air_seen_table *t);

/* Returns the index of an attribute key among the lists by which loaders restore ports, -1 if it is
 * none of them. Index 2i is a list of names, and 2i + 1 the list of values that belongs to it, for
 * i below TL_AIR_PAIRS of check_attrs.h. */
int tl_air_bookkeeping(tl_air_bytes key);

/* Returns the key of that index. */
tl_sv tl_air_bookkeeping_key(int which);

/* Returns true if the module has the name of such a list: most have none, and need no look at each
 * attribute. */
bool tl_air_has_bookkeeping(const tl_module *m);

/* A list of names. */
typedef struct tl_air_spans {
  const tl_air_bytes *at;
  uint32_t n;
} tl_air_spans;

/* Checks that every reference names a graph other than the first, that no two references name the
 * same graph, and that every graph but the first is referred to. *problem: a static string that
 * says what is wrong, else NULL. False if memory is out. O(graphs + references). */
bool tl_air_check_subgraphs(tl_air_spans graphs, tl_air_spans references, const char **problem);

#endif
