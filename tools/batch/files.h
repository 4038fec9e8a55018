/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the jobs of a batch have written: a file of two jobs is an error, because it is
 * that of the job that ended last, and lists that jobs share are written for all of them. */
#ifndef TL_TOOLS_BATCH_FILES_H
#define TL_TOOLS_BATCH_FILES_H

#include "tools/cli/cli.h"

/* A file of a job. */
typedef struct tl_job_file {
  char *path;     /* owned; as the job spelled it */
  char *real;     /* owned; without links, "." and ".." */
  uint32_t job;   /* its index */
  bool is_list;   /* weight/meta.json, which no job writes itself */
  bool rewrites;  /* of a list: also one with the same bytes */
  uint32_t order; /* in which files came */
  size_t at, n;   /* of a list: bytes in tl_job_files.lists */
} tl_job_file;

TL_VEC(tl_job_file_vec, tl_job_file);

/* Zero-initialise; released by tl_job_files_release. */
typedef struct tl_job_files {
  tl_job_file_vec list;
  tl_buf lists; /* texts of all lists */
} tl_job_files;

/* Takes what a job has told (tools/cli/written.h). fd: -1 for nothing. Reports TL_NO_MEMORY. */
tl_status tl_job_files_take(tl_job_files *f, tl_cli *cli, uint32_t job, int fd) TL_NODISCARD;
/* Writes the lists, also when a signal has stopped the batch: the models that they speak of are
 * there. Reports the files that two jobs have written, TL_INVALID_ARGUMENT, and TL_IO,
 * TL_NO_MEMORY. */
tl_status tl_job_files_end(tl_job_files *f, tl_cli *cli) TL_NODISCARD;
void tl_job_files_release(tl_job_files *f);

#endif
