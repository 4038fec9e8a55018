/* SPDX-License-Identifier: Apache-2.0 */
/* Options that a command takes because it takes all of convert, though they change nothing in
 * it. */
#ifndef TL_TOOLS_CLI_UNUSED_H
#define TL_TOOLS_CLI_UNUSED_H

#include "tools/cli/cli.h"

/* Whether an option changes nothing in a command. */
typedef bool (*tl_unused_fn)(tl_option_id id);

/* Warns once, with the names of all given options that change nothing. For commands that are given
 * the options of a conversion as they were. */
void tl_cli_warn_unused(tl_cli *cli, tl_unused_fn is_unused);
/* Refuses the first of them. TL_INVALID_ARGUMENT, reported. */
tl_status tl_cli_refuse_unused(tl_cli *cli, tl_unused_fn is_unused) TL_NODISCARD;

#endif
