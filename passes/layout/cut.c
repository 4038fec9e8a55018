/* SPDX-License-Identifier: Apache-2.0 */
/* Finds cheapest cuts: flows along shortest paths until none is left (Dinic's algorithm). */
#include "passes/layout/cut.h"

#include <string.h>

/* Steps that a network may take for each of its edges. */
enum { STEPS_PER_EDGE = 256, STEPS_AT_LEAST = 65536 };

void tl_cut_start(tl_cut *c) {
  c->edges.n = c->head.n = 0;
  c->flow = 0;
  c->no_memory = false;
  tl_cut_node(c);
  tl_cut_node(c);
}

uint32_t tl_cut_node(tl_cut *c) {
  c->no_memory = c->no_memory || !tl_u32_vec_push(&c->head, 0);
  return c->head.n - 1;
}

void tl_cut_edge_add(tl_cut *c, uint32_t from, uint32_t to, int64_t capacity) {
  if (capacity <= 0 || c->no_memory)
    return;
  tl_cut_edge there = {to, c->head.at[from], capacity}, back = {from, c->head.at[to], 0};
  if (!tl_cut_edge_vec_push(&c->edges, there) || !tl_cut_edge_vec_push(&c->edges, back)) {
    c->no_memory = true;
    return;
  }
  c->head.at[from] = c->edges.n - 1;
  c->head.at[to] = c->edges.n;
}

/* Gives each node its level. Returns false if the last node is out of reach. */
static bool find_levels(tl_cut *c, int64_t *left) {
  memset(c->level.at, 0, c->head.n * sizeof *c->level.at);
  c->level.at[TL_CUT_FIRST] = 1;
  c->path.at[0] = TL_CUT_FIRST;
  uint32_t n = 1;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t e = c->head.at[c->path.at[i]]; e; e = c->edges.at[e - 1].next) {
      const tl_cut_edge *edge = &c->edges.at[e - 1];
      --*left;
      if (edge->left > 0 && !c->level.at[edge->to]) {
        c->level.at[edge->to] = c->level.at[c->path.at[i]] + 1;
        c->path.at[n++] = edge->to;
      }
    }
  return c->level.at[TL_CUT_LAST] != 0;
}

/* Sends along the path of n edges what its narrowest edge has left. Returns how much of the path
 * still has room. */
static uint32_t send(tl_cut *c, uint32_t n) {
  int64_t most = TL_CUT_NEVER;
  uint32_t keep = 0;
  for (uint32_t i = 0; i < n; i++)
    if (c->edges.at[c->path.at[i]].left < most) {
      most = c->edges.at[c->path.at[i]].left;
      keep = i;
    }
  for (uint32_t i = 0; i < n; i++) {
    c->edges.at[c->path.at[i]].left -= most;
    c->edges.at[c->path.at[i] ^ 1].left += most;
  }
  c->flow += most;
  return keep;
}

/* Sends flow along paths on which the level rises by one at each edge, until there is none,
 * or no steps are left. */
static void block(tl_cut *c, int64_t *left) {
  memcpy(c->at.at, c->head.at, c->head.n * sizeof *c->at.at);
  for (uint32_t n = 0, node = TL_CUT_FIRST;;) {
    if (*left < 0)
      return;
    if (node == TL_CUT_LAST) {
      n = send(c, n);
      node = c->edges.at[c->path.at[n] ^ 1].to;
    }
    uint32_t e = c->at.at[node];
    --*left;
    if (e) {
      const tl_cut_edge *edge = &c->edges.at[e - 1];
      if (edge->left > 0 && c->level.at[edge->to] == c->level.at[node] + 1) {
        c->path.at[n++] = e - 1;
        node = edge->to;
      } else {
        c->at.at[node] = edge->next;
      }
    } else if (n == 0) {
      return;
    } else {
      node = c->edges.at[c->path.at[--n] ^ 1].to;
      c->at.at[node] = c->edges.at[c->at.at[node] - 1].next;
    }
  }
}

bool tl_cut_solve(tl_cut *c) {
  int64_t left = STEPS_AT_LEAST + (int64_t)c->edges.n * STEPS_PER_EDGE;
  if (c->no_memory || !tl_u32_vec_reserve(&c->level, c->head.n) ||
      !tl_u32_vec_reserve(&c->at, c->head.n) || !tl_u32_vec_reserve(&c->path, c->head.n + 1)) {
    c->no_memory = true;
    return false;
  }
  while (find_levels(c, &left)) {
    block(c, &left);
    if (left < 0)
      return false;
  }
  return true;
}

bool tl_cut_is_first(const tl_cut *c, uint32_t node) { return c->level.at[node] != 0; }

void tl_cut_release(tl_cut *c) {
  tl_cut_edge_vec_release(&c->edges);
  tl_u32_vec_release(&c->head);
  tl_u32_vec_release(&c->level);
  tl_u32_vec_release(&c->at);
  tl_u32_vec_release(&c->path);
}
