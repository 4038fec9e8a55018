/* SPDX-License-Identifier: Apache-2.0 */
/* The table of texts of a page: every name, type and attribute is there once, and the rest refers
 * to it by number. */
#ifndef TL_TOOLS_PAGE_STRINGS_H
#define TL_TOOLS_PAGE_STRINGS_H

#include "ir/module.h"

/* The table. Text 0 is the empty one. */
typedef struct tl_view_strings {
  tl_arena arena;
  tl_symtab table;
  tl_u32_vec of_symbol; /* number of the text of a module's symbol + 1; 0: not asked yet */
  tl_u32_vec of_type;   /* the same for its types */
  tl_buf room;
  bool failed; /* memory ran out; every number given since is 0 */
} tl_view_strings;

/* Makes a table with the empty text. Release it in any case. */
void tl_view_strings_init(tl_view_strings *s);
/* Frees everything. */
void tl_view_strings_release(tl_view_strings *s);
/* Forgets which symbols and types are known: another module follows. */
void tl_view_strings_next(tl_view_strings *s);

/* Return the number of a text, of a symbol's text, of a type as textual IR writes it ("" for an
 * unknown one). */
uint32_t tl_view_text(tl_view_strings *s, tl_sv text);
uint32_t tl_view_symbol(tl_view_strings *s, const tl_module *m, tl_symbol symbol);
uint32_t tl_view_type(tl_view_strings *s, const tl_module *m, tl_type_id type);

/* Adds all texts as a JSON array. */
void tl_view_strings_put(const tl_view_strings *s, tl_buf *out);

#endif
