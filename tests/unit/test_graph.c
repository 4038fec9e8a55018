/* SPDX-License-Identifier: Apache-2.0 */
/* Editing graphs: use lists, order labels, sorting, hashing. */
#include <stdio.h>

#include "ir/edit_log.h"
#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "ir/verify/verify.h"
#include "tests/unit/unit.h"

typedef struct fixture {
  tl_diag diag;
  tl_module *m;
  tl_graph_id g;
  tl_value_id x;
} fixture;

static fixture begin(void) {
  fixture f = {.diag = {0}};
  return f;
}

static void open_module(fixture *f) {
  f->m = tl_module_create(&f->diag, "test", 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(f->m);
  f->g = tl_graph_create(f->m, TL_GRAPH_ROOT, 0, TL_NO_NODE);
  tl_dim dims[] = {2, 3};
  f->x = tl_graph_add_input(f->m, f->g, tl_module_intern(f->m, TL_SV("x")),
                            tl_type_tensor(f->m, TL_DTYPE_F32, 2, dims), TL_NO_TENSOR);
}

static tl_node_id add_node(fixture *f, tl_op_id op, tl_value_id a, tl_value_id b,
                           const char *name) {
  tl_value_id operands[] = {a, b};
  tl_symbol result = tl_module_intern(f->m, tl_sv_from(name));
  tl_node_spec spec = {
      .op = op, .operands = operands, .n_operands = b ? 2 : 1, .results = &result, .n_results = 1};
  return tl_graph_append(f->m, f->g, &spec);
}

static void uses_follow_edits(void) {
  fixture f = begin();
  open_module(&f);
  tl_node_id a = add_node(&f, TL_OP_Relu, f.x, 0, "a");
  tl_node_id b = add_node(&f, TL_OP_Add, tl_result(f.m, a, 0), f.x, "b");
  tl_value_id out = tl_result(f.m, b, 0);
  CU_ASSERT_EQUAL(tl_graph_set_outputs(f.m, f.g, &out, 1), TL_OK);
  CU_ASSERT_EQUAL(tl_value_get(f.m, f.x)->n_uses, 2);
  CU_ASSERT_TRUE(tl_value_is_output(f.m, out));
  CU_ASSERT_FALSE(tl_value_is_output(f.m, tl_result(f.m, a, 0)));
  tl_value_replace_uses(f.m, tl_result(f.m, a, 0), f.x);
  CU_ASSERT_EQUAL(tl_value_get(f.m, f.x)->n_uses, 3);
  CU_ASSERT_EQUAL(tl_operand(f.m, b, 0), f.x);
  tl_node_erase(f.m, a);
  CU_ASSERT_EQUAL(tl_value_get(f.m, f.x)->n_uses, 2);
  CU_ASSERT_EQUAL(tl_graph_get(f.m, f.g)->n_nodes, 1);
  CU_ASSERT_EQUAL(tl_graph_get(f.m, f.g)->first, b);
  tl_module_destroy(f.m);
}

/* Two rewrites: the first erases a node, the second changes one; what came to nothing is taken
 * back when its number is given again. */
static void rewrites_are_logged(void) {
  fixture f = begin();
  open_module(&f);
  tl_node_id a = add_node(&f, TL_OP_Relu, f.x, 0, "a");
  tl_node_id b = add_node(&f, TL_OP_Neg, f.x, 0, "b");
  tl_edit_log log = {.m = f.m};
  f.m->log = &log;
  tl_edit_log_begin(&log);
  tl_node_erase(f.m, a);
  tl_edit_log_mark(&log, 1); /* it began before the node went */
  tl_edit_log_mark(&log, 2);
  tl_node_id c = add_node(&f, TL_OP_Abs, f.x, 0, "c");
  tl_edit_log_mark(&log, 2);
  tl_node_set_operand(f.m, b, 0, tl_result(f.m, c, 0));
  CU_ASSERT_EQUAL_FATAL(log.marks.n, 2);
  CU_ASSERT_EQUAL(log.marks.at[0].number, 1);
  CU_ASSERT_EQUAL(log.marks.at[0].edits, 0);
  CU_ASSERT_EQUAL(log.marks.at[1].number, 2);
  CU_ASSERT_EQUAL(log.marks.at[1].nodes, c + 1);
  CU_ASSERT_TRUE_FATAL(log.edits.n > log.marks.at[1].edits);
  CU_ASSERT_EQUAL(log.edits.at[0].node, a);
  CU_ASSERT_EQUAL(log.edits.at[0].was, TL_OP_Relu);
  CU_ASSERT_EQUAL(log.edits.at[log.edits.n - 1].node, b);
  CU_ASSERT_EQUAL(log.edits.at[log.edits.n - 1].was, TL_OP_ERASED);
  CU_ASSERT_FALSE(log.lost);
  tl_edit_log_clear(&log);
  CU_ASSERT_EQUAL(log.edits.n + log.marks.n, 0);
  f.m->log = NULL;
  tl_edit_log_release(&log);
  tl_module_destroy(f.m);
}

/* The gap between two labels admits 31 halvings; more insertions force a relabelling. */
static void order_survives_many_insertions(void) {
  fixture f = begin();
  open_module(&f);
  add_node(&f, TL_OP_Relu, f.x, 0, "first");
  tl_node_id last = add_node(&f, TL_OP_Relu, f.x, 0, "last");
  tl_value_id operand = f.x;
  tl_node_spec spec = {.op = TL_OP_Relu, .operands = &operand, .n_operands = 1, .n_results = 1};
  tl_node_id previous = tl_graph_get(f.m, f.g)->first;
  for (int i = 0; i < 200; i++) {
    tl_node_id n = tl_graph_insert(f.m, last, &spec);
    CU_ASSERT_TRUE_FATAL(tl_node_is_before(f.m, previous, n) && tl_node_is_before(f.m, n, last));
    previous = n;
  }
  tl_module_destroy(f.m);
}

static void sort_restores_dependencies_stably(void) {
  fixture f = begin();
  open_module(&f);
  tl_node_id late = add_node(&f, TL_OP_Relu, f.x, 0, "late");
  tl_node_id free_one = add_node(&f, TL_OP_Relu, f.x, 0, "free");
  tl_node_id early = add_node(&f, TL_OP_Relu, f.x, 0, "early");
  tl_node_set_operand(f.m, late, 0, tl_result(f.m, early, 0));
  CU_ASSERT_EQUAL(tl_graph_sort(f.m, f.g), TL_OK);
  CU_ASSERT_EQUAL(tl_graph_get(f.m, f.g)->first, free_one);
  CU_ASSERT_EQUAL(tl_graph_get(f.m, f.g)->last, late);
  CU_ASSERT_TRUE(tl_node_is_before(f.m, early, late));
  tl_module_destroy(f.m);
}

static void keep_message(void *user, const tl_diagnostic *d) { tl_buf_add_z(user, d->message); }

static void sort_names_the_cycle(void) {
  fixture f = begin();
  tl_buf seen;
  tl_buf_init(&seen);
  f.diag = (tl_diag){.fn = keep_message, .user = &seen};
  open_module(&f);
  tl_node_id a = add_node(&f, TL_OP_Relu, f.x, 0, "a");
  tl_node_id b = add_node(&f, TL_OP_Relu, tl_result(f.m, a, 0), 0, "b");
  tl_node_id c = add_node(&f, TL_OP_Relu, tl_result(f.m, b, 0), 0, "c");
  tl_node_set_operand(f.m, a, 0, tl_result(f.m, b, 0));
  CU_ASSERT_EQUAL(tl_graph_sort(f.m, f.g), TL_INVALID_MODEL);
  CU_ASSERT_PTR_NOT_NULL(strstr(seen.p, "Relu->a -> Relu->b -> Relu->a"));
  CU_ASSERT_EQUAL(tl_graph_get(f.m, f.g)->last, c); /* unchanged */
  tl_buf_release(&seen);
  tl_module_destroy(f.m);
}

static void control_edges_bind_order(void) {
  fixture f = begin();
  open_module(&f);
  tl_node_id a = add_node(&f, TL_OP_Relu, f.x, 0, "a");
  tl_node_id b = add_node(&f, TL_OP_Relu, f.x, 0, "b");
  CU_ASSERT_NOT_EQUAL(tl_control_add(f.m, b, a, TL_CONTROL_USER), 0);
  CU_ASSERT_EQUAL(tl_graph_sort(f.m, f.g), TL_OK);
  CU_ASSERT_TRUE(tl_node_is_before(f.m, b, a));
  tl_node_erase(f.m, a);
  CU_ASSERT_EQUAL(tl_node_get(f.m, b)->control_out, 0);
  tl_module_destroy(f.m);
}

/* The sources of the edges into a node, as digits. */
static int sources(const tl_module *m, tl_node_id n, const tl_node_id *from, int n_from) {
  int digits = 0;
  for (tl_control_id c = tl_node_get(m, n)->control_in; c; c = tl_control_get(m, c)->next_in)
    for (int i = 0; i < n_from; i++)
      if (tl_control_get(m, c)->from == from[i])
        digits = digits * 10 + i + 1;
  return digits;
}

static void control_edges_keep_their_order(void) {
  enum { N = 4 };
  static const char *const names[N] = {"a", "b", "c", "d"};
  fixture f = begin();
  tl_node_id from[N];
  tl_control_id edge[N];
  open_module(&f);
  for (int i = 0; i < N; i++)
    from[i] = add_node(&f, TL_OP_Relu, f.x, 0, names[i]);
  tl_node_id to = add_node(&f, TL_OP_Relu, f.x, 0, "e");
  for (int i = 0; i < N; i++)
    edge[i] = tl_control_add(f.m, from[i], to, TL_CONTROL_USER);
  CU_ASSERT_EQUAL(sources(f.m, to, from, N), 1234);
  tl_control_erase(f.m, edge[1]);
  CU_ASSERT_EQUAL(sources(f.m, to, from, N), 134);
  tl_control_erase(f.m, edge[3]); /* the last one */
  CU_ASSERT_EQUAL(sources(f.m, to, from, N), 13);
  (void)tl_control_add(f.m, from[3], to, TL_CONTROL_USER);
  tl_control_erase(f.m, edge[0]); /* the first one */
  (void)tl_control_add(f.m, from[1], to, TL_CONTROL_USER);
  CU_ASSERT_EQUAL(sources(f.m, to, from, N), 342);
  CU_ASSERT_EQUAL(tl_module_verify(f.m, TL_VERIFY_STRUCTURAL), TL_OK);
  for (int i = 0; i < N; i++)
    tl_node_erase(f.m, from[i]);
  CU_ASSERT_EQUAL(tl_node_get(f.m, to)->control_in, 0);
  tl_module_destroy(f.m);
}

static void equal_nodes_hash_equal(void) {
  fixture f = begin();
  open_module(&f);
  tl_node_id a = add_node(&f, TL_OP_Relu, f.x, 0, "a");
  tl_node_id b = add_node(&f, TL_OP_Relu, f.x, 0, "b");
  tl_node_id s = add_node(&f, TL_OP_Add, tl_result(f.m, a, 0), f.x, "s");
  tl_node_id t = add_node(&f, TL_OP_Add, f.x, tl_result(f.m, a, 0), "t");
  tl_node_id u = add_node(&f, TL_OP_Sub, f.x, tl_result(f.m, a, 0), "u");
  tl_node_id v = add_node(&f, TL_OP_Sub, tl_result(f.m, a, 0), f.x, "v");
  CU_ASSERT_TRUE(tl_node_equal(f.m, a, b) && tl_node_hash(f.m, a) == tl_node_hash(f.m, b));
  CU_ASSERT_TRUE(tl_node_equal(f.m, s, t) && tl_node_hash(f.m, s) == tl_node_hash(f.m, t));
  CU_ASSERT_FALSE(tl_node_equal(f.m, u, v));
  tl_attr attr = tl_attr_float(TL_SYM_alpha, 0.5f);
  CU_ASSERT_EQUAL(tl_node_set_attr(f.m, b, attr), TL_OK);
  CU_ASSERT_FALSE(tl_node_equal(f.m, a, b));
  tl_module_destroy(f.m);
}

/* Names are not structure; one more node is. */
static void graph_hash_ignores_names(void) {
  uint64_t hash[3];
  for (int i = 0; i < 3; i++) {
    fixture f = begin();
    open_module(&f);
    tl_node_id a = add_node(&f, TL_OP_Relu, f.x, 0, i ? "other" : "a");
    if (i == 2)
      a = add_node(&f, TL_OP_Relu, tl_result(f.m, a, 0), 0, "more");
    tl_value_id out = tl_result(f.m, a, 0);
    CU_ASSERT_EQUAL(tl_graph_set_outputs(f.m, f.g, &out, 1), TL_OK);
    hash[i] = tl_graph_hash(f.m, f.g);
    tl_module_destroy(f.m);
  }
  CU_ASSERT_EQUAL(hash[0], hash[1]);
  CU_ASSERT_NOT_EQUAL(hash[0], hash[2]);
}

static void dims_compute_symbolically(void) {
  fixture f = begin();
  open_module(&f);
  tl_dim n = tl_dim_named(f.m, TL_SV("n"));
  tl_dim k = tl_dim_named(f.m, TL_SV("k"));
  CU_ASSERT_EQUAL(tl_dim_mul(f.m, 3, 4), 12);
  CU_ASSERT_EQUAL(tl_dim_mul(f.m, n, 1), n);
  CU_ASSERT_EQUAL(tl_dim_mul(f.m, n, k), tl_dim_mul(f.m, k, n));
  CU_ASSERT_EQUAL(tl_dim_mul(f.m, INT64_MAX, 2), TL_DIM_UNKNOWN);
  CU_ASSERT_EQUAL(tl_dim_sub(f.m, n, n), 0);
  CU_ASSERT_EQUAL(tl_dim_ceil_div(f.m, 7, 2), 4);
  tl_dim out;
  CU_ASSERT_TRUE(tl_dim_broadcast(n, 1, &out) && out == n);
  CU_ASSERT_TRUE(tl_dim_broadcast(n, 5, &out) && out == 5);
  CU_ASSERT_FALSE(tl_dim_broadcast(4, 5, &out));
  tl_module_destroy(f.m);
}

/* The dim of a text, and the text of a dim. */
static tl_dim dim(fixture *f, const char *text) { return tl_dim_named(f->m, tl_sv_from(text)); }

static void is_dim(fixture *f, tl_dim d, const char *text) {
  CU_ASSERT_TRUE(d == dim(f, text));
  if (tl_dim_is_symbol(d) && d != dim(f, text))
    printf("\n%.*s, expected %s\n", TL_SV_ARG(tl_sym(f->m, tl_dim_symbol(d))), text);
}

static void sums_of_dims_are_normal(void) {
  fixture f = begin();
  open_module(&f);
  tl_dim past = dim(&f, "past");
  tl_dim seq = dim(&f, "seq");
  tl_dim both = tl_dim_add(f.m, past, seq);
  is_dim(&f, both, "past + seq");
  is_dim(&f, tl_dim_sub(f.m, both, past), "seq");
  is_dim(&f, tl_dim_sub(f.m, seq, both), "0 - past");
  CU_ASSERT_EQUAL(tl_dim_sub(f.m, tl_dim_add(f.m, both, 5), both), 5);
  CU_ASSERT_EQUAL(tl_dim_sub(f.m, both, tl_dim_add(f.m, both, 5)), TL_DIM_UNKNOWN);
  tl_dim h2 = tl_dim_add(f.m, dim(&f, "h"), 2);
  is_dim(&f, tl_dim_sub(f.m, h2, 1), "h + 1");
  is_dim(&f, tl_dim_sub(f.m, h2, 3), "h - 1");
  is_dim(&f, tl_dim_sub(f.m, h2, 2), "h");
  is_dim(&f, tl_dim_sub(f.m, 7, h2), "5 - h");
  tl_dim twice = tl_dim_add(f.m, seq, seq);
  is_dim(&f, twice, "seq*2");
  is_dim(&f, tl_dim_div(f.m, twice, 2), "seq");
  is_dim(&f, tl_dim_mul(f.m, twice, 3), "seq*6");
  is_dim(&f, tl_dim_div(f.m, tl_dim_add(f.m, twice, 3), 2), "seq + 1");
  is_dim(&f, tl_dim_div(f.m, tl_dim_sub(f.m, twice, 3), 2), "seq - 2");
  is_dim(&f, tl_dim_ceil_div(f.m, twice, 2), "seq");
  is_dim(&f, tl_dim_div(f.m, h2, 2), "(h + 2)/2");
  tl_module_destroy(f.m);
}

/* Names that exporters give to dims are expressions, too, or only look like it. */
static void texts_of_dims_are_read(void) {
  fixture f = begin();
  open_module(&f);
  tl_dim half = dim(&f, "(h + 2)/2");
  is_dim(&f, tl_dim_add(f.m, half, half), "((h + 2)/2)*2");
  is_dim(&f, tl_dim_sub(f.m, tl_dim_add(f.m, half, half), half), "(h + 2)/2");
  is_dim(&f, tl_dim_sub(f.m, dim(&f, "2*n + k"), dim(&f, "n")), "k + n");
  is_dim(&f, tl_dim_sub(f.m, dim(&f, "2*(n + k)"), dim(&f, "k + n")), "k + n");
  is_dim(&f, tl_dim_add(f.m, dim(&f, "2*n/3"), dim(&f, "n/3")), "2*n/3 + n/3");
  is_dim(&f, tl_dim_sub(f.m, dim(&f, "n*k + 1"), 1), "n*k");
  is_dim(&f, tl_dim_add(f.m, dim(&f, "floor(a + b)"), 1), "floor(a + b) + 1");
  is_dim(&f, tl_dim_sub(f.m, dim(&f, "a-b"), dim(&f, "a")), "a-b - a");
  is_dim(&f, tl_dim_add(f.m, dim(&f, "odd( "), 1), "odd(  + 1");
  is_dim(&f, tl_dim_mul(f.m, dim(&f, "a + "), 3), "(a + )*3");
  is_dim(&f, tl_dim_mul(f.m, dim(&f, "a + 1"), dim(&f, "b")), "(a + 1)*b");
  tl_dim many = dim(&f, "a + b + c + d + e + f + g + h");
  is_dim(&f, tl_dim_sub(f.m, many, dim(&f, "h")), "a + b + c + d + e + f + g");
  is_dim(&f, tl_dim_add(f.m, dim(&f, "i"), many), "(a + b + c + d + e + f + g + h) + i");
  is_dim(&f, tl_dim_mul(f.m, dim(&f, "n*9223372036854775807"), 2), "(n*9223372036854775807)*2");
  tl_module_destroy(f.m);
}

static const unit_test tests[] = {
    {"uses follow edits", uses_follow_edits},
    {"rewrites are logged", rewrites_are_logged},
    {"order survives many insertions", order_survives_many_insertions},
    {"sort restores dependencies, stably", sort_restores_dependencies_stably},
    {"sort names the cycle", sort_names_the_cycle},
    {"control edges bind order", control_edges_bind_order},
    {"control edges keep their order", control_edges_keep_their_order},
    {"equal nodes hash equal", equal_nodes_hash_equal},
    {"graph hash ignores names", graph_hash_ignores_names},
    {"dims compute symbolically", dims_compute_symbolically},
    {"sums of dims are normal", sums_of_dims_are_normal},
    {"texts of dims are read", texts_of_dims_are_read},
    {NULL, NULL}};
const unit_suite unit_suite_graph = {"graph", tests};
