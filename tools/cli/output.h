/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and writes the output files of a command: names and formats. */
#ifndef TL_TOOLS_CLI_OUTPUT_H
#define TL_TOOLS_CLI_OUTPUT_H

#include "ir/module.h"
#include "tools/cli/cli.h"

/* One output file. */
typedef struct tl_output {
  const char *path;
  tl_format format;
  bool init;               /* the graph of initial values, not the model (init_graph.h) */
  uint64_t bytes;          /* of the main file, once written; 0 for streams */
  tl_weight_files *shared; /* borrowed; takes weights outside the model. NULL: files of its own */
} tl_output;

TL_VEC(tl_output_vec, tl_output);

/* Settles name and format of every -o. `fallback`: format of names without a known suffix; AIR then
 * appends ".air". E10022 for a folder; TL_INVALID_ARGUMENT for a path that is given twice. */
tl_status tl_output_plan(tl_cli *cli, tl_format fallback, tl_output_vec *out) TL_NODISCARD;
/* Appends an output. A path that is taken is an error. path NULL: memory ran out while it was
 * made. */
tl_status tl_output_add(tl_cli *cli, const tl_output *o, tl_output_vec *out) TL_NODISCARD;
/* Returns the length of a path up to the dot of its suffix. */
size_t tl_output_stem(const char *path);
/* Returns "<stem>.<middle><suffix>" in the settings' arena; NULL if memory is out. */
const char *tl_output_derive(tl_cli *cli, const char *path, const char *middle);
/* Refuses outputs that are among the files from which the module was read. */
tl_status tl_output_check(tl_cli *cli, const tl_module *m, const tl_output_vec *v) TL_NODISCARD;
/* Refuses to write over a file that the module was read from; by: the option that names it. */
tl_status tl_output_spares_inputs(tl_cli *cli, const tl_module *m, const char *path,
                                  tl_option_id by) TL_NODISCARD;
/* Returns true if st is that of the model, or of a file from which it was read. */
struct stat;
bool tl_output_is_input(const tl_cli *cli, const tl_module *m, const struct stat *st);
/* Refuses a report of fusions (tl_session_save_fusions) that is no regular file, or that the module
 * was read from. */
tl_status tl_output_check_fusions(tl_cli *cli, const tl_module *m) TL_NODISCARD;
/* Writes one output into the journal of the command (tl_cli_apply). */
tl_status tl_output_write(tl_cli *cli, tl_module *m, tl_output *o) TL_NODISCARD;

#endif
