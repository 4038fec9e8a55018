/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what a simulation found into the record. */
#include "passes/train/time/record.h"

#include <math.h>
#include <stdlib.h>

void tl_step_record_init(tl_step_record *r) {
  *r = (tl_step_record){0};
  tl_arena_init(&r->arena, 0);
}

void tl_step_record_release(tl_step_record *r) {
  tl_arena_release(&r->arena);
  *r = (tl_step_record){0};
}

void tl_step_record_clear(tl_step_record *r) {
  tl_step_record_release(r);
  tl_step_record_init(r);
}

tl_step_stage *tl_step_record_find(tl_step_record *r, const char *name) {
  for (uint32_t i = 0; i < r->n; i++)
    if (strcmp(r->stages[i].name, name) == 0)
      return &r->stages[i];
  return NULL;
}

/* Copies a text into the arena: the record outlives the module. */
static bool copy(tl_arena *a, tl_sv *s) {
  char *text = tl_arena_copy(a, s->n ? s->p : "", s->n);
  s->p = text;
  return text != NULL;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static int by_stream_and_start(const void *a, const void *b) {
  const tl_ran_task *x = a;
  const tl_ran_task *y = b;
  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return tl_sv_compare(x->name, y->name);
}

/* Copies tasks with their times, sorted by stream and start, as reports and traces want them. */
static bool copy_tasks(tl_step_record *r, const tl_module *m, const tl_step *s,
                       const tl_timeline *t, tl_step_stage *out) {
  tl_ran_task *tasks = tl_arena_calloc(&r->arena, s->g.n + 1u, sizeof *tasks);
  tl_sv *streams = tl_arena_calloc(&r->arena, s->g.n_streams, sizeof *streams);
  bool good = tasks && streams;
  for (uint32_t i = 0; good && i < s->g.n; i++) {
    const tl_task *k = &s->g.tasks[i];
    tasks[i] = (tl_ran_task){.name = k->name,
                             .op = tl_op_name(m, tl_node_get(m, s->node[i])->op),
                             .start = t->start[i],
                             .end = t->end[i],
                             .bytes = k->bytes,
                             .bucket = k->bucket,
                             .stream = k->stream,
                             .phase = k->phase,
                             .engine = k->engine};
    good = copy(&r->arena, &tasks[i].name) && copy(&r->arena, &tasks[i].op);
  }
  for (uint16_t i = 0; good && i < s->g.n_streams; i++) {
    streams[i] = s->streams[i];
    good = copy(&r->arena, &streams[i]);
  }
  if (good)
    qsort(tasks, s->g.n, sizeof *tasks, by_stream_and_start);
  out->tasks = tasks;
  out->n = s->g.n;
  out->streams = streams;
  out->n_streams = s->g.n_streams;
  return good;
}

/* ---- buckets --------------------------------------------------------------------------------- */

typedef struct span {
  double start;
  double end;
} span;

static int by_start(const void *a, const void *b) {
  const span *x = a;
  const span *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

/* Fills the spans during which the AICORE is busy, sorted; its tasks do not overlap each other at
 * degree 1. */
static uint32_t busy_spans(const tl_step *s, const tl_timeline *t, span *out) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->g.n; i++)
    if (s->g.tasks[i].engine == TL_ENGINE_AICORE && t->end[i] > t->start[i])
      out[n++] = (span){t->start[i], t->end[i]};
  if (n)
    qsort(out, n, sizeof *out, by_start);
  return n;
}

/* Returns the part of [start, end) during which no span is busy. */
static double exposed(const span *busy, uint32_t n, double start, double end) {
  uint32_t low = 0;
  uint32_t high = n;
  double left = end - start;
  while (low < high) { /* the first span that ends behind start */
    uint32_t mid = (low + high) / 2;
    if (busy[mid].end <= start)
      low = mid + 1;
    else
      high = mid;
  }
  for (; low < n && busy[low].start < end; low++)
    left -= fmin(end, busy[low].end) - fmax(start, busy[low].start);
  return fmax(0, left);
}

/* Returns when the last operand of a collective was there. */
static double ready_time(const tl_step *s, const tl_timeline *t, uint32_t task) {
  double ready = 0;
  for (uint32_t e = s->g.first[task]; e < s->g.first[task + 1]; e++)
    if (s->g.tasks[s->g.preds[e]].phase != TL_PHASE_COMM)
      ready = fmax(ready, t->end[s->g.preds[e]]);
  return ready;
}

/* Copies the collectives of gradients, with the part of each that no computation hides. */
static bool copy_buckets(tl_step_record *r, const tl_module *m, const tl_step *s,
                         const tl_timeline *t, tl_step_stage *out) {
  tl_ran_bucket *buckets = tl_arena_calloc(&r->arena, s->n_buckets + 1u, sizeof *buckets);
  span *busy = malloc((s->g.n + 1u) * sizeof *busy);
  bool good = buckets && busy;
  uint32_t n = good ? busy_spans(s, t, busy) : 0;
  for (uint32_t i = 0; good && i < s->g.n; i++) {
    const tl_task *k = &s->g.tasks[i];
    if (k->bucket == TL_NO_BUCKET)
      continue;
    tl_ran_bucket *b = &buckets[k->bucket];
    *b = (tl_ran_bucket){
        k->name,     k->bytes,  tl_node_get(m, s->node[i])->n_operands,  ready_time(s, t, i),
        t->start[i], t->end[i], exposed(busy, n, t->start[i], t->end[i])};
    good = copy(&r->arena, &b->name);
  }
  free(busy);
  out->buckets = buckets;
  out->n_buckets = s->n_buckets;
  return good;
}

/* Returns a lower bound for every choice of buckets: no collective starts before the first
 * gradient, all bytes travel, and an update follows. */
static double bucket_free_bound(const tl_step *s, const tl_timeline *t, const tl_costs *c) {
  double first = INFINITY;
  double bytes = 0;
  double buckets = 0; /* what they take now: a profile may know better than the model */
  double update = INFINITY;
  for (uint32_t i = 0; i < s->g.n; i++) {
    const tl_task *k = &s->g.tasks[i];
    if (k->bucket != TL_NO_BUCKET) {
      first = fmin(first, ready_time(s, t, i));
      bytes += (double)k->bytes;
      buckets += k->us;
    } else if (k->phase == TL_PHASE_UPDATE && k->us > 0) {
      update = fmin(update, k->us);
    }
  }
  if (first == INFINITY)
    return 0;
  double all = fmin(buckets, tl_cost_collective(c, TL_ALL_REDUCE, bytes));
  return first + all + (update == INFINITY ? 0 : update);
}

tl_status tl_step_record_add(tl_step_record *r, tl_module *m, const char *name, const tl_step *s,
                             const uint32_t *order, const tl_step_machine *machine) {
  tl_timeline t;
  tl_step_stage stage = {.name = name};
  tl_step_stage *place = tl_step_record_find(r, name);
  TL_TRY(tl_timeline_run(m->diag, &s->g, order, &t));
  bool good = tl_timeline_report(&s->g, order, &t, &stage.report) == TL_OK &&
              copy_tasks(r, m, s, &t, &stage) && copy_buckets(r, m, s, &t, &stage);
  stage.bucket_free_bound = bucket_free_bound(s, &t, machine->cost);
  tl_timeline_release(&t);
  if (!good)
    return tl_no_memory(m);
  r->machine = machine->cost->hw.name;
  r->ranks = machine->cost->ranks;
  if (place)
    stage.tail = place->tail;
  if (!place && r->n < TL_MAX_STAGES)
    place = &r->stages[r->n++];
  if (place)
    *place = stage;
  return TL_OK;
}
