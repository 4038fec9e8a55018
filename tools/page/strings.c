/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the texts of a page. */
#include "tools/page/strings.h"

#include "support/json_writer.h"

void tl_view_strings_init(tl_view_strings *s) {
  *s = (tl_view_strings){0};
  tl_arena_init(&s->arena, 0);
  tl_buf_init(&s->room);
  s->failed = tl_symtab_init(&s->table, &s->arena, NULL, 0) != TL_OK;
}

void tl_view_strings_release(tl_view_strings *s) {
  tl_symtab_release(&s->table);
  tl_arena_release(&s->arena);
  tl_u32_vec_release(&s->of_symbol);
  tl_u32_vec_release(&s->of_type);
  tl_buf_release(&s->room);
}

void tl_view_strings_next(tl_view_strings *s) {
  s->of_symbol.n = 0;
  s->of_type.n = 0;
}

uint32_t tl_view_text(tl_view_strings *s, tl_sv text) {
  tl_symbol symbol = s->failed ? TL_NO_SYMBOL : tl_intern(&s->table, text);
  s->failed = s->failed || symbol == TL_NO_SYMBOL;
  return s->failed ? 0 : symbol;
}

/* Returns the place of item i, with zeros up to it; NULL when memory is out. */
static uint32_t *slot(tl_view_strings *s, tl_u32_vec *known, uint32_t i) {
  while (known->n <= i && !s->failed)
    s->failed = !tl_u32_vec_push(known, 0);
  return s->failed ? NULL : &known->at[i];
}

uint32_t tl_view_symbol(tl_view_strings *s, const tl_module *m, tl_symbol symbol) {
  uint32_t *known = slot(s, &s->of_symbol, symbol);
  if (known && !*known)
    *known = tl_view_text(s, tl_sym(m, symbol)) + 1;
  return known ? *known - 1 : 0;
}

uint32_t tl_view_type(tl_view_strings *s, const tl_module *m, tl_type_id type) {
  uint32_t *known = slot(s, &s->of_type, type);
  if (known && !*known) {
    tl_buf_clear(&s->room);
    if (type != TL_NO_TYPE)
      tl_type_print(m, type, &s->room);
    s->failed = s->failed || s->room.failed;
    *known = tl_view_text(s, tl_buf_view(&s->room)) + 1;
  }
  return known ? *known - 1 : 0;
}

void tl_view_strings_put(const tl_view_strings *s, tl_buf *out) {
  tl_json_writer w = tl_json_compact(out);
  tl_put_array(&w);
  for (uint32_t i = 0; i < s->table.n; i++)
    tl_put_sv(&w, tl_symbol_sv(&s->table, i));
  tl_put_end(&w);
}
