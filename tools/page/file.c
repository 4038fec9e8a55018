/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the page with its data. */
#include "tools/page/file.h"

#include <nettle/base64.h>

/* Adds bytes in base64. Whole groups of three are encoded at once, so that pieces fit together. */
static void add_base64(tl_buf *out, tl_sv data) {
  enum { PIECE = 3 << 12 };
  char room[BASE64_ENCODE_RAW_LENGTH(PIECE)];
  while (data.n) {
    size_t n = data.n < PIECE ? data.n : PIECE;
    base64_encode_raw(room, n, (const uint8_t *)data.p);
    tl_buf_add(out, room, BASE64_ENCODE_RAW_LENGTH(n));
    data = (tl_sv){data.p + n, data.n - n};
  }
}

static void add_chunk(tl_buf *out, const tl_chunk *c) {
  tl_buf_printf(out,
                "<script type=\"application/octet-stream\" data-chunk=\"%s\" data-form=\"%s\">",
                c->name, c->deflated ? "deflate" : "plain");
  if (c->deflated)
    add_base64(out, tl_buf_view(&c->data));
  else
    tl_buf_add_sv(out, tl_buf_view(&c->data));
  tl_buf_add_z(out, "</script>\n");
}

void tl_view_page(const tl_chunks *chunks, tl_buf *out) {
  tl_buf_add_sv(out, tl_view_head);
  for (uint32_t i = 0; i < chunks->at.n; i++)
    add_chunk(out, &chunks->at.at[i]);
  tl_buf_add_sv(out, tl_view_tail);
  out->failed = out->failed || chunks->failed;
}

/* Adds a text with one part of it replaced at its first place. */
static void add_replaced(tl_buf *out, tl_sv text, const char *part, const char *by) {
  const char *at = memmem(text.p, text.n, part, strlen(part));
  size_t n = at ? (size_t)(at - text.p) : text.n;
  tl_buf_add(out, text.p, n);
  if (!at)
    return;
  tl_buf_add_z(out, by);
  tl_buf_add(out, at + strlen(part), text.n - n - strlen(part));
}

/* The policy of the file allows no connection; this page asks its own server, and nobody else. */
void tl_view_served_page(tl_buf *out) {
  tl_buf head;
  tl_buf_init(&head);
  add_replaced(&head, tl_view_head, "connect-src 'none'", "connect-src 'self'");
  add_replaced(out, tl_buf_view(&head), "<html ", "<html data-serve=\"1\" ");
  out->failed = out->failed || head.failed;
  tl_buf_release(&head);
  tl_buf_add_sv(out, tl_view_tail);
}

tl_status tl_view_write(tl_cli *cli, const char *path, const tl_chunks *chunks) {
  tl_buf out;
  tl_buf_init(&out);
  tl_view_page(chunks, &out);
  tl_status status = tl_session_save_text(&cli->session, path, &out);
  tl_buf_release(&out);
  return status;
}
