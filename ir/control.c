/* SPDX-License-Identifier: Apache-2.0 */
/* Control edges: each is in a list of its source and in a list of its target (graph.h). */
#include "ir/graph.h"

/* Appends to both lists; nodes have few control edges, so the walk to the end is short. */
tl_control_id tl_control_add(tl_module *m, tl_node_id from, tl_node_id to,
                             tl_control_origin origin) {
  tl_control_id c = tl_slab_alloc(&m->controls, 1);
  if (!c)
    return 0;
  tl_control *edge = tl_control_get(m, c);
  TL_ASSERT(tl_node_get(m, from)->graph == tl_node_get(m, to)->graph);
  edge->from = from;
  edge->to = to;
  edge->origin = (uint8_t)origin;
  tl_control_id *tail = &tl_node_get(m, from)->control_out;
  while (*tail)
    tail = &tl_control_get(m, *tail)->next_out;
  *tail = c;
  tail = &tl_node_get(m, to)->control_in;
  while (*tail)
    tail = &tl_control_get(m, *tail)->next_in;
  *tail = c;
  return c;
}

void tl_control_erase(tl_module *m, tl_control_id c) {
  tl_control *edge = tl_control_get(m, c);
  tl_control_id *at = &tl_node_get(m, edge->from)->control_out;
  while (*at != c)
    at = &tl_control_get(m, *at)->next_out;
  *at = edge->next_out;
  at = &tl_node_get(m, edge->to)->control_in;
  while (*at != c)
    at = &tl_control_get(m, *at)->next_in;
  *at = edge->next_in;
}
