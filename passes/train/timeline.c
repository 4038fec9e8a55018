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
  uint32_t *seen;      /* [n_streams] predecessors of the head that are known to have run ... */
  double *ready;       /* [n_streams] ... and when the last of them had ended */
  double engine_free[TL_N_ENGINES];
  double *aicpu_free; /* [aicpu_degree] */
  bool *done;         /* [n] */
} machine;

static void machine_release(machine *m) {
  free(m->next);
  free(m->head);
  free(m->stream_free);
  free(m->seen);
  free(m->ready);
  free(m->aicpu_free);
  free(m->done);
}

static bool machine_init(machine *m, const tl_task_graph *g, const uint32_t *order) {
  *m = (machine){.g = g,
                 .next = malloc((g->n + 1u) * sizeof *m->next),
                 .head = malloc((g->n_streams + 1u) * sizeof *m->head),
                 .stream_free = calloc(g->n_streams + 1u, sizeof *m->stream_free),
                 .seen = calloc(g->n_streams + 1u, sizeof *m->seen),
                 .ready = calloc(g->n_streams + 1u, sizeof *m->ready),
                 .aicpu_free = calloc(g->aicpu_degree, sizeof *m->aicpu_free),
                 .done = calloc(g->n + 1u, sizeof *m->done)};
  if (!m->next || !m->head || !m->stream_free || !m->seen || !m->ready || !m->aicpu_free ||
      !m->done)
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

/* When the head of a stream can start; INFINITY while it waits for a task that has not run. Each
 * predecessor is looked at until it has run, once: tasks may have very many. */
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
  return fmax(m->ready[stream], fmax(m->stream_free[stream], *engine_slot(m, k->engine)));
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
      double at = earliest(m, t, s);
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
    m->seen[k->stream] = 0;
    m->ready[k->stream] = 0;
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

double tl_timeline_step(const tl_task_graph *g, const tl_timeline *t) {
  double step = 0;
  for (uint32_t i = 0; i < g->n; i++)
    step = fmax(step, t->end[i]);
  return step;
}
