/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that commands make for other programs. */
#ifndef TL_TOOLS_CLI_FOLDER_H
#define TL_TOOLS_CLI_FOLDER_H

#include "tools/cli/cli.h"

/* Returns "folder/name" in the arena of the settings; NULL if memory is out, not reported. */
const char *tl_folder_path(tl_cli *cli, const char *folder, const char *name);
/* Makes a folder below $TMPDIR, else /tmp, that only this user may enter, and that no other process
 * has. *out is in the arena of the settings. TL_IO, TL_NO_MEMORY, reported. */
tl_status tl_folder_make(tl_cli *cli, const char **out) TL_NODISCARD;
/* Removes a folder with the files in it; folders in it stay, and then it stays. */
void tl_folder_remove(const char *folder);

#endif
