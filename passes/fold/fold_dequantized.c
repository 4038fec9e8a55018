/* SPDX-License-Identifier: Apache-2.0 */
/* fold-dequantized: for the NPU, DequantizeLinear of a constant becomes a floating-point constant.
 *
 * Requires:  infer-shapes.
 * Keeps:     what fold-constants keeps.
 * After:     a constant is dequantized on the device only if the floats would grow the model beyond
 *            --fold-limit.
 * Cost:      that of fold-constants.
 * Tests:     tests/golden/fold-dequantized/
 *
 * Runs after fusion, because rules match DequantizeLinear around products. Does nothing for other
 * targets: their compilers match the same pairs. */
#include "passes/edit/passes.h"
#include "passes/fold/fold.h"

tl_status tl_pass_fold_dequantized(tl_pass *p, tl_module *m) {
  return p->options->target == TL_TARGET_NPU ? tl_fold_module(p, m, true) : TL_OK;
}
