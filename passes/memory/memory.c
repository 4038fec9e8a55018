/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/memory/memory.h"

#include "passes/memory/flow.h"

static uint64_t count_weights(const tl_module *m) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    for (uint32_t k = 0; !g->erased && k < g->constants.n; k++)
      if (g->constants.at[k])
        bytes += tl_tensor_get(m, tl_value_get(m, g->constants.at[k])->tensor)->bytes;
  }
  return bytes;
}

static bool measure(const tl_module *m, const tl_op_info_set *info, tl_arena *a, tl_memory *out) {
  tl_flow f;
  if (!tl_flow_build(&f, m, tl_module_main(m)->id, info, a))
    return false;
  uint32_t at;
  uint32_t *left = tl_arena_calloc(a, f.n_buffers, sizeof *left);
  if (!left)
    return false;
  out->inputs = f.inputs;
  out->outputs = f.outputs;
  out->n_unsized = f.n_unsized;
  out->first_unsized = f.first_unsized;
  out->peak = tl_flow_peak(&f, NULL, left, &at);
  out->at = f.n_nodes && out->peak ? f.nodes[at].id : TL_NO_NODE;
  out->bound = tl_flow_bound(&f, a);
  return out->bound != UINT64_MAX;
}

tl_status tl_memory_measure(const tl_module *m, const tl_op_info_set *info, tl_memory *out) {
  tl_arena arena;
  *out = (tl_memory){.weights = count_weights(m)};
  tl_arena_init(&arena, 0);
  bool ok = measure(m, info, &arena, out);
  tl_arena_release(&arena);
  return ok ? TL_OK : TL_NO_MEMORY;
}

uint64_t tl_memory_total(const tl_memory *t) {
  return t->weights + t->inputs + t->outputs + t->peak;
}
