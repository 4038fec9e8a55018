/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts gradients by the order in which they become ready (detector.h). */
#include <stdlib.h>

#include "ir/ops_gen.h"
#include "passes/train/step/declare.h"
#include "passes/train/step/detector.h"
#include "passes/train/step/regions.h"

typedef struct ordering {
  tl_module *m;
  tl_arena *arena;
  tl_train_info *out;
  const tl_train_grad *grads;
  uint32_t n;
} ordering;

/* Returns true if one Gradient node makes all gradients, so that all become ready at once. */
static bool is_opaque(const ordering *d) {
  for (uint32_t i = 0; i < d->n; i++) {
    tl_node_id n = d->grads[i].producer;
    if (!n || n != d->grads[0].producer ||
        tl_node_get(d->m, n)->op != TL_OP_ai_onnx_preview_training_Gradient)
      return false;
  }
  return d->n != 0;
}

typedef struct ordered {
  uint64_t key;
  uint32_t index;
} ordered;

static int by_key(const void *a, const void *b) {
  const ordered *x = a;
  const ordered *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Keys by the place of the producer (upper 32 bits) and the index of the result. An opaque node's
 * results are taken last first, since backward visits the parameters in reverse order. */
static void fill_keys(const ordering *d, const uint32_t *place, ordered *keys) {
  for (uint32_t i = 0; i < d->n; i++) {
    const tl_train_grad *g = &d->grads[i];
    uint32_t result = g->producer ? tl_value_get(d->m, g->raw)->index : 0;
    if (d->out->opaque)
      result = UINT32_MAX - result;
    keys[i] = (ordered){(uint64_t)(g->producer ? place[g->producer] + 1 : 0) << 32 | result, i};
    if (!g->producer) /* given from outside: in the order of the inputs */
      keys[i].key = tl_value_get(d->m, g->raw)->index;
  }
}

/* Gradients that the order names come first; bit 63 puts all others behind them. */
static tl_status take_declared_order(ordering *d, ordered *keys) {
  bool any;
  uint32_t *place = calloc(tl_module_value_end(d->m), sizeof *place);
  tl_status status = place ? tl_train_declared_order(d->m, place, &any) : tl_no_memory(d->m);
  for (uint32_t i = 0; status == TL_OK && any && i < d->n; i++) {
    const tl_train_grad *g = &d->grads[i];
    uint32_t at = place[g->param] ? place[g->param] : place[g->raw];
    keys[i].key = at ? at : keys[i].key | UINT64_C(1) << 63;
  }
  free(place);
  return status;
}

/* Fills and sorts the keys: the declared order first, the canonical order of nodes for the rest. */
static tl_status find_order(ordering *d, ordered *keys) {
  uint32_t n_nodes;
  uint32_t *place = tl_arena_calloc(d->arena, tl_module_node_end(d->m), sizeof *place);
  tl_node_id *order = tl_train_canonical_order(d->m, d->arena, &n_nodes);
  if (!place || !order)
    return tl_no_memory(d->m);
  for (uint32_t i = 0; i < n_nodes; i++)
    place[order[i]] = i;
  fill_keys(d, place, keys);
  TL_TRY(take_declared_order(d, keys));
  if (d->n)
    qsort(keys, d->n, sizeof *keys, by_key);
  return TL_OK;
}

/* If the module declares all gradients, their order in it counts and no sort is needed. */
tl_status tl_train_order(tl_module *m, tl_arena *arena, const tl_train_found *found,
                         tl_train_info *t) {
  ordering d = {.m = m, .arena = arena, .out = t, .grads = found->grads, .n = found->n};
  t->n = found->n;
  t->opaque = is_opaque(&d);
  t->grads = tl_arena_calloc(arena, t->n, sizeof *t->grads);
  ordered *keys = tl_arena_calloc(arena, (size_t)t->n + 1, sizeof *keys);
  if (!t->grads || !keys)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < t->n; i++)
    keys[i].index = i;
  if (!found->ordered)
    TL_TRY(find_order(&d, keys));
  for (uint32_t i = 0; i < t->n; i++) {
    t->grads[i] = found->grads[keys[i].index];
    t->grads[i].rank = i;
  }
  return TL_OK;
}
