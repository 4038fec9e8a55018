/* SPDX-License-Identifier: Apache-2.0 */
/* check-npu: checks a model for the last time before it is written for the NPU.
 *
 * Requires:  lower has run.   Keeps: everything.
 * After:     every node is what its prototype allows: ports, attributes, dtypes; nothing is left
 *            that ir/verify/stages.tbl forbids at the stage NPU; the dtypes of every node are a
 *            column of its row in the chip's table, or an AI CPU takes them
 *            (passes/npu/columns.h).
 * Cost:      a few sweeps, O(nodes + edges) times the columns of an op.
 * Tests:     tests/golden/check-npu/, tests/cli/chips.t, tests/precision/chips.py */
#include "ir/verify/verify.h"
#include "passes/edit/passes.h"
#include "passes/npu/columns.h"

tl_status tl_pass_check_npu(tl_pass *p, tl_module *m) {
  TL_TRY(tl_module_verify(m, TL_VERIFY_TYPED | TL_VERIFY_STAGE));
  return tl_chip_columns_check(m, p->options);
}
