/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the module after each pass that changed it into a folder, with an index (--dump-dir). The
 * files go through the journal of the command: they appear when everything else does. */
#ifndef TL_TOOLS_WATCH_DUMP_H
#define TL_TOOLS_WATCH_DUMP_H

#include "tools/cli/cli.h"

/* A row of the index. */
typedef struct tl_dump_state {
  uint32_t number;  /* of the file; that of the pass in the order in which they ran */
  tl_pass_event at; /* row NULL: the module as it was before the next pass */
  bool written;     /* there is a file */
} tl_dump_state;

TL_VEC(tl_dump_state_vec, tl_dump_state);

/* What is dumped of one command. Release it. */
typedef struct tl_dump {
  tl_cli *cli;
  const char *dir;          /* NULL: nothing is dumped */
  tl_format format;         /* TIR or PBTXT */
  tl_dump_state_vec states; /* so far */
  tl_buf last;              /* text of the module in the last state */
  tl_path_vec old;          /* names of such files that an earlier command left there; owned */
} tl_dump;

/* Checks the options. npu: the command makes NPU form. TL_INVALID_ARGUMENT, reported. */
tl_status tl_dump_open(tl_dump *d, tl_cli *cli, bool npu) TL_NODISCARD;
/* Writes the module, unless it is as the last pass left it. The first call makes the folder. */
tl_status tl_dump_begin(tl_dump *d, tl_module *m) TL_NODISCARD;
/* Writes the module after a pass, if it differs from the last state. */
tl_status tl_dump_pass(tl_dump *d, tl_module *m, const tl_pass_event *e) TL_NODISCARD;
/* Writes the index; files of earlier dumps that are not in it will go. */
tl_status tl_dump_end(tl_dump *d) TL_NODISCARD;
void tl_dump_release(tl_dump *d);

#endif
