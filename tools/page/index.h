/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a page: which models it shows, their passes, what it opens with, and its chunks. */
#ifndef TL_TOOLS_PAGE_INDEX_H
#define TL_TOOLS_PAGE_INDEX_H

#include "tools/page/model.h"

/* What a page is about. */
typedef struct tl_view_about {
  tl_cli *cli;         /* of the command line that is told */
  const char *what;    /* "view", "compare" */
  const char *overlay; /* that the page opens with; NULL: none */
  const char *against; /* what the model is compared with in numbers; NULL: nothing */
  const tl_view_model *models;
  uint32_t n;
} tl_view_about;

/* Adds chunk index, behind all others. TL_NO_MEMORY, reported, also for lack of memory before. */
tl_status tl_view_add_index(const tl_view_about *a, tl_chunks *chunks) TL_NODISCARD;
/* Writes the page to a path, whole or not at all, and over no file that a model was read from.
 * TL_NO_MEMORY, TL_IO, TL_INVALID_ARGUMENT, reported. */
tl_status tl_view_put_page(const tl_view_about *a, const char *path,
                           const tl_chunks *chunks) TL_NODISCARD;

#endif
