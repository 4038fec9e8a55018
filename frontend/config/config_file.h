/* SPDX-License-Identifier: Apache-2.0 */
/* Small files that users write for the compiler: switch files, lists, rules. One way to open them:
 * regular, readable, bounded, with the codes that atc gives for that kind of file. */
#ifndef TL_FRONTEND_CONFIG_CONFIG_FILE_H
#define TL_FRONTEND_CONFIG_CONFIG_FILE_H

#include "support/arena.h"
#include "support/diag.h"
#include "support/file.h"

enum { TL_CONFIG_MAX_BYTES = 4 << 20 };

typedef struct tl_config_kind {
  const char *what;       /* "switch file" */
  const char *missing;    /* code when it is not there or may not be opened; NULL: none */
  const char *unreadable; /* code when it is no regular file, too large or cannot be read */
  bool plain_path;    /* the path, links resolved, has only characters that atc takes (E10001) */
  uint32_t max_bytes; /* 0: TL_CONFIG_MAX_BYTES */
} tl_config_kind;

/* Opens and reads a file into *out, which the caller closes. where: the option that named it. */
tl_status tl_config_open(tl_diag *d, tl_location where, const char *path,
                         const tl_config_kind *kind, tl_file **out) TL_NODISCARD;

/* Reads all of a file into the arena: the text of *out, without its end marked. where: the option
 * that named it. TL_NO_MEMORY, and what opening reports. */
tl_status tl_config_text(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                         const tl_config_kind *kind, tl_sv *out) TL_NODISCARD;

/* A text without the byte order mark that Windows editors leave at its start. */
tl_sv tl_config_without_mark(tl_sv text);

#endif
