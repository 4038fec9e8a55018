/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as op information: reading them must end with a table or an error. A table that was
 * read answers like a built-in one: sorted, no op twice, every slot with as many dtypes as the row
 * has columns, texts that end. */
#include <stdlib.h>

#include "frontend/config/op_info.h"
#include "tests/fuzz/target.h"

static void require(bool condition) {
  if (!condition)
    abort();
}

static void check_slot(tl_op_info i, const tl_op_info_slot *slot) {
  const uint8_t *dtypes = tl_op_info_columns(i, slot);
  require(*tl_op_info_text(i, slot->name) != '\0');
  require(slot->kind <= TL_SLOT_DYNAMIC);
  for (uint32_t k = 0; k < i.row->n_columns; k++)
    require(dtypes[k] != TL_DTYPE_NONE && dtypes[k] < TL_N_DTYPES);
}

static void check_row(const tl_op_info_set *set, tl_op_info i) {
  tl_sv op = tl_sv_from(tl_op_info_text(i, i.row->op));
  require(tl_op_info_find(set, op).row == i.row);
  require(i.row->colour < TL_N_COLOURS && i.row->source <= TL_INFO_USER);
  for (uint32_t k = 0; k < i.row->n_inputs; k++)
    check_slot(i, tl_op_info_slot_at(i, false, k));
  for (uint32_t k = 0; k < i.row->n_outputs; k++)
    check_slot(i, tl_op_info_slot_at(i, true, k));
  for (uint32_t k = 0; k < i.row->n_attrs; k++) {
    const tl_op_info_attr *a = &i.table->attrs[i.row->attrs + k];
    require(*tl_op_info_text(i, a->name) != '\0');
    (void)strlen(tl_op_info_text(i, a->kind));
    (void)strlen(tl_op_info_text(i, a->fallback));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tl_diag diag = {0};
  tl_arena arena;
  tl_op_info_draft draft;
  const tl_op_info_set *set = NULL;
  tl_arena_init(&arena, 0);
  tl_op_info_draft_init(&draft, tl_op_info_builtin(TL_SOC_A2));
  tl_status status = tl_read_op_info_text(&diag, "fuzz", (tl_sv){(const char *)data, size}, &draft);
  require((status == TL_OK) == (diag.errors == 0));
  if (status == TL_OK)
    status = tl_op_info_draft_finish(&draft, &diag, &arena, "fuzz", &set);
  tl_op_info_draft_release(&draft);
  if (status == TL_OK) {
    const tl_op_info_table *t = set->tables[set->n_tables - 1];
    for (uint32_t r = 0; r < t->n_rows; r++) {
      require(r == 0 || strcmp(t->text + t->rows[r - 1].op, t->text + t->rows[r].op) < 0);
      check_row(set, (tl_op_info){t, &t->rows[r]});
    }
  }
  tl_arena_release(&arena);
  return 0;
}
