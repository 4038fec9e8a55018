/* SPDX-License-Identifier: Apache-2.0 */
/* schedule: nodes of a training step get a stream and an order in which compute and collectives
 * overlap best by the cost model. What crosses streams waits for
 * an event; a wait that an earlier one of the same stream implies is left out.
 *
 * Requires:  types inferred; collectives in the graph.
 * Keeps:     nodes, edges, values; the order of collectives of a group.
 * After:     the order of nodes is that of the simulation; streams, and events in the notes of
 *            ir/marks.h.
 * Cost:      O(nodes log nodes + edges).
 * Tests:     tests/golden/schedule/, tests/unit/test_step.c */
#include <stdlib.h>

#include "ir/marks.h"
#include "passes/edit/passes.h"
#include "passes/train/time/record.h"
#include "passes/train/time/setting.h"

/* ---- streams and events ---------------------------------------------------------------------- */

/* Events between streams, found along the order of tasks. */
typedef struct events {
  const tl_step *s;
  uint32_t *position; /* [n] of a task in the order */
  uint32_t *seen;  /* [n_streams * n_streams] one past the last position of a stream (column) that
                      another (row) has waited for */
  uint32_t *event; /* [n * n_streams] number of the event that a task records for a stream, + 1 */
  uint32_t n_events;
} events;

static bool events_init(events *e, const tl_step *s, const uint32_t *order, tl_arena *a) {
  size_t streams = s->g.n_streams;
  *e = (events){.s = s,
                .position = tl_arena_calloc(a, s->g.n + 1u, sizeof *e->position),
                .seen = tl_arena_calloc(a, streams * streams, sizeof *e->seen),
                .event = tl_arena_calloc(a, (s->g.n + 1u) * streams, sizeof *e->event)};
  if (!e->position || !e->seen || !e->event)
    return false;
  for (uint32_t i = 0; i < s->g.n; i++)
    e->position[order[i]] = i;
  return true;
}

/* Returns the last predecessor on `stream` that the task's own stream has not waited for;
 * TL_NO_TASK if none. */
static uint32_t awaited(const events *e, uint32_t task, uint16_t stream) {
  const tl_task_graph *g = &e->s->g;
  uint32_t last = TL_NO_TASK;
  uint32_t seen = e->seen[g->tasks[task].stream * g->n_streams + stream];
  for (uint32_t k = g->first[task]; k < g->first[task + 1]; k++) {
    uint32_t p = g->preds[k];
    if (g->tasks[p].stream != stream || e->position[p] < seen)
      continue;
    seen = e->position[p];
    last = p;
  }
  return last;
}

static void add_number(tl_buf *out, uint32_t n) {
  if (out->n)
    tl_buf_add_char(out, ',');
  tl_buf_add_u64(out, n);
}

/* Writes the numbers of the events that a task waits for. An event gets its number when it is first
 * waited for. */
static void wait_list(events *e, uint32_t task, tl_buf *out) {
  const tl_task_graph *g = &e->s->g;
  uint16_t mine = g->tasks[task].stream;
  for (uint16_t stream = 0; stream < g->n_streams; stream++) {
    uint32_t p = stream == mine ? TL_NO_TASK : awaited(e, task, stream);
    if (p == TL_NO_TASK)
      continue;
    uint32_t *event = &e->event[(size_t)p * g->n_streams + mine];
    if (!*event)
      *event = ++e->n_events;
    e->seen[mine * g->n_streams + stream] = e->position[p] + 1;
    add_number(out, *event - 1);
  }
}

static void record_list(const events *e, uint32_t task, tl_buf *out) {
  for (uint16_t stream = 0; stream < e->s->g.n_streams; stream++) {
    uint32_t event = e->event[(size_t)task * e->s->g.n_streams + stream];
    if (event)
      add_number(out, event - 1);
  }
}

/* Writes the notes of all nodes. Waits come first, since they create the events that tasks
 * record. */
static bool put_events(tl_module *m, events *e, const uint32_t *order) {
  const tl_step *s = e->s;
  tl_buf text;
  tl_buf_init(&text);
  bool good = true;
  for (uint32_t i = 0; good && i < s->g.n; i++) {
    tl_buf_clear(&text);
    wait_list(e, order[i], &text);
    good = !text.failed && tl_node_set_note(m, s->node[order[i]], TL_NOTE_WAIT, tl_buf_view(&text));
  }
  for (uint32_t i = 0; good && i < s->g.n; i++) {
    tl_buf_clear(&text);
    record_list(e, order[i], &text);
    good = !text.failed &&
           tl_node_set_note(m, s->node[order[i]], TL_NOTE_RECORD, tl_buf_view(&text));
  }
  tl_buf_release(&text);
  return good;
}

static bool put_streams(tl_module *m, const tl_step *s) {
  bool good = true;
  for (uint32_t i = 0; good && i < s->g.n; i++) {
    uint16_t stream = s->g.tasks[i].stream;
    tl_node_get(m, s->node[i])->stream = stream;
    good = tl_node_set_note(m, s->node[i], TL_NOTE_STREAM, stream ? s->streams[stream] : TL_SV(""));
  }
  return good;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool is_scheduled(const tl_module *m, const tl_step *s, const uint32_t *order) {
  for (uint32_t i = 0; i < s->g.n; i++)
    if (order[i] != s->given[i] ||
        tl_node_get(m, s->node[i])->stream != (int32_t)s->g.tasks[i].stream)
      return false;
  return true;
}

static bool has_collectives(const tl_step *s) {
  for (uint32_t i = 0; i < s->g.n; i++)
    if (s->g.tasks[i].phase == TL_PHASE_COMM)
      return true;
  return false;
}

static tl_status apply(tl_pass *p, tl_module *m, const tl_step *s, const uint32_t *order) {
  events e;
  if (!has_collectives(s) || is_scheduled(m, s, order) || !tl_pass_may_rewrite(p))
    return TL_OK;
  if (!events_init(&e, s, order, p->scratch) || !put_streams(m, s) || !put_events(m, &e, order))
    return tl_no_memory(m);
  tl_step_reorder(m, s, order);
  tl_pass_remark(p, m, TL_NO_NODE, true, "%u nodes on %u streams with %u events", s->g.n,
                 s->g.n_streams, e.n_events);
  return TL_OK;
}

/* A step with its order. */
typedef struct scheduled {
  tl_step step;
  uint32_t *order;
  double us;
} scheduled;

static tl_status find_order(tl_pass *p, tl_module *m, scheduled *s) {
  s->order = tl_arena_alloc(p->scratch, (s->step.g.n + 1u) * sizeof *s->order);
  if (!s->order)
    return tl_no_memory(m);
  memcpy(s->order, s->step.given, s->step.g.n * sizeof *s->order);
  return tl_timeline_schedule(m->diag, &s->step.g, s->order, &s->us);
}

/* Returns true if the AICORE works all the time: then other streams cannot help. */
static bool is_full(const scheduled *s) {
  double work = 0;
  for (uint32_t i = 0; i < s->step.g.n; i++)
    work += s->step.g.tasks[i].engine == TL_ENGINE_AICORE ? s->step.g.tasks[i].us : 0;
  return s->us <= work * (1 + 1e-9);
}

/* Returns true if the step was scheduled before without a stream of updates; it then stays so. */
static bool was_serial(const tl_module *m, const tl_step *s) {
  bool found = false;
  for (uint32_t i = 0; i < s->g.n; i++) {
    tl_sv stream = tl_node_note(m, s->node[i], TL_NOTE_STREAM);
    if (tl_sv_is(stream, "U"))
      return false;
    found = found || stream.n;
  }
  return found;
}

/* Tries the step without the stream of updates, and keeps that if it takes less time. */
static tl_status try_serial(tl_pass *p, tl_module *m, tl_train_setting *t, scheduled *s) {
  scheduled one = {.order = NULL};
  bool was = was_serial(m, &s->step);
  if (!t->machine.hcom_parallel || !has_collectives(&s->step) || (is_full(s) && !was))
    return TL_OK;
  t->machine.hcom_parallel = false;
  TL_TRY(tl_step_build(m, p->scratch, &t->info, &t->machine, &one.step));
  TL_TRY(find_order(p, m, &one));
  bool off = was || one.us < s->us * (1 - 1e-9);
  tl_step_state_edit(m)->no_update_stream = off;
  if (!off) {
    t->machine.hcom_parallel = true;
    return TL_OK;
  }
  tl_pass_remark(p, m, TL_NO_NODE, false,
                 "hcom_parallel is off: the step would take %.3f us with a stream for updates, and "
                 "takes %.3f us without",
                 s->us, one.us);
  if (!was)
    tl_note(m->diag, TL_AT_FILE(m->path),
            "hcom_parallel is off: the step would take %.3f us with a stream for updates, and "
            "takes %.3f us without",
            s->us, one.us);
  *s = one;
  return TL_OK;
}

static tl_status schedule(tl_pass *p, tl_module *m, tl_train_setting *t) {
  scheduled s = {.order = NULL};
  TL_TRY(tl_train_record_before(p, m, t));
  TL_TRY(tl_train_setting_step(p, t, &s.step));
  TL_TRY(find_order(p, m, &s));
  TL_TRY(try_serial(p, m, t, &s));
  tl_step_record *record = tl_step_state_of(m)->record;
  if (record)
    TL_TRY(tl_step_record_add(record, m, t->tail ? "tail" : "scheduled", &s.step, s.order,
                              &t->machine));
  return apply(p, m, &s.step, s.order);
}

tl_status tl_pass_schedule(tl_pass *p, tl_module *m) {
  tl_train_setting t;
  if (!p->options->train || !p->options->train->train)
    return TL_OK;
  tl_status status = tl_train_setting_begin(p, m, &t);
  if (status == TL_OK && t.info.form != TL_TRAIN_NONE)
    status = schedule(p, m, &t);
  tl_train_setting_end(&t);
  return status;
}
