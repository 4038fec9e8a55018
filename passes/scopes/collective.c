/* SPDX-License-Identifier: Apache-2.0 */
/* Spells collectives as ordinary ops for one rank (collective.h). */
#include "passes/scopes/collective.h"

#include "ir/ops_gen.h"
#include "passes/edit/maker.h"

/* AllGather: repeats x along dim 0 once per rank. */
static tl_value_id repeat_rows(tl_maker *k, tl_value_id x, int64_t ranks) {
  int64_t repeats[TL_MAX_RANK];
  int rank = tl_type_get(k->m, tl_value_type(k->m, x))->rank;
  for (int i = 0; i < rank; i++)
    repeats[i] = i ? 1 : ranks;
  return tl_make(k, TL_OP_Tile, x, tl_make_ints(k, repeats, rank > 0 ? (uint32_t)rank : 1),
                 TL_NO_VALUE);
}

/* ReduceScatter: takes the first 1/ranks of dim 0; computed at run time, since sizes are open in
 * bodies. */
static tl_value_id first_rows(tl_maker *k, tl_value_id x, int64_t ranks) {
  static const int64_t zero = 0, one = 1;
  const int64_t n[] = {ranks};
  tl_attr ends = tl_attr_int(TL_SYM_end, 1);
  tl_value_id rows = tl_make_with(k, TL_OP_Shape, x, TL_NO_VALUE, ends);
  tl_value_id part = tl_make(k, TL_OP_Div, rows, tl_make_ints(k, n, one), TL_NO_VALUE);
  tl_value_id operands[4] = {x};
  operands[1] = tl_make_ints(k, &zero, 1);
  operands[2] = part;
  operands[3] = tl_make_ints(k, &zero, 1);
  return tl_make_list(k, TL_OP_Slice, operands, 4, (tl_attr){.kind = TL_ATTR_NONE});
}

static tl_value_id result_of(tl_maker *k, tl_node_id n, uint32_t i) {
  tl_value_id x = tl_operand(k->m, n, i);
  int64_t ranks = tl_node_attr_int(k->m, n, TL_SYM_rank_size, 1);
  switch (tl_node_get(k->m, n)->op) {
  case TL_OP_npu_hcom_HcomAllGather: return repeat_rows(k, x, ranks);
  case TL_OP_npu_hcom_HcomReduceScatter: return first_rows(k, x, ranks);
  default: return tl_make_identity(k, x);
  }
}

tl_status tl_comm_outline(tl_module *body) {
  tl_node_id n = tl_module_main(body)->first;
  tl_maker k = tl_maker_before(body, n);
  for (uint32_t i = 0; i < tl_node_get(body, n)->n_results; i++) {
    tl_value_id old = tl_result(body, n, i), made = result_of(&k, n, i);
    if (!made)
      break;
    tl_symbol name = tl_value_get(body, old)->name;
    tl_value_set_name(body, old, 0);
    tl_value_set_name(body, made, name);
    tl_value_replace_uses(body, old, made);
  }
  TL_TRY(tl_maker_status(&k));
  tl_node_erase(body, n);
  return TL_OK;
}
