/* SPDX-License-Identifier: Apache-2.0 */
/* Decides from a guard alone whether it can hold on a chip family (`tailor ops` without a
 * model). */
#include "passes/npu/expr.h"

/* Three-valued logic; the order NO < MAYBE < YES makes AND the minimum, OR the maximum and NOT the
 * mirror image. */
typedef enum verdict { NO, MAYBE, YES } verdict;

/* Only `soc in {...}` is decided; every other condition depends on the node. */
static verdict judge(const tl_npu_expr *e, tl_soc_family chip) {
  if (e->kind != TL_NPU_CALL)
    return MAYBE;
  if (e->fn == TL_NPU_FN_IN && e->args[0]->kind == TL_NPU_CALL &&
      e->args[0]->fn == TL_NPU_FN_SOC)
    return (e->args[1]->u.mask >> chip) & 1 ? YES : NO;
  if (e->fn == TL_NPU_FN_NOT)
    return (verdict)(YES - judge(e->args[0], chip));
  if (e->fn != TL_NPU_FN_AND && e->fn != TL_NPU_FN_OR)
    return MAYBE;
  verdict a = judge(e->args[0], chip);
  verdict b = judge(e->args[1], chip);
  bool least = e->fn == TL_NPU_FN_AND;
  return (a < b) == least ? a : b;
}

bool tl_npu_may_hold_on(const tl_npu_expr *guard, tl_soc_family chip) {
  return !guard || judge(guard, chip) != NO;
}
