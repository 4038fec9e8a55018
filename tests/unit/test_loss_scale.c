/* SPDX-License-Identifier: Apache-2.0 */
/* The pass loss-scale: graphs that it makes are run for many steps, with overflows planted, beside
 * the managers as state machines, which share no code with it. */
#include <math.h>
#include <string.h>

#include "ir/eval/eval.h"
#include "ir/text/parse.h"
#include "passes/manager.h"
#include "passes/train/scale/loss_scale.h"
#include "tests/unit/unit.h"

enum { STEPS = 100, MOST = 16 };

/* Example 8.1 of the specification with a quarter of its gradient, so that no scale makes it
 * overflow by itself. */
static const char step_text[] =
    "graph @step(%x: f32[1,2], %t: f32[1,1], %w: f32[2,1] = [1.0, 1.0], %lr: f32[] = 0.1)"
    " -> (%L, %w.out) {\n"
    "  const %one: f32[] = 1.0\n"
    "  const %half: f32[] = 0.5\n"
    "  %y = MatMul(%x, %w)\n"
    "  %e = Sub(%y, %t)\n"
    "  %sq = Mul(%e, %e)\n"
    "  %L = ReduceMean(%sq) {keepdims=0}\n"
    "  %k = Mul(%one, %half)\n"
    "  %ge = Mul(%e, %k)\n"
    "  %xt = Transpose(%x)\n"
    "  %gw = MatMul(%xt, %ge)\n"
    "  %d = Mul(%lr, %gw)\n"
    "  %w.out = Sub(%w, %d)\n"
    "  state %w -> %w.out\n"
    "}\n";

typedef struct trainer {
  tl_module *m;
  tl_host_heap heap;
  tl_host *in[MOST];
  tl_host *out[MOST];
} trainer;

static tl_host *number(trainer *t, int rank, const int64_t *dims, const float *v) {
  tl_host *h = tl_host_new(&t->heap, TL_DTYPE_F32, rank, dims);
  CU_ASSERT_PTR_NOT_NULL_FATAL(h);
  memcpy(h->data, v, (size_t)h->bytes);
  return h;
}

static void begin(trainer *t, tl_diag *d, const tl_train_config *c) {
  tl_options o = tl_options_default();
  const tl_pipeline_options p = {.passes = "infer-shapes,train-detect,loss-scale,"
                                           "common-subexpressions,fold-constants,clean-up,"
                                           "dead-nodes",
                                 .verify_each = true};
  *t = (trainer){0};
  tl_host_heap_init(&t->heap, 0);
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(d, "step", tl_sv_from(step_text), &t->m), TL_OK);
  o.train = c;
  CU_ASSERT_EQUAL_FATAL(tl_pipeline_run(t->m, &o, &p, NULL), TL_OK);
}

static void end(trainer *t) {
  for (unsigned i = 0; i < MOST; i++) {
    tl_host_release(t->in[i]);
    tl_host_release(t->out[i]);
  }
  tl_module_destroy(t->m);
  tl_host_heap_release(&t->heap);
}

static const tl_host *output(const trainer *t, const char *name) {
  const tl_graph *g = tl_module_main(t->m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(t->m, g); i++)
    if (tl_sv_is(tl_value_name(t->m, tl_graph_output(t->m, g, i)), name))
      return t->out[i];
  CU_FAIL_FATAL("no such output");
  return NULL;
}

/* One step; states go on by themselves. */
static void step(trainer *t, bool overflow) {
  static const int64_t x_dims[] = {1, 2}, t_dims[] = {1, 1};
  const tl_eval_options exact = {.exact = true};
  const tl_graph *g = tl_module_main(t->m);
  for (unsigned i = 0; i < MOST; i++) {
    tl_host_release(t->out[i]);
    t->out[i] = NULL;
  }
  tl_host_release(t->in[0]);
  tl_host_release(t->in[1]);
  t->in[0] = number(t, 2, x_dims, overflow ? (const float[]){1e20f, 2} : (const float[]){0, 0});
  t->in[1] = number(t, 2, t_dims, (const float[]){1});
  CU_ASSERT_EQUAL_FATAL(tl_eval_graph(t->m, g->id, &exact, &t->heap, t->in, t->out), TL_OK);
  for (uint32_t i = 0; i < t->m->states.n; i++) {
    uint32_t in = tl_value_get(t->m, t->m->states.at[i].input)->index;
    tl_host_release(t->in[in]);
    for (uint32_t k = 0; k < tl_graph_n_outputs(t->m, g); k++)
      if (tl_graph_output(t->m, g, k) == t->m->states.at[i].output)
        t->in[in] = tl_host_retain(t->out[k]);
  }
}

static float scale_of(const trainer *t) {
  return (float)tl_host_at(output(t, "tlr.ls.scale.out"), 0);
}

static int64_t counter(const trainer *t, const char *name) {
  return tl_host_int_at(output(t, name), 0);
}

static bool overflows(unsigned k, unsigned pattern) {
  unsigned h = (k * 2654435761u + pattern * 40503u) >> 7;
  return pattern == 0 ? k % 7 == 3 : pattern == 1 ? h % 3 == 0 : h % 16 == 0;
}

static tl_train_config config(tl_loss_scale_config manager) {
  tl_train_config c = tl_train_config_default();
  c.train = c.is_loss_scale = c.has_manager = true;
  c.loss_scale = manager;
  return c;
}

static void follows(tl_loss_scale_config manager, unsigned pattern, tl_update_form form) {
  tl_diag d = {0};
  trainer t;
  tl_train_config c = config(manager);
  c.update_form = form;
  begin(&t, &d, &c);
  tl_loss_scale_state s = tl_loss_scale_start(&manager);
  for (unsigned k = 0; k < STEPS; k++) {
    bool bad = overflows(k, pattern);
    step(&t, bad);
    s = tl_loss_scale_next(&manager, s, !bad);
    CU_ASSERT_EQUAL(tl_host_int_at(output(&t, "tlr.ls.finite"), 0), !bad);
    CU_ASSERT_EQUAL(scale_of(&t), s.scale);
    if (manager.kind == TL_LOSS_SCALE_EXPONENTIAL) {
      CU_ASSERT_EQUAL(counter(&t, "tlr.ls.good.out"), s.good);
      CU_ASSERT_EQUAL(counter(&t, "tlr.ls.bad.out"), s.bad);
    } else {
      CU_ASSERT_EQUAL(counter(&t, "tlr.ls.cur.out"), s.step);
      CU_ASSERT_EQUAL(counter(&t, "tlr.ls.last.out"), s.last);
    }
  }
  end(&t);
}

static void graphs_follow_managers(void) {
  static const tl_loss_scale_config managers[] = {
      {TL_LOSS_SCALE_EXPONENTIAL, 1024, 2, 0.8f, 3, 2, false},
      {TL_LOSS_SCALE_EXPONENTIAL, 1.1f, 1.5f, 0.5f, 1, 1, false},
      {TL_LOSS_SCALE_EXPONENTIAL, 2e38f, 2, 0.8f, 1, 9, false}, /* at the ceiling */
      {TL_LOSS_SCALE_EXPONENTIAL, 65536, 2, 0.5f, 5, 1,
       true},                                               /* torch_amp, with a shorter interval */
      {TL_LOSS_SCALE_EXPONENTIAL, 2, 2, 0.5f, 50, 1, true}, /* torch_amp below 1 */
      {TL_LOSS_SCALE_DYNAMIC, 65536, 2, 0, 3, 0, false},
      {TL_LOSS_SCALE_DYNAMIC, 1.5f, 3, 0, 4, 0, false},
      {TL_LOSS_SCALE_DYNAMIC, 1e38f, 10, 0, 1, 0, false},
  };
  for (size_t i = 0; i < sizeof managers / sizeof *managers; i++)
    for (unsigned pattern = 0; pattern < 3; pattern++) {
      follows(managers[i], pattern, TL_UPDATE_WHERE);
      follows(managers[i], pattern, TL_UPDATE_IF);
    }
}

/* Example 8.27: finite flags 1 1 1 0 1 0 1 1 1. */
static void sequence_of_the_specification(void) {
  static const struct {
    bool finite;
    float scale;
    int good, bad;
  } rows[] = {{1, 1024, 1, 0},    {1, 1024, 2, 0},    {1, 2048, 0, 0},
              {0, 2048, 0, 1},    {1, 2048, 1, 1},    {0, 1638.4f, 0, 0},
              {1, 1638.4f, 1, 0}, {1, 1638.4f, 2, 0}, {1, 3276.8f, 0, 0}};
  tl_diag d = {0};
  trainer t;
  tl_train_config c =
      config((tl_loss_scale_config){TL_LOSS_SCALE_EXPONENTIAL, 1024, 2, 0.8f, 3, 2, false});
  begin(&t, &d, &c);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    step(&t, !rows[i].finite);
    CU_ASSERT_EQUAL(scale_of(&t), rows[i].scale);
    CU_ASSERT_EQUAL(counter(&t, "tlr.ls.good.out"), rows[i].good);
    CU_ASSERT_EQUAL(counter(&t, "tlr.ls.bad.out"), rows[i].bad);
  }
  end(&t);
}

/* A fixed scale stays, but its steps are skipped; one that does not look updates with what it has.
 */
static void fixed_scales(void) {
  for (unsigned blind = 0; blind < 2; blind++) {
    tl_diag d = {0};
    trainer t;
    tl_train_config c = config((tl_loss_scale_config){
        .kind = blind ? TL_LOSS_SCALE_FIXED_BLIND : TL_LOSS_SCALE_FIXED, .init = 128});
    begin(&t, &d, &c);
    CU_ASSERT_EQUAL(t.m->states.n, 1);
    step(&t, true);
    double w = tl_host_at(output(&t, "w.out"), 0);
    CU_ASSERT_TRUE(blind ? isinf(w) || isnan(w) : w == 1);
    end(&t);
  }
}

static const unit_test tests[] = {
    {"graphs follow managers", graphs_follow_managers},
    {"sequence of the specification", sequence_of_the_specification},
    {"fixed scales", fixed_scales},
    {NULL, NULL},
};

const unit_suite unit_suite_loss_scale = {"loss scale", tests};
