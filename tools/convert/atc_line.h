/* SPDX-License-Identifier: Apache-2.0 */
/* The call of atc that goes on with an AIR file. */
#ifndef TL_TOOLS_CONVERT_ATC_LINE_H
#define TL_TOOLS_CONVERT_ATC_LINE_H

#include "tools/cli/cli.h"

/* Adds the command line that compiles the AIR file at `path`, to be run from where the user stands.
 * m: what was written. */
void tl_atc_line(tl_cli *cli, tl_module *m, const char *path, tl_buf *out);
/* Adds the command line that runs a program with n arguments as they are. */
void tl_atc_line_as_is(const char *program, char *const *arguments, int n, tl_buf *out);

#endif
