/* SPDX-License-Identifier: Apache-2.0 */
/* Finds names that no value and no node of a module has (graph.h). */
#include "ir/graph.h"

/* Writes base_<i> into text; returns true when nobody has that name. */
static bool is_free(const tl_module *m, tl_buf *text, tl_sv base, uint64_t i) {
  tl_buf_clear(text);
  tl_buf_add_sv(text, base);
  tl_buf_add_char(text, '_');
  tl_buf_add_u64(text, i);
  return text->failed || tl_symbol_find(&m->symbols, tl_buf_view(text)) == TL_NO_SYMBOL;
}

/* Finds a free number of a base. They are mostly taken without gaps, so doubling and then halving
 * finds the end in O(log n); counting up would make n fresh names cost O(n^2). */
static uint64_t first_free(const tl_module *m, tl_buf *text, tl_sv base) {
  uint64_t taken = 0;
  uint64_t open = 1;
  while (!is_free(m, text, base, open)) {
    taken = open;
    open *= 2;
  }
  while (open - taken > 1) {
    uint64_t middle = taken + (open - taken) / 2;
    if (is_free(m, text, base, middle))
      open = middle;
    else
      taken = middle;
  }
  return open;
}

tl_symbol tl_module_fresh_name(tl_module *m, tl_sv base) {
  if (base.n && tl_symbol_find(&m->symbols, base) == TL_NO_SYMBOL)
    return tl_intern(&m->symbols, base);
  if (base.n == 0)
    base = TL_SV("value");
  tl_buf text;
  tl_buf_init(&text);
  is_free(m, &text, base, first_free(m, &text, base));
  tl_symbol found = text.failed ? TL_NO_SYMBOL : tl_intern(&m->symbols, tl_buf_view(&text));
  tl_buf_release(&text);
  return found;
}
