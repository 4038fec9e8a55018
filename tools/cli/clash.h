/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a command is about to write over what it has read, or twice. */
#ifndef TL_TOOLS_CLI_CLASH_H
#define TL_TOOLS_CLI_CLASH_H

#include "tools/cli/cli.h"

/* Compares the files in the journal with each other and with all that were read, whatever option
 * names them: by device and inode, so that links and other spellings of a path are found. Reports
 * TL_INVALID_ARGUMENT, TL_IO, TL_NO_MEMORY. */
tl_status tl_clash_check(tl_cli *cli) TL_NODISCARD;

#endif
