/* SPDX-License-Identifier: Apache-2.0 */
/* List scheduling: makes four orders (two ways of placing, two priorities) and keeps the best in
 * simulation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes/train/time/engine_slots.h"
#include "passes/train/time/task_links.h"

#define NONE UINT32_MAX

enum { SPARE = 8 }; /* tasks that may be passed over because they would need too much memory */

typedef struct scheduler {
  const tl_task_graph *g;
  tl_task_links links;
  double *level;       /* [n] longest way to the end of the step */
  uint32_t *feeds;     /* [n] number of the first collective that waits for a task; NONE: none */
  bool any_collective; /* priority: feeds some collective, rather than which */
  uint32_t *head;      /* [n_streams] the first collective of a stream */
  uint32_t *behind;    /* [n] the collective behind one on its stream */
  uint32_t *turn;      /* [n_streams] the collective whose turn it is */
  uint32_t *waits;     /* [n] predecessors that are not placed yet */
  uint32_t *users;     /* [n] successors that are not placed yet */
  uint64_t live;       /* bytes */
  uint32_t *out;       /* [n] the order that is being made */
  uint32_t placed;
} scheduler;

static void scheduler_release(scheduler *s) {
  tl_task_links_release(&s->links);
  free(s->level);
  free(s->feeds);
  free(s->head);
  free(s->behind);
  free(s->turn);
  free(s->waits);
  free(s->users);
  free(s->out);
}

static bool scheduler_init(scheduler *s, const tl_task_graph *g) {
  uint32_t n = g->n + 1u;
  *s = (scheduler){.g = g,
                   .level = calloc(n, sizeof *s->level),
                   .feeds = malloc(n * sizeof *s->feeds),
                   .head = malloc((g->n_streams + 1u) * sizeof *s->head),
                   .behind = malloc(n * sizeof *s->behind),
                   .turn = malloc((g->n_streams + 1u) * sizeof *s->turn),
                   .waits = malloc(n * sizeof *s->waits),
                   .users = malloc(n * sizeof *s->users),
                   .out = malloc(n * sizeof *s->out)};
  return tl_task_links_init(&s->links, g) && s->level && s->feeds && s->head && s->behind &&
         s->turn && s->waits && s->users && s->out;
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* Links the collectives of each stream in the order of `order`. */
static void chain_collectives(scheduler *s, const uint32_t *order) {
  const tl_task_graph *g = s->g;
  memset(s->head, 0xff, (g->n_streams + 1u) * sizeof *s->head);
  for (uint32_t i = g->n; i-- > 0;) {
    const tl_task *k = &g->tasks[order[i]];
    if (k->phase != TL_PHASE_COMM)
      continue;
    s->behind[order[i]] = s->head[k->stream];
    s->head[k->stream] = order[i];
  }
}

static void rewind_turns(scheduler *s) {
  memcpy(s->turn, s->head, (s->g->n_streams + 1u) * sizeof *s->turn);
}

/* Fills s->level with the time at which each task could start with unlimited engines. */
static void find_earliest(scheduler *s) {
  const tl_task_graph *g = s->g;
  for (uint32_t k = 0; k < g->n; k++) {
    uint32_t i = s->links.topo[k];
    s->level[i] = 0;
    for (uint32_t e = g->first[i]; e < g->first[i + 1]; e++)
      s->level[i] = fmax(s->level[i], s->level[g->preds[e]] + g->tasks[g->preds[e]].us);
  }
}

/* Returns, of the collectives whose turn it is, the one that could start first; the lower number in
 * a tie. */
static uint32_t first_turn(const scheduler *s) {
  uint32_t best = NONE;
  for (uint32_t k = 0; k < s->g->n_streams; k++) {
    uint32_t c = s->turn[k];
    if (c != NONE && (best == NONE || s->level[c] < s->level[best] ||
                      (s->level[c] == s->level[best] && c < best)))
      best = c;
  }
  return best;
}

/* Numbers collectives by urgency. Streams of several groups are independent: the times at which
 * collectives could start decide, never how the given order interleaves the streams. */
static void number_collectives(scheduler *s) {
  uint32_t n = 0;
  memset(s->feeds, 0xff, s->g->n * sizeof *s->feeds);
  find_earliest(s);
  rewind_turns(s);
  for (uint32_t c = first_turn(s); c != NONE; c = first_turn(s)) {
    uint32_t *turn = &s->turn[s->g->tasks[c].stream];
    s->feeds[c] = n++;
    *turn = s->behind[c];
    if (*turn != NONE) /* what is sent later counts as ready later */
      s->level[*turn] = fmax(s->level[*turn], s->level[c]);
  }
}

/* Fills level (longest path to the end) and feeds (first collective that waits for a task), from
 * the end. */
static void measure(scheduler *s, const uint32_t *order) {
  const tl_task_graph *g = s->g;
  chain_collectives(s, order);
  number_collectives(s);
  for (uint32_t k = g->n; k-- > 0;) {
    uint32_t i = s->links.topo[k];
    double below = 0;
    for (uint32_t e = s->links.first[i]; e < s->links.first[i + 1]; e++) {
      uint32_t v = s->links.succs[e];
      double event = g->tasks[v].stream == g->tasks[i].stream ? 0 : g->event_us;
      below = fmax(below, s->level[v] + event);
      s->feeds[i] = s->feeds[v] < s->feeds[i] ? s->feeds[v] : s->feeds[i];
    }
    s->level[i] = g->tasks[i].us + below;
  }
}

/* ---- priority -------------------------------------------------------------------------------- */

/* Returns true if a goes before b when both are ready. Ties are decided as in the simulation. */
static bool goes_first(const scheduler *s, uint32_t a, uint32_t b) {
  const tl_task *ta = &s->g->tasks[a];
  const tl_task *tb = &s->g->tasks[b];
  if (ta->phase == TL_PHASE_COMM && tb->phase == TL_PHASE_COMM && ta->stream != tb->stream)
    return ta->stream < tb->stream; /* as in the simulation */
  uint32_t x = s->any_collective ? s->feeds[a] == NONE : s->feeds[a];
  uint32_t y = s->any_collective ? s->feeds[b] == NONE : s->feeds[b];
  if (x != y)
    return x < y;
  if (s->level[a] != s->level[b])
    return s->level[a] > s->level[b];
  return a < b;
}

/* ---- heaps of tasks -------------------------------------------------------------------------- */

typedef struct heap {
  uint32_t *at; /* owned */
  uint32_t n;
  const scheduler *s;
  const double *when; /* ordered by this, NULL: by priority */
} heap;

static bool precedes(const heap *h, uint32_t a, uint32_t b) {
  if (h->when && h->when[a] != h->when[b])
    return h->when[a] < h->when[b];
  return goes_first(h->s, a, b);
}

/* Sifts a task up. */
static void heap_push(heap *h, uint32_t task) {
  uint32_t i = h->n++;
  for (; i && precedes(h, task, h->at[(i - 1) / 2]); i = (i - 1) / 2)
    h->at[i] = h->at[(i - 1) / 2];
  h->at[i] = task;
}

/* Takes the first task and sifts the last one down. */
static uint32_t heap_pop(heap *h) {
  uint32_t top = h->at[0];
  uint32_t task = h->at[--h->n];
  uint32_t i = 0;
  for (uint32_t child = 1; child < h->n; child = 2 * i + 1) {
    if (child + 1 < h->n && precedes(h, h->at[child + 1], h->at[child]))
      child++;
    if (!precedes(h, h->at[child], task))
      break;
    h->at[i] = h->at[child];
    i = child;
  }
  h->at[i] = task;
  return top;
}

/* Takes the first task that memory has room for; the first task if none of the first few has. */
static uint32_t heap_take(heap *h, const scheduler *s) {
  uint32_t passed[SPARE];
  uint32_t n = 0;
  uint32_t task = heap_pop(h);
  while (s->g->memory_limit && s->live + s->g->tasks[task].memory > s->g->memory_limit && h->n &&
         n < SPARE) {
    passed[n++] = task;
    task = heap_pop(h);
  }
  if (n == SPARE || (n && s->live + s->g->tasks[task].memory > s->g->memory_limit)) {
    heap_push(h, task);
    task = passed[0];
    passed[0] = passed[--n];
  }
  while (n)
    heap_push(h, passed[--n]);
  return task;
}

/* ---- placing --------------------------------------------------------------------------------- */

/* Resets what placing changes, so that another order can be made. */
static void begin(scheduler *s) {
  s->placed = 0;
  s->live = 0;
  rewind_turns(s);
  for (uint32_t i = 0; i < s->g->n; i++) {
    s->waits[i] = s->links.waits[i];
    s->users[i] = s->links.first[i + 1] - s->links.first[i];
  }
}

/* Appends a task to the order. Its results are alive until its last successor is placed. */
static void place(scheduler *s, uint32_t task) {
  const tl_task_graph *g = s->g;
  s->out[s->placed++] = task;
  s->live += s->users[task] ? g->tasks[task].memory : 0;
  for (uint32_t e = g->first[task]; e < g->first[task + 1]; e++)
    if (--s->users[g->preds[e]] == 0)
      s->live -= g->tasks[g->preds[e]].memory;
}

/* Returns the most urgent collective whose turn has come; NONE if all wait for something. */
static uint32_t collective_to_place(const scheduler *s) {
  uint32_t best = NONE;
  for (uint32_t k = 0; k < s->g->n_streams; k++) {
    uint32_t c = s->turn[k];
    if (c != NONE && s->waits[c] == 0 && (best == NONE || s->feeds[c] < s->feeds[best]))
      best = c;
  }
  return best;
}

/* Places tasks one after the other: the first by priority whose predecessors are placed;
 * collectives as soon as their turn has come. Time plays no role. */
static void place_by_priority(scheduler *s, heap *ready) {
  const tl_task_graph *g = s->g;
  begin(s);
  for (uint32_t i = 0; i < g->n; i++)
    if (s->waits[i] == 0 && g->tasks[i].phase != TL_PHASE_COMM)
      heap_push(ready, i);
  while (s->placed < g->n) {
    uint32_t task = collective_to_place(s);
    if (task != NONE)
      s->turn[g->tasks[task].stream] = s->behind[task];
    else if (ready->n)
      task = heap_take(ready, s);
    else
      return; /* the order of collectives contradicts the edges */
    place(s, task);
    for (uint32_t k = s->links.first[task]; k < s->links.first[task + 1]; k++) {
      uint32_t v = s->links.succs[k];
      if (--s->waits[v] == 0 && g->tasks[v].phase != TL_PHASE_COMM)
        heap_push(ready, v);
    }
  }
}

/* A simulation that orders the step while it runs: whenever an engine is free, it takes the first
 * task by priority that could start there by now. */
typedef struct clockwork {
  scheduler *s;
  double now;
  double *ready;         /* [n] when a task could start */
  heap waiting;          /* tasks by that time */
  heap at[TL_N_ENGINES]; /* tasks that could start now */
  tl_engine_slots slots; /* when engines are free */
} clockwork;

/* A collective waits for its turn as well, which keeps the order of its stream. */
static void becomes_ready(clockwork *c, uint32_t task) {
  const scheduler *s = c->s;
  const tl_task *k = &s->g->tasks[task];
  if (k->phase != TL_PHASE_COMM || s->turn[k->stream] == task)
    heap_push(&c->waiting, task);
}

/* Starts the first task that waits for an engine, and releases its successors at its end. */
static void start_task(clockwork *c, unsigned engine) {
  scheduler *s = c->s;
  const tl_task_graph *g = s->g;
  uint32_t task = heap_take(&c->at[engine], s);
  double end = c->now + g->tasks[task].us;
  *tl_engine_slot(&c->slots, engine) = end;
  place(s, task);
  for (uint32_t k = s->links.first[task]; k < s->links.first[task + 1]; k++) {
    uint32_t v = s->links.succs[k];
    double event = g->tasks[v].stream == g->tasks[task].stream ? 0 : g->event_us;
    c->ready[v] = fmax(c->ready[v], end + event);
    if (--s->waits[v] == 0)
      becomes_ready(c, v);
  }
  if (g->tasks[task].phase != TL_PHASE_COMM)
    return;
  uint32_t next = s->behind[task];
  s->turn[g->tasks[task].stream] = next;
  if (next != NONE && s->waits[next] == 0)
    becomes_ready(c, next);
}

/* Starts what can start now. Returns false if nothing could. */
static bool start_tasks(clockwork *c) {
  bool any = false;
  while (c->waiting.n && c->ready[c->waiting.at[0]] <= c->now) {
    uint32_t task = heap_pop(&c->waiting);
    heap_push(&c->at[c->s->g->tasks[task].engine], task);
  }
  for (unsigned e = 0; e < TL_N_ENGINES; e++)
    if (c->at[e].n && *tl_engine_slot(&c->slots, e) <= c->now) {
      start_task(c, e);
      any = true;
    }
  return any;
}

/* Advances to the next time at which a task becomes ready or an engine free. */
static void place_by_time(clockwork *c) {
  scheduler *s = c->s;
  begin(s);
  for (uint32_t i = 0; i < s->g->n; i++)
    if (s->waits[i] == 0)
      becomes_ready(c, i);
  while (s->placed < s->g->n) {
    if (start_tasks(c))
      continue;
    double next = c->waiting.n ? c->ready[c->waiting.at[0]] : INFINITY;
    for (unsigned e = 0; e < TL_N_ENGINES; e++)
      if (c->at[e].n)
        next = fmin(next, *tl_engine_slot(&c->slots, e));
    if (next == INFINITY)
      return; /* the order of collectives contradicts the edges */
    c->now = next;
  }
}

/* Allocates heaps and times. Returns false if memory is out. */
static bool clockwork_init(clockwork *c, scheduler *s) {
  uint32_t n = s->g->n + 1u;
  *c = (clockwork){.s = s, .ready = calloc(n, sizeof *c->ready)};
  c->waiting = (heap){malloc(n * sizeof(uint32_t)), 0, s, c->ready};
  bool good = tl_engine_slots_init(&c->slots, s->g) && c->ready && c->waiting.at;
  for (unsigned e = 0; e < TL_N_ENGINES; e++) {
    c->at[e] = (heap){malloc(n * sizeof(uint32_t)), 0, s, NULL};
    good = good && c->at[e].at;
  }
  return good;
}

static void clockwork_release(clockwork *c) {
  tl_engine_slots_release(&c->slots);
  free(c->ready);
  free(c->waiting.at);
  for (unsigned e = 0; e < TL_N_ENGINES; e++)
    free(c->at[e].at);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static tl_status step_of_order(tl_diag *d, const tl_task_graph *g, const uint32_t *order,
                               double *step) {
  tl_timeline t;
  TL_TRY(tl_timeline_run(d, g, order, &t));
  *step = tl_timeline_step(g, &t);
  tl_timeline_release(&t);
  return TL_OK;
}

/* Keeps the order just made if it is complete and takes less than *best. */
static tl_status consider(tl_diag *d, const scheduler *s, uint32_t *kept, double *best) {
  double step;
  tl_diag quiet = {0};
  if (s->placed < s->g->n)
    return TL_OK;
  tl_status status = step_of_order(&quiet, s->g, s->out, &step);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(d, TL_NOWHERE);
  if (status == TL_OK && step < *best - 1e-9) {
    *best = step;
    memcpy(kept, s->out, s->g->n * sizeof *kept);
  }
  return TL_OK;
}

/* Returns a lower bound for every order: the longest path, and all work on the AICORE. */
static double least_step(const scheduler *s) {
  double longest = 0;
  double work = 0;
  for (uint32_t i = 0; i < s->g->n; i++) {
    longest = fmax(longest, s->level[i]);
    work += s->g->tasks[i].engine == TL_ENGINE_AICORE ? s->g->tasks[i].us : 0;
  }
  return fmax(longest, work / tl_engine_degree(s->g, TL_ENGINE_AICORE));
}

/* Compares with a tolerance, since sums of times round. */
static bool cannot_be_beaten(double step, double least) {
  return step <= least + 1e-9 * (1 + least);
}

/* Makes orders and simulates them until one reaches the bound; keeps the given order if it beats
 * them all. */
static tl_status choose(tl_diag *d, scheduler *s, uint32_t *order, uint32_t *kept, double *step) {
  double best = INFINITY;
  double given = INFINITY;
  double least = least_step(s);
  for (int way = 0; way < 4 && !cannot_be_beaten(best, least); way++) {
    clockwork c;
    s->any_collective = way % 2 != 0;
    bool good = clockwork_init(&c, s);
    if (good && way < 2)
      place_by_time(&c);
    else if (good)
      place_by_priority(s, &c.at[0]);
    clockwork_release(&c);
    if (!good)
      return tl_fail_memory(d, TL_NOWHERE);
    TL_TRY(consider(d, s, kept, &best));
  }
  bool unbeaten = cannot_be_beaten(best, least);
  if (!unbeaten)
    TL_TRY(step_of_order(d, s->g, order, &given));
  bool made = unbeaten || best <= given + 1e-9;
  if (made)
    memcpy(order, kept, s->g->n * sizeof *order);
  if (step)
    *step = made ? best : given;
  return TL_OK;
}

tl_status tl_timeline_schedule(tl_diag *d, const tl_task_graph *g, uint32_t *order, double *step) {
  scheduler s;
  uint32_t *kept = malloc((g->n + 1u) * sizeof *kept);
  tl_status status = TL_OK;
  if (!scheduler_init(&s, g) || !kept)
    status = TL_NO_MEMORY;
  else
    status = tl_task_links_sort(&s.links, g);
  if (status == TL_NO_MEMORY) {
    status = tl_fail_memory(d, TL_NOWHERE);
  } else if (status != TL_OK) {
    status = tl_fail_code(d, TL_INVALID_MODEL, "E-SCHED-DEADLOCK", TL_NOWHERE,
                          "tasks wait for each other in a circle");
  } else {
    measure(&s, order);
    status = choose(d, &s, order, kept, step);
  }
  scheduler_release(&s);
  free(kept);
  return status;
}
