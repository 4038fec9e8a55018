/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the nodes that update training states; mixed modes treat them as black. The optimizers of
 * the operator library are black too: states are the wide master copies of a training run, and an
 * update rounded to f16 would lose most of a small step. Communication ops do no arithmetic and
 * follow the gradients. */
#include "ir/op.h"
#include "passes/precision/walk.h"
#include "passes/train/step/regions.h"

/* Finds the regions of the training step from the gradients of the module. */
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
