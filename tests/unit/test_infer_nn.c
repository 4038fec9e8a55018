/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of networks and control flow, against shapes derived by hand. */
#include "ir/graph.h"
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "tests/unit/unit.h"

typedef struct fixture {
  tl_diag diag;
  tl_module *m;
  tl_graph_id g;
  uint32_t n_names;
} fixture;

static void begin(fixture *f) {
  *f = (fixture){.diag = {0}};
  f->m = tl_module_create(&f->diag, "test", 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(f->m);
  f->g = tl_graph_create(f->m, TL_GRAPH_ROOT, 0, TL_NO_NODE);
}

static tl_symbol fresh(fixture *f) {
  char name[] = {'v', (char)('a' + f->n_names / 26), (char)('a' + f->n_names % 26), 0};
  f->n_names++;
  return tl_module_intern(f->m, tl_sv_from(name));
}

static tl_dim named(fixture *f, const char *name) { return tl_dim_named(f->m, tl_sv_from(name)); }

static tl_type_id f32(fixture *f, int rank, const tl_dim *dims) {
  return tl_type_tensor(f->m, TL_DTYPE_F32, rank, dims);
}

static tl_value_id input(fixture *f, tl_graph_id g, tl_type_id type) {
  return tl_graph_add_input(f->m, g, fresh(f), type, TL_NO_TENSOR);
}

static tl_value_id input_f32(fixture *f, int rank, const tl_dim *dims) {
  return input(f, f->g, f32(f, rank, dims));
}

static tl_value_id ints(fixture *f, uint32_t n, const int64_t *v, int rank) {
  return tl_graph_add_constant(f->m, f->g, fresh(f), tl_tensor_i64s(f->m, v, n, rank));
}

static tl_node_id node(fixture *f, tl_graph_id g, tl_op_id op, uint32_t n, const tl_value_id *v,
                       uint32_t n_results) {
  tl_symbol names[4] = {fresh(f), fresh(f), fresh(f), fresh(f)};
  tl_node_spec spec = {
      .op = op, .operands = v, .n_operands = n, .results = names, .n_results = n_results};
  return tl_graph_append(f->m, g, &spec);
}

static void set_ints(fixture *f, tl_node_id n, tl_symbol name, uint32_t count, const int64_t *v) {
  CU_ASSERT_EQUAL(tl_node_set_attr(f->m, n, tl_attr_ints(f->m, name, v, count)), TL_OK);
}

static void set_int(fixture *f, tl_node_id n, tl_symbol name, int64_t v) {
  CU_ASSERT_EQUAL(tl_node_set_attr(f->m, n, tl_attr_int(name, v)), TL_OK);
}

static void set_text(fixture *f, tl_node_id n, tl_symbol name, const char *v) {
  tl_symbol text = tl_module_intern(f->m, tl_sv_from(v));
  CU_ASSERT_EQUAL(tl_node_set_attr(f->m, n, tl_attr_string(name, text)), TL_OK);
}

static void infer(fixture *f) { CU_ASSERT_EQUAL(tl_infer_module(f->m), TL_OK); }

/* Compares the type of result i of node n with its text. */
static void expect(fixture *f, tl_node_id n, uint32_t i, const char *text) {
  tl_buf b;
  tl_buf_init(&b);
  tl_type_print(f->m, tl_value_type(f->m, tl_result(f->m, n, i)), &b);
  CU_ASSERT_STRING_EQUAL(b.p, text);
  tl_buf_release(&b);
}

#define DIMS(...)                                                                                  \
  (sizeof((tl_dim[]){__VA_ARGS__}) / sizeof(tl_dim)), (const tl_dim[]) { __VA_ARGS__ }
#define INTS(...)                                                                                  \
  (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#define VALUES(...)                                                                                \
  (uint32_t)(sizeof((tl_value_id[]){__VA_ARGS__}) / sizeof(tl_value_id)), (const tl_value_id[]) {  \
    __VA_ARGS__                                                                                    \
  }

static void conv_shrinks_by_its_window(void) {
  fixture f;
  begin(&f);
  tl_value_id x = input_f32(&f, DIMS(1, 3, 224, 224));
  tl_value_id w = input_f32(&f, DIMS(64, 3, 7, 7));
  tl_node_id plain = node(&f, f.g, TL_OP_Conv, VALUES(x, w), 1);
  tl_node_id strided = node(&f, f.g, TL_OP_Conv, VALUES(x, w), 1);
  set_ints(&f, strided, TL_SYM_strides, INTS(2, 2));
  set_ints(&f, strided, TL_SYM_pads, INTS(3, 3, 3, 3));
  tl_node_id dilated = node(&f, f.g, TL_OP_Conv, VALUES(x, w), 1);
  set_ints(&f, dilated, TL_SYM_dilations, INTS(2, 3));
  tl_node_id same = node(&f, f.g, TL_OP_Conv, VALUES(x, w), 1);
  set_ints(&f, same, TL_SYM_strides, INTS(3, 3));
  set_text(&f, same, TL_SYM_auto_pad, "SAME_UPPER");
  infer(&f);
  expect(&f, plain, 0, "f32[1,64,218,218]");
  expect(&f, strided, 0, "f32[1,64,112,112]");
  expect(&f, dilated, 0, "f32[1,64,212,206]");
  expect(&f, same, 0, "f32[1,64,75,75]");
  tl_module_destroy(f.m);
}

static void conv_keeps_symbols(void) {
  fixture f;
  begin(&f);
  tl_value_id x = input_f32(&f, DIMS(named(&f, "n"), 3, named(&f, "h"), named(&f, "w")));
  tl_value_id w = input_f32(&f, DIMS(8, 3, 3, 3));
  tl_node_id kept = node(&f, f.g, TL_OP_Conv, VALUES(x, w), 1);
  set_ints(&f, kept, TL_SYM_pads, INTS(1, 1, 1, 1));
  tl_node_id halved = node(&f, f.g, TL_OP_Conv, VALUES(x, w), 1);
  set_ints(&f, halved, TL_SYM_pads, INTS(1, 1, 1, 1));
  set_ints(&f, halved, TL_SYM_strides, INTS(2, 2));
  tl_node_id same = node(&f, f.g, TL_OP_Conv, VALUES(x, w), 1);
  set_text(&f, same, TL_SYM_auto_pad, "SAME_LOWER");
  set_ints(&f, same, TL_SYM_strides, INTS(2, 2));
  infer(&f);
  expect(&f, kept, 0, "f32[n,8,h,w]");
  CU_ASSERT_EQUAL(tl_value_type(f.m, tl_result(f.m, halved, 0)),
                  tl_value_type(f.m, tl_result(f.m, same, 0)));
  tl_module_destroy(f.m);
}

static void conv_refuses_what_does_not_fit(void) {
  for (int i = 0; i < 3; i++) {
    fixture f;
    begin(&f);
    tl_value_id x = input_f32(&f, DIMS(1, i == 0 ? 4 : 3, 8, 8));
    tl_value_id w = i == 1 ? input_f32(&f, DIMS(8, 3, 3)) : input_f32(&f, DIMS(8, 3, 3, 3));
    tl_node_id n = node(&f, f.g, TL_OP_Conv, VALUES(x, w), 1);
    if (i == 2)
      set_ints(&f, n, TL_SYM_strides, INTS(0, 1));
    CU_ASSERT_EQUAL(tl_infer_module(f.m), TL_INVALID_MODEL);
    CU_ASSERT_EQUAL(f.diag.errors, 1);
    tl_module_destroy(f.m);
  }
}

static void transposed_conv_grows(void) {
  fixture f;
  begin(&f);
  tl_value_id x = input_f32(&f, DIMS(1, 8, 16, named(&f, "w")));
  tl_value_id w = input_f32(&f, DIMS(8, 2, 4, 4));
  tl_node_id n = node(&f, f.g, TL_OP_ConvTranspose, VALUES(x, w), 1);
  set_ints(&f, n, TL_SYM_strides, INTS(2, 2));
  set_ints(&f, n, TL_SYM_pads, INTS(1, 1, 1, 1));
  set_int(&f, n, TL_SYM_group, 4);
  infer(&f);
  expect(&f, n, 0, "f32[1,8,32,\"w*2\"]");
  tl_module_destroy(f.m);
}

/* 5 elements, window 2, stride 3: the rounded-up third window would start behind the data. */
static void rounded_up_pooling_ignores_a_window_outside(void) {
  fixture f;
  begin(&f);
  tl_value_id x = input_f32(&f, DIMS(1, 1, 32, 5));
  tl_node_id n = node(&f, f.g, TL_OP_MaxPool, VALUES(x), 2);
  set_ints(&f, n, TL_SYM_kernel_shape, INTS(3, 2));
  set_ints(&f, n, TL_SYM_strides, INTS(2, 3));
  set_ints(&f, n, TL_SYM_pads, INTS(0, 0, 0, 2));
  set_int(&f, n, TL_SYM_ceil_mode, 1);
  infer(&f);
  expect(&f, n, 0, "f32[1,1,16,2]");
  expect(&f, n, 1, "i64[1,1,16,2]");
  tl_module_destroy(f.m);
}

static void resize_takes_scales_or_sizes(void) {
  fixture f;
  begin(&f);
  const float scales[] = {1, 1, 2, 0.5F};
  tl_value_id x = input_f32(&f, DIMS(named(&f, "n"), 3, named(&f, "h"), 9));
  tl_value_id s = tl_graph_add_constant(f.m, f.g, fresh(&f), tl_tensor_f32s(f.m, scales, 4, 1));
  tl_node_id scaled = node(&f, f.g, TL_OP_Resize, VALUES(x, 0, s), 1);
  tl_value_id y = input_f32(&f, DIMS(1, 3, 100, 200));
  tl_value_id size = ints(&f, INTS(50, 50), 1);
  tl_node_id sized = node(&f, f.g, TL_OP_Resize, VALUES(y, 0, 0, size), 1);
  set_ints(&f, sized, TL_SYM_axes, INTS(2, 3));
  set_text(&f, sized, TL_SYM_keep_aspect_ratio_policy, "not_larger");
  infer(&f);
  expect(&f, scaled, 0, "f32[n,3,\"h*2\",4]");
  expect(&f, sized, 0, "f32[1,3,25,50]");
  tl_module_destroy(f.m);
}

static void recurrent_layers_follow_the_layout(void) {
  fixture f;
  begin(&f);
  tl_value_id w = input_f32(&f, DIMS(2, 80, 10));
  tl_value_id r = input_f32(&f, DIMS(2, 80, 20));
  tl_value_id x = input_f32(&f, DIMS(named(&f, "s"), 5, 10));
  tl_node_id a = node(&f, f.g, TL_OP_LSTM, VALUES(x, w, r), 3);
  set_text(&f, a, TL_SYM_direction, "bidirectional");
  tl_node_id b = node(&f, f.g, TL_OP_LSTM, VALUES(x, w, r), 3);
  set_text(&f, b, TL_SYM_direction, "bidirectional");
  set_int(&f, b, TL_SYM_layout, 1);
  infer(&f);
  expect(&f, a, 0, "f32[s,2,5,20]");
  expect(&f, a, 2, "f32[2,5,20]");
  expect(&f, b, 0, "f32[s,5,2,20]");
  expect(&f, b, 1, "f32[s,2,20]");
  tl_module_destroy(f.m);
}

static void attention_knows_both_forms(void) {
  fixture f;
  begin(&f);
  tl_value_id q = input_f32(&f, DIMS(2, 8, 4, 16));
  tl_value_id k = input_f32(&f, DIMS(2, 2, 6, 16));
  tl_value_id v = input_f32(&f, DIMS(2, 2, 6, 32));
  tl_value_id past = input_f32(&f, DIMS(2, 2, 10, 16));
  tl_value_id past_v = input_f32(&f, DIMS(2, 2, 10, 32));
  tl_node_id deep = node(&f, f.g, TL_OP_Attention, VALUES(q, k, v, 0, past, past_v), 4);
  tl_value_id fq = input_f32(&f, DIMS(2, 4, 128));
  tl_value_id fk = input_f32(&f, DIMS(2, 6, 32));
  tl_node_id flat = node(&f, f.g, TL_OP_Attention, VALUES(fq, fk, fk), 1);
  set_int(&f, flat, TL_SYM_q_num_heads, 8);
  set_int(&f, flat, TL_SYM_kv_num_heads, 2);
  infer(&f);
  expect(&f, deep, 0, "f32[2,8,4,32]");
  expect(&f, deep, 1, "f32[2,2,16,16]");
  expect(&f, deep, 2, "f32[2,2,16,32]");
  expect(&f, deep, 3, "f32[2,8,4,16]");
  expect(&f, flat, 0, "f32[2,4,128]");
  tl_module_destroy(f.m);
}

static tl_graph_id body(fixture *f, tl_node_id owner, tl_symbol attr) {
  tl_graph_id g = tl_graph_create(f->m, TL_GRAPH_BODY, 0, owner);
  CU_ASSERT_EQUAL(tl_node_set_attr(f->m, owner, tl_attr_graph(attr, g)), TL_OK);
  return g;
}

static void outputs(fixture *f, tl_graph_id g, uint32_t n, const tl_value_id *v) {
  CU_ASSERT_EQUAL(tl_graph_set_outputs(f->m, g, v, n), TL_OK);
}

static void branches_are_joined(void) {
  fixture f;
  begin(&f);
  tl_value_id cond = input(&f, f.g, tl_type_tensor(f.m, TL_DTYPE_BOOL, 0, NULL));
  tl_value_id a = input_f32(&f, DIMS(2, 3));
  tl_value_id b = input_f32(&f, DIMS(2, 4));
  tl_node_id n = node(&f, f.g, TL_OP_If, VALUES(cond), 1);
  tl_graph_id yes = body(&f, n, TL_SYM_then_branch);
  tl_graph_id no = body(&f, n, TL_SYM_else_branch);
  outputs(&f, yes, VALUES(tl_result(f.m, node(&f, yes, TL_OP_Relu, VALUES(a), 1), 0)));
  outputs(&f, no, VALUES(tl_result(f.m, node(&f, no, TL_OP_Relu, VALUES(b), 1), 0)));
  infer(&f);
  expect(&f, n, 0, "f32[2,?]");
  tl_module_destroy(f.m);
}

/* carried: a grows from [1,4] by broadcasting against [3,4], b stays [5]; b is also stacked. */
static void loops_settle_on_types_that_hold(void) {
  fixture f;
  begin(&f);
  tl_value_id trips = ints(&f, INTS(7), 0);
  tl_value_id a = input_f32(&f, DIMS(1, 4));
  tl_value_id b = input_f32(&f, DIMS(5));
  tl_value_id wide = input_f32(&f, DIMS(3, 4));
  tl_node_id n = node(&f, f.g, TL_OP_Loop, VALUES(trips, 0, a, b), 3);
  tl_graph_id g = body(&f, n, TL_SYM_body);
  input(&f, g, TL_NO_TYPE);
  tl_value_id cond = input(&f, g, TL_NO_TYPE);
  tl_value_id in_a = input(&f, g, TL_NO_TYPE);
  tl_value_id in_b = input(&f, g, TL_NO_TYPE);
  tl_value_id out_a = tl_result(f.m, node(&f, g, TL_OP_Add, VALUES(in_a, wide), 1), 0);
  tl_value_id out_b = tl_result(f.m, node(&f, g, TL_OP_Relu, VALUES(in_b), 1), 0);
  outputs(&f, g, VALUES(cond, out_a, out_b, out_b));
  infer(&f);
  expect(&f, n, 0, "f32[?,4]");
  expect(&f, n, 1, "f32[5]");
  expect(&f, n, 2, "f32[7,5]");
  tl_module_destroy(f.m);
}

static void scans_slice_and_stack(void) {
  fixture f;
  begin(&f);
  tl_value_id state = input_f32(&f, DIMS(4));
  tl_value_id x = input_f32(&f, DIMS(4, named(&f, "steps")));
  tl_node_id n = node(&f, f.g, TL_OP_Scan, VALUES(state, x), 2);
  set_int(&f, n, TL_SYM_num_scan_inputs, 1);
  set_ints(&f, n, TL_SYM_scan_input_axes, INTS(1));
  set_ints(&f, n, TL_SYM_scan_output_axes, INTS(-1));
  tl_graph_id g = body(&f, n, TL_SYM_body);
  tl_value_id in_state = input(&f, g, TL_NO_TYPE);
  tl_value_id slice = input(&f, g, TL_NO_TYPE);
  tl_value_id sum = tl_result(f.m, node(&f, g, TL_OP_Add, VALUES(in_state, slice), 1), 0);
  outputs(&f, g, VALUES(sum, sum));
  infer(&f);
  expect(&f, n, 0, "f32[4]");
  expect(&f, n, 1, "f32[4,steps]");
  tl_module_destroy(f.m);
}

static void sequences_remember_their_parts(void) {
  fixture f;
  begin(&f);
  tl_value_id a = input_f32(&f, DIMS(2, 3));
  tl_value_id b = input_f32(&f, DIMS(2, 5));
  tl_node_id list = node(&f, f.g, TL_OP_SequenceConstruct, VALUES(a, b), 1);
  tl_value_id seq = tl_result(f.m, list, 0);
  tl_value_id last = ints(&f, INTS(-1), 0);
  tl_node_id at = node(&f, f.g, TL_OP_SequenceAt, VALUES(seq, last), 1);
  tl_node_id joined = node(&f, f.g, TL_OP_ConcatFromSequence, VALUES(seq), 1);
  set_int(&f, joined, TL_SYM_axis, 1);
  infer(&f);
  expect(&f, list, 0, "seq(f32[2,?])");
  expect(&f, at, 0, "f32[2,5]");
  expect(&f, joined, 0, "f32[2,8]");
  tl_module_destroy(f.m);
}

static const unit_test tests[] = {
    {"conv_shrinks_by_its_window", conv_shrinks_by_its_window},
    {"conv_keeps_symbols", conv_keeps_symbols},
    {"conv_refuses_what_does_not_fit", conv_refuses_what_does_not_fit},
    {"transposed_conv_grows", transposed_conv_grows},
    {"rounded_up_pooling_ignores_a_window_outside", rounded_up_pooling_ignores_a_window_outside},
    {"resize_takes_scales_or_sizes", resize_takes_scales_or_sizes},
    {"recurrent_layers_follow_the_layout", recurrent_layers_follow_the_layout},
    {"attention_knows_both_forms", attention_knows_both_forms},
    {"branches_are_joined", branches_are_joined},
    {"loops_settle_on_types_that_hold", loops_settle_on_types_that_hold},
    {"scans_slice_and_stack", scans_slice_and_stack},
    {"sequences_remember_their_parts", sequences_remember_their_parts},
    {NULL, NULL}};

const unit_suite unit_suite_infer_nn = {"infer_nn", tests};
