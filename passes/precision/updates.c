/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that update training states. In the modes of colours they are black, whatever their op is,
 * as the optimizers of the operator library are: states are the wide masters of a training run, and
 * an update that was rounded to f16 would lose most of what a small step changes. Communication is
 * no arithmetic and follows the gradients. */
#include "ir/op.h"
#include "passes/precision/walk.h"
#include "passes/train/step/regions.h"

static tl_status regions_of(const tl_module *m, tl_arena *arena, tl_train_info *t) {
  *t = (tl_train_info){.n = m->gradients.n, .loss = m->loss, .seed = m->seed};
  t->grads = tl_arena_calloc(arena, m->gradients.n, sizeof *t->grads);
  if (!t->grads)
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < m->gradients.n; i++) {
    const tl_gradient *g = &m->gradients.at[i];
    t->grads[i] = (tl_train_grad){.param = g->param, .raw = g->grad, .indices = g->indices};
  }
  return tl_train_find_regions(m, arena, t, NULL, 0);
}

tl_status tl_precision_find_updates(tl_precision_walk *w) {
  tl_train_info t;
  w->updates = NULL;
  if (w->m->gradients.n == 0 || !tl_precision_mode_get(w->d->config->mode)->mixed)
    return TL_OK;
  bool *updates = tl_arena_calloc(w->arena, w->d->n_nodes, sizeof *updates);
  if (!updates || regions_of(w->m, w->arena, &t) != TL_OK)
    return TL_NO_MEMORY;
  TL_FOR_NODES(w->m, tl_module_main(w->m), n)
  updates[n] = tl_train_region_of(&t, n) == TL_REGION_UPDATE &&
               !tl_op_has_trait(tl_node_get(w->m, n)->op, TL_TRAIT_EFFECT);
  w->updates = updates;
  return TL_OK;
}
