/* SPDX-License-Identifier: Apache-2.0 */
/* Output files of a command: names, formats, writing, the Makefile rule. */
#ifndef TL_TOOLS_OUTPUT_H
#define TL_TOOLS_OUTPUT_H

#include "backend/weight_files.h"
#include "ir/module.h"
#include "support/changes.h"
#include "tools/cli.h"

typedef enum tl_format { TL_FORMAT_AIR, TL_FORMAT_ONNX, TL_FORMAT_TIR, TL_FORMAT_PBTXT } tl_format;

typedef struct tl_output {
  const char *path;
  tl_format format;
  bool written;
  bool existed;   /* before this run */
  bool init;      /* the graph of initial values, not the model (init_graph.h) */
  uint64_t bytes; /* of the main file, known once written; 0 for streams */
  tl_changes changes; /* files of weights beside it */
  tl_changes *later; /* borrowed; takes all files, which replace nothing before it is applied. NULL:
                        they appear at once */
  tl_weight_files *shared; /* borrowed; takes weights outside the model. NULL: files of its own */
} tl_output;

TL_VEC(tl_output_vec, tl_output);

const char *tl_format_name(tl_format format);
/* AIR and the dump show the module in NPU form; ONNX and textual IR in canonical form. */
static inline bool tl_format_is_npu(tl_format f) {
  return f == TL_FORMAT_AIR || f == TL_FORMAT_PBTXT;
}

/* Settles name and format of every -o. `fallback`: format of names without a known suffix; AIR then
 * appends ".air". */
tl_status tl_output_plan(tl_cli *cli, tl_format fallback, tl_output_vec *out) TL_NODISCARD;
/* Appends an output, unless its path is taken. */
tl_status tl_output_add(tl_cli *cli, const tl_output *o, tl_output_vec *out) TL_NODISCARD;
/* Length of a path up to the dot of its suffix. */
size_t tl_output_stem(const char *path);
/* "<stem>.<middle><suffix>" in the settings' arena; NULL when memory is out. */
const char *tl_output_derive(tl_cli *cli, const char *path, const char *middle);
/* Refuses outputs that are among the files the module was read from, or each other. */
tl_status tl_output_check(tl_cli *cli, const tl_module *m, const tl_output_vec *v) TL_NODISCARD;
/* Refuses to write over a file that the module was read from. */
tl_status tl_output_spares_inputs(tl_cli *cli, const tl_module *m, const char *path) TL_NODISCARD;
/* True if st is that of the model or of a file it was read from. */
struct stat;
bool tl_output_is_input(const tl_cli *cli, const tl_module *m, const struct stat *st);
/* Writes one output. */
tl_status tl_output_write(tl_cli *cli, tl_module *m, tl_output *o) TL_NODISCARD;
/* Removes what this run created, for a run that fails later: files that were there before stay,
 * with the content they have now. */
void tl_output_undo(tl_output_vec *v);
void tl_output_release(tl_output_vec *v);
/* Writes the rule that --depfile asks for, if it does. */
tl_status tl_output_depfile(tl_cli *cli, const tl_module *m, const tl_output_vec *v) TL_NODISCARD;

/* Writes text to a file, whole or not at all; TL_NO_MEMORY when the buffer has failed. later: as of
 * tl_output. */
tl_status tl_output_bytes(tl_cli *cli, const char *path, const tl_buf *text,
                          tl_changes *later) TL_NODISCARD;

#endif
