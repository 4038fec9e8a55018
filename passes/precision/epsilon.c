/* SPDX-License-Identifier: Apache-2.0 */
/* Finds scalar constants that vanish in the low dtype and are needed (epsilon.h). */
#include "passes/precision/epsilon.h"

#include "ir/tensor_count.h"
#include "passes/precision/range_rows.h"

/* Returns an f32 scalar operand that becomes 0 in the low dtype; TL_NO_VALUE if there is none. */
static tl_value_id vanishing(const tl_module *m, tl_node_id n, tl_dtype low) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    const tl_tensor *t = v ? tl_value_constant(m, v) : NULL;
    tl_float_counts counts;
    if (t && t->dtype == TL_DTYPE_F32 && tl_tensor_elements(m, t) == 1 &&
        tl_tensor_count(t, low, &counts) && counts.flushed)
      return v;
  }
  return TL_NO_VALUE;
}

tl_status tl_precision_epsilon(tl_module *m, tl_node_id n, tl_dtype low, tl_arena *arena,
                               const char **why) {
  const unsigned flags = TL_RANGE_GUARDED | TL_RANGE_SHIFTS;
  bool itself = false;
  *why = NULL;
  tl_value_id v = tl_range_op_of(m, n)->flags & flags ? vanishing(m, n, low) : TL_NO_VALUE;
  if (!v || !tl_range_needs_operands(m, n, &itself))
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "the constant `%.*s` would become 0, and %s needs it",
                TL_SV_ARG(tl_value_name(m, v)), itself ? "the op" : "a later op");
  tl_sv s = tl_buf_view(&text);
  *why = text.failed ? NULL : tl_arena_copy(arena, s.p, s.n);
  tl_buf_release(&text);
  return *why ? TL_OK : TL_NO_MEMORY;
}
