/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds what a command may take of the machine: --memory-limit and --max-time. */
#ifndef TL_TOOLS_CLI_LIMITS_H
#define TL_TOOLS_CLI_LIMITS_H

#include "tools/cli/cli.h"

/* Reads --memory-limit in bytes; 0: it is not given. TL_INVALID_ARGUMENT, reported. */
tl_status tl_limit_memory_option(tl_cli *cli, uint64_t *bytes) TL_NODISCARD;
/* Lets this process take at most as many bytes of heap and private mappings; 0 changes nothing.
 * Mapped models are not counted. */
void tl_limit_memory(uint64_t bytes);
/* Bounds this process as the command line says: memory, unless the command is one whose evaluator
 * counts the bytes of values, or the process is a job of a batch, which has its share already; and
 * processor time. TL_INVALID_ARGUMENT, reported. */
tl_status tl_limit_command(tl_cli *cli) TL_NODISCARD;

#endif
