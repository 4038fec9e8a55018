/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a second module with the same graphs (fork.h). Ids are those of the first one, so tables
 * are copied as they are; what is never changed in place is shared. */
#include "ir/fork.h"

#include <stdlib.h>

/* Replaces the array that *to points to by a copy of n items; false when memory is out. */
static bool copy_items(void *to, const void *from, uint32_t n, size_t size) {
  void **at = to;
  free(*at);
  *at = malloc(n ? n * size : 1);
  tl_memory_seen(*at, n * size);
  if (*at && n)
    memcpy(*at, from, n * size);
  return *at != NULL;
}

/* Copies a TL_VEC; items that `to` holds are dropped. Ends empty on failure. */
#define COPY_VEC(to, from)                                                                         \
  (copy_items(&(to).at, (from).at, (from).n, sizeof *(from).at)                                    \
       ? ((to).n = (to).cap = (from).n, true)                                                      \
       : ((to).n = (to).cap = 0, false))

/* Interning in the same order gives the same symbols. */
static bool copy_symbols(tl_module *to, const tl_module *from) {
  for (tl_symbol s = to->symbols.n; s < from->symbols.n; s++)
    if (tl_intern_view(&to->symbols, tl_symbol_sv(&from->symbols, s)) != s)
      return false;
  return true;
}

/* The index is made anew, as maps are not copied. */
static bool copy_ops(tl_module *to, const tl_module *from) {
  memcpy(to->had_ops, from->had_ops, tl_n_op_rows * sizeof *to->had_ops);
  if (!COPY_VEC(to->opaque_ops, from->opaque_ops))
    return false;
  for (uint32_t i = 0; i < from->opaque_ops.n; i++) {
    const tl_opaque_op *op = &from->opaque_ops.at[i];
    uint32_t index = i;
    (void)tl_map_find(&from->opaque_index, tl_map_pair(op->domain, op->name), &index);
    if (!tl_map_set(&to->opaque_index, tl_map_pair(op->domain, op->name), index))
      return false;
  }
  return true;
}

static bool copy_tables(tl_module *to, const tl_module *from) {
  to->n_type_slots = from->n_type_slots;
  return copy_symbols(to, from) && copy_ops(to, from) && COPY_VEC(to->types, from->types) &&
         copy_items(&to->type_slots, from->type_slots, from->n_type_slots,
                    sizeof *from->type_slots) &&
         COPY_VEC(to->extras, from->extras) && COPY_VEC(to->origins, from->origins) &&
         COPY_VEC(to->opsets, from->opsets) && COPY_VEC(to->calls, from->calls) &&
         COPY_VEC(to->states, from->states) && COPY_VEC(to->gradients, from->gradients) &&
         COPY_VEC(to->substitutes, from->substitutes) && COPY_VEC(to->sizes, from->sizes);
}

/* Copies the attribute lists, which are changed in place, unlike the lists inside attributes. */
static bool copy_attrs(tl_module *to) {
  for (tl_node_id n = 1; n < to->nodes.next; n++) {
    tl_node *node = tl_node_get(to, n);
    if (!node->n_attrs)
      continue;
    char *attrs = tl_arena_copy(&to->arena, node->attrs, node->n_attrs * sizeof *node->attrs);
    if (!attrs)
      return false;
    node->attrs = (tl_attr *)(void *)attrs;
  }
  return true;
}

static bool copy_pools(tl_module *to, const tl_module *from) {
  return tl_slab_copy(&to->nodes, &from->nodes) && tl_slab_copy(&to->values, &from->values) &&
         tl_slab_copy(&to->uses, &from->uses) && tl_slab_copy(&to->controls, &from->controls) &&
         tl_slab_copy(&to->tensors, &from->tensors) && copy_attrs(to);
}

/* Ids of graphs are places in the list, which are the same in both modules. */
static bool copy_graphs(tl_module *to, const tl_module *from) {
  for (uint32_t i = 0; i < from->graphs.n; i++) {
    const tl_graph *g = from->graphs.at[i];
    tl_graph *made = tl_memory_seen(malloc(sizeof *made), sizeof *made);
    if (!made)
      return false;
    *made = *g;
    made->inputs = made->constants = (tl_u32_vec){0};
    if (!tl_graph_vec_push(&to->graphs, made)) {
      free(made);
      return false;
    }
    if (!COPY_VEC(made->inputs, g->inputs) || !COPY_VEC(made->constants, g->constants))
      return false;
  }
  return true;
}

/* What is neither owned nor a table. */
static void copy_numbers(tl_module *to, const tl_module *from) {
  to->loss = from->loss;
  to->seed = from->seed;
  to->ir_version = from->ir_version;
  to->model_version = from->model_version;
  to->source_opset = from->source_opset;
  to->source_bytes = from->source_bytes;
  to->producer_name = from->producer_name;
  to->producer_version = from->producer_version;
  to->domain = from->domain;
  to->extra = from->extra;
  to->form = from->form;
  to->user_ops = from->user_ops;
  to->chip_fit = from->chip_fit;
}

tl_module *tl_module_fork(const tl_module *m, tl_diag *diag) {
  tl_module *made = tl_module_create(diag, m->path, 0);
  if (!made)
    return NULL;
  copy_numbers(made, m);
  if (copy_tables(made, m) && copy_pools(made, m) && copy_graphs(made, m))
    return made;
  tl_module_destroy(made);
  return NULL;
}
