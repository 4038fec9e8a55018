/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated step: net X of the training specification (8.18 to 8.22), deadlocks, and that a
 * schedule is never worse and never beyond its bound. Net X: F of 40, then B4, B3, B2, B1 of 20
 * each; AR1 of 30 takes the gradients of B4 and B3, AR2 of 30 those of B2 and B1. */
#include <math.h>
#include <string.h>

#include "passes/train/time/timeline.h"
#include "tests/unit/unit.h"

enum { MOST = 64, M = 0, C = 1, U = 2 };

typedef struct net {
  tl_task tasks[MOST];
  uint32_t preds[MOST * 8];
  uint32_t first[MOST + 1];
  uint32_t order[MOST];
  tl_task_graph g;
} net;

/* Adds a task behind tasks named by letters of `after`: names are one character each. */
static void add(net *x, const char *name, double us, uint16_t stream, tl_phase phase,
                const char *after) {
  uint32_t i = x->g.n;
  x->tasks[i] = (tl_task){.name = tl_sv_from(name),
                          .us = us,
                          .bucket = phase == TL_PHASE_COMM ? i : TL_NO_BUCKET,
                          .stream = stream,
                          .engine = phase == TL_PHASE_COMM ? TL_ENGINE_LINK0 : TL_ENGINE_AICORE,
                          .phase = (uint8_t)phase};
  uint32_t e = x->first[i];
  for (; *after; after++)
    for (uint32_t k = 0; k < i; k++)
      if (x->tasks[k].name.p[0] == *after)
        x->preds[e++] = k;
  x->first[i + 1] = e;
  x->order[i] = i;
  x->g.n++;
  x->g.tasks = x->tasks;
  x->g.first = x->first;
  x->g.preds = x->preds;
  x->g.n_streams = 3;
}

/* Forward and backward: F, d (B4), c (B3), b (B2), a (B1). */
static void backward(net *x) {
  add(x, "F", 40, M, TL_PHASE_FORWARD, "");
  add(x, "d", 20, M, TL_PHASE_BACKWARD, "F");
  add(x, "c", 20, M, TL_PHASE_BACKWARD, "d");
  add(x, "b", 20, M, TL_PHASE_BACKWARD, "c");
  add(x, "a", 20, M, TL_PHASE_BACKWARD, "b");
}

static tl_step_report run(const net *x, tl_timeline *t) {
  tl_step_report r = {0};
  tl_diag quiet = {0};
  CU_ASSERT_EQUAL_FATAL(tl_timeline_run(&quiet, &x->g, x->order, t), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_timeline_report(&x->g, x->order, t, &r), TL_OK);
  CU_ASSERT_TRUE(r.efficiency <= 1);
  return r;
}

static uint32_t find(const net *x, char name) {
  for (uint32_t i = 0; i < x->g.n; i++)
    if (x->tasks[i].name.p[0] == name)
      return i;
  return 0;
}

static void begins(const net *x, const tl_timeline *t, char name, double at) {
  CU_ASSERT_EQUAL(t->start[find(x, name)], at);
}

static void order_of(net *x, const char *names) {
  for (uint32_t i = 0; names[i]; i++)
    x->order[i] = find(x, names[i]);
}

/* Updates wait on the main stream, in the order of the graph. */
static void one_stream(void) {
  net x = {0};
  tl_timeline t;
  backward(&x);
  add(&x, "1", 30, C, TL_PHASE_COMM, "dc");
  add(&x, "2", 30, C, TL_PHASE_COMM, "ba");
  add(&x, "w", 6, M, TL_PHASE_UPDATE, "1");
  add(&x, "x", 6, M, TL_PHASE_UPDATE, "1");
  add(&x, "y", 6, M, TL_PHASE_UPDATE, "2");
  add(&x, "z", 6, M, TL_PHASE_UPDATE, "2");
  order_of(&x, "Fdcwxbayz12");
  tl_step_report r = run(&x, &t);
  CU_ASSERT_EQUAL(r.step, 204);
  CU_ASSERT_EQUAL(r.comm_busy, 60);
  CU_ASSERT_EQUAL(r.exposed_comm, 60);
  CU_ASSERT_EQUAL(r.overlap, 0);
  CU_ASSERT_EQUAL(r.bound, 162);
  CU_ASSERT_DOUBLE_EQUAL(r.efficiency, 0.794, 0.0005);
  tl_timeline_release(&t);
  /* list scheduling finds what a stream of its own gives */
  tl_diag quiet = {0};
  CU_ASSERT_EQUAL(tl_timeline_schedule(&quiet, &x.g, x.order, NULL), TL_OK);
  CU_ASSERT_EQUAL(run(&x, &t).step, 162);
  tl_timeline_release(&t);
}

static void update_stream(void) {
  net x = {0};
  tl_timeline t;
  backward(&x);
  add(&x, "1", 30, C, TL_PHASE_COMM, "dc");
  add(&x, "2", 30, C, TL_PHASE_COMM, "ba");
  add(&x, "w", 6, U, TL_PHASE_UPDATE, "1");
  add(&x, "x", 6, U, TL_PHASE_UPDATE, "1");
  add(&x, "y", 6, U, TL_PHASE_UPDATE, "2");
  add(&x, "z", 6, U, TL_PHASE_UPDATE, "2");
  tl_step_report r = run(&x, &t);
  CU_ASSERT_EQUAL(r.step, 162);
  begins(&x, &t, '1', 80);
  begins(&x, &t, '2', 120);
  begins(&x, &t, 'w', 120); /* AICORE is taken until then */
  begins(&x, &t, 'y', 150);
  CU_ASSERT_EQUAL(r.exposed_comm, 18);
  CU_ASSERT_DOUBLE_EQUAL(r.overlap, 0.70, 1e-9);
  CU_ASSERT_EQUAL(r.critical_path, 156);
  CU_ASSERT_EQUAL(r.total_compute, 144);
  CU_ASSERT_EQUAL(r.last_comm, 162);
  CU_ASSERT_EQUAL(r.efficiency, 1);
  CU_ASSERT_EQUAL(r.tail, 42);
  tl_timeline_release(&t);
}

/* The check of overflow at the end, its collective behind all others. */
static void late_check(void) {
  net x = {0};
  tl_timeline t;
  backward(&x);
  add(&x, "1", 30, C, TL_PHASE_COMM, "dc");
  add(&x, "2", 30, C, TL_PHASE_COMM, "ba");
  add(&x, "s", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "t", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "u", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "v", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "k", 2, U, TL_PHASE_CHECK, "stuv");
  add(&x, "3", 8, C, TL_PHASE_COMM, "k");
  for (const char *name = "w\0x\0y\0z\0"; *name; name += 2)
    add(&x, name, 5, U, TL_PHASE_UPDATE, "3");
  tl_step_report r = run(&x, &t);
  begins(&x, &t, 'k', 152);
  begins(&x, &t, '3', 154);
  CU_ASSERT_EQUAL(r.step, 182);
  CU_ASSERT_EQUAL(r.exposed_comm, 36);
  CU_ASSERT_DOUBLE_EQUAL(r.overlap, 0.4706, 5e-5);
  tl_timeline_release(&t);
}

/* The check reads local gradients; its collective goes before the last one. */
static void early_check(void) {
  net x = {0};
  tl_timeline t;
  backward(&x);
  add(&x, "k", 2, U, TL_PHASE_CHECK, "dcba");
  add(&x, "1", 30, C, TL_PHASE_COMM, "dc");
  add(&x, "3", 8, C, TL_PHASE_COMM, "k");
  add(&x, "2", 30, C, TL_PHASE_COMM, "ba3");
  add(&x, "s", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "t", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "w", 5, U, TL_PHASE_UPDATE, "s3");
  add(&x, "x", 5, U, TL_PHASE_UPDATE, "t3");
  add(&x, "u", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "v", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "y", 5, U, TL_PHASE_UPDATE, "u3");
  add(&x, "z", 5, U, TL_PHASE_UPDATE, "v3");
  tl_step_report r = run(&x, &t);
  begins(&x, &t, 'k', 120);
  begins(&x, &t, '3', 122);
  begins(&x, &t, '2', 130);
  CU_ASSERT_EQUAL(r.step, 172);
  CU_ASSERT_DOUBLE_EQUAL(r.overlap, 0.6176, 5e-5);
  tl_timeline_release(&t);
}

/* All arithmetic before the flag, only the choice of the result behind it. */
static void late_commit(void) {
  net x = {0};
  tl_timeline t;
  backward(&x);
  add(&x, "1", 30, C, TL_PHASE_COMM, "dc");
  add(&x, "2", 30, C, TL_PHASE_COMM, "ba");
  add(&x, "s", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "t", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "k", 1, U, TL_PHASE_CHECK, "st");
  add(&x, "w", 5, U, TL_PHASE_UPDATE, "s");
  add(&x, "x", 5, U, TL_PHASE_UPDATE, "t");
  add(&x, "u", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "v", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "l", 1, U, TL_PHASE_CHECK, "uv");
  add(&x, "y", 5, U, TL_PHASE_UPDATE, "u");
  add(&x, "z", 5, U, TL_PHASE_UPDATE, "v");
  for (const char *name = "5\0006\0007\0008\000"; *name; name += 2)
    add(&x, name, 1, U, TL_PHASE_UPDATE, "wxyzkl");
  tl_step_report r = run(&x, &t);
  begins(&x, &t, 'w', 123);
  begins(&x, &t, 'u', 150);
  begins(&x, &t, 'l', 152);
  begins(&x, &t, 'y', 153);
  begins(&x, &t, '5', 163);
  CU_ASSERT_EQUAL(r.step, 167);
  CU_ASSERT_EQUAL(r.comm_busy, 60);
  tl_timeline_release(&t);
}

/* The same with a status of the chip, which is read behind the last unscaled gradient and summed up
 * over ranks: 8.22 (b). */
static void late_commit_of_status(void) {
  net x = {0};
  tl_timeline t;
  backward(&x);
  add(&x, "1", 30, C, TL_PHASE_COMM, "dc");
  add(&x, "2", 30, C, TL_PHASE_COMM, "ba");
  add(&x, "s", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "t", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "w", 5, U, TL_PHASE_UPDATE, "s");
  add(&x, "x", 5, U, TL_PHASE_UPDATE, "t");
  add(&x, "u", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "v", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "k", 2, U, TL_PHASE_CHECK, "stuv");
  add(&x, "3", 8, C, TL_PHASE_COMM, "k");
  add(&x, "y", 5, U, TL_PHASE_UPDATE, "u");
  add(&x, "z", 5, U, TL_PHASE_UPDATE, "v");
  for (const char *name = "5\0006\0007\0008\000"; *name; name += 2)
    add(&x, name, 1, U, TL_PHASE_UPDATE, "wxyz3");
  tl_step_report r = run(&x, &t);
  begins(&x, &t, 'k', 152);
  begins(&x, &t, '3', 154);
  begins(&x, &t, 'y', 154);
  begins(&x, &t, '5', 164);
  CU_ASSERT_EQUAL(r.step, 168);
  CU_ASSERT_EQUAL(r.comm_busy, 68);
  tl_timeline_release(&t);
}

/* The status of local gradients is known before the last bucket is sent, its sum goes behind it:
 * 8.22 (c). */
static void late_commit_of_local_status(void) {
  net x = {0};
  tl_timeline t;
  backward(&x);
  add(&x, "k", 2, U, TL_PHASE_CHECK, "dcba");
  add(&x, "1", 30, C, TL_PHASE_COMM, "dc");
  add(&x, "2", 30, C, TL_PHASE_COMM, "ba");
  add(&x, "3", 8, C, TL_PHASE_COMM, "k");
  add(&x, "s", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "t", 1, U, TL_PHASE_UPDATE, "1");
  add(&x, "w", 5, U, TL_PHASE_UPDATE, "s");
  add(&x, "x", 5, U, TL_PHASE_UPDATE, "t");
  add(&x, "u", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "v", 1, U, TL_PHASE_UPDATE, "2");
  add(&x, "y", 5, U, TL_PHASE_UPDATE, "u");
  add(&x, "z", 5, U, TL_PHASE_UPDATE, "v");
  for (const char *name = "5\0006\0007\0008\000"; *name; name += 2)
    add(&x, name, 1, U, TL_PHASE_UPDATE, "wxyz3");
  tl_step_report r = run(&x, &t);
  begins(&x, &t, '3', 150);
  begins(&x, &t, '5', 162);
  CU_ASSERT_EQUAL(r.step, 166);
  tl_timeline_release(&t);
}

/* Two tasks of the AICORE at a time: updates run beside backward; no order beats half the work. */
static void two_at_a_time(void) {
  net x = {0};
  tl_timeline t;
  backward(&x);
  add(&x, "1", 10, C, TL_PHASE_COMM, "d");
  add(&x, "u", 15, U, TL_PHASE_UPDATE, "1");
  add(&x, "v", 15, U, TL_PHASE_UPDATE, "1");
  CU_ASSERT_EQUAL(run(&x, &t).step, 150); /* u and v wait for backward, which ends at 120 */
  tl_timeline_release(&t);
  x.g.degree[TL_ENGINE_AICORE] = 2;
  tl_step_report r = run(&x, &t);
  begins(&x, &t, 'u', 70);
  begins(&x, &t, 'v', 85);
  CU_ASSERT_EQUAL(r.step, 120);
  CU_ASSERT_EQUAL(r.total_compute, 75);
  tl_timeline_release(&t);
}

/* While a collective runs, compute takes twice as long. */
static void interference(void) {
  net x = {0};
  tl_timeline t;
  add(&x, "d", 20, M, TL_PHASE_BACKWARD, "");
  add(&x, "1", 10, C, TL_PHASE_COMM, "d");
  add(&x, "c", 20, M, TL_PHASE_BACKWARD, "d");
  add(&x, "2", 30, C, TL_PHASE_COMM, "c");
  add(&x, "b", 20, M, TL_PHASE_BACKWARD, "c");
  add(&x, "a", 20, M, TL_PHASE_BACKWARD, "b");
  x.g.interference = 2;
  (void)run(&x, &t);
  begins(&x, &t, 'c', 20);
  begins(&x, &t, '2', 45); /* c: 5 in the first 10, then 15 */
  begins(&x, &t, 'b', 45);
  begins(&x, &t, 'a', 80); /* b: 15 in 30, then 5 */
  CU_ASSERT_EQUAL(t.end[5], 100);
  tl_timeline_release(&t);
  x.g.interference = 1;
  CU_ASSERT_EQUAL(run(&x, &t).step, 80);
  tl_timeline_release(&t);
}

/* A collective that begins in the middle of a task slows what is left of it; what waits for it
 * waits longer, and a second link that is busy longer slows it on. */
static void interference_from_within(void) {
  net x = {0};
  tl_timeline t;
  add(&x, "p", 10, M, TL_PHASE_FORWARD, "");
  add(&x, "q", 30, M, TL_PHASE_BACKWARD, "p");
  add(&x, "h", 20, U, TL_PHASE_UPDATE, "p");
  add(&x, "1", 10, C, TL_PHASE_COMM, "h");
  add(&x, "u", 5, U, TL_PHASE_UPDATE, "q");
  x.tasks[2].engine = TL_ENGINE_HOST;
  x.g.interference = 2;
  (void)run(&x, &t);
  begins(&x, &t, '1', 30);
  begins(&x, &t, 'u', 45); /* q: 20 by 30, 5 under the collective, 5 behind it */
  CU_ASSERT_EQUAL(t.end[1], 45);
  tl_timeline_release(&t);
}

static void streams_that_wait_for_each_other(void) {
  net x = {0};
  tl_timeline t;
  tl_diag quiet = {0};
  add(&x, "p", 1, M, TL_PHASE_FORWARD, "");
  add(&x, "q", 1, U, TL_PHASE_UPDATE, "p");
  add(&x, "r", 1, M, TL_PHASE_FORWARD, "q");
  order_of(&x, "rpq"); /* r holds the stream that p has to run on */
  CU_ASSERT_NOT_EQUAL(tl_timeline_run(&quiet, &x.g, x.order, &t), TL_OK);
  CU_ASSERT_EQUAL(quiet.errors, 1);
  CU_ASSERT_PTR_NULL(t.start);
}

static uint64_t random_next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

/* Random tasks, whatever their order: the schedule keeps the order of collectives, is no slower and
 * does not beat the bound. */
static void schedules_are_never_worse(void) {
  static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  uint64_t seed = 3;
  tl_diag quiet = {0};
  for (int round = 0; round < 400; round++) {
    net x = {0};
    tl_timeline t;
    uint32_t n = (uint32_t)(random_next(&seed) % 40) + 2;
    for (uint32_t i = 0; i < n; i++) {
      char after[4] = "";
      for (uint32_t k = 0; k < 3 && i; k++)
        after[k] = names[random_next(&seed) % i];
      tl_phase phase = random_next(&seed) % 5 == 0   ? TL_PHASE_COMM
                       : random_next(&seed) % 2 == 0 ? TL_PHASE_BACKWARD
                                                     : TL_PHASE_UPDATE;
      uint16_t stream = phase == TL_PHASE_COMM ? C : phase == TL_PHASE_UPDATE ? U : M;
      add(&x, names + i, (double)(random_next(&seed) % 30), stream, phase, after);
    }
    x.g.degree[TL_ENGINE_AICORE] = (uint16_t)(round % 3);
    x.g.interference = round % 5 == 0 ? 1.5 : 1;
    double before = run(&x, &t).step;
    tl_timeline_release(&t);
    CU_ASSERT_EQUAL(tl_timeline_schedule(&quiet, &x.g, x.order, NULL), TL_OK);
    CU_ASSERT_TRUE(run(&x, &t).step <= before + 1e-9);
    tl_timeline_release(&t);
    uint32_t last = 0;
    for (uint32_t i = 0; i < n; i++)
      if (x.tasks[x.order[i]].phase == TL_PHASE_COMM) {
        CU_ASSERT_TRUE(x.order[i] >= last);
        last = x.order[i];
      }
  }
}

static const unit_test tests[] = {
    {"one stream", one_stream},
    {"a stream for updates", update_stream},
    {"late check of overflow", late_check},
    {"early check of overflow", early_check},
    {"late commit", late_commit},
    {"late commit of a status", late_commit_of_status},
    {"late commit of a local status", late_commit_of_local_status},
    {"two at a time", two_at_a_time},
    {"interference", interference},
    {"interference from within", interference_from_within},
    {"streams that wait for each other", streams_that_wait_for_each_other},
    {"schedules are never worse", schedules_are_never_worse},
    {NULL, NULL},
};

const unit_suite unit_suite_timeline = {"timeline", tests};
