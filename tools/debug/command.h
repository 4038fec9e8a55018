/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command of the user over a model. */
#ifndef TL_TOOLS_DEBUG_COMMAND_H
#define TL_TOOLS_DEBUG_COMMAND_H

#include "tools/cli/cli.h"

/* How it ended. */
typedef struct tl_command_result {
  int status;  /* exit status */
  int signal;  /* that ended it, 0: none */
  tl_buf said; /* owned; both of its outputs, cut at 1 MiB */
} tl_command_result;

/* Writes the module into a new folder below $TMPDIR, and has /bin/sh run the command with the
 * quoted path in place of each {}. The folder disappears. Release the result in any case. TL_IO
 * and errors of writing are reported. */
tl_status tl_command_ask(tl_cli *cli, const char *command, tl_module *m, tl_format format,
                         tl_command_result *out) TL_NODISCARD;
void tl_command_result_release(tl_command_result *r);
/* Adds a text so that a shell reads it as one word. */
void tl_shell_quote(tl_buf *out, tl_sv text);

#endif
