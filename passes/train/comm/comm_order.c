/* SPDX-License-Identifier: Apache-2.0 */
/* Orders collectives (comm_order.h): adds an edge from each to the next, sorts the graph, and
 * removes the edges again. */
#include "passes/train/comm/comm_order.h"

#include <stdlib.h>

static int by_place(const void *a, const void *b) {
  const tl_comm_place *x = a;
  const tl_comm_place *y = b;
  if (x->group != y->group)
    return x->group < y->group ? -1 : 1;
  if (x->ready != y->ready)
    return x->ready < y->ready ? -1 : 1;
  if (x->order != y->order)
    return x->order < y->order ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

static bool stand_in_order(const tl_module *m, const tl_comm_place *at, uint32_t n) {
  for (uint32_t i = 1; i < n; i++)
    if (at[i].group == at[i - 1].group && tl_node_is_before(m, at[i].node, at[i - 1].node))
      return false;
  return true;
}

/* Sorts the graph with the extra edges. With a cycle the sort fails silently and the order
 * stays. */
static tl_status sort(tl_module *m, tl_u32_vec *edges, const tl_comm_place *at, uint32_t n) {
  tl_muted muted;
  bool ok = true;
  for (uint32_t i = 1; i < n && ok; i++) {
    if (at[i].group != at[i - 1].group)
      continue;
    tl_control_id c = tl_control_add(m, at[i - 1].node, at[i].node, TL_CONTROL_COMM_ORDER);
    ok = c && tl_u32_vec_push(edges, c);
  }
  tl_mute(&muted, m, NULL, NULL);
  tl_status status = ok ? tl_graph_sort(m, tl_module_main(m)->id) : TL_NO_MEMORY;
  tl_unmute(&muted);
  for (uint32_t i = edges->n; i-- > 0;)
    tl_control_erase(m, edges->at[i]);
  return status == TL_NO_MEMORY ? tl_no_memory(m) : TL_OK;
}

tl_status tl_comm_line_up(tl_module *m, tl_comm_place *at, uint32_t n) {
  tl_u32_vec edges = {0};
  if (n < 2)
    return TL_OK;
  qsort(at, n, sizeof *at, by_place);
  if (stand_in_order(m, at, n))
    return TL_OK;
  tl_status status = sort(m, &edges, at, n);
  tl_u32_vec_release(&edges);
  return status;
}
