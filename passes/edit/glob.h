/* SPDX-License-Identifier: Apache-2.0 */
/* Globs over names that are paths. */
#ifndef TL_PASSES_EDIT_GLOB_H
#define TL_PASSES_EDIT_GLOB_H

#include "support/str.h"

/* `*` stands for any text without '/', `**` for any text, `?` for one byte but '/'. A glob that
 * ends at a '/' of the name fits too: "enc/layer0" is everything in that scope. O(n * m). */
bool tl_glob_fits(tl_sv glob, tl_sv name);

#endif
