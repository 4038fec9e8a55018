/* SPDX-License-Identifier: Apache-2.0 */
/* infer-shapes: gives every value the most specific type that its producer's operands imply.
 *
 * Requires:  nothing.            Keeps: nodes, edges, names.
 * After:     types agree with shape inference; what was declared and is compatible stays.
 * Cost:      one sweep, O(nodes + edges).
 * Tests:     tests/golden/infer-shapes/ */
#include "ir/infer/infer.h"
#include "passes/edit/passes.h"

static tl_type_id *copy_types(tl_pass *p, const tl_module *m, uint32_t n) {
  tl_type_id *types = tl_arena_calloc(p->scratch, n, sizeof *types);
  for (uint32_t v = 1; types && v < n; v++)
    types[v] = tl_value_get(m, v)->type;
  return types;
}

/* Inference is all or nothing: it counts as one rewrite, and as a change only if a type changed. */
tl_status tl_pass_infer_shapes(tl_pass *p, tl_module *m) {
  uint32_t n = tl_module_value_end(m);
  tl_type_id *before = copy_types(p, m, n);
  if (!before)
    return tl_no_memory(m);
  if (*p->rewrites >= p->limit)
    return TL_OK;
  TL_TRY(tl_infer_module(m));
  for (uint32_t v = 1; v < n; v++)
    if (before[v] != tl_value_get(m, v)->type)
      return tl_pass_may_rewrite(p) ? TL_OK : TL_INTERNAL;
  return TL_OK;
}
