/* SPDX-License-Identifier: Apache-2.0 */
/* Options of convert that a command takes with the others though they change nothing in it. */
#ifndef TL_TOOLS_CLI_UNUSED_H
#define TL_TOOLS_CLI_UNUSED_H

#include "tools/cli/cli.h"

/* Warns, once for all of them, about the given options that say what convert prints, and which
 * files it writes beside its output, and about those of `more` (n; NULL for 0). For commands that
 * run convert's passes many times. */
void tl_cli_warn_unused(tl_cli *cli, const tl_option_id *more, size_t n);

#endif
