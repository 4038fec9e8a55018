/* SPDX-License-Identifier: Apache-2.0 */
/* Puts data into the frame of a page. */
#include "tools/page/page.h"

/* Adds JSON to a script element. '<' becomes an escape, so that no text can end the element; in
 * JSON '<' occurs only inside strings, where the escape is legal. */
static void add_data(tl_buf *out, const tl_buf *json) {
  for (size_t i = 0; i < json->n; i++)
    if (json->p[i] == '<')
      tl_buf_add_z(out, "\\u003c");
    else
      tl_buf_add_char(out, json->p[i]);
}

tl_status tl_page_write(tl_cli *cli, const char *path, const tl_buf *json) {
  tl_buf out;
  tl_buf_init(&out);
  tl_buf_add_sv(&out, tl_page_head);
  add_data(&out, json);
  tl_buf_add_sv(&out, tl_page_tail);
  out.failed = out.failed || json->failed;
  tl_status status = tl_session_save_text(&cli->session, path, &out);
  tl_buf_release(&out);
  return status;
}
