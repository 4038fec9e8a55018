/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of activations: peak, lower bound and better orders on random graphs, against a count that
 * goes by the graph's description alone and, where they are few, against all orders. */
#include "ir/eval/eval.h"
#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "passes/memory/flow.h"
#include "passes/memory/memory.h"
#include "tests/unit/unit.h"

enum { MOST_NODES = 800, MOST_VALUES = 2 * MOST_NODES + 4, ELEMENT = 4 };

typedef enum kind { RELU, ADD, CONCAT, SPLIT, SUM, VIEW, N_KINDS } kind;

typedef struct op {
  kind kind;
  int operand[2]; /* values; -1: absent */
  int result;     /* first value */
  int n_results;
} op;

/* A value is made by node `maker`, -1: an input; root: the value whose memory it shares. */
typedef struct value {
  uint64_t bytes;
  int maker;
  int root;
  bool output;
} value;

typedef struct net {
  op ops[MOST_NODES];
  value values[MOST_VALUES];
  int n_ops;
  int n_values;
  bool held[MOST_VALUES]; /* by root: the caller's */
} net;

static uint32_t random_below(uint64_t *state, uint32_t n) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33) % n;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static int add_value(net *g, uint64_t bytes, int maker) {
  g->values[g->n_values] = (value){.bytes = bytes, .maker = maker, .root = g->n_values};
  return g->n_values++;
}

/* A value that was made lately, as a rule. */
static int pick(net *g, uint64_t *state) {
  uint32_t n = (uint32_t)g->n_values, near = n < 6 ? n : 6;
  return random_below(state, 4) ? (int)(n - 1 - random_below(state, near))
                                : (int)random_below(state, n);
}

static void add_op(net *g, uint64_t *state) {
  int at = g->n_ops++;
  op *o = &g->ops[at];
  *o = (op){
      .kind = (kind)random_below(state, N_KINDS), .operand = {pick(g, state), -1}, .n_results = 1};
  uint64_t bytes = g->values[o->operand[0]].bytes;
  if (o->kind == ADD || o->kind == CONCAT)
    o->operand[1] = pick(g, state);
  uint64_t other = o->operand[1] < 0 ? 0 : g->values[o->operand[1]].bytes;
  if ((o->kind == ADD && other != bytes) || (o->kind == CONCAT && bytes + other > 64 * ELEMENT) ||
      (o->kind == SPLIT && bytes / ELEMENT % 2)) {
    o->kind = RELU;
    o->operand[1] = -1;
  }
  uint64_t made = o->kind == CONCAT  ? bytes + other
                  : o->kind == SPLIT ? bytes / 2
                  : o->kind == SUM   ? ELEMENT
                                     : bytes;
  o->result = add_value(g, made, at);
  if (o->kind == SPLIT) {
    add_value(g, made, at);
    o->n_results = 2;
  }
  if (o->kind == VIEW)
    g->values[o->result].root = g->values[o->operand[0]].root;
}

static bool reads(const net *g, int node, int root) {
  for (int k = 0; k < 2; k++)
    if (g->ops[node].operand[k] >= 0 && g->values[g->ops[node].operand[k]].root == root)
      return true;
  return false;
}

static bool is_read(const net *g, int v) {
  for (int i = 0; i < g->n_ops; i++)
    if (g->ops[i].operand[0] == v || g->ops[i].operand[1] == v)
      return true;
  return false;
}

static void make_net(net *g, int n_ops, uint64_t seed) {
  *g = (net){0};
  for (int i = 0; i < 2; i++)
    add_value(g, ELEMENT * (1 + random_below(&seed, 16)), -1);
  while (g->n_ops < n_ops)
    add_op(g, &seed);
  for (int v = 0; v < g->n_values; v++)
    g->values[v].output = v == g->n_values - 1 || (!is_read(g, v) && random_below(&seed, 3));
  for (int v = 0; v < g->n_values; v++)
    if (g->values[v].output || g->values[v].maker < 0)
      g->held[g->values[v].root] = true;
}

static tl_module *build(const net *g, tl_diag *diag) {
  static const char *const names[N_KINDS] = {"Relu",  "Add",       "Concat",
                                             "Split", "ReduceSum", "Identity"};
  static const char *const attrs[N_KINDS] = {
      "", "", " {axis=0}", " {axis=0, num_outputs=2}", " {keepdims=1}", ""};
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_z(&text, "graph @g(");
  for (int v = 0; v < 2; v++)
    tl_buf_printf(&text, "%s%%v%d: f32[%d]", v ? ", " : "", v, (int)(g->values[v].bytes / ELEMENT));
  tl_buf_add_z(&text, ") -> (");
  bool first = true;
  for (int v = 0; v < g->n_values; v++) {
    if (g->values[v].output)
      tl_buf_printf(&text, "%s%%v%d", first ? "" : ", ", v);
    first = first && !g->values[v].output;
  }
  tl_buf_add_z(&text, ") {\n");
  for (int i = 0; i < g->n_ops; i++) {
    const op *o = &g->ops[i];
    tl_buf_printf(&text, o->n_results == 2 ? "%%v%d, %%v%d = " : "%%v%d = ", o->result,
                  o->result + 1);
    tl_buf_printf(&text, o->operand[1] < 0 ? "%s(%%v%d)" : "%s(%%v%d, %%v%d)", names[o->kind],
                  o->operand[0], o->operand[1]);
    tl_buf_printf(&text, "%s\n", attrs[o->kind]);
  }
  tl_buf_add_z(&text, "}\n");
  tl_module *m = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(diag, "net", tl_buf_view(&text), &m), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_infer_module(m), TL_OK);
  tl_buf_release(&text);
  return m;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Users of a root that have not run before step `at`. */
static int users_left(const net *g, const int *step, int at, int root) {
  int n = 0;
  for (int i = 0; i < g->n_ops; i++)
    n += step[i] >= at && reads(g, i, root);
  return n;
}

/* Bytes in use while the node of a step runs: every value that exists and is still to be read, and
 * what the node makes. An elementwise result lies over an operand that nobody reads afterwards. */
static uint64_t count_at(const net *g, const int *step, int at, int node) {
  const op *o = &g->ops[node];
  uint64_t sum = 0;
  bool over = false;
  for (int v = 0; v < g->n_values; v++) {
    int maker = g->values[v].maker;
    if (maker < 0 || g->values[v].root != v || g->held[v] || step[maker] > at)
      continue;
    int left = users_left(g, step, at, v);
    if (left || maker == node)
      sum += g->values[v].bytes;
    bool gives = (o->kind == RELU || o->kind == ADD) && !g->held[o->result] && left == 1 &&
                 reads(g, node, v) && g->values[v].bytes == g->values[o->result].bytes;
    over = over || gives;
  }
  return over ? sum - g->values[o->result].bytes : sum;
}

static uint64_t recount(const net *g, const uint32_t *order) {
  static int step[MOST_NODES];
  uint64_t peak = 0;
  for (int i = 0; i < g->n_ops; i++)
    step[order[i]] = i;
  for (int i = 0; i < g->n_ops; i++) {
    uint64_t bytes = count_at(g, step, i, (int)order[i]);
    peak = bytes > peak ? bytes : peak;
  }
  return peak;
}

static bool is_ready(const net *g, const bool *done, int node) {
  for (int k = 0; k < 2; k++) {
    int v = g->ops[node].operand[k];
    if (v >= 0 && g->values[v].maker >= 0 && !done[g->values[v].maker])
      return false;
  }
  return true;
}

static bool is_order(const net *g, const uint32_t *order) {
  bool done[MOST_NODES] = {false};
  for (int i = 0; i < g->n_ops; i++) {
    if (order[i] >= (uint32_t)g->n_ops || done[order[i]] || !is_ready(g, done, (int)order[i]))
      return false;
    done[order[i]] = true;
  }
  return true;
}

/* The least peak of all orders, one after the other. */
static uint64_t least(const net *g, uint32_t *order, bool *done, int at) {
  uint64_t best = UINT64_MAX;
  if (at == g->n_ops)
    return recount(g, order);
  for (int i = 0; i < g->n_ops; i++) {
    if (done[i] || !is_ready(g, done, i))
      continue;
    done[i] = true;
    order[at] = (uint32_t)i;
    uint64_t peak = least(g, order, done, at + 1);
    best = peak < best ? peak : best;
    done[i] = false;
  }
  return best;
}

/* ---- tests ----------------------------------------------------------------------------------- */

typedef struct found {
  uint64_t given, bound, better;
  uint32_t order[MOST_NODES];
} found;

static void analyse(const net *g, found *out) {
  tl_diag diag = {0};
  tl_flow f;
  tl_arena arena;
  tl_module *m = build(g, &diag);
  tl_arena_init(&arena, 0);
  CU_ASSERT_TRUE_FATAL(tl_flow_build(&f, m, 1, tl_op_info_builtin(TL_SOC_A2), &arena));
  CU_ASSERT_EQUAL_FATAL(f.n_nodes, (uint32_t)g->n_ops);
  CU_ASSERT_EQUAL(f.n_unsized, 0);
  uint32_t *left = tl_arena_calloc(&arena, f.n_buffers, sizeof *left);
  CU_ASSERT_PTR_NOT_NULL_FATAL(left);
  out->given = tl_flow_peak(&f, NULL, left, NULL);
  out->bound = tl_flow_bound(&f, &arena);
  CU_ASSERT_TRUE(tl_flow_reorder(&f, &arena, out->order, &out->better));
  CU_ASSERT_EQUAL(tl_flow_peak(&f, out->order, left, NULL), out->better);
  tl_arena_release(&arena);
  tl_module_destroy(m);
}

static void check_net(const net *g, found *out) {
  static uint32_t given[MOST_NODES];
  for (int i = 0; i < g->n_ops; i++)
    given[i] = (uint32_t)i;
  analyse(g, out);
  CU_ASSERT_EQUAL(out->given, recount(g, given));
  CU_ASSERT_TRUE_FATAL(is_order(g, out->order));
  CU_ASSERT_EQUAL(out->better, recount(g, out->order));
  CU_ASSERT_TRUE(out->better <= out->given);
  CU_ASSERT_TRUE(out->bound <= out->better);
}

static void small_graphs_against_all_orders(void) {
  enum { GRAPHS = 400 };
  static net g;
  static found f;
  int tight = 0, improved = 0;
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    uint32_t order[MOST_NODES];
    bool done[MOST_NODES] = {false};
    make_net(&g, 2 + (int)(seed % 7), seed * 977);
    check_net(&g, &f);
    uint64_t minimum = least(&g, order, done, 0);
    CU_ASSERT_TRUE(f.bound <= minimum);
    CU_ASSERT_EQUAL(f.better, minimum); /* parts as small as these are searched to the end */
    tight += f.bound == minimum;
    improved += f.better < f.given;
  }
  /* A bound of 0 is sound, and so is an order that never changes: both have to be of use. */
  CU_ASSERT_TRUE(tight > GRAPHS * 3 / 4);
  CU_ASSERT_TRUE(improved > GRAPHS / 20);
}

/* Graphs of several chunks, so that the bound works with parts of sets. */
static void large_graphs_against_some_orders(void) {
  static net g;
  static found f;
  static uint32_t order[MOST_NODES];
  for (uint64_t seed = 1; seed <= 4; seed++) {
    uint64_t state = seed;
    make_net(&g, seed % 2 ? MOST_NODES : 300, seed * 31);
    check_net(&g, &f);
    for (int round = 0; round < 2; round++) {
      bool done[MOST_NODES] = {false};
      for (int at = 0; at < g.n_ops;) {
        int i = (int)random_below(&state, (uint32_t)g.n_ops);
        while (done[i] || !is_ready(&g, done, i))
          i = (i + 1) % g.n_ops;
        done[i] = true;
        order[at++] = (uint32_t)i;
      }
      CU_ASSERT_TRUE(f.bound <= recount(&g, order));
    }
  }
}

static void measure_text(const char *text, tl_memory *out) {
  tl_diag diag = {0};
  tl_module *m = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&diag, "-", tl_sv_from(text), &m), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_infer_module(m), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_memory_measure(m, tl_op_info_builtin(TL_SOC_A2), out), TL_OK);
  tl_module_destroy(m);
}

/* Bytes that the evaluator has in use while the node of a step runs, in the given order: outputs
 * too, once they are made, and nothing lies over an operand. */
static uint64_t evaluated_at(const net *g, const int *step, int at) {
  uint64_t sum = 0;
  for (int v = 0; v < g->n_values; v++) {
    int maker = g->values[v].maker;
    if (maker < 0 || g->values[v].root != v || step[maker] > at)
      continue;
    bool kept = false;
    for (int alias = v; alias < g->n_values; alias++)
      kept = kept || (g->values[alias].root == v && g->values[alias].output);
    if (kept || maker == at || users_left(g, step, at, v))
      sum += g->values[v].bytes;
  }
  return sum;
}

/* The bytes that the evaluator really allocates are those of the same count. */
static void the_evaluator_needs_as_much(void) {
  static net g;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    int step[MOST_NODES];
    uint64_t peak = 0;
    make_net(&g, 5 + (int)(seed % 30), seed * 613);
    for (int i = 0; i < g.n_ops; i++)
      step[i] = i;
    for (int i = 0; i < g.n_ops; i++) {
      uint64_t bytes = evaluated_at(&g, step, i);
      peak = bytes > peak ? bytes : peak;
    }
    tl_diag diag = {0};
    tl_module *m = build(&g, &diag);
    tl_host_heap heap;
    tl_host_heap_init(&heap, 0);
    static const float zeros[64];
    tl_host *inputs[2], *outputs[MOST_VALUES] = {NULL};
    for (int i = 0; i < 2; i++) {
      int64_t n = (int64_t)(g.values[i].bytes / ELEMENT);
      inputs[i] = tl_host_borrow(&heap, TL_DTYPE_F32, 1, &n, zeros);
    }
    tl_eval_options o = {.exact = true};
    CU_ASSERT_EQUAL(tl_eval_graph(m, 1, &o, &heap, inputs, outputs), TL_OK);
    CU_ASSERT_EQUAL(heap.peak, peak);
    for (int i = 0; i < MOST_VALUES; i++)
      tl_host_release(outputs[i]);
    for (int i = 0; i < 2; i++)
      tl_host_release(inputs[i]);
    tl_host_heap_release(&heap);
    tl_module_destroy(m);
  }
}

enum { LARGE = 1 << 20 };

/* Makes a value in a heap and releases it; returns where its bytes were. */
static const void *live_and_die(tl_host_heap *h) {
  int64_t n = LARGE;
  tl_host *t = tl_host_new(h, TL_DTYPE_U8, 1, &n);
  CU_ASSERT_PTR_NOT_NULL_FATAL(t);
  const void *data = t->data;
  tl_host_release(t);
  return data;
}

/* The memory of values that died serves the next run, unless that has a limit. */
static void spare_payloads_are_handed_over(void) {
  tl_host_heap first, second, limited;
  tl_host_heap_init(&first, 0);
  tl_host_heap_init(&second, 0);
  tl_host_heap_init(&limited, LARGE);
  const void *data = live_and_die(&first);
  tl_host_heap_hand_over(&first, &second);
  CU_ASSERT_EQUAL(first.spare_bytes, 0);
  CU_ASSERT_TRUE(second.spare_bytes >= LARGE);
  CU_ASSERT_PTR_EQUAL(live_and_die(&second), data);
  CU_ASSERT_EQUAL(second.peak, LARGE);
  tl_host_heap_hand_over(&second, &limited);
  CU_ASSERT_EQUAL(second.spare_bytes, 0);
  CU_ASSERT_EQUAL(limited.spare_bytes, 0);
  (void)live_and_die(&limited);
  CU_ASSERT_EQUAL(limited.spare_bytes, 0);
  tl_host_heap_release(&first);
  tl_host_heap_release(&second);
  tl_host_heap_release(&limited);
}

/* x: 40, t: 40 over nothing (x is the caller's), u over t, y is the caller's. */
static void parts_of_a_model(void) {
  tl_memory t;
  measure_text("graph @g(%x: f32[10]) -> (%y) {\n  const %w: f32[10] = [1,1,1,1,1,1,1,1,1,1]\n"
               "  %t = Mul(%x, %w)\n  %u = Exp(%t)\n  %y = Concat(%u, %u) {axis=0}\n}\n",
               &t);
  CU_ASSERT_EQUAL(t.weights, 40);
  CU_ASSERT_EQUAL(t.inputs, 40);
  CU_ASSERT_EQUAL(t.outputs, 80);
  CU_ASSERT_EQUAL(t.peak, 40);
  CU_ASSERT_EQUAL(t.bound, 40);
  CU_ASSERT_EQUAL(t.n_unsized, 0);
  CU_ASSERT_EQUAL(tl_memory_total(&t), 200);
}

/* The branch that needs more counts, beside what is in use around the If. */
static void bodies_need_memory(void) {
  tl_memory t;
  measure_text("graph @g(%c: bool[], %x: f32[10]) -> (%y) {\n"
               "  %t = Exp(%x)\n"
               "  %i = If(%c) {\n    then_branch=graph @then() -> (%e) {\n"
               "      %a = Exp(%t)\n      %b = Concat(%a, %a) {axis=0}\n"
               "      %e = ReduceSum(%b)\n    },\n"
               "    else_branch=graph @else() -> (%f) {\n      %f = ReduceSum(%t)\n    }\n  }\n"
               "  %y = Add(%i, %t)\n}\n",
               &t);
  CU_ASSERT_EQUAL(t.inputs, 41);
  /* t (40), a and b (40 + 80) in the branch, i (4) */
  CU_ASSERT_EQUAL(t.peak, 40 + 120 + 4);
  CU_ASSERT_EQUAL(t.bound, t.peak);
}

static void open_sizes_are_named(void) {
  tl_memory t;
  measure_text("graph @g(%x: f32[n,4]) -> (%y) {\n  %t = Exp(%x)\n  %y = Tanh(%t)\n}\n", &t);
  CU_ASSERT_EQUAL(t.n_unsized, 3);
  CU_ASSERT_NOT_EQUAL(t.first_unsized, TL_NO_VALUE);
  CU_ASSERT_EQUAL(t.peak, 0);
}

const unit_suite unit_suite_memory = {
    "memory",
    (const unit_test[]){{"small graphs against all orders", small_graphs_against_all_orders},
                        {"large graphs against some orders", large_graphs_against_some_orders},
                        {"the evaluator needs as much", the_evaluator_needs_as_much},
                        {"spare payloads are handed over", spare_payloads_are_handed_over},
                        {"parts of a model", parts_of_a_model},
                        {"bodies need memory", bodies_need_memory},
                        {"open sizes are named", open_sizes_are_named},
                        {NULL, NULL}}};
