/* SPDX-License-Identifier: Apache-2.0 */
/* What a run does to the file system beside its main outputs, so that a failure can take it back:
 * files and folders that are new go away again, files that were there keep their content until the
 * changes are applied. Knows names only; tl_writer makes each file appear complete. */
#ifndef TL_SUPPORT_CHANGES_H
#define TL_SUPPORT_CHANGES_H

#include "support/file.h"
#include "support/vec.h"

typedef struct tl_change {
  char *path;   /* owned */
  char *staged; /* owned; hidden name that stands for an existing file, NULL: the file is new */
  bool folder;
} tl_change;

TL_VEC(tl_change_vec, tl_change);

/* Zero-initialise; released by tl_changes_release, which leaves the files alone. */
typedef struct tl_changes {
  tl_change_vec list;
} tl_changes;

/* Creates the folder (one level) unless it exists. Reports TL_IO, TL_NO_MEMORY. */
tl_status tl_changes_folder(tl_changes *c, tl_diag *d, const char *path) TL_NODISCARD;
/* Commits the writer and frees it. A new file appears; one that is there keeps its content until
 * the changes are applied, or with c NULL is replaced. Reports what the writer does. */
tl_status tl_changes_commit(tl_changes *c, tl_diag *d, tl_writer *w) TL_NODISCARD;
/* Moves what is staged over the files it replaces. Reports TL_IO; what has been replaced by then
 * stays. Nothing is staged afterwards. */
tl_status tl_changes_apply(tl_changes *c, tl_diag *d) TL_NODISCARD;
/* Removes new files, staged ones and new folders that are empty, the last first; forgets them. */
void tl_changes_undo(tl_changes *c);
void tl_changes_release(tl_changes *c);

#endif
