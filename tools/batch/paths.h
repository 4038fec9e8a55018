/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the jobs of a batch write: no two jobs may write the same one, because the one
 * that ends last would win without a word. */
#ifndef TL_TOOLS_BATCH_PATHS_H
#define TL_TOOLS_BATCH_PATHS_H

#include "tools/batch/jobs.h"

/* Refuses jobs of which two write the same file: outputs, and reports beside them. Paths are
 * compared as the files that they lead to, through links too. TL_INVALID_ARGUMENT, TL_NO_MEMORY,
 * reported. */
tl_status tl_jobs_check_paths(tl_cli *cli, const tl_arguments_vec *jobs) TL_NODISCARD;

#endif
