/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/train/time/timeline.h"

#include "passes/train/time/engine_slots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

void tl_timeline_release(tl_timeline *t) {
  free(t->start);
  free(t->end);
  *t = (tl_timeline){0};
}

/* ---- simulation ------------------------------------------------------------------------------ */

typedef struct machine {
  const tl_task_graph *g;
  uint32_t *next;      /* [n] the task behind a task on its stream, NONE at the end */
  uint32_t *head;      /* [n_streams] the task that a stream is at */
  double *stream_free; /* [n_streams] */
  uint32_t *seen;      /* [n_streams] predecessors of the head that are known to have run ... */
  double *ready;       /* [n_streams] ... and when the last of them had ended */
  tl_engine_slots slots;
  bool *done;        /* [n] */
  uint32_t *running; /* [degree of the AICORE] the last task of each of its slots, NONE at first */
  double busy_until; /* links: when the collectives that have begun end */
} machine;

static void machine_release(machine *m) {
  free(m->next);
  free(m->head);
  free(m->stream_free);
  free(m->seen);
  free(m->ready);
  tl_engine_slots_release(&m->slots);
  free(m->running);
  free(m->done);
}

/* Links the tasks of each stream in the order given, from the end on. */
static bool machine_init(machine *m, const tl_task_graph *g, const uint32_t *order) {
  *m = (machine){.g = g,
                 .next = malloc((g->n + 1u) * sizeof *m->next),
                 .head = malloc((g->n_streams + 1u) * sizeof *m->head),
                 .stream_free = calloc(g->n_streams + 1u, sizeof *m->stream_free),
                 .seen = calloc(g->n_streams + 1u, sizeof *m->seen),
                 .ready = calloc(g->n_streams + 1u, sizeof *m->ready),
                 .running = malloc(tl_engine_degree(g, TL_ENGINE_AICORE) * sizeof *m->running),
                 .done = calloc(g->n + 1u, sizeof *m->done)};
  bool slots = tl_engine_slots_init(&m->slots, g);
  if (!slots || !m->next || !m->head || !m->stream_free || !m->seen || !m->ready || !m->running ||
      !m->done)
    return false;
  for (uint32_t i = 0; i < tl_engine_degree(g, TL_ENGINE_AICORE); i++)
    m->running[i] = NONE;
  for (uint32_t s = 0; s < g->n_streams; s++)
    m->head[s] = NONE;
  for (uint32_t i = g->n; i-- > 0;) {
    uint32_t task = order[i];
    m->next[task] = m->head[g->tasks[task].stream];
    m->head[g->tasks[task].stream] = task;
  }
  return true;
}

/* Returns when the head of a stream can start; INFINITY while it waits for a task that has not run.
 * Each predecessor is examined once after it has run, since a task may have very many. */
static double earliest(machine *m, const tl_timeline *t, uint32_t stream) {
  uint32_t task = m->head[stream];
  if (task == NONE)
    return INFINITY;
  const tl_task *k = &m->g->tasks[task];
  uint32_t *seen = &m->seen[stream];
  for (uint32_t end = m->g->first[task + 1]; m->g->first[task] + *seen < end; ++*seen) {
    uint32_t p = m->g->preds[m->g->first[task] + *seen];
    if (!m->done[p])
      return INFINITY;
    double event = m->g->tasks[p].stream == k->stream ? 0 : m->g->event_us;
    m->ready[stream] = fmax(m->ready[stream], t->end[p] + event);
  }
  double engine = *tl_engine_slot(&m->slots, k->engine);
  return fmax(m->ready[stream], fmax(m->stream_free[stream], engine));
}

/* Reports the deadlock, with a few of the tasks at which streams stand still. */
static tl_status deadlock(tl_diag *d, const machine *m) {
  tl_buf text;
  uint32_t shown = 0;
  tl_buf_init(&text);
  for (uint32_t s = 0; s < m->g->n_streams && shown < 4; s++) {
    uint32_t task = m->head[s];
    for (uint32_t i = task == NONE ? 0 : m->g->first[task];
         task != NONE && i < m->g->first[task + 1]; i++) {
      uint32_t p = m->g->preds[i];
      if (m->done[p])
        continue;
      tl_buf_printf(&text, "%s'%.*s' waits for '%.*s'", shown++ ? ", " : "",
                    TL_SV_ARG(m->g->tasks[task].name), TL_SV_ARG(m->g->tasks[p].name));
      break;
    }
  }
  tl_status status = tl_fail_code(d, TL_INVALID_MODEL, "E-SCHED-DEADLOCK", TL_NOWHERE,
                                  "the streams wait for each other: %s",
                                  text.p ? text.p : "out of memory");
  tl_buf_release(&text);
  return status;
}

/* ---- interference --------------------------------------------------------------------------- */

/* Returns when `work` ends that begins at `from` and runs slower until the links are free. */
static double stretched(const machine *m, double from, double work, double until) {
  double f = m->g->interference;
  if (!(f > 1) || until <= from)
    return from + work;
  return work * f <= until - from ? from + work * f : until + work - (until - from) / f;
}

/* Slows down the AICORE tasks that are running when a collective begins. No task has started later,
 * so only what waits for their end must be looked at again. */
static void slow_down(machine *m, tl_timeline *t, double from, double until) {
  bool any = false;
  for (uint32_t i = 0; i < tl_engine_degree(m->g, TL_ENGINE_AICORE); i++) {
    uint32_t task = m->running[i];
    if (task == NONE || t->end[task] <= from || until <= m->busy_until)
      continue;
    double slow = fmax(0, fmin(t->end[task], m->busy_until) - from);
    double work = t->end[task] - from - slow + slow / m->g->interference;
    double end = stretched(m, from, work, until);
    uint16_t stream = m->g->tasks[task].stream;
    if (m->stream_free[stream] == t->end[task])
      m->stream_free[stream] = end;
    m->slots.at[m->slots.first[TL_ENGINE_AICORE] + i] = end;
    t->end[task] = end;
    any = true;
  }
  for (uint32_t s = 0; any && s < m->g->n_streams; s++) {
    m->seen[s] = 0;
    m->ready[s] = 0;
  }
}

/* Starts a task: sets its times, occupies slot and stream, and moves the stream to its next
 * task. */
static void start(machine *m, tl_timeline *t, uint32_t task, double at) {
  const tl_task *k = &m->g->tasks[task];
  double *slot = tl_engine_slot(&m->slots, k->engine);
  bool comm = k->phase == TL_PHASE_COMM;
  bool compute = k->engine == TL_ENGINE_AICORE;
  t->start[task] = at;
  t->end[task] = compute ? stretched(m, at, k->us, m->busy_until) : at + k->us;
  *slot = t->end[task];
  if (compute)
    m->running[slot - &m->slots.at[m->slots.first[TL_ENGINE_AICORE]]] = task;
  if (comm && m->g->interference > 1)
    slow_down(m, t, at, t->end[task]);
  if (comm)
    m->busy_until = fmax(m->busy_until, t->end[task]);
  m->stream_free[k->stream] = t->end[task];
  m->head[k->stream] = m->next[task];
  m->seen[k->stream] = 0;
  m->ready[k->stream] = 0;
  m->done[task] = true;
}

/* Event loop: starts the task that can start first, until all have run. */
static tl_status run(tl_diag *d, machine *m, tl_timeline *t) {
  for (uint32_t left = m->g->n; left; left--) {
    double best = INFINITY;
    uint32_t chosen = NONE;
    for (uint32_t s = 0; s < m->g->n_streams; s++) {
      double at = earliest(m, t, s);
      if (at < best) {
        best = at;
        chosen = m->head[s];
      }
    }
    if (chosen == NONE)
      return deadlock(d, m);
    start(m, t, chosen, best);
  }
  return TL_OK;
}

tl_status tl_timeline_run(tl_diag *d, const tl_task_graph *g, const uint32_t *order,
                          tl_timeline *out) {
  machine m;
  *out = (tl_timeline){malloc((g->n + 1u) * sizeof(double)), malloc((g->n + 1u) * sizeof(double))};
  tl_status status = TL_NO_MEMORY;
  if (machine_init(&m, g, order) && out->start && out->end)
    status = run(d, &m, out);
  else
    (void)tl_fail_memory(d, TL_NOWHERE);
  machine_release(&m);
  if (status != TL_OK)
    tl_timeline_release(out);
  return status;
}

double tl_timeline_step(const tl_task_graph *g, const tl_timeline *t) {
  double step = 0;
  for (uint32_t i = 0; i < g->n; i++)
    step = fmax(step, t->end[i]);
  return step;
}
