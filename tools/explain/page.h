/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the page of tailor view that shows what became of a model (tailor explain --page). */
#ifndef TL_TOOLS_EXPLAIN_PAGE_H
#define TL_TOOLS_EXPLAIN_PAGE_H

#include "tools/cli/cli.h"

/* Writes the page of cli->word to the path of --page, whole or not at all. Settings must be
 * resolved. */
tl_status tl_explain_page(tl_cli *cli) TL_NODISCARD;

#endif
