/* SPDX-License-Identifier: Apache-2.0 */
/* chip-casts: replaces a cast that the chip has no kernel for by two casts that it has.
 *
 * Requires:  cast-motion.   Keeps: every value bit by bit; names.
 * After:     a cast of f32, f16, bf16, bool or an integer is in the chip's row of Cast, or there is
 *            no way over a third dtype.
 * Cost:      one sweep over nodes.
 * Tests:     tests/golden/chip-casts/
 *
 * The third dtype holds every value of the first. For floats to integers it is an integer that
 * holds every value of the last: the first cast then drops the fractions. */
#include "ir/ops_gen.h"
#include "passes/edit/casts.h"
#include "passes/edit/passes.h"
#include "passes/npu/columns.h"
#include "passes/npu/select.h"

static tl_dtype dtype_of(const tl_module *m, tl_value_id v) {
  return tl_type_dtype(m, tl_value_type(m, v));
}

/* Returns true if `integer` (i32 or i64) holds every value of dtype d. */
static bool is_within(tl_dtype d, tl_dtype integer) {
  static const uint64_t in_i32 = TL_DTYPE_BIT(TL_DTYPE_BOOL) | TL_DTYPE_BIT(TL_DTYPE_I8) |
                                 TL_DTYPE_BIT(TL_DTYPE_U8) | TL_DTYPE_BIT(TL_DTYPE_I16) |
                                 TL_DTYPE_BIT(TL_DTYPE_U16) | TL_DTYPE_BIT(TL_DTYPE_I32);
  uint64_t set = in_i32;
  if (integer == TL_DTYPE_I64)
    set |= TL_DTYPE_BIT(TL_DTYPE_U32) | TL_DTYPE_BIT(TL_DTYPE_I64);
  return (set >> d & 1) != 0;
}

/* Returns true if going over `over` keeps the result. To bool a float must be cast at once: 0.5 is
 * true, but its integer part is not. */
static bool leads(tl_dtype from, tl_dtype over, tl_dtype to) {
  if (tl_dtype_is_ranked(from))
    return is_within(to, over) && to != TL_DTYPE_BOOL;
  return is_within(from, over);
}

/* Returns the dtype to go over; NONE if one cast suffices or no dtype leads there. */
static tl_dtype way(const tl_op_info_set *chip, tl_dtype from, tl_dtype to) {
  static const tl_dtype over[] = {TL_DTYPE_I32, TL_DTYPE_I64};
  if (from == to || tl_chip_casts(chip, from, to))
    return TL_DTYPE_NONE;
  for (size_t i = 0; i < sizeof over / sizeof *over; i++)
    if (leads(from, over[i], to) && tl_chip_casts(chip, from, over[i]) &&
        tl_chip_casts(chip, over[i], to))
      return over[i];
  return TL_DTYPE_NONE;
}

/* Replaces the casts of one graph. The inserted cast is in front of its node, so the sweep does not
 * visit it. */
static tl_status sweep(tl_pass *p, tl_module *m, const tl_graph *g) {
  const tl_op_info_set *chip = tl_options_op_info(p->options);
  TL_FOR_NODES(m, g, n) {
    tl_value_id v = tl_node_get(m, n)->op == TL_OP_Cast ? tl_operand(m, n, 0) : TL_NO_VALUE;
    tl_dtype over = v ? way(chip, dtype_of(m, v), dtype_of(m, tl_result(m, n, 0))) : TL_DTYPE_NONE;
    if (over == TL_DTYPE_NONE || !tl_pass_may_rewrite(p))
      continue;
    tl_pass_remark(p, m, n, true, "goes through %s, because the chip has no such cast",
                   tl_dtype_get(over)->name);
    tl_value_id first = tl_cast_insert(m, v, over, n, false);
    if (!first)
      return tl_no_memory(m);
    tl_node_set_operand(m, n, 0, first);
  }
  return TL_OK;
}

tl_status tl_pass_chip_casts(tl_pass *p, tl_module *m) {
  uint64_t before = p->changed;
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      TL_TRY(sweep(p, m, m->graphs.at[i]));
  return p->changed == before ? TL_OK : tl_select_made(p, m);
}
