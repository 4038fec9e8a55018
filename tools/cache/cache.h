/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of one conversion: --cache-dir and TAILOR_CACHE_DIR. A conversion with the same
 * options, program and files as an earlier one takes what that one wrote and said. Nothing here
 * makes a conversion fail: where the cache does not work, it says so once and the model is
 * converted. */
#ifndef TL_TOOLS_CACHE_CACHE_H
#define TL_TOOLS_CACHE_CACHE_H

#include "tools/cli/cli.h"

typedef struct tl_cache tl_cache;

/* Begins to note the files that are read, if there is to be a cache. *out is NULL if there is none.
 * Call it before files of options are read. */
tl_status tl_cache_open(tl_cli *cli, tl_cache **out) TL_NODISCARD;
/* Looks the conversion up, whose outputs are planned. *hit: its files have their names and its
 * messages were shown. Otherwise what follows is recorded. Reports outputs that cannot be written.
 * NULL: no hit. */
tl_status tl_cache_fetch(tl_cache *c, bool *hit) TL_NODISCARD;
/* Ends the conversion, and stores it if it has succeeded. Frees the cache; NULL is allowed. */
void tl_cache_close(tl_cache *c, tl_status status);

/* Returns the folder that the command line or the environment names; NULL: none. */
const char *tl_cache_folder(const tl_cli *cli);

#endif
