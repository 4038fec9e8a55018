/* SPDX-License-Identifier: Apache-2.0 */
/* mix-compile: marks nodes that the NPU cannot run as the host's, with --mix-compile-mode.
 * Lowering leaves them as they are.
 *
 * Requires:  select has run.     Keeps: everything else.
 * After:     nodes without an NPU form, and those alone, carry TL_MARK_HOST.
 * Cost:      one sweep, O(nodes).
 * Tests:     tests/golden/mix-compile/ */
#include "ir/marks.h"
#include "ir/verify/stage.h"
#include "passes/edit/passes.h"

static bool is_for_host(const tl_module *m, tl_node_id n) {
  const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
  return !row || tl_npu_stage_forbids(m, TL_NPU_STAGE_EXPANDED, n);
}

static tl_status mark(tl_pass *p, tl_module *m, tl_node_id n) {
  if (!is_for_host(m, n) || tl_node_has_mark(m, n, TL_MARK_HOST) || !tl_pass_may_rewrite(p))
    return TL_OK;
  if (!tl_node_put_mark(m, n, TL_MARK_HOST))
    return tl_no_memory(m);
  tl_pass_remark(p, m, n, true, "runs on the host");
  return TL_OK;
}

tl_status tl_pass_mix_compile(tl_pass *p, tl_module *m) {
  const tl_train_config *c = p->options->train;
  if (!c || !c->mix_compile_mode)
    return TL_OK;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n)
      TL_TRY(mark(p, m, n));
  }
  return TL_OK;
}
