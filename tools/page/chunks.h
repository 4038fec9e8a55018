/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a page in chunks: a JSON text each, compressed where that pays. docs/view.md says
 * what each holds. */
#ifndef TL_TOOLS_PAGE_CHUNKS_H
#define TL_TOOLS_PAGE_CHUNKS_H

#include "support/arena.h"
#include "support/pool.h"
#include "support/str.h"
#include "support/vec.h"

/* One chunk. */
typedef struct tl_chunk {
  const char *name; /* of letters, digits and '-' */
  bool deflated;    /* the data are raw deflate, else JSON without '<' */
  tl_buf data;      /* owned */
} tl_chunk;

TL_VEC(tl_chunk_vec, tl_chunk);

/* All chunks, in the order in which they were added. Zero-initialise it. */
typedef struct tl_chunks {
  tl_chunk_vec at;
  tl_arena names;
  const char *prefix; /* that names begin with; NULL: none */
  tl_pool *pool;      /* owned; NULL until a large chunk is compressed */
  bool failed;        /* memory ran out */
} tl_chunks;

/* Adds a chunk of this JSON text, which is emptied. */
void tl_chunks_add(tl_chunks *c, const char *name, tl_buf *json);
/* Finds a chunk by name; NULL without one. */
const tl_chunk *tl_chunks_find(const tl_chunks *c, tl_sv name);
/* Frees everything. */
void tl_chunks_release(tl_chunks *c);

#endif
