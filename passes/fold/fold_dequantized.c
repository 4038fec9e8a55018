/* SPDX-License-Identifier: Apache-2.0 */
/* fold-dequantized: for the NPU, compute what DequantizeLinear makes of constants.
 *
 * Requires:  infer-shapes.
 * Keeps:     what fold-constants keeps.
 * After:     constants are dequantized on the device only if floats would grow the model beyond
 *            --fold-limit.
 * Cost:      that of fold-constants.
 * Tests:     tests/golden/fold-dequantized/
 *
 * Before, rules look for pairs of DequantizeLinear around products, and so do other compilers: in
 * a model for them the pairs stay. */
#include "passes/edit/passes.h"
#include "passes/fold/fold.h"

tl_status tl_pass_fold_dequantized(tl_pass *p, tl_module *m) {
  return p->options->target == TL_TARGET_NPU ? tl_fold_module(p, m, true) : TL_OK;
}
