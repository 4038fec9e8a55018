/* SPDX-License-Identifier: Apache-2.0 */
/* --sandbox: what a process may do once a hostile model is open, should a model find a defect in
 * Tailor. The kernel enforces it: files by Landlock, system calls by seccomp. */
#ifndef TL_TOOLS_CLI_SANDBOX_H
#define TL_TOOLS_CLI_SANDBOX_H

#include "tools/cli/cli.h"

/* Does nothing without --sandbox. With it, the process and its threads can from now on
 *   - read below the folders of files that the command line names, and nothing else,
 *   - write below the folders of files that options of WRITES (options.tbl) name,
 *   - start no program, open no socket and look into no other process.
 * Reports TL_UNSUPPORTED for a kernel or a processor without the means, TL_INVALID_ARGUMENT for
 * options that need a program, TL_IO. */
tl_status tl_sandbox_enter(tl_cli *cli) TL_NODISCARD;

#endif
