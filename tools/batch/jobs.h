/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of a batch, each as the command line that converts its model alone. */
#ifndef TL_TOOLS_BATCH_JOBS_H
#define TL_TOOLS_BATCH_JOBS_H

#include "tools/cli/cli.h"

TL_VEC(tl_arguments_vec, tl_arguments);

/* Returns true if the command line asks for more than one conversion. */
bool tl_jobs_wanted(const tl_cli *cli);
/* Makes the jobs: of the file of --batch, or of several models on the line, in their order. Each
 * argument list ends with NULL and has what counts for all of them first. No two jobs write the
 * same file. Reports
 * TL_INVALID_ARGUMENT, TL_IO, TL_NO_MEMORY; the caller releases *out in any case. */
tl_status tl_jobs_make(tl_cli *cli, tl_arguments_vec *out) TL_NODISCARD;
void tl_jobs_release(tl_arguments_vec *jobs);

#endif
