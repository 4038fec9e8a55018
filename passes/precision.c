/* SPDX-License-Identifier: Apache-2.0 */
/* precision: every tensor gets the dtype that the precision mode, lists and colours decide.
 *
 * Requires:  select; types inferred.   Keeps: names of inputs and outputs, and their dtypes unless
 *            options change them; everything when no mode is asked for.
 * After:     dtypes agree on every edge; nodes whose dtypes ONNX's op does not have are marked
 *            mixed; inserted casts carry the metadata `inserted`; no cast is on a constant.
 * Cost:      two sweeps, O(nodes + edges) times the columns of an op.
 * Tests:     tests/golden/precision/, tests/precision/, tests/unit/test_precision.c */
#include "passes/passes.h"
#include "passes/precision_casts.h"

static bool changes_anything(const tl_module *m, const tl_precision *d) {
  for (tl_value_id v = 1; v < d->n_values; v++)
    if (d->values[v].chosen != d->values[v].original)
      return true;
  for (tl_use_id u = 1; u < d->n_uses; u++) {
    tl_value_id v = tl_use_get(m, u)->value;
    if (v && d->uses[u].chosen != TL_DTYPE_NONE && d->uses[u].chosen != d->values[v].chosen)
      return true;
  }
  return false;
}

tl_status tl_pass_precision(tl_pass *p, tl_module *m) {
  const tl_precision_config *config = p->options->precision;
  tl_precision decision;
  uint32_t n_casts;
  if (!config || tl_precision_is_inert(config))
    return TL_OK;
  tl_precision_config own = *config;
  tl_options options = *p->options;
  if (p->off_chip)
    own.infeasible = TL_INFEASIBLE_KEEP;
  options.precision = &own;
  TL_TRY(tl_precision_decide(m, &options, p->scratch, &decision));
  if (!changes_anything(m, &decision) || !tl_pass_may_rewrite(p))
    return TL_OK;
  return tl_precision_apply(p, m, &decision, &n_casts);
}
