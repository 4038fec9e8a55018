/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the chunks of a page. Compression is zlib's: the page undoes it with what browsers have. */
#include "tools/page/chunks.h"

#include <stdlib.h>
#include <zlib.h>

/* Below SMALL bytes compression does not pay; texts from LARGE on are compressed at speed. */
enum { SMALL = 2048, LARGE = 1 << 17 };
/* A block refers to the WINDOW bytes before it. */
enum { BLOCK = 1 << 19, WINDOW = 1 << 15 };

/* Adds JSON without '<', which occurs only inside strings, where an escape is legal: the text may
 * stand in an element of a page. */
static void add_plain(tl_buf *out, tl_sv json) {
  for (size_t i = 0; i < json.n; i++)
    if (json.p[i] == '<')
      tl_buf_add_z(out, "\\u003c");
    else
      tl_buf_add_char(out, json.p[i]);
}

/* ---- compression ----------------------------------------------------------------------------- */

/* Blocks of one text, which threads compress side by side: each may refer to the bytes before it,
 * so that the blocks in a row are one stream. */
typedef struct blocks {
  tl_sv text;
  int level;
  size_t n;
  tl_buf *at; /* [n] */
} blocks;

static tl_sv block_of(const blocks *b, size_t i) {
  size_t from = i * BLOCK;
  return (tl_sv){b->text.p + from, i + 1 < b->n ? BLOCK : b->text.n - from};
}

/* Compresses all input of z. flush: Z_FINISH, or Z_SYNC_FLUSH, which ends at a whole byte. */
static bool deflate_all(z_stream *z, tl_buf *out, int flush) {
  unsigned char room[1 << 16];
  int state;
  do {
    z->next_out = room;
    z->avail_out = sizeof room;
    state = deflate(z, flush);
    tl_buf_add(out, room, sizeof room - z->avail_out);
  } while (state == Z_OK && z->avail_out == 0);
  return state == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && !out->failed;
}

static tl_status deflate_block(void *user, size_t i, unsigned worker) {
  blocks *b = user;
  tl_sv text = block_of(b, i);
  size_t known = i == 0 ? 0 : WINDOW;
  z_stream z = {0};
  (void)worker;
  if (deflateInit2(&z, b->level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return TL_NO_MEMORY;
  const unsigned char *bytes = (const unsigned char *)text.p;
  bool ok = !known || deflateSetDictionary(&z, bytes - known, (unsigned)known) == Z_OK;
  z.next_in = (unsigned char *)(uintptr_t)bytes;
  z.avail_in = (unsigned)text.n;
  ok = ok && deflate_all(&z, &b->at[i], i + 1 < b->n ? Z_SYNC_FLUSH : Z_FINISH);
  int end = deflateEnd(&z); /* tells of bytes left over, where a block is not the last one */
  return ok && (end == Z_OK || end == Z_DATA_ERROR) ? TL_OK : TL_NO_MEMORY;
}

/* Threads are started for the first large text. Without them the caller compresses alone. */
static tl_status deflate_blocks(tl_chunks *c, blocks *b) {
  if (b->n > 1 && !c->pool)
    c->pool = tl_pool_create(0);
  if (c->pool)
    return tl_pool_run(c->pool, b->n, deflate_block, b);
  for (size_t i = 0; i < b->n; i++)
    TL_TRY(deflate_block(b, i, 0));
  return TL_OK;
}

static bool add_deflated(tl_chunks *c, tl_buf *out, tl_sv text) {
  blocks b = {.text = text,
              .level = text.n < LARGE ? Z_DEFAULT_COMPRESSION : Z_BEST_SPEED,
              .n = (text.n + BLOCK - 1) / BLOCK};
  b.at = calloc(b.n, sizeof *b.at);
  bool ok = b.at && deflate_blocks(c, &b) == TL_OK;
  for (size_t i = 0; b.at && i < b.n; i++) {
    tl_buf_add_sv(out, tl_buf_view(&b.at[i]));
    tl_buf_release(&b.at[i]);
  }
  free(b.at);
  return ok && !out->failed;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

void tl_chunks_add(tl_chunks *c, const char *name, tl_buf *json) {
  tl_chunk chunk = {.deflated = json->n >= SMALL};
  tl_buf full;
  tl_buf_init(&full);
  tl_buf_init(&chunk.data);
  tl_buf_printf(&full, "%s%s", c->prefix ? c->prefix : "", name);
  chunk.name = full.failed ? NULL : tl_arena_copy(&c->names, full.p, full.n + 1);
  tl_buf_release(&full);
  if (!chunk.deflated)
    add_plain(&chunk.data, tl_buf_view(json));
  else if (!add_deflated(c, &chunk.data, tl_buf_view(json)))
    chunk.data.failed = true;
  c->failed = c->failed || json->failed || chunk.data.failed || !chunk.name;
  if (c->failed || !tl_chunk_vec_push(&c->at, chunk)) {
    tl_buf_release(&chunk.data);
    c->failed = true;
  }
  tl_buf_clear(json);
}

const tl_chunk *tl_chunks_find(const tl_chunks *c, tl_sv name) {
  for (uint32_t i = 0; i < c->at.n; i++)
    if (tl_sv_is(name, c->at.at[i].name))
      return &c->at.at[i];
  return NULL;
}

void tl_chunks_release(tl_chunks *c) {
  for (uint32_t i = 0; i < c->at.n; i++)
    tl_buf_release(&c->at.at[i].data);
  tl_chunk_vec_release(&c->at);
  tl_arena_release(&c->names);
  tl_pool_destroy(c->pool);
}
