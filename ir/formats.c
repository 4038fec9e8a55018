/* SPDX-License-Identifier: Apache-2.0 */
/* Implements notes of foreign formats. */
#include "ir/formats.h"

#include "ir/marks.h"

static const char key[] = "tailor.format";

bool tl_node_note_format(tl_module *m, tl_node_id n, tl_sv text) {
  return tl_node_set_note(m, n, key, text);
}

tl_status tl_module_check_formats(const tl_module *m, const char *doing) {
  tl_node_id first = TL_NO_NODE;
  uint32_t count = 0;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (tl_node_get(m, n)->extra && tl_node_note(m, n, key).n && count++ == 0)
        first = n;
  }
  if (!count)
    return TL_OK;
  tl_sv text = tl_node_note(m, first, key);
  return tl_fail(
      m->diag, TL_UNSUPPORTED, TL_AT_NODE(m->path, tl_sym(m, tl_node_get(m, first)->name)),
      "%.*s, a format that Tailor does not compute with, so the model cannot be %s "
      "(%u such node%s)\vread files before the device compiler has chosen formats; info, "
      "diff and textual IR show this one",
      TL_SV_ARG(text), doing, count, count == 1 ? "" : "s");
}
