/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the figures of a simulated step, and bounds that no order of its tasks can beat. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes/train/time/engine_slots.h"
#include "passes/train/time/task_links.h"

#define NONE UINT32_MAX

/* A start or end of a task. */
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

/* Sweeps over starts and ends to measure communication, and communication without compute. */
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

/* Returns the least time that a task occupies the AICORE. */
static double work_of(const tl_task_graph *g, uint32_t task) {
  return g->tasks[task].engine == TL_ENGINE_AICORE
             ? g->tasks[task].us / tl_engine_degree(g, TL_ENGINE_AICORE)
             : 0;
}

/* Fills the earliest end of each task, the longest path, and the work on the AICORE. */
static void measure_front(const tl_task_graph *g, const uint32_t *topo, double *end,
                          tl_step_report *r) {
  for (uint32_t k = 0; k < g->n; k++) {
    uint32_t i = topo[k];
    double from = 0;
    for (uint32_t e = g->first[i]; e < g->first[i + 1]; e++)
      from = fmax(from, end[g->preds[e]]);
    end[i] = from + g->tasks[i].us;
    r->critical_path = fmax(r->critical_path, end[i]);
    r->total_compute += work_of(g, i);
  }
}

/* Returns the microseconds of a stream's buckets one after the other, each not before its
 * gradients, plus the work behind the last bucket that needs it. */
static double measure_chain(const tl_task_graph *g, const uint32_t *order, const uint32_t *topo,
                            const double *end, uint16_t stream, bool *needs) {
  uint32_t last = NONE;
  double chain = 0;
  for (uint32_t k = 0; k < g->n; k++) {
    const tl_task *t = &g->tasks[order[k]];
    if (t->phase != TL_PHASE_COMM || t->bucket == TL_NO_BUCKET || t->stream != stream)
      continue;
    last = order[k];
    chain = fmax(chain, end[last] - t->us) + t->us;
  }
  memset(needs, 0, g->n * sizeof *needs);
  for (uint32_t k = 0; last != NONE && k < g->n; k++) {
    uint32_t i = topo[k];
    for (uint32_t e = g->first[i]; e < g->first[i + 1] && !needs[i]; e++)
      needs[i] = g->preds[e] == last || needs[g->preds[e]];
    chain += needs[i] ? work_of(g, i) : 0;
  }
  return chain;
}

static bool has_buckets(const tl_task_graph *g, uint16_t stream) {
  for (uint32_t i = 0; i < g->n; i++)
    if (g->tasks[i].stream == stream && g->tasks[i].phase == TL_PHASE_COMM &&
        g->tasks[i].bucket != TL_NO_BUCKET)
      return true;
  return false;
}

/* Fills the three bounds. Streams of several groups are independent, so the longest chain
 * counts. */
static bool measure_bounds(const tl_task_graph *g, const uint32_t *order, tl_step_report *r) {
  tl_task_links l;
  double *end = malloc((g->n + 1u) * sizeof *end);
  bool *needs = calloc(g->n + 1u, sizeof *needs);
  bool good = tl_task_links_init(&l, g) && end && needs && tl_task_links_sort(&l, g) == TL_OK;
  if (good)
    measure_front(g, l.topo, end, r);
  for (uint16_t s = 0; good && s < g->n_streams; s++)
    if (has_buckets(g, s))
      r->last_comm = fmax(r->last_comm, measure_chain(g, order, l.topo, end, s, needs));
  free(needs);
  free(end);
  tl_task_links_release(&l);
  return good;
}

tl_status tl_timeline_report(const tl_task_graph *g, const uint32_t *order, const tl_timeline *t,
                             tl_step_report *out) {
  double backward = 0;
  *out = (tl_step_report){.step = tl_timeline_step(g, t)};
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
