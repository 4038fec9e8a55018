/* SPDX-License-Identifier: Apache-2.0 */
/* Changes beside the main outputs (support/changes.h). */
#include "support/changes.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes over what change owns; removes it when it cannot be kept. */
static tl_status add(tl_changes *c, tl_diag *d, tl_change change) {
  if (change.path && tl_change_vec_push(&c->list, change))
    return TL_OK;
  const char *made = change.staged ? change.staged : change.path;
  if (made && !change.folder)
    unlink(made);
  free(change.path);
  free(change.staged);
  return tl_fail(d, TL_NO_MEMORY, (tl_location){0}, "out of memory");
}

tl_status tl_changes_folder(tl_changes *c, tl_diag *d, const char *path) {
  struct stat st;
  if (lstat(path, &st) == 0) /* tl_make_folder says what is wrong with what is there */
    return tl_make_folder(d, path);
  TL_TRY(tl_make_folder(d, path));
  tl_status status = add(c, d, (tl_change){.path = strdup(path), .folder = true});
  if (status != TL_OK)
    rmdir(path);
  return status;
}

tl_status tl_changes_commit(tl_changes *c, tl_diag *d, tl_writer *w) {
  tl_change change = {0};
  if (!c)
    return tl_writer_commit(w);
  TL_TRY(tl_writer_stage(w, &change.path, &change.staged));
  return change.path ? add(c, d, change) : TL_OK;
}

tl_status tl_changes_apply(tl_changes *c, tl_diag *d) {
  for (uint32_t i = 0; i < c->list.n; i++) {
    tl_change *change = &c->list.at[i];
    if (!change->staged)
      continue;
    if (rename(change->staged, change->path) != 0)
      return tl_fail(d, TL_IO, TL_AT_FILE(change->path), "cannot replace '%s': %s", change->path,
                     strerror(errno));
    free(change->staged);
    free(change->path); /* from now on the file is neither new nor staged */
    change->staged = NULL;
    change->path = NULL;
  }
  return TL_OK;
}

void tl_changes_undo(tl_changes *c) {
  for (uint32_t i = c->list.n; i-- > 0;) {
    const tl_change *change = &c->list.at[i];
    if (change->folder)
      rmdir(change->path);
    else if (change->path)
      unlink(change->staged ? change->staged : change->path);
  }
  tl_changes_release(c);
}

void tl_changes_release(tl_changes *c) {
  for (uint32_t i = 0; i < c->list.n; i++) {
    free(c->list.at[i].path);
    free(c->list.at[i].staged);
  }
  tl_change_vec_release(&c->list);
}
