/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values into a folder, all of them or none. */
#ifndef TL_TOOLS_RUN_VALUE_FILES_H
#define TL_TOOLS_RUN_VALUE_FILES_H

#include "tools/run/evaluation.h"

/* Files of one run. Zero-initialise the rest. */
typedef struct tl_value_files {
  tl_cli *cli;
  tl_changes *changes; /* borrowed; the journal of the command, unless changed */
  tl_arena arena;
  tl_symtab taken; /* plain forms of names in use; valid once has_names */
  tl_map uses;     /* how often each was used */
  bool has_names;
} tl_value_files;

/* Prepares writing; files go into the journal of the command. */
void tl_value_files_init(tl_value_files *f, tl_cli *cli);
/* Releases names. The files themselves belong to the journal. */
void tl_value_files_release(tl_value_files *f);

/* Creates the folder unless it exists. */
tl_status tl_value_files_folder(tl_value_files *f, const char *folder) TL_NODISCARD;
/* Writes folder/name, .pb or .npy by the suffix. v is a value of a model: its name goes into the
 * file, its type says whether it is optional. */
tl_status tl_value_files_write(tl_value_files *f, const char *folder, const char *name,
                               const tl_module *m, tl_value_id v,
                               const tl_host *value) TL_NODISCARD;
/* A series of files folder/stem_N.suffix; suffix: "pb" or "npy". */
typedef struct tl_value_series {
  const char *folder;
  const char *stem;
  const char *suffix;
} tl_value_series;

/* Writes values of the graph's inputs or outputs as a series. NULL entries are skipped, and numbers
 * have no gaps. */
tl_status tl_value_files_series(tl_value_files *f, tl_value_series series, const tl_module *m,
                                bool outputs, const tl_host_vec *values) TL_NODISCARD;
/* Writes text to a file; fails if the text lacks memory. */
tl_status tl_value_files_text(tl_value_files *f, const char *path, tl_buf *text) TL_NODISCARD;

/* Returns a file name for a tensor, no two the same in one run. Letters, digits, '.', '-' and '_'
 * of its name stay; any other byte becomes '_', and so does a leading '.'. At most 120 bytes of the
 * name are used. If the result is taken, also by a name that differs only in case, "~2", "~3" ...
 * follow. The name is in f->arena; NULL if memory is out. */
const char *tl_value_files_name(tl_value_files *f, tl_sv tensor, const char *suffix);

#endif
