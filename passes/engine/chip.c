/* SPDX-License-Identifier: Apache-2.0 */
/* The rule function widens(): can the chip of --soc-version compute this in single precision? */
#include "ir/chip/op_info.h"
#include "ir/ops_gen.h"
#include "passes/edit/half.h"
#include "passes/engine/functions.h"
#include "passes/npu/eval.h"

typedef struct chip {
  tl_module *m;
  tl_arena *scratch;
  const tl_options *options;
} chip;

/* ---- kernels --------------------------------------------------------------------------------- */

/* Returns the NPU type that the node is judged as, of the first candidate whose guard holds; "" if
 * none. */
static tl_sv type_of(const chip *on, tl_node_id n) {
  tl_module *m = on->m;
  tl_arena *scratch = on->scratch;
  const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
  tl_site at = {.m = m, .scratch = scratch, .options = on->options, .node = n};
  for (uint32_t i = 0; row && i < row->n_npu; i++) {
    const tl_npu_candidate *form = &row->npu[i];
    const tl_expr *guard = NULL;
    const char *why;
    if (strcmp(form->guard, "always") != 0) {
      guard = tl_npu_expr_parse(m, scratch, tl_sv_from(form->guard), TL_IN_GUARDS, &why);
      if (!guard)
        break;
    }
    if (tl_npu_guard_holds(&at, guard))
      return tl_sv_from(form->judged);
  }
  return TL_SV("");
}

static uint8_t slot_at(tl_op_info info, bool output, uint32_t slot, uint32_t column) {
  return tl_op_info_columns(info, tl_op_info_slot_at(info, output, slot))[column];
}

/* Returns true if all floats of a column are f32; sizes and the like are integers. */
static bool is_single(tl_op_info info, uint32_t column) {
  uint32_t n_in = info.row->n_inputs;
  bool found = false;
  for (uint32_t i = 0; i < n_in + info.row->n_outputs; i++) {
    bool output = i >= n_in;
    tl_dtype d = (tl_dtype)slot_at(info, output, output ? i - n_in : i, column);
    if (d != TL_DTYPE_F32 && (output || tl_dtype_is_float(d)))
      return false;
    found = found || (d == TL_DTYPE_F32 && !output);
  }
  return found;
}

/* Returns true if the chip has an f32 kernel for the node that no precision mode will replace by a
 * 16-bit one. */
static bool has_single(const chip *on, tl_node_id n) {
  tl_op_info info = tl_op_info_find(tl_options_op_info(on->options), type_of(on, n));
  for (uint32_t i = 0; info.row && i < info.row->n_columns; i++)
    if (is_single(info, i))
      return !tl_precision_halves(on->m, on->options, n);
  return false;
}

/* ---- what stands between casts --------------------------------------------------------------- */

static bool is_cast_of_f32(const tl_module *m, tl_value_id v) {
  tl_node_id n = tl_value_producer(m, v);
  return n && tl_node_get(m, n)->op == TL_OP_Cast &&
         tl_type_dtype(m, tl_value_type(m, tl_operand(m, n, 0))) == TL_DTYPE_F32;
}

/* Returns how many operands of an op that casts move through may be no casts; -1 for other ops. */
static int most_uncast(const tl_node *node) {
  switch (node->op) {
#define HALF(name) case TL_OP_##name:
#include "passes/engine/half_ops.tbl"
    return node->n_operands <= 2 ? 1 : 0;
  default: return -1;
  }
}

/* Counts the operands that are no casts from f32; *rest is the last of them. Returns -1 if the
 * rules do not take so many. */
static int uncast(const tl_module *m, tl_node_id n, tl_value_id *rest) {
  const tl_node *node = tl_node_get(m, n);
  int found = 0;
  for (uint32_t i = 0; i < node->n_operands; i++)
    if (!is_cast_of_f32(m, tl_operand(m, n, i))) {
      *rest = tl_operand(m, n, i);
      found++;
    }
  return found <= most_uncast(node) ? found : -1;
}

tl_rv tl_fn_widens(tl_site *x, const tl_expr *e) {
  enum { FARTHEST = 32 };
  const tl_options fallback = tl_options_default();
  chip on = {x->m, x->scratch, x->options ? x->options : &fallback};
  tl_value_id v = tl_fn_value(x, e, 0);
  if (!v)
    return tl_rv_none();
  if (on.options->target != TL_TARGET_NPU)
    return tl_rv_truth(true);
  for (int i = 0; i < FARTHEST; i++) {
    tl_node_id n = tl_value_producer(x->m, v);
    int left = n ? uncast(x->m, n, &v) : -1;
    if (left < 0 || !has_single(&on, n))
      return tl_rv_truth(false);
    if (left == 0)
      return tl_rv_truth(true);
    if (tl_value_get(x->m, v)->n_uses != 1)
      return tl_rv_truth(false);
  }
  return tl_rv_truth(false);
}
