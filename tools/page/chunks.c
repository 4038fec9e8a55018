/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the chunks of a page. Compression is zlib's: the page undoes it with what browsers have. */
#include "tools/page/chunks.h"

#include <limits.h>
#include <zlib.h>

/* Below SMALL bytes compression does not pay; texts from LARGE on are compressed at speed. */
enum { SMALL = 2048, LARGE = 1 << 17, PIECE = 1 << 30 };

/* Adds JSON without '<', which occurs only inside strings, where an escape is legal: the text may
 * stand in an element of a page. */
static void add_plain(tl_buf *out, tl_sv json) {
  for (size_t i = 0; i < json.n; i++)
    if (json.p[i] == '<')
      tl_buf_add_z(out, "\\u003c");
    else
      tl_buf_add_char(out, json.p[i]);
}

/* Feeds the text piece by piece, as zlib counts in 32 bits. Returns false when memory is out. */
static bool deflate_all(z_stream *z, tl_buf *out, tl_sv text) {
  unsigned char room[1 << 16];
  int state = Z_OK;
  while (state == Z_OK) {
    size_t n = text.n < PIECE ? text.n : PIECE;
    if (z->avail_in == 0) {
      z->next_in = (unsigned char *)(uintptr_t)text.p;
      z->avail_in = (unsigned)n;
      text = (tl_sv){text.p + n, text.n - n};
    }
    z->next_out = room;
    z->avail_out = sizeof room;
    state = deflate(z, text.n ? Z_NO_FLUSH : Z_FINISH);
    tl_buf_add(out, room, sizeof room - z->avail_out);
    if (state == Z_BUF_ERROR) /* no progress with all that was there: more follows */
      state = Z_OK;
  }
  return state == Z_STREAM_END && !out->failed;
}

static bool add_deflated(tl_buf *out, tl_sv text) {
  z_stream z = {0};
  int level = text.n < LARGE ? Z_DEFAULT_COMPRESSION : Z_BEST_SPEED;
  if (deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return false;
  bool ok = deflate_all(&z, out, text);
  return deflateEnd(&z) == Z_OK && ok;
}

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
  else if (!add_deflated(&chunk.data, tl_buf_view(json)))
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
}
