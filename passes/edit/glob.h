/* SPDX-License-Identifier: Apache-2.0 */
/* Globs over names that are paths. tl_scope_glob_fits has other rules: there `*` also matches
 * '/'. */
#ifndef TL_PASSES_EDIT_GLOB_H
#define TL_PASSES_EDIT_GLOB_H

#include "support/str.h"

/* Returns true if the glob matches the name. `*` stands for any text without '/', `**` for any
 * text, `?` for any byte but '/'. A glob that matches up to a '/' of the name fits too:
 * "enc/layer0" covers everything in that scope. An empty glob or name never fits. O(n * m). */
bool tl_glob_fits(tl_sv glob, tl_sv name);

#endif
