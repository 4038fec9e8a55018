/* SPDX-License-Identifier: Apache-2.0 */
/* What the AIR writer puts into a file, read back by protobuf-c. The expectations are those of a
 * genuine AIR file: order, edges, descs, bookkeeping lists, constants, subgraphs, weights. */
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/air_model.h"
#include "tests/unit/unit.h"

static const char conv_text[] = "graph @g(%x: f32[1,3,8,8], %s: f32[n,4]) -> (%y, %z) {\n"
                                "  const %w: f32[2,3,1,1] = [1, 2, 3, 4, 5, 6]\n"
                                "  %c = Conv(%x, %w) @conv {strides=[2, 2], pads=[1, 2, 3, 4]}\n"
                                "  %y = Concat(%c, %c) @cat {axis=1}\n"
                                "  %h = Cast(%s) @half {to=10} after %c\n"
                                "  %z = Relu(%h) @z:1\n"
                                "}\n";

static void nodes_and_edges(void) {
  static const char *const names[] = {"x", "s", "w", "conv", "cat", "half", "z_1", "Node_Output"};
  static const char *const types[] = {"Data",    "Data", "Const", "Conv2D",
                                      "ConcatD", "Cast", "Relu",  "NetOutput"};
  air_model a;
  tl_options o = tl_options_default();
  air_model_make(&a, conv_text, &o, 0);
  CU_ASSERT_STRING_EQUAL(a.model->name, "g");
  CU_ASSERT_EQUAL_FATAL(a.model->n_graph, 1);
  const TlGe__GraphDef *g = a.model->graph[0];
  CU_ASSERT_STRING_EQUAL(g->name, "g");
  CU_ASSERT_TRUE(g->n_input == 2 && strcmp(g->input[1], "s:0") == 0);
  CU_ASSERT_TRUE(g->n_output == 2 && strcmp(g->output[0], "cat:0") == 0);
  CU_ASSERT_EQUAL_FATAL(g->n_op, 8);
  for (size_t i = 0; i < 8; i++) {
    CU_ASSERT_STRING_EQUAL(g->op[i]->name, names[i]);
    CU_ASSERT_STRING_EQUAL(g->op[i]->type, types[i]);
    CU_ASSERT_EQUAL(g->op[i]->id, (int64_t)i);
    CU_ASSERT_TRUE(g->op[i]->has_out_attr);
    CU_ASSERT_TRUE(air_is_sorted(g->op[i]->attr, g->op[i]->n_attr));
  }
  CU_ASSERT_TRUE(air_inputs_are(g->op[0], ""));
  CU_ASSERT_EQUAL(g->op[0]->n_input, 1);
  CU_ASSERT_TRUE(air_inputs_are(g->op[3], "x:0,w:0,,"));
  CU_ASSERT_TRUE(air_inputs_are(g->op[4], "conv:0,conv:0"));
  CU_ASSERT_TRUE(air_inputs_are(g->op[5], "s:0,conv:-1"));
  CU_ASSERT_TRUE(air_inputs_are(g->op[7], "cat:0,z_1:0"));
  air_model_end(&a);
}

static bool is_string(const TlGe__AttrDef *v, const char *text) {
  return v->value_case == TL_GE__ATTR_DEF__VALUE_S && air_bytes_are(v->s, text);
}

static bool is_int(const TlGe__AttrDef *v, int64_t n) {
  return v->value_case == TL_GE__ATTR_DEF__VALUE_I && v->i == n;
}

static bool is_bool(const TlGe__AttrDef *v, bool b) {
  return v->value_case == TL_GE__ATTR_DEF__VALUE_B && (v->b != 0) == b;
}

/* Everything that GE's own writer says of a tensor. */
static void check_desc(const TlGe__TensorDescriptor *d, int dtype, const char *dims,
                       const char *layout, int format) {
  CU_ASSERT_EQUAL(d->dtype, dtype);
  CU_ASSERT_TRUE(air_dims_are(d, dims));
  CU_ASSERT_EQUAL(d->real_dim_cnt, (int64_t)d->shape->n_dim);
  CU_ASSERT_STRING_EQUAL(d->layout, layout);
  CU_ASSERT_STRING_EQUAL(d->device_type, "NPU");
  CU_ASSERT_TRUE(air_is_sorted(d->attr, d->n_attr));
  CU_ASSERT_TRUE(is_int(AIR_ATTR(d, "format_for_int"), format));
  CU_ASSERT_TRUE(is_int(AIR_ATTR(d, "origin_format_for_int"), format));
  CU_ASSERT_TRUE(is_string(AIR_ATTR(d, "origin_format"), layout));
  CU_ASSERT_TRUE(is_bool(AIR_ATTR(d, "origin_shape_initialized"), true));
  CU_ASSERT_TRUE(air_ints_are(AIR_ATTR(d, "origin_shape"), dims));
  CU_ASSERT_EQUAL(AIR_ATTR(d, "origin_shape")->list->val_type, 2);
}

static void descs(void) {
  air_model a;
  tl_options o = tl_options_default();
  air_model_make(&a, conv_text, &o, 0);
  const TlGe__GraphDef *g = a.model->graph[0];
  const TlGe__OpDef *x = air_node(g, "x");
  const TlGe__OpDef *conv = air_node(g, "conv");
  check_desc(x->input_desc[0], 1, "1,3,8,8", "NCHW", 0);
  check_desc(x->output_desc[0], 1, "1,3,8,8", "NCHW", 0);
  CU_ASSERT_TRUE(is_bool(AIR_ATTR(x->output_desc[0], "origin_format_is_set"), true));
  const TlGe__TensorDescriptor *s = air_node(g, "s")->output_desc[0];
  check_desc(s, 1, "-1,4", "ND", 2);
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(s, "_tailor_dim_names"), "n,"));
  CU_ASSERT_FALSE(AIR_HAS(s, "origin_format_is_set"));
  CU_ASSERT_EQUAL_FATAL(conv->n_input_desc, 4);
  CU_ASSERT_EQUAL_FATAL(conv->n_output_desc, 1);
  check_desc(conv->input_desc[1], 1, "2,3,1,1", "NCHW", 0);
  check_desc(conv->output_desc[0], 1, "1,2,6,7", "NCHW", 0);
  const TlGe__TensorDescriptor *gap = conv->input_desc[2];
  CU_ASSERT_EQUAL(gap->dtype, 0);
  CU_ASSERT_STRING_EQUAL(gap->layout, "FORMAT_RESERVED");
  CU_ASSERT_TRUE(is_int(AIR_ATTR(gap, "format_for_int"), 40));
  CU_ASSERT_TRUE(is_bool(AIR_ATTR(gap, "origin_shape_initialized"), false));
  const TlGe__OpDef *net = air_node(g, "Node_Output");
  CU_ASSERT_EQUAL(net->n_output_desc, 0);
  CU_ASSERT_EQUAL_FATAL(net->n_input_desc, 2);
  check_desc(net->input_desc[1], 2, "-1,4", "ND", 2);
  CU_ASSERT_TRUE(is_string(AIR_ATTR(net->input_desc[0], "_origin_output_tensor_name"), "y"));
  CU_ASSERT_TRUE(net->n_src_name == 2 && strcmp(net->src_name[1], "z_1") == 0);
  CU_ASSERT_TRUE(net->n_src_index == 2 && net->src_index[1] == 0);
  air_model_end(&a);
}

static bool is_unmarked(const TlGe__AttrDef *v) {
  return v->value_case == TL_GE__ATTR_DEF__VALUE_LIST && v->list->val_type == 0;
}

/* Lists for the loader itself have no val_type; all others have one. */
static void bookkeeping(void) {
  static const char *const keys[] = {"_input_name_key",   "_input_name_value", "_ir_attr_names",
                                     "_ir_inputs_key",    "_ir_inputs_value",  "_ir_outputs_key",
                                     "_ir_outputs_value", "_opt_input",        "_output_name_key",
                                     "_output_name_value"};
  air_model a;
  tl_options o = tl_options_default();
  air_model_make(&a, conv_text, &o, 0);
  const TlGe__OpDef *conv = air_node(a.model->graph[0], "conv");
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    CU_ASSERT_TRUE(is_unmarked(AIR_ATTR(conv, keys[i])));
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(conv, "_input_name_key"), "x,filter,bias,offset_w"));
  CU_ASSERT_TRUE(air_ints_are(AIR_ATTR(conv, "_input_name_value"), "0,1,2,3"));
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(conv, "_ir_attr_names"),
                                 "strides,pads,dilations,groups,data_format,offset_x"));
  CU_ASSERT_TRUE(air_ints_are(AIR_ATTR(conv, "_ir_inputs_value"), "0,0,1,1"));
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(conv, "_opt_input"), "bias,offset_w"));
  CU_ASSERT_TRUE(air_ints_are(AIR_ATTR(conv, "_ir_outputs_value"), "0"));
  const TlGe__OpDef *cat = air_node(a.model->graph[0], "cat");
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(cat, "_input_name_key"), "x0,x1"));
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(cat, "_ir_inputs_key"), "x"));
  CU_ASSERT_TRUE(air_ints_are(AIR_ATTR(cat, "_ir_inputs_value"), "2"));
  CU_ASSERT_TRUE(is_int(AIR_ATTR(cat, "__dynamic_input_x_cnt"), 2));
  CU_ASSERT_TRUE(is_int(AIR_ATTR(cat, "N"), 2));
  const TlGe__OpDef *net = air_node(a.model->graph[0], "Node_Output");
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(net, "_input_name_key"), "__input0,__input1"));
  CU_ASSERT_TRUE(is_unmarked(AIR_ATTR(net, "_input_name_key")));
  air_model_end(&a);
}

/* Values, defaults of the prototype among them, and where nodes came from. */
static void attributes(void) {
  air_model a;
  tl_options o = tl_options_default();
  air_model_make(&a, conv_text, &o, 0);
  const TlGe__OpDef *conv = air_node(a.model->graph[0], "conv");
  CU_ASSERT_TRUE(air_ints_are(AIR_ATTR(conv, "strides"), "1,1,2,2"));
  CU_ASSERT_EQUAL(AIR_ATTR(conv, "strides")->list->val_type, 2);
  CU_ASSERT_TRUE(air_ints_are(AIR_ATTR(conv, "pads"), "1,3,2,4"));
  CU_ASSERT_TRUE(air_ints_are(AIR_ATTR(conv, "dilations"), "1,1,1,1"));
  CU_ASSERT_TRUE(is_int(AIR_ATTR(conv, "offset_x"), 0));
  CU_ASSERT_TRUE(is_string(AIR_ATTR(conv, "data_format"), "NCHW"));
  CU_ASSERT_TRUE(is_string(AIR_ATTR(conv, "original_type"), "ai.onnx::21::Conv"));
  const TlGe__AttrDef *consts = AIR_ATTR(conv, "is_input_const");
  CU_ASSERT_TRUE(consts->list->n_b == 2 && !consts->list->b[0] && consts->list->b[1]);
  CU_ASSERT_EQUAL(consts->list->val_type, 4);
  CU_ASSERT_TRUE(conv->n_is_input_const == 2 && !conv->is_input_const[0] &&
                 conv->is_input_const[1]);
  const TlGe__OpDef *z = air_node(a.model->graph[0], "z_1");
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(z, "_datadump_original_op_names"), "z:1"));
  CU_ASSERT_EQUAL(AIR_ATTR(z, "_datadump_original_op_names")->list->val_type, 1);
  const TlGe__OpDef *half = air_node(a.model->graph[0], "half");
  CU_ASSERT_TRUE(is_int(AIR_ATTR(half, "dst_type"), 1)); /* internal numbering: f16 */
  CU_ASSERT_EQUAL(half->output_desc[0]->dtype, 2);       /* serialized numbering: f16 */
  CU_ASSERT_TRUE(is_int(AIR_ATTR(air_node(a.model->graph[0], "s"), "index"), 1));
  air_model_end(&a);
}

static void constants(void) {
  air_model a;
  tl_options o = tl_options_default();
  float want[] = {1, 2, 3, 4, 5, 6};
  air_model_make(&a, conv_text, &o, 0);
  const TlGe__OpDef *w = air_node(a.model->graph[0], "w");
  CU_ASSERT_TRUE(w->n_input == 0 && w->n_input_desc == 0 && w->n_output_desc == 1);
  const TlGe__AttrDef *value = AIR_ATTR(w, "value");
  CU_ASSERT_EQUAL_FATAL(value->value_case, TL_GE__ATTR_DEF__VALUE_T);
  check_desc(value->t->desc, 1, "2,3,1,1", "NCHW", 0);
  CU_ASSERT_EQUAL_FATAL(value->t->data.len, sizeof want);
  tl_order_turn(TL_DTYPE_F32, want, sizeof want);
  CU_ASSERT_EQUAL(memcmp(value->t->data.data, want, sizeof want), 0);
  air_model_end(&a);
}

/* One row a dtype: what the desc of an input and the dst_type of a Cast must say. */
static void dtype_numbers(void) {
  static const struct {
    const char *name;
    int onnx;
    int proto;
    int internal;
  } rows[] = {{"f32", 1, 1, 0},    {"f16", 10, 2, 1},   {"i8", 3, 3, 2},     {"u8", 2, 4, 4},
              {"i16", 5, 5, 6},    {"u16", 4, 6, 7},    {"i32", 6, 7, 3},    {"i64", 7, 8, 9},
              {"u32", 12, 9, 8},   {"u64", 13, 10, 10}, {"bool", 9, 11, 12}, {"f64", 11, 12, 11},
              {"bf16", 16, 27, 27}};
  tl_options o = tl_options_default();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    air_model a;
    char text[160];
    const char *other = rows[i].onnx == 6 ? "f32" : "i32"; /* to its own dtype nothing is cast */
    snprintf(text, sizeof text,
             "graph @g(%%x: %s[2], %%w: %s[2]) -> (%%y, %%z) {\n  %%y = Cast(%%x) @c {to=11}\n"
             "  %%z = Cast(%%w) @d {to=%d}\n}\n",
             rows[i].name, other, rows[i].onnx);
    air_model_make(&a, text, &o, 0);
    const TlGe__GraphDef *g = a.model->graph[0];
    CU_ASSERT_EQUAL(air_node(g, "x")->output_desc[0]->dtype, rows[i].proto);
    CU_ASSERT_EQUAL(air_node(g, "d")->output_desc[0]->dtype, rows[i].proto);
    CU_ASSERT_TRUE(is_int(AIR_ATTR(air_node(g, "d"), "dst_type"), rows[i].internal));
    air_model_end(&a);
  }
}

static void branches(void) {
  air_model a;
  tl_options o = tl_options_default();
  air_model_make(&a,
                 "graph @g(%c: bool[], %x: f32[2], %w: f32[2]) -> (%y) {\n"
                 "  %b = Exp(%x) @exp\n"
                 "  %y = If(%c) @choose {\n"
                 "    then_branch=graph @t() -> (%p) {\n      %p = Add(%x, %x) @sum\n    },\n"
                 "    else_branch=graph @e() -> (%q) {\n      %q = Mul(%b, %w) @sum2\n    }\n"
                 "  }\n}\n",
                 &o, 0);
  CU_ASSERT_EQUAL_FATAL(a.model->n_graph, 3);
  const TlGe__OpDef *choose = air_node(a.model->graph[0], "choose");
  CU_ASSERT_EQUAL_FATAL(choose->n_subgraph_name, 2);
  CU_ASSERT_STRING_EQUAL(choose->subgraph_name[0], "choose_0_then_branch");
  CU_ASSERT_STRING_EQUAL(choose->subgraph_name[1], "choose_1_else_branch");
  CU_ASSERT_TRUE(air_inputs_are(choose, "c:0,exp:0,w:0,x:0"));
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(choose, "_input_name_key"), "cond,input0,input1,input2"));
  CU_ASSERT_FALSE(AIR_HAS(choose, "then_branch"));
  const TlGe__GraphDef *e = a.model->graph[2];
  CU_ASSERT_STRING_EQUAL_FATAL(e->name, "choose_1_else_branch");
  CU_ASSERT_EQUAL_FATAL(e->n_op, 5);
  for (size_t i = 0; i < 3; i++) {
    CU_ASSERT_STRING_EQUAL(e->op[i]->type, "Data");
    CU_ASSERT_TRUE(is_int(AIR_ATTR(e->op[i], "index"), (int64_t)i));
    CU_ASSERT_TRUE(is_int(AIR_ATTR(e->op[i], "_parent_node_index"), (int64_t)i + 1));
  }
  const TlGe__OpDef *product = air_node(e, "choose_1_else_branch/sum2");
  CU_ASSERT_TRUE(air_inputs_are(product, "choose_1_else_branch/b_2:0,choose_1_else_branch/w_2:0"));
  CU_ASSERT_TRUE(air_strings_are(AIR_ATTR(product, "_datadump_original_op_names"), "sum2"));
  const TlGe__TensorDescriptor *out = e->op[4]->input_desc[0];
  CU_ASSERT_TRUE(is_int(AIR_ATTR(out, "_parent_node_index"), 0));
  CU_ASSERT_FALSE(AIR_HAS(out, "_origin_output_tensor_name"));
  air_model_end(&a);
}

static void model_attributes(void) {
  static const tl_carried_option carried[] = {{{"ge.topoSortingMode", 18}, {"1", 1}},
                                              {{"ge.deterministic", 16}, {"0", 1}},
                                              {{"ge.deterministic", 16}, {"1", 1}}};
  air_model a;
  tl_options o = tl_options_default();
  o.carried = carried;
  o.n_carried = 3;
  air_model_make(&a, "graph @g(%x: f32[2]) -> (%y) {\n  %y = Relu(%x)\n}\n", &o, 0);
  CU_ASSERT_EQUAL_FATAL(a.model->n_attr, 2); /* the last of equal keys counts */
  CU_ASSERT_STRING_EQUAL(a.model->attr[0]->key, "ge.deterministic");
  CU_ASSERT_TRUE(is_string(a.model->attr[0]->value, "1"));
  CU_ASSERT_TRUE(is_string(AIR_ATTR(a.model, "ge.topoSortingMode"), "1"));
  air_model_end(&a);
}

/* --input-format of NCHW reaches inputs of rank 4, NCDHW those of rank 5, ND none. */
static void input_formats(void) {
  static const struct {
    const char *format;
    const char *rank4;
    const char *rank5;
  } rows[] = {{"NCHW", "NCHW", "ND"}, {"NCDHW", "ND", "NCDHW"}, {"ND", "ND", "ND"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    air_model a;
    tl_options o = tl_options_default();
    o.input_format = rows[i].format;
    air_model_make(&a,
                   "graph @g(%a: f32[1,2,3,4], %b: f32[1,2,3,4,5]) -> (%y, %z) {\n"
                   "  %y = Relu(%a)\n  %z = Relu(%b)\n}\n",
                   &o, 0);
    CU_ASSERT_STRING_EQUAL(a.model->graph[0]->op[0]->input_desc[0]->layout, rows[i].rank4);
    CU_ASSERT_STRING_EQUAL(a.model->graph[0]->op[1]->input_desc[0]->layout, rows[i].rank5);
    air_model_end(&a);
  }
}

/* A format belongs to the ports of a node that declares data_format. Other nodes have ND on every
 * port, so that the device compiler carries the format through them; an input takes what its
 * reader declares where the input format does not fit the rank. */
static void port_formats(void) {
  air_model a;
  tl_options o = tl_options_default();
  air_model_make(&a,
                 "graph @g(%x: f32[1,3,8,8], %v: f32[1,2,8,8,8]) -> (%y, %d) {\n"
                 "  const %w: f32[2,3,1,1] = [1, 2, 3, 4, 5, 6]\n"
                 "  const %u: f32[1,2,1,1,1] = [1, 2]\n"
                 "  %c = Conv(%x, %w) @conv {}\n"
                 "  %y = Sigmoid(%c) @after {}\n"
                 "  %d = Conv(%v, %u) @deep {}\n}\n",
                 &o, 0);
  const TlGe__GraphDef *g = a.model->graph[0];
  check_desc(air_node(g, "conv")->output_desc[0], 1, "1,2,8,8", "NCHW", 0);
  check_desc(air_node(g, "after")->input_desc[0], 1, "1,2,8,8", "ND", 2);
  check_desc(air_node(g, "after")->output_desc[0], 1, "1,2,8,8", "ND", 2);
  CU_ASSERT_FALSE(AIR_HAS(air_node(g, "after")->input_desc[0], "origin_format_is_set"));
  check_desc(air_node(g, "v")->input_desc[0], 1, "1,2,8,8,8", "NCDHW", 30);
  check_desc(air_node(g, "v")->output_desc[0], 1, "1,2,8,8,8", "NCDHW", 30);
  check_desc(air_node(g, "deep")->input_desc[0], 1, "1,2,8,8,8", "NCDHW", 30);
  check_desc(air_node(g, "deep")->input_desc[1], 1, "1,2,1,1,1", "NCDHW", 30);
  check_desc(air_node(g, "deep")->output_desc[0], 1, "1,1,8,8,8", "NCDHW", 30);
  air_model_end(&a);
}

/* Two equal weights and a third, each above what stays inside in the split form. */
static const char *weights_text(tl_buf *text) {
  tl_buf_add_z(text, "graph @g(%x: f32[300]) -> (%y) {\n");
  for (int w = 0; w < 3; w++) {
    tl_buf_printf(text, "  const %%w.%d: f32[300] = hex(\"", w);
    for (int i = 0; i < 300; i++)
      tl_buf_add_z(text, w < 2 ? "0000803f" : "00000040");
    tl_buf_add_z(text, "\")\n");
  }
  tl_buf_add_z(text, "  %a = Add(%x, %w.0)\n  %b = Add(%a, %w.1)\n  %y = Add(%b, %w.2)\n}\n");
  return text->p;
}

static void split_form(void) {
  air_model a;
  tl_options o = tl_options_default();
  tl_buf text;
  size_t n;
  tl_buf_init(&text);
  air_model_make(&a, weights_text(&text), &o, 4000);
  for (int w = 0; w < 3; w++) {
    char name[16];
    char file[64];
    snprintf(name, sizeof name, "w.%d", w);
    snprintf(file, sizeof file, "air_weight/m/Const_g_w_%d_file", w);
    const TlGe__OpDef *c = air_node(a.model->graph[0], name);
    CU_ASSERT_STRING_EQUAL(c->type, "Const");
    CU_ASSERT_TRUE(is_string(AIR_ATTR(c, "location"), file));
    CU_ASSERT_TRUE(is_int(AIR_ATTR(c, "length"), 1200));
    CU_ASSERT_EQUAL(AIR_ATTR(c, "value")->t->data.len, 0);
    CU_ASSERT_TRUE(air_dims_are(AIR_ATTR(c, "value")->t->desc, "300"));
    const unsigned char *bytes = air_model_file(&a, file, &n);
    CU_ASSERT_TRUE(n == 1200 && bytes[3] == (w < 2 ? 0x3f : 0x40));
    air_model_remove(&a, file);
  }
  air_model_remove(&a, "air_weight/m");
  air_model_remove(&a, "air_weight");
  tl_buf_release(&text);
  air_model_end(&a);
}

/* Path, offset and content of the weight that a FileConstant stands for. */
static const char *check_file_constant(air_model *a, const TlGe__OpDef *c, unsigned char last) {
  size_t n;
  char *file =
      tl_arena_copy(&a->arena, AIR_ATTR(c, "location")->s.data, AIR_ATTR(c, "location")->s.len);
  CU_ASSERT_STRING_EQUAL(c->type, "FileConstant");
  CU_ASSERT_EQUAL(AIR_ATTR(c, "dtype")->value_case, TL_GE__ATTR_DEF__VALUE_DT);
  CU_ASSERT_EQUAL(AIR_ATTR(c, "dtype")->dt, 0);
  CU_ASSERT_TRUE(air_ints_are(AIR_ATTR(c, "shape"), "300"));
  CU_ASSERT_TRUE(is_int(AIR_ATTR(c, "length"), 1200));
  CU_ASSERT_TRUE(air_dims_are(c->output_desc[0], "300"));
  int64_t offset = AIR_ATTR(c, "offset")->i;
  const unsigned char *bytes = air_model_file(a, file, &n);
  CU_ASSERT_TRUE_FATAL(n >= (size_t)offset + 1200);
  CU_ASSERT_EQUAL(bytes[offset + 1199], last);
  return file;
}

static void weights_in_files(tl_external_weight form) {
  air_model a;
  tl_options o = tl_options_default();
  tl_buf text;
  size_t n;
  const char *files[3] = {NULL, NULL, NULL};
  o.external_weight = form;
  tl_buf_init(&text);
  air_model_make(&a, weights_text(&text), &o, 0);
  const TlGe__GraphDef *g = a.model->graph[0];
  int64_t offsets[3] = {0, 0, 0};
  for (int w = 0; w < 3; w++) {
    const TlGe__OpDef *c = g->op[1 + w];
    CU_ASSERT_EQUAL(strncmp(c->name, "w.", 2), 0);
    CU_ASSERT_EQUAL(strlen(c->name), 4 + 64); /* w.0_<sha256> */
    files[w] = check_file_constant(&a, c, c->name[2] == '2' ? 0x40 : 0x3f);
    offsets[w] = AIR_ATTR(c, "offset")->i;
    CU_ASSERT_EQUAL(offsets[w] % 512, 0);
  }
  CU_ASSERT_STRING_EQUAL(files[0], files[1]); /* one content, one place */
  CU_ASSERT_EQUAL(offsets[0], offsets[1]);
  const unsigned char *meta = air_model_file(&a, "weight/meta.json", &n);
  CU_ASSERT_TRUE(n > 128 && meta[0] == '{');
  if (form == TL_WEIGHTS_COMBINED) {
    CU_ASSERT_STRING_EQUAL(files[2], "weight/m_weight_combined");
    CU_ASSERT_NOT_EQUAL(offsets[2], offsets[0]);
  } else {
    CU_ASSERT_STRING_NOT_EQUAL(files[2], files[0]);
    CU_ASSERT_EQUAL(offsets[2], 0);
    air_model_remove(&a, files[2]);
  }
  air_model_remove(&a, files[0]);
  air_model_remove(&a, "weight/meta.json");
  air_model_remove(&a, "weight");
  tl_buf_release(&text);
  air_model_end(&a);
}

static void separate_weights(void) { weights_in_files(TL_WEIGHTS_SEPARATE); }
static void combined_weights(void) { weights_in_files(TL_WEIGHTS_COMBINED); }

static const unit_test tests[] = {{"nodes and edges", nodes_and_edges},
                                  {"descs", descs},
                                  {"bookkeeping", bookkeeping},
                                  {"attributes", attributes},
                                  {"constants", constants},
                                  {"dtype numbers", dtype_numbers},
                                  {"branches", branches},
                                  {"model attributes", model_attributes},
                                  {"input formats", input_formats},
                                  {"port formats", port_formats},
                                  {"split form", split_form},
                                  {"separate weights", separate_weights},
                                  {"combined weights", combined_weights},
                                  {NULL, NULL}};
const unit_suite unit_suite_air_readback = {"air readback", tests};
