/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the conversions of a batch, several at a time: each in a process of its own that is forked
 * and not started anew, so that a crash or a lack of memory is that of one model, and pages of
 * mapped files are shared. */
#ifndef TL_TOOLS_BATCH_BATCH_H
#define TL_TOOLS_BATCH_BATCH_H

#include "tools/batch/jobs.h"

/* Runs one command line to its end in a process that does nothing else; returns its exit code. */
typedef int (*tl_job_fn)(const tl_arguments *job);

/* Runs all jobs of the command line. Their standard output and standard error appear in the order
 * of the jobs. After a failure no more begin, unless --keep-going is given. *code: exit code of the
 * first job, in their order, that failed; 0 if none did. Reports what has to do with the batch
 * itself. */
tl_status tl_batch_run(tl_cli *cli, tl_job_fn run, int *code) TL_NODISCARD;

#endif
