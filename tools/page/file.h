/* SPDX-License-Identifier: Apache-2.0 */
/* Puts chunks into the page: one file that needs nothing from elsewhere. */
#ifndef TL_TOOLS_PAGE_FILE_H
#define TL_TOOLS_PAGE_FILE_H

#include "tools/cli/cli.h"
#include "tools/page/chunks.h"

/* Texts of the page before and behind the data (generated). */
extern const tl_sv tl_view_head;
extern const tl_sv tl_view_tail;

/* Adds the page with all chunks. */
void tl_view_page(const tl_chunks *chunks, tl_buf *out);
/* Adds the page without chunks, which asks the server for them. */
void tl_view_served_page(tl_buf *out);
/* Writes the page with all chunks to a path, whole or not at all. TL_NO_MEMORY, TL_IO, reported. */
tl_status tl_view_write(tl_cli *cli, const char *path, const tl_chunks *chunks) TL_NODISCARD;

#endif
