/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of maps in messages. */
#ifndef TL_PASSES_CLEANUP_MAP_KEYS_H
#define TL_PASSES_CLEANUP_MAP_KEYS_H

#include "ir/module.h"

/* Appends the keys that attribute `a` lists, strings or integers, at most eight of them: ' "a",
 * "b" ...'. Out of memory: out->failed. */
void tl_map_keys_print(const tl_module *m, const tl_attr *a, tl_buf *out);

#endif
