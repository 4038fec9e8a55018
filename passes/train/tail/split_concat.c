/* SPDX-License-Identifier: Apache-2.0 */
/* Splits by bucket gradients that are joined to one tensor, changed element by element, and split
 * again. */
#include "ir/ops_gen.h"
#include "passes/edit/values.h"
#include "passes/train/tail/groups.h"

enum { LONGEST = 16 }; /* links of a chain, and operands of a link */

/* A Concat, nodes that change elements, and a Split. */
typedef struct chain {
  const tl_pinned *pinned;
  tl_node_id concat;
  tl_node_id split;
  tl_node_id links[LONGEST]; /* from the concat on */
  uint32_t through[LONGEST]; /* operand by which the tensor goes in */
  uint32_t n;
  int64_t axis;
} chain;

/* Only a value with one user may be replaced by parts, and none that a state, a gradient or the
 * loss is. */
static bool has_one_user(const tl_module *m, const chain *c, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  return node->n_results == 1 && tl_value_get(m, node->results)->n_uses == 1 &&
         !tl_is_pinned(c->pinned, node->results) && !node->control_in && !node->control_out;
}

static bool is_one_element(const tl_module *m, tl_value_id v) {
  uint64_t n;
  return v && tl_type_elements(m, tl_value_type(m, v), &n) && n == 1;
}

/* Returns the operand that an elementwise node changes, if all others have one element; else
 * UINT32_MAX. */
static uint32_t changed_operand(const tl_module *m, const chain *c, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  uint32_t found = UINT32_MAX;
  if (!tl_op_has_trait(node->op, TL_TRAIT_ELEMENTWISE) || !has_one_user(m, c, n) ||
      node->n_operands > LONGEST)
    return found;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    if (!v || is_one_element(m, v))
      continue;
    if (found != UINT32_MAX)
      return UINT32_MAX;
    found = i;
  }
  return found;
}

static int64_t axis_of(const tl_module *m, tl_node_id n) {
  const tl_attr *a = tl_node_attr_named(m, n, "axis");
  int64_t axis = a && a->kind == TL_ATTR_INT ? a->u.i : 0;
  const tl_type *type = tl_type_get(m, tl_value_type(m, tl_result(m, n, 0)));
  return axis < 0 && type->rank > 0 ? axis + type->rank : axis;
}

static tl_dim size_along(const tl_module *m, tl_value_id v, int64_t axis) {
  const tl_type *type = tl_type_get(m, tl_value_type(m, v));
  return type->kind == TL_KIND_TENSOR && axis >= 0 && axis < type->rank ? type->dims[axis]
                                                                        : TL_DIM_UNKNOWN;
}

/* Returns true if the Split gives back exactly what the Concat joined. */
static bool gives_back(const tl_module *m, const chain *c) {
  uint32_t n = tl_node_get(m, c->concat)->n_operands;
  if (tl_node_get(m, c->split)->n_results != n || axis_of(m, c->split) != c->axis ||
      tl_node_get(m, c->split)->control_in || tl_node_get(m, c->split)->control_out)
    return false;
  for (uint32_t i = 0; i < n; i++) {
    tl_dim in = size_along(m, tl_operand(m, c->concat, i), c->axis);
    if (!tl_dim_is_static(in) || in != size_along(m, tl_result(m, c->split, i), c->axis))
      return false;
  }
  return true;
}

/* Finds the chain that ends in a Split, backwards; links are then stored from the Concat on. */
static bool find_chain(const tl_tail *t, tl_node_id split, chain *c) {
  tl_node_id found[LONGEST];
  uint32_t through[LONGEST];
  tl_value_id v = tl_operand(t->m, split, 0);
  tl_node_id n = v ? tl_value_producer(t->m, v) : TL_NO_NODE;
  c->n = 0;
  while (n && tl_node_get(t->m, n)->op != TL_OP_Concat) {
    uint32_t operand = c->n < LONGEST ? changed_operand(t->m, c, n) : UINT32_MAX;
    if (operand == UINT32_MAX)
      return false;
    found[c->n] = n;
    through[c->n++] = operand;
    n = tl_value_producer(t->m, tl_operand(t->m, n, operand));
  }
  if (!n || !has_one_user(t->m, c, n))
    return false;
  for (uint32_t i = 0; i < c->n; i++) {
    c->links[i] = found[c->n - 1 - i];
    c->through[i] = through[c->n - 1 - i];
  }
  c->concat = n;
  c->split = split;
  c->axis = axis_of(t->m, n);
  return gives_back(t->m, c);
}

/* Returns the type of v with another size along the axis. */
static tl_type_id resized(tl_tail *t, tl_value_id v, int64_t axis, int64_t size) {
  tl_type type = *tl_type_get(t->m, tl_value_type(t->m, v));
  if (type.kind != TL_KIND_TENSOR || axis >= type.rank)
    return tl_value_type(t->m, v);
  tl_dim *dims = tl_arena_calloc(t->p->scratch, (uint64_t)type.rank, sizeof *dims);
  if (!dims)
    return TL_NO_TYPE;
  memcpy(dims, type.dims, (size_t)type.rank * sizeof *dims);
  dims[axis] = size;
  type.dims = dims;
  return tl_type_intern(t->m, &type);
}

/* Copies a node of the chain for a part of the given size along the axis. */
static tl_value_id make_like(tl_tail *t, const chain *c, tl_node_id like, tl_value_id *operands,
                             uint32_t n, int64_t size) {
  const tl_node *node = tl_node_get(t->m, like);
  tl_symbol name = tl_tail_fresh(t, tl_value_get(t->m, node->results)->name);
  tl_node_spec spec = {.op = node->op,
                       .name = name,
                       .operands = operands,
                       .n_operands = n,
                       .results = &name,
                       .n_results = 1,
                       .attrs = node->attrs,
                       .n_attrs = node->n_attrs};
  tl_node_id made = tl_tail_make(t, c->split, like, &spec);
  if (!made)
    return TL_NO_VALUE;
  tl_value_set_type(t->m, tl_result(t->m, made, 0),
                    resized(t, tl_result(t->m, like, 0), c->axis, size));
  return tl_result(t->m, made, 0);
}

/* Makes nodes of its own for a group. A group of one member needs neither Concat nor Split. */
static bool make_group(tl_tail *t, const chain *c, const uint32_t *group, uint32_t k) {
  uint32_t n = tl_node_get(t->m, c->concat)->n_operands;
  tl_value_id *operands = tl_arena_calloc(t->p->scratch, n + LONGEST, sizeof *operands);
  tl_symbol *results = tl_arena_calloc(t->p->scratch, n, sizeof *results);
  uint32_t *at = tl_arena_calloc(t->p->scratch, n, sizeof *at);
  int64_t *sizes = tl_arena_calloc(t->p->scratch, n, sizeof *sizes);
  uint32_t count = 0;
  int64_t size = 0;
  if (!operands || !results || !at || !sizes)
    return false;
  for (uint32_t i = 0; i < n; i++) {
    if (group[i] != k)
      continue;
    at[count] = i;
    operands[count] = tl_operand(t->m, c->concat, i);
    sizes[count] = size_along(t->m, operands[count], c->axis);
    results[count] = tl_tail_fresh(t, tl_value_get(t->m, tl_result(t->m, c->split, i))->name);
    size += sizes[count++];
  }
  tl_value_id v = count == 1 ? operands[0] : make_like(t, c, c->concat, operands, count, size);
  for (uint32_t i = 0; v && i < c->n; i++) {
    uint32_t n_operands = tl_node_get(t->m, c->links[i])->n_operands;
    for (uint32_t o = 0; o < n_operands; o++)
      operands[o] = o == c->through[i] ? v : tl_operand(t->m, c->links[i], o);
    v = make_like(t, c, c->links[i], operands, n_operands, size);
  }
  if (v && count == 1 && c->n) {
    tl_tail_replace(t, tl_result(t->m, c->split, at[0]), v);
    return true;
  }
  tl_value_id where = v ? tl_tail_constants(t, results[0], sizes, count) : TL_NO_VALUE;
  tl_attr axis = tl_attr_int(TL_SYM_axis, c->axis);
  tl_node_spec spec = {.op = TL_OP_Split,
                       .name = tl_tail_fresh(t, tl_node_get(t->m, c->split)->name),
                       .operands = (tl_value_id[]){v, where},
                       .n_operands = 2,
                       .results = results,
                       .n_results = count,
                       .attrs = &axis,
                       .n_attrs = 1};
  tl_node_id made = where ? tl_tail_make(t, c->split, c->split, &spec) : TL_NO_NODE;
  for (uint32_t i = 0; made && i < count; i++) {
    tl_value_id old = tl_result(t->m, c->split, at[i]);
    tl_value_set_type(t->m, tl_result(t->m, made, i), tl_value_type(t->m, old));
    tl_tail_replace(t, old, tl_result(t->m, made, i));
  }
  return made != TL_NO_NODE;
}

/* Splits the chain by bucket. */
static bool split_chain(tl_tail *t, const chain *c) {
  uint32_t n = tl_node_get(t->m, c->concat)->n_operands;
  uint32_t *bucket = tl_arena_calloc(t->p->scratch, n, sizeof *bucket);
  uint32_t *group = tl_arena_calloc(t->p->scratch, n, sizeof *group);
  t->no_memory = t->no_memory || !bucket || !group;
  for (uint32_t i = 0; !t->no_memory && i < n; i++)
    bucket[i] = tl_tail_bucket_of(t, tl_operand(t->m, c->concat, i));
  uint32_t n_groups = t->no_memory ? 0 : tl_tail_group(t, bucket, n, group);
  if (n_groups < 2)
    return false;
  for (uint32_t k = 0; k < n_groups; k++)
    if (!make_group(t, c, group, k))
      t->no_memory = true;
  tl_tail_retire(t, c->concat); /* erased from the last retired on */
  for (uint32_t i = 0; i < c->n; i++)
    tl_tail_retire(t, c->links[i]);
  tl_tail_retire(t, c->split);
  return true;
}

uint32_t tl_tail_split_concats(tl_tail *t) {
  uint32_t n = 0;
  tl_pinned pinned;
  chain c = {.pinned = &pinned};
  if (!tl_module_had_op(t->m, TL_OP_Split))
    return 0;
  if (tl_pinned_find(t->p, t->m, &pinned) != TL_OK) {
    t->no_memory = true;
    return 0;
  }
  TL_FOR_NODES(t->m, tl_step_graph(t->m), k)
    if (!t->no_memory && tl_node_get(t->m, k)->op == TL_OP_Split && find_chain(t, k, &c))
      n += split_chain(t, &c);
  return n;
}
