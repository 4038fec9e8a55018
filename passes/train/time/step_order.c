/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the order that scheduling starts from (step_order.h). */
#include "passes/train/time/step_order.h"

#include <stdlib.h>

#define NONE UINT32_MAX

typedef struct placer {
  const tl_task_graph *g;
  uint32_t *ahead; /* [n] the collective ahead of one on its stream */
  uint32_t *next;  /* [n] predecessors of a task that have been looked at */
  uint32_t *stack; /* [n] tasks that wait to be placed, each behind the one that waits for it */
  bool *placed;    /* [n] */
  uint32_t *out;
  uint32_t n_out;
} placer;

/* Allocates tables and links each collective to the one ahead of it on its stream. */
static bool init(placer *p, tl_arena *arena, const tl_task_graph *g, const uint32_t *given) {
  uint32_t *last = tl_arena_alloc(arena, (g->n_streams + 1u) * sizeof *last);
  *p = (placer){.g = g,
                .ahead = tl_arena_alloc(arena, (g->n + 1u) * sizeof *p->ahead),
                .next = tl_arena_calloc(arena, g->n + 1u, sizeof *p->next),
                .stack = tl_arena_alloc(arena, (g->n + 1u) * sizeof *p->stack),
                .placed = tl_arena_calloc(arena, g->n + 1u, sizeof *p->placed)};
  if (!last || !p->ahead || !p->next || !p->stack || !p->placed)
    return false;
  memset(last, 0xff, (g->n_streams + 1u) * sizeof *last);
  memset(p->ahead, 0xff, (g->n + 1u) * sizeof *p->ahead);
  for (uint32_t i = 0; i < g->n; i++) {
    const tl_task *k = &g->tasks[given[i]];
    if (k->phase != TL_PHASE_COMM)
      continue;
    p->ahead[given[i]] = last[k->stream];
    last[k->stream] = given[i];
  }
  return true;
}

/* Returns a task that must go before this one and is not placed yet, NONE if there is none. */
static uint32_t missing(placer *p, uint32_t task) {
  const tl_task_graph *g = p->g;
  uint32_t n = g->first[task + 1] - g->first[task];
  for (; p->next[task] < n; p->next[task]++) {
    uint32_t pred = g->preds[g->first[task] + p->next[task]];
    if (!p->placed[pred])
      return pred;
  }
  uint32_t ahead = p->ahead[task];
  return ahead != NONE && !p->placed[ahead] ? ahead : NONE;
}

/* Places everything that a task needs, then the task; depth-first with an explicit stack. */
static void place(placer *p, uint32_t task) {
  uint32_t n = 0;
  p->stack[n++] = task;
  while (n) {
    uint32_t top = p->stack[n - 1];
    uint32_t need = missing(p, top);
    if (need != NONE && n < p->g->n) {
      p->stack[n++] = need;
      continue;
    }
    p->placed[top] = true;
    p->out[p->n_out++] = top;
    n--;
  }
}

/* ---- where tasks belong ---------------------------------------------------------------------- */

/* Sort key of a task. */
typedef struct seat {
  uint32_t key; /* of a task of forward or backward its place among those; of another the greatest
                   of what it needs; NONE: it needs none */
  bool follows;
  uint32_t task;
} seat;

static int by_seat(const void *a, const void *b) {
  const seat *x = a;
  const seat *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  if (x->follows != y->follows)
    return y->follows ? -1 : 1;
  return x->task < y->task ? -1 : x->task > y->task;
}

/* Marks forward and backward, and what they need. A task's number is greater than those of its
 * predecessors. */
static void find_core(const tl_task_graph *g, bool *core) {
  for (uint32_t i = g->n; i-- > 0;) {
    uint8_t phase = g->tasks[i].phase;
    core[i] = core[i] || phase == TL_PHASE_FORWARD || phase == TL_PHASE_BACKWARD;
    for (uint32_t e = g->first[i]; core[i] && e < g->first[i + 1]; e++)
      core[g->preds[e]] = true;
  }
}

/* Fills the sort keys: core tasks by number, others behind the last core task that they need. */
static void find_seats(const placer *p, const uint32_t *given, const bool *core, seat *seats) {
  const tl_task_graph *g = p->g;
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n; i++)
    seats[i] = (seat){core[i] ? ++n : 0, !core[i], i};
  for (uint32_t k = 0; k < g->n; k++) {
    uint32_t i = given[k];
    uint32_t *key = &seats[i].key;
    for (uint32_t e = g->first[i]; !core[i] && e < g->first[i + 1]; e++)
      *key = seats[g->preds[e]].key > *key ? seats[g->preds[e]].key : *key;
    if (!core[i] && p->ahead[i] != NONE && seats[p->ahead[i]].key > *key)
      *key = seats[p->ahead[i]].key;
  }
  for (uint32_t i = 0; i < g->n; i++)
    if (!seats[i].key)
      seats[i].key = NONE;
}

bool tl_step_own_order(tl_arena *arena, const tl_task_graph *g, uint32_t *order) {
  placer p;
  bool *core = tl_arena_calloc(arena, g->n + 1u, sizeof *core);
  seat *seats = tl_arena_alloc(arena, (g->n + 1u) * sizeof *seats);
  if (!core || !seats || !init(&p, arena, g, order))
    return false;
  find_core(g, core);
  find_seats(&p, order, core, seats);
  if (g->n)
    qsort(seats, g->n, sizeof *seats, by_seat);
  p.out = order;
  for (uint32_t i = 0; i < g->n; i++)
    if (!p.placed[seats[i].task])
      place(&p, seats[i].task);
  return true;
}
