/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes that passes made come from: lists that are written when somebody reads them. */
#include <stdio.h>
#include <string.h>

#include "ir/graph.h"
#include "ir/origins.h"
#include "ir/text/parse.h"
#include "ir/trace.h"
#include "tests/unit/unit.h"

static tl_module *parse(const char *graph) {
  tl_diag diag = {0};
  tl_module *m = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&diag, "test", tl_sv_from(graph), &m), TL_OK);
  return m;
}

static const char three[] = "graph @g(%x: f32[2]) -> (%c) {\n  %a = Relu(%x) @\"a\"\n"
                            "  %b = Exp(%a) @\"b\"\n  %c = Neg(%b) @\"c\\\"q\"\n}\n";

/* Nodes in their order, from 0. */
static tl_node_id node(const tl_module *m, uint32_t i) {
  TL_FOR_NODES(m, tl_graph_get(m, 1), n)
    if (i-- == 0)
      return n;
  return TL_NO_NODE;
}

static void expect_list(const tl_module *m, tl_node_id n, const char *list) {
  tl_buf room;
  bool inserted;
  tl_buf_init(&room);
  tl_sv found = tl_trace_origins(m, n, &room, &inserted);
  CU_ASSERT_FALSE(room.failed);
  CU_ASSERT_TRUE(tl_sv_is(found, list));
  tl_buf_release(&room);
}

/* Makes a node that comes from others. */
static tl_node_id derive(tl_module *m, const tl_node_id *from, uint32_t n) {
  tl_value_id operand = tl_graph_get(m, 1)->inputs.at[0];
  tl_symbol result = 0;
  tl_node_spec spec = {.op = tl_node_get(m, node(m, 0))->op,
                       .operands = &operand,
                       .n_operands = 1,
                       .results = &result,
                       .n_results = 1};
  tl_node_id made = tl_graph_append(m, 1, &spec);
  CU_ASSERT_TRUE_FATAL(made && tl_trace_derive(m, made, from, n, false));
  return made;
}

/* Each name once, in the order in which it came, whatever the nodes in between. */
static void names_stand_once(void) {
  tl_module *m = parse(three);
  tl_node_id a = node(m, 0), b = node(m, 1), c = node(m, 2);
  tl_node_id one = derive(m, &a, 1);
  tl_node_id again = derive(m, &one, 1);
  tl_node_id two = derive(m, (tl_node_id[]){b, again, a}, 3);
  tl_node_id all = derive(m, (tl_node_id[]){two, TL_NO_NODE, c, one, two}, 5);
  expect_list(m, a, "");
  expect_list(m, one, "[\"a\"]");
  expect_list(m, again, "[\"a\"]");
  expect_list(m, two, "[\"b\", \"a\"]");
  expect_list(m, all, "[\"b\", \"a\", \"c\\\"q\"]");
  CU_ASSERT_TRUE(tl_sv_is(tl_trace_origin(m, again), "a"));
  CU_ASSERT_TRUE(tl_sv_is(tl_trace_origin(m, two), ""));
  CU_ASSERT_TRUE(tl_sv_is(tl_trace_origin(m, a), ""));
  tl_module_destroy(m);
}

/* Nodes of one rewrite share a list; what one name says alone needs none. */
static void equal_lists_are_shared(void) {
  tl_module *m = parse(three);
  tl_node_id both[] = {node(m, 0), node(m, 1)};
  (void)derive(m, both, 1);
  CU_ASSERT_EQUAL(m->origins.n, 0);
  (void)derive(m, both, 2);
  uint32_t size = m->origins.n;
  tl_node_id second = derive(m, both, 2);
  CU_ASSERT_EQUAL(m->origins.n, size);
  expect_list(m, second, "[\"a\", \"b\"]");
  tl_module_destroy(m);
}

/* The list of a long chain ends where lists end; the chain adds three numbers a step. */
static void a_chain_costs_its_length(void) {
  enum { STEPS = 5000 };
  tl_module *m = parse(three);
  tl_node_id last = node(m, 0);
  for (int i = 0; i < STEPS; i++) {
    char name[16];
    tl_node_id step = derive(m, &last, 1);
    snprintf(name, sizeof name, "n%d", i);
    m->extras.at[tl_node_get(m, step)->extra].origins = 0; /* a node of the model */
    tl_node_get(m, step)->name = tl_module_intern(m, tl_sv_from(name));
    last = derive(m, (tl_node_id[]){last, step}, 2);
  }
  CU_ASSERT_EQUAL(m->origins.n, 3 * STEPS);
  tl_buf room;
  bool inserted;
  tl_buf_init(&room);
  tl_sv list = tl_trace_origins(m, last, &room, &inserted);
  CU_ASSERT_TRUE(tl_sv_starts_with(list, "[\"a\", \"n0\", \"n1\", "));
  CU_ASSERT_TRUE(list.n > 16384 && list.n < 16384 + 64);
  CU_ASSERT_EQUAL(list.p[list.n - 1], ']');
  tl_buf_release(&room);
  tl_module_destroy(m);
}

/* A list of metadata, as an earlier run left it, is spliced in. */
static void metadata_is_spliced_in(void) {
  tl_module *m = parse("graph @g(%x: f32[2]) -> (%b) {\n"
                       "  %a = Relu(%x) @\"a\" meta \"_datadump_original_op_names\" "
                       "\"[\\\"p\\\", \\\"q\\\"]\"\n  %b = Exp(%a) @\"b\"\n}\n");
  tl_node_id both[] = {node(m, 1), node(m, 0)};
  expect_list(m, derive(m, both, 2), "[\"b\", \"p\", \"q\"]");
  tl_module_destroy(m);
}

/* Numbers that no reference holds are a lack of memory, not another node. */
static void large_numbers_are_refused(void) {
  CU_ASSERT_EQUAL(tl_origin_of(TL_ORIGIN_NAME, UINT32_MAX >> 2), TL_NO_ORIGIN);
  CU_ASSERT_EQUAL(tl_origin_of(TL_ORIGIN_LIST, UINT32_MAX), TL_NO_ORIGIN);
  CU_ASSERT_NOT_EQUAL(tl_origin_of(TL_ORIGIN_MANY, (UINT32_MAX >> 2) - 1), TL_NO_ORIGIN);
}

static const unit_test tests[] = {
    {"names stand once", names_stand_once},
    {"equal lists are shared", equal_lists_are_shared},
    {"a chain costs its length", a_chain_costs_its_length},
    {"metadata is spliced in", metadata_is_spliced_in},
    {"large numbers are refused", large_numbers_are_refused},
    {NULL, NULL},
};

const unit_suite unit_suite_origins = {"origins", tests};
