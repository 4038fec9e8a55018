/* SPDX-License-Identifier: Apache-2.0 */
/* check-quantized: warns when a quantized model meets a precision mode, or kernels, that keep or
 * widen its dtypes.
 *
 * Requires:  nothing.   Keeps: everything.
 * After:     who asked for such a mode knows; ops of quantized models are still as they were read.
 * Cost:      one sweep over nodes, where such a mode is asked for.
 * Tests:     tests/cli/precision.t */
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"

/* Returns true for an op of quantized models; the table lists them. */
static bool is_quantized(const tl_node *node) {
  static const bool ops[] = {
#define QUANTIZED(op) [TL_OP_##op] = true,
#include "passes/precision/ops.tbl"
  };
  return node->op < sizeof ops && ops[node->op];
}

/* Returns the first node with an op of quantized models, or 0. */
static tl_node_id first_quantized(const tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      TL_FOR_NODES(m, m->graphs.at[i], n)
        if (is_quantized(tl_node_get(m, n)))
          return n;
  return 0;
}

/* The manuals of the device compiler advise against it: scales were chosen for low-precision
 * kernels. */
tl_status tl_pass_check_quantized(tl_pass *p, tl_module *m) {
  const tl_precision_config *c = p->options->precision;
  bool wide = c && (c->mode == TL_PRECISION_FORCE_FP32 || c->mode == TL_PRECISION_ORIGIN);
  const char *asked = !c ? NULL : wide && c->mode_name ? c->mode_name : c->high_precision;
  tl_node_id n = asked ? first_quantized(m) : 0;
  if (n)
    tl_warn(m->diag, tl_node_where(m, n),
            "the model is quantized already; %s keeps or widens dtypes, which does not suit such a "
            "model\vuse force_fp16 or a mixed mode",
            asked);
  return TL_OK;
}
