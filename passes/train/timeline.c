/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/train/timeline.h"

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
  double engine_free[TL_N_ENGINES];
  double *aicpu_free; /* [aicpu_degree] */
  bool *done;         /* [n] */
} machine;

static void machine_release(machine *m) {
  free(m->next);
  free(m->head);
  free(m->stream_free);
  free(m->aicpu_free);
  free(m->done);
}

static bool machine_init(machine *m, const tl_task_graph *g, const uint32_t *order) {
  *m = (machine){.g = g,
                 .next = malloc((g->n + 1u) * sizeof *m->next),
                 .head = malloc((g->n_streams + 1u) * sizeof *m->head),
                 .stream_free = calloc(g->n_streams + 1u, sizeof *m->stream_free),
                 .aicpu_free = calloc(g->aicpu_degree, sizeof *m->aicpu_free),
                 .done = calloc(g->n + 1u, sizeof *m->done)};
  if (!m->next || !m->head || !m->stream_free || !m->aicpu_free || !m->done)
    return false;
  for (uint32_t s = 0; s < g->n_streams; s++)
    m->head[s] = NONE;
  for (uint32_t i = g->n; i-- > 0;) {
    uint32_t task = order[i];
    m->next[task] = m->head[g->tasks[task].stream];
    m->head[g->tasks[task].stream] = task;
  }
  return true;
}

static double *engine_slot(machine *m, unsigned engine) {
  double *best = &m->engine_free[engine];
  if (engine != TL_ENGINE_AICPU)
    return best;
  best = &m->aicpu_free[0];
  for (uint32_t i = 1; i < m->g->aicpu_degree; i++)
    if (m->aicpu_free[i] < *best)
      best = &m->aicpu_free[i];
  return best;
}

/* When the head of a stream can start; INFINITY while it waits for a task that has not run. */
static double earliest(machine *m, const tl_timeline *t, uint32_t task) {
  const tl_task *k = &m->g->tasks[task];
  double at = fmax(m->stream_free[k->stream], *engine_slot(m, k->engine));
  for (uint32_t i = m->g->first[task]; i < m->g->first[task + 1]; i++) {
    uint32_t p = m->g->preds[i];
    if (!m->done[p])
      return INFINITY;
    at = fmax(at, t->end[p] + (m->g->tasks[p].stream == k->stream ? 0 : m->g->event_us));
  }
  return at;
}

/* Names a few of the tasks at which streams stand still. */
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
  tl_status status =
      tl_fail_code(d, TL_INVALID_MODEL, "E-SCHED-DEADLOCK", (tl_location){0},
                   "the streams wait for each other: %s", text.p ? text.p : "out of memory");
  tl_buf_release(&text);
  return status;
}

static tl_status run(tl_diag *d, machine *m, tl_timeline *t) {
  for (uint32_t left = m->g->n; left; left--) {
    double best = INFINITY;
    uint32_t chosen = NONE;
    for (uint32_t s = 0; s < m->g->n_streams; s++) {
      double at = m->head[s] == NONE ? INFINITY : earliest(m, t, m->head[s]);
      if (at < best) {
        best = at;
        chosen = m->head[s];
      }
    }
    if (chosen == NONE)
      return deadlock(d, m);
    const tl_task *k = &m->g->tasks[chosen];
    t->start[chosen] = best;
    t->end[chosen] = best + k->us;
    *engine_slot(m, k->engine) = t->end[chosen];
    m->stream_free[k->stream] = t->end[chosen];
    m->head[k->stream] = m->next[chosen];
    m->done[chosen] = true;
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
    (void)tl_fail(d, TL_NO_MEMORY, (tl_location){0}, "out of memory");
  machine_release(&m);
  if (status != TL_OK)
    tl_timeline_release(out);
  return status;
}

static double step_of(const tl_task_graph *g, const tl_timeline *t) {
  double step = 0;
  for (uint32_t i = 0; i < g->n; i++)
    step = fmax(step, t->end[i]);
  return step;
}

/* ---- list scheduling ------------------------------------------------------------------------- */

typedef struct scheduler {
  const tl_task_graph *g;
  uint32_t *succ_first; /* [n + 1] */
  uint32_t *succs;
  uint32_t *waits; /* [n] predecessors that are not placed yet */
  uint32_t *place; /* [n] position in the given order */
  double *level;   /* [n] longest way to the end of the step */
  bool *feeds;     /* [n] a collective waits for it, directly or not */
  uint32_t *topo;  /* [n] a topological order */
} scheduler;

static void scheduler_release(scheduler *s) {
  free(s->succ_first);
  free(s->succs);
  free(s->waits);
  free(s->place);
  free(s->level);
  free(s->feeds);
  free(s->topo);
}

static bool scheduler_init(scheduler *s, const tl_task_graph *g, const uint32_t *order) {
  uint32_t n = g->n;
  *s = (scheduler){.g = g,
                   .succ_first = calloc(n + 2u, sizeof *s->succ_first),
                   .succs = malloc((g->first[n] + 1u) * sizeof *s->succs),
                   .waits = calloc(n + 1u, sizeof *s->waits),
                   .place = malloc((n + 1u) * sizeof *s->place),
                   .level = calloc(n + 1u, sizeof *s->level),
                   .feeds = calloc(n + 1u, sizeof *s->feeds),
                   .topo = malloc((n + 1u) * sizeof *s->topo)};
  if (!s->succ_first || !s->succs || !s->waits || !s->place || !s->level || !s->feeds || !s->topo)
    return false;
  for (uint32_t i = 0; i < g->first[n]; i++)
    s->succ_first[g->preds[i] + 2]++;
  for (uint32_t i = 2; i <= n + 1; i++)
    s->succ_first[i] += s->succ_first[i - 1];
  for (uint32_t i = 0; i < n; i++) {
    s->place[order[i]] = i;
    s->waits[i] = g->first[i + 1] - g->first[i];
    for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++)
      s->succs[s->succ_first[g->preds[k] + 1]++] = i;
  }
  return true;
}

/* A topological order; false on a cycle. Leaves `waits` as it was. */
static bool sort(scheduler *s) {
  uint32_t n = s->g->n;
  uint32_t head = 0;
  uint32_t tail = 0;
  for (uint32_t i = 0; i < n; i++)
    if (s->waits[i] == 0)
      s->topo[tail++] = i;
  while (head < tail) {
    uint32_t i = s->topo[head++];
    for (uint32_t k = s->succ_first[i]; k < s->succ_first[i + 1]; k++)
      if (--s->waits[s->succs[k]] == 0)
        s->topo[tail++] = s->succs[k];
  }
  for (uint32_t i = 0; i < n; i++)
    s->waits[i] = s->g->first[i + 1] - s->g->first[i];
  return tail == n;
}

static void measure(scheduler *s) {
  for (uint32_t k = s->g->n; k-- > 0;) {
    uint32_t i = s->topo[k];
    double below = 0;
    for (uint32_t e = s->succ_first[i]; e < s->succ_first[i + 1]; e++) {
      uint32_t v = s->succs[e];
      double event = s->g->tasks[v].stream == s->g->tasks[i].stream ? 0 : s->g->event_us;
      below = fmax(below, s->level[v] + event);
      s->feeds[i] = s->feeds[i] || s->feeds[v] || s->g->tasks[v].phase == TL_PHASE_COMM;
    }
    s->level[i] = s->g->tasks[i].us + below;
  }
}

/* Does a go before b, both being ready? */
static bool goes_first(const scheduler *s, uint32_t a, uint32_t b) {
  if (s->feeds[a] != s->feeds[b])
    return s->feeds[a];
  if (s->level[a] != s->level[b])
    return s->level[a] > s->level[b];
  return s->place[a] < s->place[b];
}

/* A binary heap of ready tasks. */
typedef struct heap {
  uint32_t *at;
  uint32_t n;
} heap;

static void heap_push(heap *h, const scheduler *s, uint32_t task) {
  uint32_t i = h->n++;
  for (; i && goes_first(s, task, h->at[(i - 1) / 2]); i = (i - 1) / 2)
    h->at[i] = h->at[(i - 1) / 2];
  h->at[i] = task;
}

static uint32_t heap_pop(heap *h, const scheduler *s) {
  uint32_t top = h->at[0];
  uint32_t task = h->at[--h->n];
  uint32_t i = 0;
  for (uint32_t child = 1; child < h->n; child = 2 * i + 1) {
    if (child + 1 < h->n && goes_first(s, h->at[child + 1], h->at[child]))
      child++;
    if (!goes_first(s, h->at[child], task))
      break;
    h->at[i] = h->at[child];
    i = child;
  }
  h->at[i] = task;
  return top;
}

/* Places tasks one by one: of those that are ready the first by priority. Collectives wait until
 * those before them in the given order are placed. comms: [n_comms] in that order. */
static void place_all(scheduler *s, heap *ready, const uint32_t *comms, uint32_t n_comms,
                      uint32_t *out) {
  const tl_task_graph *g = s->g;
  uint32_t placed = 0;
  uint32_t comm = 0;
  for (uint32_t i = 0; i < g->n; i++)
    if (s->waits[i] == 0 && g->tasks[i].phase != TL_PHASE_COMM)
      heap_push(ready, s, i);
  while (placed < g->n) {
    uint32_t task;
    if (comm < n_comms && s->waits[comms[comm]] == 0)
      task = comms[comm++];
    else if (ready->n)
      task = heap_pop(ready, s);
    else
      return;
    out[placed++] = task;
    for (uint32_t k = s->succ_first[task]; k < s->succ_first[task + 1]; k++) {
      uint32_t v = s->succs[k];
      if (--s->waits[v] == 0 && g->tasks[v].phase != TL_PHASE_COMM)
        heap_push(ready, s, v);
    }
  }
}

static tl_status keep_better(tl_diag *d, const tl_task_graph *g, uint32_t *order,
                             const uint32_t *candidate) {
  tl_timeline before;
  tl_timeline after;
  tl_diag quiet = {0};
  TL_TRY(tl_timeline_run(d, g, order, &before));
  tl_status status = tl_timeline_run(&quiet, g, candidate, &after);
  if (status == TL_OK && step_of(g, &after) < step_of(g, &before))
    memcpy(order, candidate, g->n * sizeof *order);
  if (status == TL_OK)
    tl_timeline_release(&after);
  tl_timeline_release(&before);
  return status == TL_NO_MEMORY ? tl_fail(d, status, (tl_location){0}, "out of memory") : TL_OK;
}

tl_status tl_timeline_schedule(tl_diag *d, const tl_task_graph *g, uint32_t *order) {
  scheduler s;
  heap ready = {malloc((g->n + 1u) * sizeof *ready.at), 0};
  uint32_t *comms = malloc((g->n + 1u) * sizeof *comms);
  uint32_t *candidate = malloc((g->n + 1u) * sizeof *candidate);
  uint32_t n_comms = 0;
  tl_status status = TL_OK;
  if (!scheduler_init(&s, g, order) || !ready.at || !comms || !candidate) {
    status = tl_fail(d, TL_NO_MEMORY, (tl_location){0}, "out of memory");
  } else if (!sort(&s)) {
    status = tl_fail_code(d, TL_INVALID_MODEL, "E-SCHED-DEADLOCK", (tl_location){0},
                          "tasks wait for each other in a circle");
  } else {
    measure(&s);
    memcpy(candidate, order, g->n * sizeof *order);
    for (uint32_t i = 0; i < g->n; i++)
      if (g->tasks[order[i]].phase == TL_PHASE_COMM)
        comms[n_comms++] = order[i];
    place_all(&s, &ready, comms, n_comms, candidate);
    status = keep_better(d, g, order, candidate);
  }
  scheduler_release(&s);
  free(ready.at);
  free(comms);
  free(candidate);
  return status;
}

/* ---- report ---------------------------------------------------------------------------------- */

typedef struct moment {
  double at;
  int8_t compute; /* +1, -1: AICORE tasks that run */
  int8_t comm;
} moment;

static int by_time(const void *a, const void *b) {
  const moment *x = a;
  const moment *y = b;
  return x->at < y->at ? -1 : x->at > y->at;
}

static bool measure_overlap(const tl_task_graph *g, const tl_timeline *t, tl_step_report *r) {
  moment *m = malloc((2u * g->n + 1u) * sizeof *m);
  uint32_t n = 0;
  if (!m)
    return false;
  for (uint32_t i = 0; i < g->n; i++) {
    bool comm = g->tasks[i].phase == TL_PHASE_COMM;
    if (!comm && g->tasks[i].engine != TL_ENGINE_AICORE)
      continue;
    m[n++] = (moment){t->start[i], !comm, comm};
    m[n++] = (moment){t->end[i], comm ? 0 : -1, comm ? -1 : 0};
  }
  if (n)
    qsort(m, n, sizeof *m, by_time);
  int compute = 0;
  int comm = 0;
  for (uint32_t i = 0; i < n; i++) {
    double span = i ? m[i].at - m[i - 1].at : 0;
    r->comm_busy += comm ? span : 0;
    r->exposed_comm += comm && !compute ? span : 0;
    compute += m[i].compute;
    comm += m[i].comm;
  }
  free(m);
  return true;
}

/* Bounds: the longest way to the end, all work on the one AICORE, and collectives one after the
 * other, each not before its gradients, with the work that needs the last one behind them. */
static bool measure_bounds(const tl_task_graph *g, const uint32_t *order, tl_step_report *r) {
  scheduler s;
  bool *needs = calloc(g->n + 1u, sizeof *needs);
  bool good = scheduler_init(&s, g, order) && needs && sort(&s);
  uint32_t last = NONE;
  double chain = 0;
  for (uint32_t k = 0; good && k < g->n; k++) { /* level: the earliest end, from the front */
    uint32_t i = s.topo[k];
    double from = 0;
    for (uint32_t e = g->first[i]; e < g->first[i + 1]; e++)
      from = fmax(from, s.level[g->preds[e]]);
    s.level[i] = from + g->tasks[i].us;
    r->critical_path = fmax(r->critical_path, s.level[i]);
    r->total_compute += g->tasks[i].engine == TL_ENGINE_AICORE ? g->tasks[i].us : 0;
  }
  for (uint32_t k = 0; good && k < g->n; k++) {
    const tl_task *t = &g->tasks[order[k]];
    if (t->phase != TL_PHASE_COMM || t->bucket == TL_NO_BUCKET)
      continue;
    last = order[k];
    chain = fmax(chain, s.level[last] - t->us) + t->us;
  }
  for (uint32_t k = 0; last != NONE && k < g->n; k++) {
    uint32_t i = s.topo[k];
    for (uint32_t e = g->first[i]; e < g->first[i + 1]; e++)
      needs[i] = needs[i] || g->preds[e] == last || needs[g->preds[e]];
    chain += needs[i] && g->tasks[i].engine == TL_ENGINE_AICORE ? g->tasks[i].us : 0;
  }
  r->last_comm = chain;
  free(needs);
  scheduler_release(&s);
  return good;
}

tl_status tl_timeline_report(const tl_task_graph *g, const uint32_t *order, const tl_timeline *t,
                             tl_step_report *out) {
  double backward = 0;
  *out = (tl_step_report){.step = step_of(g, t)};
  for (uint32_t i = 0; i < g->n; i++) {
    out->compute_busy += g->tasks[i].engine == TL_ENGINE_AICORE ? g->tasks[i].us : 0;
    if (g->tasks[i].phase == TL_PHASE_BACKWARD)
      backward = fmax(backward, t->end[i]);
  }
  if (!measure_overlap(g, t, out) || !measure_bounds(g, order, out))
    return TL_NO_MEMORY;
  out->overlap = out->comm_busy > 0 ? 1 - out->exposed_comm / out->comm_busy : NAN;
  out->tail = out->step - backward;
  out->bound = fmax(out->critical_path, fmax(out->total_compute, out->last_comm));
  out->efficiency = out->step > 0 ? out->bound / out->step : 1;
  return TL_OK;
}
