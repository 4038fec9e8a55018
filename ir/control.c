/* SPDX-License-Identifier: Apache-2.0 */
/* Control edges: each is in a list of its source and in a list of its target (graph.h). A node may
 * wait for ten thousand others, so that nothing here walks along a list: each edge knows the one
 * before it, and the first one the last. */
#include "ir/graph.h"

typedef enum side { OUT, IN } side;

static tl_control_id *next_of(tl_control *edge, side of) {
  return of == OUT ? &edge->next_out : &edge->next_in;
}

static tl_control_id *before_of(tl_control *edge, side of) {
  return of == OUT ? &edge->before_out : &edge->before_in;
}

/* The first edge of the list that an edge is in. */
static tl_control_id *first_of(const tl_module *m, const tl_control *edge, side of) {
  return of == OUT ? &tl_node_get(m, edge->from)->control_out
                   : &tl_node_get(m, edge->to)->control_in;
}

static void append(tl_module *m, tl_control_id c, side of) {
  tl_control *edge = tl_control_get(m, c);
  tl_control_id *first = first_of(m, edge, of);
  tl_control_id last = *first ? *before_of(tl_control_get(m, *first), of) : c;
  *before_of(edge, of) = last;
  if (*first)
    *next_of(tl_control_get(m, last), of) = c;
  else
    *first = c;
  *before_of(tl_control_get(m, *first), of) = c;
}

static void take_out(tl_module *m, tl_control_id c, side of) {
  tl_control *edge = tl_control_get(m, c);
  tl_control_id *first = first_of(m, edge, of);
  tl_control_id before = *before_of(edge, of), next = *next_of(edge, of);
  if (*first == c)
    *first = next;
  else
    *next_of(tl_control_get(m, before), of) = next;
  if (*first)
    *before_of(tl_control_get(m, next ? next : *first), of) = before;
}

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
  append(m, c, OUT);
  append(m, c, IN);
  return c;
}

void tl_control_erase(tl_module *m, tl_control_id c) {
  take_out(m, c, OUT);
  take_out(m, c, IN);
}
