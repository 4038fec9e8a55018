/* SPDX-License-Identifier: Apache-2.0 */
/* Implements folders for other programs. */
#include "tools/cli/folder.h"

#include <errno.h>
#include <stdlib.h>

#include "support/litter.h"

const char *tl_folder_path(tl_cli *cli, const char *folder, const char *name) {
  tl_buf b;
  tl_buf_init(&b);
  tl_buf_printf(&b, "%s/%s", folder, name);
  const char *path = b.failed ? NULL : tl_arena_copy(&cli->settings.arena, b.p, b.n);
  tl_buf_release(&b);
  return path;
}

tl_status tl_folder_make(tl_cli *cli, const char **out) {
  const char *base = getenv("TMPDIR");
  char *path =
      (char *)(uintptr_t)tl_folder_path(cli, base && *base ? base : "/tmp", "tailor-XXXXXX");
  *out = NULL;
  if (!path)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (!mkdtemp(path))
    return tl_fail(&cli->diag, TL_IO, TL_AT_FILE(path), "cannot create '%s': %s", path,
                   strerror(errno));
  *out = path;
  return TL_OK;
}

void tl_folder_remove(const char *folder) { (void)tl_folder_erase(folder); }
