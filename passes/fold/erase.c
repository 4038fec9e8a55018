/* SPDX-License-Identifier: Apache-2.0 */
/* Erases folded nodes: their producers may now be without users, and constants of theirs may be
 * unused. */
#include "passes/fold/fold.h"

void tl_fold_orphan_operands(tl_fold *f, tl_node_id n) {
  if (!f->orphans) {
    f->n_orphans = tl_module_node_end(f->m);
    f->orphans = tl_arena_calloc(f->p->scratch, f->n_orphans / 8 + 1u, 1);
  }
  for (uint32_t i = 0; f->orphans && i < tl_node_get(f->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(f->m, n, i);
    tl_node_id from = v ? tl_value_producer(f->m, v) : TL_NO_NODE;
    if (from < f->n_orphans)
      f->orphans[from / 8] |= (uint8_t)(1u << from % 8);
    if (from && f->lost && !tl_u32_vec_push(f->lost, from))
      f->failed = true;
  }
}

void tl_fold_erase(tl_fold *f, tl_node_id n) {
  tl_fold_orphan_operands(f, n);
  uint32_t count = tl_node_get(f->m, n)->n_operands;
  tl_arena_mark mark = tl_arena_save(f->p->scratch);
  tl_value_id *operands = tl_arena_calloc(f->p->scratch, count, sizeof *operands);
  for (uint32_t i = 0; operands && i < count; i++)
    operands[i] = tl_operand(f->m, n, i);
  tl_node_erase(f->m, n);
  for (uint32_t i = 0; operands && i < count; i++) {
    tl_value_id v = operands[i];
    if (v && tl_value_get(f->m, v)->kind == TL_VALUE_CONSTANT && !tl_is_pinned(&f->pinned, v) &&
        !tl_value_get(f->m, v)->n_uses)
      tl_graph_erase_constant(f->m, v);
  }
  tl_arena_rewind(f->p->scratch, mark);
}
