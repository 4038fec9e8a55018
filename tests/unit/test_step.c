/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as tasks: net X of the training specification (examples 18 and 19) from a graph and a
 * profile; streams; that neither the order of nodes nor a second build changes the result. */
#include <string.h>

#include "ir/graph.h"
#include "ir/text/parse.h"
#include "passes/train/time/record.h"
#include "tests/unit/unit.h"

/* Nodes are named by their part in the step. Updates stand where the graph has them. */
static const char net_x[] =
    "graph @g(%x: f32[4]) -> (%u4, %u3, %u2, %u1) {\n"
    "  %f = test::Work(%x) @F : f32[4]\n"
    "  %b4 = test::Work(%f) @B4 : f32[4]\n"
    "  %b3 = test::Work(%b4) @B3 : f32[4]\n"
    "  %r4, %r3 = test::HcomAllReduce(%b4, %b3) @A1 {group=\"g\", fusion=1} : f32[4], f32[4]\n"
    "  %u4 = test::Work(%r4) @U4 : f32[4]\n"
    "  %u3 = test::Work(%r3) @U3 : f32[4]\n"
    "  %b2 = test::Work(%b3) @B2 : f32[4]\n"
    "  %b1 = test::Work(%b2) @B1 : f32[4]\n"
    "  %r2, %r1 = test::HcomAllReduce(%b2, %b1) @A2 {group=\"g\", fusion=1} : f32[4], f32[4]\n"
    "  %u2 = test::Work(%r2) @U2 : f32[4]\n"
    "  %u1 = test::Work(%r1) @U1 : f32[4]\n"
    "}\n";

static const char times[] = "F,40\nB4,20\nB3,20\nB2,20\nB1,20\nA1,30\nA2,30\n"
                            "U4,6\nU3,6\nU2,6\nU1,6\n";

typedef struct scene {
  tl_diag diag;
  tl_arena arena;
  tl_module *m;
  tl_costs cost;
  tl_train_info info;
  tl_step_machine machine;
} scene;

static void open_scene(scene *x, const char *text) {
  *x = (scene){0};
  tl_arena_init(&x->arena, 0);
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&x->diag, "", tl_sv_from(text), &x->m), TL_OK);
  tl_hw_preset hw;
  CU_ASSERT_EQUAL_FATAL(tl_hw_preset_parse(&x->diag, TL_SV("unit"), &hw), TL_OK);
  tl_costs_init(&x->cost, &hw, 8);
  CU_ASSERT_EQUAL_FATAL(tl_costs_read_profile(&x->diag, &x->cost, "", tl_sv_from(times)), TL_OK);
  x->info.n_nodes = tl_module_node_end(x->m);
  x->info.region = tl_arena_calloc(&x->arena, x->info.n_nodes, 1);
  TL_FOR_NODES(x->m, tl_module_main(x->m), n) {
    char part = tl_sym(x->m, tl_node_get(x->m, n)->name).p[0];
    x->info.region[n] = (uint8_t)(part == 'F'   ? TL_REGION_FORWARD
                                  : part == 'B' ? TL_REGION_BACKWARD
                                                : TL_REGION_UPDATE);
  }
  x->machine = (tl_step_machine){.cost = &x->cost, .hcom_parallel = true};
}

static void close_scene(scene *x) {
  tl_costs_release(&x->cost);
  tl_module_destroy(x->m);
  tl_arena_release(&x->arena);
}

static tl_step build(scene *x) {
  tl_step s;
  CU_ASSERT_EQUAL_FATAL(tl_step_build(x->m, &x->arena, &x->info, &x->machine, &s), TL_OK);
  return s;
}

static tl_step_report run(scene *x, const tl_step *s, const uint32_t *order) {
  tl_timeline t;
  tl_step_report r;
  CU_ASSERT_EQUAL_FATAL(tl_timeline_run(&x->diag, &s->g, order, &t), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_timeline_report(&s->g, order, &t, &r), TL_OK);
  tl_timeline_release(&t);
  return r;
}

static uint32_t find(const tl_step *s, const char *name) {
  for (uint32_t i = 0; i < s->g.n; i++)
    if (tl_sv_is(s->g.tasks[i].name, name))
      return i;
  CU_FAIL_FATAL("no such task");
  return 0;
}

static void example_18(void) {
  scene x;
  open_scene(&x, net_x);
  x.machine.hcom_parallel = false;
  tl_step s = build(&x);
  tl_step_report r = run(&x, &s, s.given);
  CU_ASSERT_EQUAL(r.step, 204);
  CU_ASSERT_EQUAL(r.exposed_comm, 60);
  CU_ASSERT_EQUAL(r.overlap, 0);
  CU_ASSERT_EQUAL(r.bound, 162);
  CU_ASSERT_DOUBLE_EQUAL(r.efficiency, 0.794, 0.0005);
  CU_ASSERT_EQUAL(s.n_buckets, 2);
  close_scene(&x);
}

static void example_19(void) {
  scene x;
  open_scene(&x, net_x);
  tl_step s = build(&x);
  tl_step_report r = run(&x, &s, s.given);
  CU_ASSERT_EQUAL(r.step, 162);
  CU_ASSERT_EQUAL(r.exposed_comm, 18);
  CU_ASSERT_EQUAL(r.efficiency, 1);
  CU_ASSERT_TRUE(tl_sv_is(s.streams[s.g.tasks[find(&s, "B1")].stream], "M"));
  CU_ASSERT_TRUE(tl_sv_is(s.streams[s.g.tasks[find(&s, "A1")].stream], "C:g"));
  CU_ASSERT_TRUE(tl_sv_is(s.streams[s.g.tasks[find(&s, "U4")].stream], "U"));
  close_scene(&x);
}

/* Names of tasks in an order, for comparing. */
static void spell(const tl_step *s, const uint32_t *order, char *out) {
  for (uint32_t i = 0; i < s->g.n; i++) {
    memcpy(out, s->g.tasks[order[i]].name.p, 2);
    out += 2;
  }
  *out = '\0';
}

static void order_of_nodes_does_not_count(void) {
  char spelled[2][64];
  for (int round = 0; round < 2; round++) {
    scene x;
    open_scene(&x, net_x);
    tl_node_id moved = TL_NO_NODE;
    TL_FOR_NODES(x.m, tl_module_main(x.m), n)
      if (tl_sv_is(tl_sym(x.m, tl_node_get(x.m, n)->name), "U4"))
        moved = n;
    if (round == 1) /* behind everything */
      tl_node_move_after(x.m, moved, tl_module_main(x.m)->last);
    tl_step s = build(&x);
    CU_ASSERT_EQUAL_FATAL(tl_timeline_schedule(&x.diag, &s.g, s.given, NULL), TL_OK);
    CU_ASSERT_EQUAL(run(&x, &s, s.given).step, 162);
    spell(&s, s.given, spelled[round]);
    close_scene(&x);
  }
  CU_ASSERT_STRING_EQUAL(spelled[0], spelled[1]);
}

/* A check serves the flag and predicates; Where is an update. */
static void checks(void) {
  scene x;
  open_scene(&x, "graph @g(%x: f32[4], %w: f32[4]) -> (%y) {\n"
                 "  %b = test::Work(%x) @B : f32[4]\n"
                 "  %r = test::HcomAllReduce(%b) @A {group=\"g\", fusion=1} : f32[4]\n"
                 "  %k = test::Work(%r) @K : f32[1]\n"
                 "  %f = test::HcomAllReduce(%k) @A2 {group=\"g\", fusion=0} : f32[1]\n"
                 "  %p = Equal(%f, %f) @P : bool[1]\n"
                 "  %c = Sub(%w, %r) @U : f32[4]\n"
                 "  %y = Where(%p, %c, %w) @W : f32[4]\n"
                 "}\n");
  tl_step s = build(&x);
  static const struct {
    const char *name;
    tl_phase phase;
  } rows[] = {{"B", TL_PHASE_BACKWARD}, {"A", TL_PHASE_COMM},  {"K", TL_PHASE_CHECK},
              {"A2", TL_PHASE_COMM},    {"P", TL_PHASE_CHECK}, {"U", TL_PHASE_UPDATE},
              {"W", TL_PHASE_UPDATE}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    CU_ASSERT_EQUAL(s.g.tasks[find(&s, rows[i].name)].phase, rows[i].phase);
  CU_ASSERT_EQUAL(s.g.tasks[find(&s, "A2")].bucket, TL_NO_BUCKET);
  CU_ASSERT_EQUAL(s.n_buckets, 1);
  close_scene(&x);
}

/* What a body uses is waited for by the node that owns it. */
static void bodies(void) {
  scene x;
  open_scene(&x, "graph @g(%x: f32[4], %p: bool[]) -> (%y) {\n"
                 "  %f = test::Work(%x) @F : f32[4]\n"
                 "  %y = If(%p) @U {then_branch=graph () -> (%a) { %a = Neg(%f) : f32[4] },"
                 " else_branch=graph () -> (%b) { %b = Abs(%f) : f32[4] }} : f32[4]\n"
                 "}\n");
  tl_step s = build(&x);
  uint32_t task = find(&s, "U");
  CU_ASSERT_EQUAL(s.g.n, 2);
  CU_ASSERT_EQUAL(s.g.first[task + 1] - s.g.first[task], 2);
  CU_ASSERT_EQUAL(s.g.preds[s.g.first[task]], find(&s, "F"));
  close_scene(&x);
}

static void record(void) {
  scene x;
  tl_step_record r;
  open_scene(&x, net_x);
  tl_step s = build(&x);
  tl_step_record_init(&r);
  CU_ASSERT_EQUAL_FATAL(tl_step_record_add(&r, x.m, "given", &s, s.given, &x.machine), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_step_record_add(&r, x.m, "given", &s, s.given, &x.machine), TL_OK);
  CU_ASSERT_EQUAL_FATAL(r.n, 1);
  const tl_step_stage *stage = &r.stages[0];
  CU_ASSERT_EQUAL_FATAL(stage->n_buckets, 2);
  CU_ASSERT_EQUAL(stage->buckets[0].ready, 80);
  CU_ASSERT_EQUAL(stage->buckets[0].start, 80);
  CU_ASSERT_EQUAL(stage->buckets[0].exposed, 0);
  CU_ASSERT_EQUAL(stage->buckets[1].start, 120);
  CU_ASSERT_EQUAL(stage->buckets[1].exposed, 18);
  CU_ASSERT_EQUAL(stage->buckets[1].bytes, 32);
  for (uint32_t i = 1; i < stage->n; i++)
    CU_ASSERT_TRUE(stage->tasks[i - 1].stream < stage->tasks[i].stream ||
                   stage->tasks[i - 1].start <= stage->tasks[i].start);
  tl_step_record_release(&r);
  close_scene(&x);
}

/* The order in the file counts for collectives of a group alone; a pass's own order stays. */
static void own_order(void) {
  static const char in_file[] =
      "graph @g(%x: f32[4]) -> (%u4, %u3, %u2, %u1) {\n"
      "  %f = test::Work(%x) @F : f32[4]\n"
      "  %b4 = test::Work(%f) @B4 : f32[4]\n"
      "  %b3 = test::Work(%b4) @B3 : f32[4]\n"
      "  %b2 = test::Work(%b3) @B2 : f32[4]\n"
      "  %b1 = test::Work(%b2) @B1 : f32[4]\n"
      "  %r4, %r3 = test::HcomAllReduce(%b4, %b3) @A1 {group=\"g\", fusion=1} : f32[4], f32[4]\n"
      "  %r2, %r1 = test::HcomAllReduce(%b2, %b1) @A2 {group=\"h\", fusion=1} : f32[4], f32[4]\n"
      "  %u1 = test::Work(%r1) @U1 : f32[4]\n"
      "  %u2 = test::Work(%r2) @U2 : f32[4]\n"
      "  %u3 = test::Work(%r3) @U3 : f32[4]\n"
      "  %u4 = test::Work(%r4) @U4 : f32[4]\n"
      "}\n";
  for (int chosen = 0; chosen < 2; chosen++) {
    static const char *const names[] = {"F B4 B3 A1 U3 U4 B2 B1 A2 U1 U2 ",
                                        "F B4 B3 B2 B1 A1 A2 U1 U2 U3 U4 "};
    scene x;
    tl_buf text;
    tl_buf_init(&text);
    open_scene(&x, in_file);
    tl_step_state_edit(x.m)->ordered = chosen;
    tl_step s = build(&x);
    for (uint32_t i = 0; i < s.g.n; i++)
      tl_buf_printf(&text, "%.*s ", TL_SV_ARG(s.g.tasks[s.given[i]].name));
    CU_ASSERT_TRUE(tl_sv_is(tl_buf_view(&text), names[chosen]));
    CU_ASSERT_EQUAL(s.n_buckets, 2);
    tl_buf_release(&text);
    close_scene(&x);
  }
}

static const unit_test tests[] = {
    {"example 18", example_18},
    {"example 19", example_19},
    {"an order of its own", own_order},
    {"the order of nodes does not count", order_of_nodes_does_not_count},
    {"checks", checks},
    {"bodies", bodies},
    {"record", record},
    {NULL, NULL},
};

const unit_suite unit_suite_step = {"step", tests};
