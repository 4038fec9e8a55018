/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a build which files a command has read and which it writes: --depfile, --deps-json and
 * --print-inputs. */
#ifndef TL_TOOLS_CLI_DEPS_H
#define TL_TOOLS_CLI_DEPS_H

#include "tools/cli/output.h"

/* Notes a file that was opened to be read; user: the tl_cli. For tl_diag.opened. A path is kept
 * once, as it was named first. st: NULL if only its name counts. */
void tl_deps_note(void *user, const char *path, const struct stat *st);

/* Refuses what was made of two versions of a file: TL_IO, when one that was read twice was another
 * file then, or one that is mapped was written to since. */
tl_status tl_deps_unchanged(tl_cli *cli) TL_NODISCARD;

/* Returns true if all files that were read still have their names and are as they were then. */
bool tl_deps_are_there(const tl_cli *cli);

/* Refuses --print-inputs where nothing is read. */
tl_status tl_deps_check(tl_cli *cli) TL_NODISCARD;
/* Ends a command whose outputs are in the journal: writes the files that --depfile and --deps-json
 * ask for. With --print-inputs it drops the journal instead and prints every file that was read.
 * v: the outputs. TL_INVALID_ARGUMENT for a path that a Makefile cannot name. */
tl_status tl_deps_write(tl_cli *cli, const tl_output_vec *v) TL_NODISCARD;

#endif
