/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the bytes that nodes and kernels move, and what fusing saves (traffic.h). Values of
 * unknown size count as 0 bytes. */
#include "passes/ub/traffic.h"

int64_t tl_ub_scope(const tl_module *m, tl_node_id n, tl_symbol attr) {
  const tl_attr *a = attr ? tl_node_attr(m, n, attr) : NULL;
  return a && a->kind == TL_ATTR_INT ? a->u.i : 0;
}

uint64_t tl_ub_bytes(const tl_module *m, tl_value_id v) {
  uint64_t n, bytes;
  tl_type_id t = tl_value_type(m, v);
  return tl_type_elements(m, t, &n) && tl_dtype_bytes(tl_type_dtype(m, t), n, &bytes) ? bytes : 0;
}

/* Adds with saturation. */
static void add(uint64_t *sum, uint64_t bytes) {
  if (__builtin_add_overflow(*sum, bytes, sum))
    *sum = UINT64_MAX;
}

/* Returns true if operand i is the first with this value. Only the last 16 are compared, to bound
 * the cost of wide nodes. */
static bool is_first(const tl_module *m, tl_node_id n, uint32_t i, tl_value_id v) {
  enum { MOST_COMPARED = 16 };
  for (uint32_t k = i > MOST_COMPARED ? i - MOST_COMPARED : 0; k < i; k++)
    if (tl_operand(m, n, k) == v)
      return false;
  return true;
}

uint64_t tl_ub_node_traffic(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    if (v && is_first(m, n, i, v))
      add(&sum, tl_ub_bytes(m, v));
  }
  for (uint32_t r = 0; r < node->n_results; r++)
    if (tl_value_get(m, node->results + r)->n_uses)
      add(&sum, tl_ub_bytes(m, node->results + r));
  return sum;
}

/* Returns true if the node is one of the n of a kernel. */
static bool is_in(const tl_node_id *nodes, uint32_t n, tl_node_id node) {
  for (uint32_t i = 0; i < n; i++)
    if (nodes[i] == node)
      return true;
  return false;
}

/* Returns true if a node before the i-th of the kernel reads v, so that it is in the buffer. */
static bool is_read_before(const tl_module *m, const tl_node_id *nodes, uint32_t i, tl_value_id v) {
  for (uint32_t k = 0; k < i; k++)
    for (uint32_t o = 0; o < tl_node_get(m, nodes[k])->n_operands; o++)
      if (tl_operand(m, nodes[k], o) == v)
        return true;
  return false;
}

/* Returns true if a node beyond the n of the kernel uses v, so that v must be written. */
static bool is_used_outside(const tl_module *m, const tl_node_id *nodes, uint32_t n,
                            tl_value_id v) {
  TL_FOR_USES(m, v, u)
    if (!is_in(nodes, n, tl_use_get(m, u)->user))
      return true;
  return false;
}

/* Traffic of the nodes apart minus the traffic of one kernel: each outer operand is read once, and
 * only results that others use are written. */
uint64_t tl_ub_saved(const tl_module *m, const tl_node_id *nodes, uint32_t n) {
  uint64_t apart = 0, together = 0;
  for (uint32_t i = 0; i < n; i++) {
    const tl_node *node = tl_node_get(m, nodes[i]);
    add(&apart, tl_ub_node_traffic(m, nodes[i]));
    for (uint32_t k = 0; k < node->n_operands; k++) {
      tl_value_id v = tl_operand(m, nodes[i], k);
      if (v && is_first(m, nodes[i], k, v) && !is_in(nodes, n, tl_value_producer(m, v)) &&
          !is_read_before(m, nodes, i, v))
        add(&together, tl_ub_bytes(m, v));
    }
    for (uint32_t r = 0; r < node->n_results; r++)
      if (is_used_outside(m, nodes, n, node->results + r))
        add(&together, tl_ub_bytes(m, node->results + r));
  }
  return apart - together;
}

/* ---- a module -------------------------------------------------------------------------------- */

/* A node of a group: the number of the group, and the place of the node in the module. */
typedef struct member {
  int64_t scope;
  tl_node_id node;
  uint32_t order;
} member;

TL_VEC(member_vec, member);

/* By group, within a group in the order of the module. */
static int by_scope(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->scope != y->scope)
    return x->scope < y->scope ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

/* Returns true if the node has a kernel, so that it moves data at all. */
static bool has_kernel(const tl_op_info_set *info, tl_sv type) {
  tl_op_info i = tl_op_info_find(info, type);
  return !i.row || !(i.row->flags & TL_INFO_NO_KERNEL);
}

/* Sums the traffic of all nodes and lists the members of groups. */
static tl_status gather(const tl_module *m, const tl_op_info_set *info, tl_symbol scope,
                        member_vec *members, tl_ub_totals *t) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    for (tl_node_id n = g->erased ? TL_NO_NODE : g->first; n; n = tl_node_get(m, n)->next) {
      if (has_kernel(info, tl_op_name(m, tl_node_get(m, n)->op)))
        add(&t->traffic, tl_ub_node_traffic(m, n));
      int64_t id = tl_ub_scope(m, n, scope);
      if (id > 0 && !member_vec_push(members, (member){id, n, members->n}))
        return TL_NO_MEMORY;
    }
  }
  return TL_OK;
}

/* Sorts the members by group, then counts each group and what it saves. */
static tl_status measure(const tl_module *m, member_vec *members, tl_ub_totals *t) {
  tl_u32_vec nodes = {0};
  tl_status status = TL_OK;
  if (members->n)
    qsort(members->at, members->n, sizeof *members->at, by_scope);
  for (uint32_t i = 0; i < members->n && status == TL_OK;) {
    int64_t scope = members->at[i].scope;
    nodes.n = 0;
    for (; i < members->n && members->at[i].scope == scope && status == TL_OK; i++)
      status = tl_u32_vec_push(&nodes, members->at[i].node) ? TL_OK : TL_NO_MEMORY;
    t->groups++;
    t->nodes += nodes.n;
    add(&t->saved, tl_ub_saved(m, nodes.at, nodes.n));
  }
  tl_u32_vec_release(&nodes);
  return status;
}

tl_status tl_ub_measure(const tl_module *m, const tl_op_info_set *info, tl_ub_totals *t) {
  member_vec members = {0};
  *t = (tl_ub_totals){0};
  tl_status status =
      gather(m, info, tl_symbol_find(&m->symbols, TL_SV(TL_UB_SCOPE_ATTR)), &members, t);
  if (status == TL_OK)
    status = measure(m, &members, t);
  member_vec_release(&members);
  return status;
}
