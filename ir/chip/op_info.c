/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in op information; the built-in tables come from scripts/gen_op_info.py. */
#include "ir/chip/op_info.h"

#include "ir/chip/op_info_gen.h"

static const tl_op_info_table *const a2_tables[] = {&tl_op_info_ascend910b};
static const tl_op_info_table *const a1_tables[] = {&tl_op_info_ascend910};

const tl_op_info_set *tl_op_info_builtin(tl_soc_family family) {
  static const tl_op_info_set a2 = {a2_tables, 1};
  static const tl_op_info_set a1 = {a1_tables, 1};
  return family == TL_SOC_910 ? &a1 : &a2;
}

static const tl_op_info_row *find_row(const tl_op_info_table *t, tl_sv op) {
  uint32_t low = 0;
  for (uint32_t high = t->n_rows; low < high;) {
    uint32_t middle = low + (high - low) / 2;
    int order = tl_sv_compare(op, tl_sv_from(t->text + t->rows[middle].op));
    if (order == 0)
      return &t->rows[middle];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

tl_op_info tl_op_info_find(const tl_op_info_set *set, tl_sv op) {
  for (uint32_t i = set->n_tables; i-- > 0;) {
    const tl_op_info_row *row = find_row(set->tables[i], op);
    if (row)
      return (tl_op_info){set->tables[i], row};
  }
  return (tl_op_info){0};
}

const tl_op_info_slot *tl_op_info_slot_named(tl_op_info i, bool output, tl_sv name) {
  uint32_t n = output ? i.row->n_outputs : i.row->n_inputs;
  for (uint32_t k = 0; k < n; k++) {
    const tl_op_info_slot *slot = tl_op_info_slot_at(i, output, k);
    if (tl_sv_is(name, tl_op_info_text(i, slot->name)))
      return slot;
  }
  return NULL;
}

const char *tl_op_info_source_text(tl_op_info_source source) {
  static const char *const texts[] = {
      [TL_INFO_LIBRARY] = "the published operator library",
      [TL_INFO_DOCUMENTS] = "published tables, since the library leaves the op to its code",
      [TL_INFO_PROTOTYPE] = "the prototype, since the library leaves the op to its code",
      [TL_INFO_INFERRED] = "inferred from a newer chip",
      [TL_INFO_USER] = "--op-info"};
  return texts[source];
}
