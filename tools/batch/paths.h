/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the jobs of a batch write: no other job may write one, because the one that ends
 * last would win without a word, or read one, because it may be there or not. */
#ifndef TL_TOOLS_BATCH_PATHS_H
#define TL_TOOLS_BATCH_PATHS_H

#include "tools/batch/jobs.h"

/* Refuses jobs of which one writes a file, outputs and reports beside them, that another one writes
 * or that an option of it names to be read. Paths are
 * compared as the files that they lead to, through links too. TL_INVALID_ARGUMENT, TL_NO_MEMORY,
 * reported. */
tl_status tl_jobs_check_paths(tl_cli *cli, const tl_arguments_vec *jobs) TL_NODISCARD;

/* Returns where a path leads, on the heap: the file if it exists, else its name in its folder. A
 * path into a folder that there is not stays as it is. NULL without memory. */
char *tl_real_path(const char *path);

#endif
