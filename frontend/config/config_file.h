/* SPDX-License-Identifier: Apache-2.0 */
/* Opens small files that users write for the compiler: switch files, lists, rules.
 * A file must be regular, readable, and of bounded size. Errors have the codes that atc gives for
 * that kind of file. */
#ifndef TL_FRONTEND_CONFIG_CONFIG_FILE_H
#define TL_FRONTEND_CONFIG_CONFIG_FILE_H

#include "support/arena.h"
#include "support/diag.h"
#include "support/file.h"

/* Upper bound on the size of a file whose kind has none of its own. */
enum { TL_CONFIG_MAX_BYTES = 4 << 20 };

/* A kind of file, with its error codes. */
typedef struct tl_config_kind {
  const char *what;       /* for messages: "switch file" */
  const char *missing;    /* code if it does not exist or may not be opened; NULL: none */
  const char *unreadable; /* code if it is not regular, too large or cannot be read */
  bool plain_path;        /* the resolved path may have only characters that atc allows (E10001) */
  uint32_t max_bytes;     /* 0: TL_CONFIG_MAX_BYTES */
} tl_config_kind;

/* Opens and reads a file into *out, which the caller closes. where: the option that named it. */
tl_status tl_config_open(tl_diag *d, tl_location where, const char *path,
                         const tl_config_kind *kind, tl_file **out) TL_NODISCARD;

/* Reads a whole file into the arena. *out is not NUL-terminated. where: the option that named the
 * file. TL_NO_MEMORY, and the errors of tl_config_open. */
tl_status tl_config_text(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                         const tl_config_kind *kind, tl_sv *out) TL_NODISCARD;

/* Returns the text without a byte order mark, which Windows editors put at its start. */
tl_sv tl_config_without_mark(tl_sv text);

#endif
