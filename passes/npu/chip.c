/* SPDX-License-Identifier: Apache-2.0 */
/* Decides from a guard alone whether it can hold on a chip family (`tailor ops` without a
 * model). */
#include "passes/npu/expr.h"

/* Three-valued logic; the order NO < MAYBE < YES makes AND the minimum, OR the maximum and NOT the
 * mirror image. */
typedef enum verdict { NO, MAYBE, YES } verdict;

/* Is it soc == "a2", and which family does it name? */
static bool names_family(const tl_expr *e, const tl_module *m, tl_soc_family *family) {
  if (e->kind != TL_EXPR_EQ || e->args[0]->kind != TL_EXPR_CALL ||
      e->args[0]->function != TL_FN_soc || e->args[1]->kind != TL_EXPR_STRING)
    return false;
  *family = tl_sv_is(tl_sym(m, e->args[1]->u.s), "a2") ? TL_SOC_A2 : TL_SOC_910;
  return true;
}

static verdict judge(const tl_expr *e, const tl_module *m, tl_soc_family chip) {
  tl_soc_family family;
  if (names_family(e, m, &family))
    return family == chip ? YES : NO;
  if (e->kind == TL_EXPR_NOT)
    return (verdict)(YES - judge(e->args[0], m, chip));
  if (e->kind != TL_EXPR_AND && e->kind != TL_EXPR_OR)
    return MAYBE;
  verdict a = judge(e->args[0], m, chip);
  verdict b = judge(e->args[1], m, chip);
  bool least = e->kind == TL_EXPR_AND;
  return (a < b) == least ? a : b;
}

bool tl_npu_may_hold_on(const tl_module *m, const tl_expr *guard, tl_soc_family chip) {
  return !guard || judge(guard, m, chip) != NO;
}
