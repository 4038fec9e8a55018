/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts one graph topologically and stably. A node waits for the producers of its operands, of the
 * outer values that its bodies use, and for its control predecessors. Among ready nodes the one
 * that stood first comes first (a binary heap over old positions), so a sorted graph is left as it
 * is. Cost: O((nodes + edges) log nodes), and one linear check when nothing has to move. */
#include "ir/graph.h"

#include <stdlib.h>

/* The state of one sort; all arrays are parts of one allocation. */
typedef struct sorter {
  tl_module *m;
  tl_graph *g;
  uint32_t n;
  tl_node_id *node;   /* by old position */
  tl_node_id least;   /* of the ids of the graph's nodes: a body has few of all that there are */
  uint32_t n_ids;     /* from that on */
  uint32_t *position; /* by node id - least, + 1 */
  uint32_t *waits;    /* by position: unmet edges */
  uint32_t *heap;     /* ready positions */
  uint32_t heap_size;
  uint32_t *order; /* result: positions */
  uint32_t n_order;
} sorter;

/* Returns the position of a node, + 1; 0: it is not in this graph. */
static uint32_t position_of(const sorter *s, tl_node_id n) {
  return n >= s->least && n - s->least < s->n_ids ? s->position[n - s->least] : 0;
}

/* Returns the node of this graph that `user` belongs to: itself, or the owner of the body around
 * it. */
static tl_node_id owner_in(const sorter *s, tl_node_id user) {
  while (user && tl_node_get(s->m, user)->graph != s->g->id)
    user = tl_graph_get(s->m, tl_node_get(s->m, user)->graph)->owner;
  return user;
}

/* Returns the position of the node that a use belongs to, UINT32_MAX for none (RETURN of this
 * graph). */
static uint32_t user_position(const sorter *s, tl_use_id u) {
  tl_node_id n = owner_in(s, tl_use_get(s->m, u)->user);
  uint32_t at = position_of(s, n);
  return at ? at - 1 : UINT32_MAX;
}

static void push(sorter *s, uint32_t position) {
  uint32_t i = s->heap_size++;
  while (i && s->heap[(i - 1) / 2] > position) {
    s->heap[i] = s->heap[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  s->heap[i] = position;
}

static uint32_t pop(sorter *s) {
  uint32_t top = s->heap[0];
  uint32_t moved = s->heap[--s->heap_size];
  uint32_t i = 0;
  for (uint32_t child = 1; child < s->heap_size; child = 2 * i + 1) {
    if (child + 1 < s->heap_size && s->heap[child + 1] < s->heap[child])
      child++;
    if (s->heap[child] >= moved)
      break;
    s->heap[i] = s->heap[child];
    i = child;
  }
  s->heap[i] = moved;
  return top;
}

/* Calls fn(s, successor position) for every edge leaving the node at `position`. */
static void for_successors(sorter *s, uint32_t position, void (*fn)(sorter *, uint32_t)) {
  const tl_node *node = tl_node_get(s->m, s->node[position]);
  for (uint32_t r = 0; r < node->n_results; r++) {
    TL_FOR_USES(s->m, node->results + r, u) {
      uint32_t to = user_position(s, u);
      if (to != UINT32_MAX)
        fn(s, to);
    }
  }
  for (tl_control_id c = node->control_out; c; c = tl_control_get(s->m, c)->next_out)
    fn(s, position_of(s, tl_control_get(s->m, c)->to) - 1);
}

static void count_edge(sorter *s, uint32_t to) { s->waits[to]++; }

static void meet_edge(sorter *s, uint32_t to) {
  if (--s->waits[to] == 0)
    push(s, to);
}

/* Returns true when every edge goes forward already. */
static bool is_sorted(sorter *s) {
  for (uint32_t i = 0; i < s->n; i++) {
    const tl_node *node = tl_node_get(s->m, s->node[i]);
    for (uint32_t r = 0; r < node->n_results; r++)
      TL_FOR_USES(s->m, node->results + r, u)
        if (user_position(s, u) <= i)
          return false;
    for (tl_control_id c = node->control_out; c; c = tl_control_get(s->m, c)->next_out)
      if (position_of(s, tl_control_get(s->m, c)->to) - 1 <= i)
        return false;
  }
  return true;
}

/* Rebuilds the node list and the order labels in the new order. */
static void relink(sorter *s) {
  uint64_t label = 0;
  tl_node_id previous = TL_NO_NODE;
  for (uint32_t i = 0; i < s->n; i++) {
    tl_node_id n = s->node[s->order[i]];
    tl_node *node = tl_node_get(s->m, n);
    node->previous = previous;
    node->next = i + 1 < s->n ? s->node[s->order[i + 1]] : TL_NO_NODE;
    node->order = label += UINT64_C(1) << 32;
    previous = n;
  }
  s->g->first = s->n ? s->node[s->order[0]] : TL_NO_NODE;
  s->g->last = previous;
}

static uint32_t waiting_producer(const sorter *s, const tl_node *node);

static uint32_t waiting_in_bodies(const sorter *s, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    uint32_t n = a->kind == TL_ATTR_GRAPH ? 1 : a->kind == TL_ATTR_GRAPHS ? a->count : 0;
    for (uint32_t k = 0; k < n; k++) {
      const tl_graph *g = tl_graph_get(s->m, a->kind == TL_ATTR_GRAPH ? a->u.g : a->u.ids[k]);
      uint32_t found = waiting_producer(s, tl_node_get(s->m, g->ret));
      for (tl_node_id b = g->first; b && found == UINT32_MAX; b = tl_node_get(s->m, b)->next)
        found = waiting_producer(s, tl_node_get(s->m, b));
      if (found != UINT32_MAX)
        return found;
    }
  }
  return UINT32_MAX;
}

/* Returns the position of some node that still waits and that `node` depends on, UINT32_MAX for
 * none. Every node on or behind a cycle has one. */
static uint32_t waiting_producer(const sorter *s, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(s->m, node->operands + i)->value;
    tl_node_id made = v ? tl_value_producer(s->m, v) : TL_NO_NODE;
    uint32_t at = position_of(s, made);
    if (at && s->waits[at - 1])
      return at - 1;
  }
  for (tl_control_id c = node->control_in; c; c = tl_control_get(s->m, c)->next_in) {
    uint32_t at = position_of(s, tl_control_get(s->m, c)->from);
    if (at && s->waits[at - 1])
      return at - 1;
  }
  return waiting_in_bodies(s, node);
}

enum { NAMED_IN_CYCLE = 8 };

/* Walks from a waiting node to a producer that waits, and on, until a node repeats; then names the
 * cycle. `order` is reused: by position, the node from which the walk came. */
static tl_status report_cycle(sorter *s) {
  uint32_t at = 0;
  while (s->waits[at] == 0)
    at++;
  for (uint32_t i = 0; i < s->n; i++)
    s->order[i] = UINT32_MAX;
  uint32_t came_from = at;
  while (s->order[at] == UINT32_MAX) {
    s->order[at] = came_from;
    came_from = at;
    at = waiting_producer(s, tl_node_get(s->m, s->node[at]));
  }
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, tl_node_where(s->m, s->node[at]).node);
  uint32_t walk = came_from;
  for (uint32_t i = 1; walk != at && i < NAMED_IN_CYCLE; i++, walk = s->order[walk])
    tl_buf_printf(&text, " -> %.*s", TL_SV_ARG(tl_node_where(s->m, s->node[walk]).node));
  if (walk != at)
    tl_buf_add_z(&text, " -> ...");
  tl_buf_printf(&text, " -> %.*s", TL_SV_ARG(tl_node_where(s->m, s->node[at]).node));
  tl_status status = tl_fail(s->m->diag, TL_INVALID_MODEL, TL_AT_FILE(s->m->path),
                             "nodes depend on each other in a cycle: %s",
                             text.failed ? "" : text.p);
  tl_buf_release(&text);
  return status;
}

/* Kahn's algorithm with a heap. */
static tl_status sort(sorter *s) {
  uint32_t i = 0;
  for (tl_node_id n = s->g->first; n; n = tl_node_get(s->m, n)->next) {
    s->node[i++] = n;
    s->position[n - s->least] = i;
  }
  if (is_sorted(s))
    return TL_OK;
  for (i = 0; i < s->n; i++)
    for_successors(s, i, count_edge);
  for (i = 0; i < s->n; i++)
    if (s->waits[i] == 0)
      push(s, i);
  while (s->heap_size) {
    uint32_t next = pop(s);
    s->order[s->n_order++] = next;
    for_successors(s, next, meet_edge);
  }
  if (s->n_order < s->n)
    return report_cycle(s);
  relink(s);
  return TL_OK;
}

/* Fills the range of ids of the graph's nodes. */
static void find_ids(sorter *s) {
  tl_node_id most = 0;
  s->least = UINT32_MAX;
  for (tl_node_id n = s->g->first; n; n = tl_node_get(s->m, n)->next) {
    s->least = n < s->least ? n : s->least;
    most = n > most ? n : most;
  }
  s->n_ids = most ? most - s->least + 1 : 0;
}

tl_status tl_graph_sort(tl_module *m, tl_graph_id id) {
  tl_graph *g = tl_graph_get(m, id);
  uint32_t n = g->n_nodes;
  sorter s = {.m = m, .g = g, .n = n};
  find_ids(&s);
  uint32_t *memory = calloc((size_t)n * 4 + s.n_ids + 1, sizeof *memory);
  if (!memory)
    return TL_NO_MEMORY;
  s.node = memory;
  s.waits = memory + n;
  s.heap = memory + 2 * (size_t)n;
  s.order = memory + 3 * (size_t)n;
  s.position = memory + 4 * (size_t)n;
  tl_status status = sort(&s);
  free(memory);
  return status;
}
