/* SPDX-License-Identifier: Apache-2.0 */
/* check-npu: the last word before a model is written for the NPU.
 *
 * Requires:  lower has run.   Keeps: everything.
 * After:     every node is what its prototype allows: ports, attributes, dtypes; nothing is left
 *            that ir/stages.tbl forbids at the stage NPU.
 * Cost:      a few sweeps, O(nodes + edges).
 * Tests:     tests/golden/check-npu/ */
#include "ir/verify.h"
#include "passes/passes.h"

tl_status tl_pass_check_npu(tl_pass *p, tl_module *m) {
  (void)p;
  return tl_module_verify(m, TL_VERIFY_TYPED | TL_VERIFY_STAGE);
}
