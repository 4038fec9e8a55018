/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the metadata of a node into the levels of its scope. Names only; the tree of scopes is
 * built elsewhere (scopes.h). */
#ifndef TL_PASSES_EDIT_SCOPE_NAMES_H
#define TL_PASSES_EDIT_SCOPE_NAMES_H

#include "support/arena.h"
#include "support/str.h"

enum {
  TL_MOST_SCOPES_DEEP = 64 /* deeper levels are dropped: their nodes count for the 64th level */
};

/* One level of a scope while a name is split; views into the text or the arena. */
typedef struct tl_scope_level {
  tl_sv name;
  tl_sv klass; /* empty: unknown */
} tl_scope_level;

/* Parse metadata of a node into levels [TL_MOST_SCOPES_DEEP], outermost first, without the entry of
 * the node itself. Return false if the text has another form (scope_names.c). */
bool tl_scope_levels_of_lists(tl_arena *a, tl_sv names, tl_sv classes, tl_scope_level *levels,
                              uint32_t *n);
bool tl_scope_levels_of_namespace(tl_sv text, tl_scope_level *levels, uint32_t *n);

#endif
