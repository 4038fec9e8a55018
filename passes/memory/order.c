/* SPDX-License-Identifier: Apache-2.0 */
/* Finds orders of a graph's nodes that need little memory. Two list schedulers make candidates: a
 * greedy one after Warren's instruction scheduling, and one that goes depth first, as Sethi and
 * Ullman number expressions. Parts of the graph choose among them, and the parts that need most are
 * searched for better ones. */
#include <string.h>

#include "passes/memory/search.h"

enum { N_ORDERS = 3 }; /* the given order first: what is no better does not replace it */

/* ---- greedy ---------------------------------------------------------------------------------- */

/* The state of the greedy scheduler. Ready nodes are in a heap, the one that grows memory least on
 * top; of two the one that stands first in the graph. */
typedef struct greedy {
  const tl_flow *f;
  uint32_t *waits; /* by node: edges from nodes that have not run */
  uint32_t *left;  /* by buffer: users that have not run */
  int64_t *growth; /* by node: bytes in use behind it less those before it */
  uint32_t *heap;
  uint32_t *place; /* by node: 1 + its index in the heap; 0: it is not in there */
  uint32_t n;
  bool *done;
} greedy;

static bool is_better(const greedy *s, uint32_t a, uint32_t b) {
  return s->growth[a] != s->growth[b] ? s->growth[a] < s->growth[b] : a < b;
}

static void put(greedy *s, uint32_t i, uint32_t node) {
  s->heap[i] = node;
  s->place[node] = i + 1;
}

static void sift_up(greedy *s, uint32_t i) {
  uint32_t node = s->heap[i];
  for (; i && is_better(s, node, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
    put(s, i, s->heap[(i - 1) / 2]);
  put(s, i, node);
}

static uint32_t take(greedy *s) {
  uint32_t top = s->heap[0], moved = s->heap[--s->n], i = 0;
  s->place[top] = 0;
  if (s->n == 0)
    return top;
  for (uint32_t child = 1; child < s->n; child = 2 * i + 1) {
    if (child + 1 < s->n && is_better(s, s->heap[child + 1], s->heap[child]))
      child++;
    if (!is_better(s, s->heap[child], moved))
      break;
    put(s, i, s->heap[child]);
    i = child;
  }
  put(s, i, moved);
  return top;
}

static void add_ready(greedy *s, uint32_t node) {
  put(s, s->n, node);
  sift_up(s, s->n++);
}

/* The last user of a buffer frees it. */
static void credit_last_user(greedy *s, uint32_t buffer) {
  const tl_flow_buffer *b = &s->f->buffers[buffer];
  uint32_t i = b->first_user;
  while (s->done[s->f->users[i]])
    i++;
  uint32_t user = s->f->users[i];
  s->growth[user] -= (int64_t)b->bytes;
  if (s->place[user])
    sift_up(s, s->place[user] - 1);
}

static void prepare(greedy *s) {
  const tl_flow *f = s->f;
  for (uint32_t b = 0; b < f->n_buffers; b++) {
    s->left[b] = f->buffers[b].n_users;
    if (s->left[b])
      s->growth[f->buffers[b].producer] += (int64_t)f->buffers[b].bytes;
  }
  for (uint32_t b = 0; b < f->n_buffers; b++)
    if (s->left[b] == 1)
      credit_last_user(s, b);
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    s->waits[i] = f->nodes[i].n_before;
    if (s->waits[i] == 0)
      add_ready(s, i);
  }
}

static void run_greedy(greedy *s, uint32_t *order) {
  const tl_flow *f = s->f;
  prepare(s);
  for (uint32_t at = 0; s->n; at++) {
    uint32_t node = order[at] = take(s);
    const tl_flow_node *n = &f->nodes[node];
    s->done[node] = true;
    for (uint32_t i = n->first_use; i < n->first_use + n->n_uses; i++)
      if (--s->left[f->uses[i]] == 1)
        credit_last_user(s, f->uses[i]);
    for (uint32_t i = n->first_after; i < n->first_after + n->n_after; i++)
      if (--s->waits[f->after[i]] == 0)
        add_ready(s, f->after[i]);
  }
}

static bool make_greedy(const tl_flow *f, tl_arena *a, uint32_t *order) {
  greedy s = {.f = f};
  s.waits = tl_arena_calloc(a, f->n_nodes, sizeof *s.waits);
  s.left = tl_arena_calloc(a, f->n_buffers, sizeof *s.left);
  s.growth = tl_arena_calloc(a, f->n_nodes, sizeof *s.growth);
  s.heap = tl_arena_calloc(a, f->n_nodes, sizeof *s.heap);
  s.place = tl_arena_calloc(a, f->n_nodes, sizeof *s.place);
  s.done = tl_arena_calloc(a, f->n_nodes, sizeof *s.done);
  if (!s.waits || !s.left || !s.growth || !s.heap || !s.place || !s.done)
    return false;
  run_greedy(&s, order);
  return true;
}

/* ---- depth first ----------------------------------------------------------------------------- */

/* The state of the depth-first scheduler. */
typedef struct diver {
  const tl_flow *f;
  uint64_t *weight; /* by node: bytes that it and all that it needs make, each path counted */
  uint32_t *before; /* as in the flow, heavy ones first */
  uint32_t *next;   /* by node: how many of `before` were looked at */
  bool *seen;
  uint32_t *stack;
  uint32_t n_order;
} diver;

static void weigh(diver *d) {
  const tl_flow *f = d->f;
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    const tl_flow_node *n = &f->nodes[i];
    uint64_t bytes = n->work;
    for (uint32_t k = 0; k < n->n_results; k++)
      bytes += f->buffers[n->first_result + k].bytes;
    for (uint32_t k = 0; k < n->n_before; k++) {
      bytes += d->weight[f->before[n->first_before + k]];
      bytes = bytes < UINT64_MAX / 4 ? bytes : UINT64_MAX / 4;
    }
    d->weight[i] = bytes;
  }
}

/* Returns true if a goes before b: the heavier one, of two the one that stands first. */
static bool is_heavier(const diver *d, uint32_t a, uint32_t b) {
  return d->weight[a] != d->weight[b] ? d->weight[a] > d->weight[b] : a < b;
}

/* Restores the heap below i, whose lightest node is on top. */
static void sift_down(const diver *d, uint32_t *at, uint32_t n, uint32_t i) {
  uint32_t moved = at[i];
  for (uint32_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
    if (child + 1 < n && is_heavier(d, at[child], at[child + 1]))
      child++;
    if (!is_heavier(d, moved, at[child]))
      break;
    at[i] = at[child];
    i = child;
  }
  at[i] = moved;
}

/* Sorts a list of nodes, heavy ones first. Most lists have two or three; heapsort keeps a node with
 * many operands cheap. */
static void sort_nodes(const diver *d, uint32_t *at, uint32_t n) {
  for (uint32_t i = n / 2; i-- > 0;)
    sift_down(d, at, n, i);
  while (n > 1) {
    uint32_t lightest = at[0];
    at[0] = at[--n];
    at[n] = lightest;
    sift_down(d, at, n, 0);
  }
}

static void dive(diver *d, uint32_t root, uint32_t *order) {
  uint32_t depth = 0;
  d->stack[depth++] = root;
  d->seen[root] = true;
  while (depth) {
    uint32_t node = d->stack[depth - 1];
    const tl_flow_node *n = &d->f->nodes[node];
    uint32_t below = UINT32_MAX;
    while (d->next[node] < n->n_before && below == UINT32_MAX) {
      uint32_t before = d->before[n->first_before + d->next[node]++];
      if (!d->seen[before])
        below = before;
    }
    if (below == UINT32_MAX) {
      order[d->n_order++] = node;
      depth--;
      continue;
    }
    d->seen[below] = true;
    d->stack[depth++] = below;
  }
}

static bool make_deep(const tl_flow *f, tl_arena *a, uint32_t *order) {
  diver d = {.f = f};
  uint32_t n_before =
      f->n_nodes ? f->nodes[f->n_nodes - 1].first_before + f->nodes[f->n_nodes - 1].n_before : 0;
  d.weight = tl_arena_calloc(a, f->n_nodes, sizeof *d.weight);
  d.before = tl_arena_calloc(a, n_before, sizeof *d.before);
  d.next = tl_arena_calloc(a, f->n_nodes, sizeof *d.next);
  d.seen = tl_arena_calloc(a, f->n_nodes, sizeof *d.seen);
  d.stack = tl_arena_calloc(a, f->n_nodes, sizeof *d.stack);
  if (!d.weight || !d.before || !d.next || !d.seen || !d.stack)
    return false;
  weigh(&d);
  if (n_before)
    memcpy(d.before, f->before, n_before * sizeof *d.before);
  for (uint32_t i = 0; i < f->n_nodes; i++)
    sort_nodes(&d, d.before + f->nodes[i].first_before, f->nodes[i].n_before);
  for (uint32_t i = 0; i < f->n_nodes; i++)
    if (f->nodes[i].n_after == 0)
      dive(&d, i, order);
  return true;
}

/* ---- the best of each part ------------------------------------------------------------------- */

/* A node is a waist if each other one runs before it in every order, or behind it in every order.
 * Its place is then the same in all orders, and so is what is in use there. Any node before it
 * leads to it if each of them leads to a node that is not behind it; and likewise backwards. */
static bool find_waists(const tl_flow *f, tl_arena *a, bool *waist) {
  uint32_t *last_before = tl_arena_calloc(a, (size_t)f->n_nodes + 1, sizeof *last_before);
  if (!last_before)
    return false;
  last_before[f->n_nodes] = UINT32_MAX;
  for (uint32_t i = f->n_nodes; i-- > 0;) { /* least "1 + last predecessor" of nodes from i on */
    const tl_flow_node *n = &f->nodes[i];
    uint32_t last = 0;
    for (uint32_t k = n->first_before; k < n->first_before + n->n_before; k++)
      last = f->before[k] + 1 > last ? f->before[k] + 1 : last;
    last_before[i] = last < last_before[i + 1] ? last : last_before[i + 1];
  }
  uint32_t furthest = 0; /* of the nodes before i: the largest of their first successors */
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    const tl_flow_node *n = &f->nodes[i];
    waist[i] = furthest <= i && last_before[i + 1] >= i + 1;
    uint32_t first = UINT32_MAX;
    for (uint32_t k = n->first_after; k < n->first_after + n->n_after; k++)
      first = f->after[k] < first ? f->after[k] : first;
    furthest = first > furthest ? first : furthest;
  }
  return true;
}

static uint64_t most_of(const uint64_t *bytes, uint32_t from, uint32_t to) {
  uint64_t most = 0;
  for (uint32_t i = from; i < to; i++)
    most = bytes[i] > most ? bytes[i] : most;
  return most;
}

/* The parts between waists, each with the order that was chosen for it. */
typedef struct parts {
  tl_part *at;
  uint64_t *peak; /* by part */
  uint32_t n;
  uint32_t *heap; /* of parts, the largest peak on top */
} parts;

/* Fills in what is in use before each node of the given order. live: [n_nodes + 1], zeroed. */
static void find_live(const tl_flow *f, uint64_t *live) {
  for (uint32_t b = 0; b < f->n_buffers; b++) {
    const tl_flow_buffer *buffer = &f->buffers[b];
    if (buffer->n_users == 0)
      continue;
    live[buffer->producer + 1] += buffer->bytes;
    live[f->users[buffer->first_user + buffer->n_users - 1] + 1] -= buffer->bytes;
  }
  for (uint32_t i = 1; i <= f->n_nodes; i++)
    live[i] += live[i - 1];
}

/* Chooses one of the orders for each part between waists. */
static void choose(const tl_flow *f, uint32_t *const *orders, uint64_t *const *bytes,
                   const bool *waist, parts *p, uint32_t *out) {
  for (uint32_t from = 0, to; from < f->n_nodes; from = to) {
    for (to = from + 1; to < f->n_nodes && !waist[to];)
      to++;
    int best = 0;
    uint64_t least = most_of(bytes[0], from, to);
    for (int k = 1; k < N_ORDERS; k++) {
      uint64_t most = most_of(bytes[k], from, to);
      if (most < least) {
        least = most;
        best = k;
      }
    }
    memcpy(out + from, orders[best] + from, (to - from) * sizeof *out);
    p->at[p->n] = (tl_part){from, to, 0};
    p->peak[p->n++] = least;
  }
}

static void settle(parts *p, uint32_t i) {
  uint32_t moved = p->heap[i];
  for (uint32_t child = 2 * i + 1; child < p->n; child = 2 * i + 1) {
    if (child + 1 < p->n && p->peak[p->heap[child + 1]] > p->peak[p->heap[child]])
      child++;
    if (p->peak[p->heap[child]] <= p->peak[moved])
      break;
    p->heap[i] = p->heap[child];
    i = child;
  }
  p->heap[i] = moved;
}

/* Searches for a better order of the part with the largest peak, and of the next one, until one has
 * none: the peak of the graph is then that part's. */
static uint64_t improve(tl_search *s, parts *p, uint64_t *live, uint32_t *out) {
  if (p->n == 0)
    return 0;
  find_live(s->f, live);
  for (uint32_t i = 0; i < p->n; i++)
    p->heap[i] = i;
  for (uint32_t i = p->n / 2; i-- > 0;)
    settle(p, i);
  for (;;) {
    uint32_t top = p->heap[0];
    tl_part *part = &p->at[top];
    part->live = live[part->from];
    if (p->peak[top] == 0 ||
        !tl_search_run(s, part, p->peak[top] - 1, out + part->from, &p->peak[top]))
      return p->peak[top];
    settle(p, 0);
  }
}

/* Orders to choose from, and where parts begin. */
typedef struct candidates {
  uint32_t *const *orders;
  uint64_t *const *bytes;
  const bool *waist;
} candidates;

static bool finish(const tl_flow *f, tl_arena *a, const candidates *c, uint32_t *out,
                   uint64_t *peak) {
  tl_search s;
  parts p = {0};
  p.at = tl_arena_calloc(a, f->n_nodes, sizeof *p.at);
  p.peak = tl_arena_calloc(a, f->n_nodes, sizeof *p.peak);
  p.heap = tl_arena_calloc(a, f->n_nodes, sizeof *p.heap);
  uint64_t *live = tl_arena_calloc(a, (size_t)f->n_nodes + 1, sizeof *live);
  if (!p.at || !p.peak || !p.heap || !live || !tl_search_init(&s, f, a))
    return false;
  choose(f, c->orders, c->bytes, c->waist, &p, out);
  *peak = improve(&s, &p, live, out);
  return true;
}

static bool find(const tl_flow *f, tl_arena *a, uint32_t *out, uint64_t *peak) {
  uint32_t *orders[N_ORDERS];
  uint64_t *bytes[N_ORDERS];
  uint32_t *left = tl_arena_calloc(a, f->n_buffers, sizeof *left);
  bool *waist = tl_arena_calloc(a, f->n_nodes, sizeof *waist);
  bool ok = left && waist;
  for (int k = 0; k < N_ORDERS; k++) {
    orders[k] = tl_arena_calloc(a, f->n_nodes, sizeof *orders[k]);
    bytes[k] = tl_arena_calloc(a, f->n_nodes, sizeof *bytes[k]);
    ok = ok && orders[k] && bytes[k];
  }
  if (!ok || !make_greedy(f, a, orders[1]) || !make_deep(f, a, orders[2]) ||
      !find_waists(f, a, waist))
    return false;
  for (uint32_t i = 0; i < f->n_nodes; i++)
    orders[0][i] = i;
  for (int k = 0; k < N_ORDERS; k++)
    tl_flow_trace(f, orders[k], left, bytes[k]);
  return finish(f, a, &(candidates){orders, bytes, waist}, out, peak);
}

bool tl_flow_reorder(const tl_flow *f, tl_arena *scratch, uint32_t *order, uint64_t *peak) {
  tl_arena_mark mark = tl_arena_save(scratch);
  bool ok = find(f, scratch, order, peak);
  tl_arena_rewind(scratch, mark);
  return ok;
}
