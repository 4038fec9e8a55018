/* SPDX-License-Identifier: Apache-2.0 */
/* What a job of a batch tells the batch about its files: the names, so that two jobs that write one
 * file are found, and what it has to say in files that several jobs write together. */
#ifndef TL_TOOLS_CLI_WRITTEN_H
#define TL_TOOLS_CLI_WRITTEN_H

#include "tools/cli/cli.h"

/* One file of a job. */
typedef struct tl_written {
  const char *path; /* as the job spelled it */
  bool is_list;     /* weight/meta.json: the batch writes it, for all jobs */
  bool keeps_same;  /* of a list: --write-if-changed */
  tl_sv text;       /* of a list: what this job has to say */
} tl_written;

/* Writes all files of the journal into the descriptor, and takes the lists out of the journal.
 * Reports TL_IO, TL_NO_MEMORY. */
tl_status tl_written_tell(tl_cli *cli, int fd) TL_NODISCARD;
/* Takes the next file from what a job has told. False: there is none. */
bool tl_written_next(tl_sv *text, tl_written *out);

#endif
