/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of maps in messages (map_keys.h). */
#include "passes/cleanup/map_keys.h"

void tl_map_keys_print(const tl_module *m, const tl_attr *a, tl_buf *out) {
  enum { MOST = 8 };
  for (uint32_t i = 0; i < a->count && i < MOST; i++) {
    tl_buf_add_z(out, i ? ", " : " ");
    if (a->kind == TL_ATTR_STRINGS)
      tl_buf_add_quoted(out, tl_sym(m, a->u.ids[i]));
    else
      tl_buf_printf(out, "%lld", (long long)a->u.is[i]);
  }
  tl_buf_add_z(out, a->count > MOST ? " ..." : "");
}
