/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check of AIR files. A good file, read by protobuf-c, is damaged in one way at a time,
 * encoded again and must be refused with the right words: what a loader rejects, what it would drop
 * in silence, and what only breaks later. */
#include <stdio.h>
#include <string.h>

#include "backend/air/air.h"
#include "tests/unit/air_model.h"
#include "tests/unit/unit.h"

static const char text[] =
    "graph @g(%x: f32[1,2,4,4], %c: bool[]) -> (%y, %z) {\n"
    "  const %w: f32[2,2,1,1] = [1, 2, 3, 4]\n"
    "  %conv = Conv(%x, %w) @conv\n"
    "  %y = Concat(%conv, %conv) @cat {axis=1}\n"
    "  %z = If(%c) @choose {\n"
    "    then_branch=graph @t() -> (%p) {\n      %p = Neg(%conv) @neg\n    },\n"
    "    else_branch=graph @e() -> (%q) {\n      %q = Exp(%conv) @exp\n    }\n"
    "  }\n}\n";

/* One way to damage the model, and what the message then says. */
typedef struct fault {
  const char *name;
  void (*damage)(air_model *a);
  const char *message;
} fault;

static TlGe__GraphDef *root(const air_model *a) { return a->model->graph[0]; }
static TlGe__OpDef *node(const air_model *a, const char *name) { return air_node(root(a), name); }
static TlGe__AttrDef *attr(const air_model *a, const char *op, const char *key) {
  return AIR_ATTR(node(a, op), key);
}

/* Room for one more element behind the n pointers at `at`. */
static void *grown(air_model *a, void *at, size_t n) {
  void **more = tl_arena_calloc(&a->arena, n + 1, sizeof *more);
  CU_ASSERT_PTR_NOT_NULL_FATAL(more);
  if (n)
    memcpy(more, at, n * sizeof *more);
  return more;
}

static void *kept(air_model *a, const void *p, size_t bytes) {
  void *copy = tl_arena_copy(&a->arena, p, bytes);
  CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
  return copy;
}

/* Puts an attribute where its key belongs. */
static void add_attr(air_model *a, TlGe__OpDef *op, const char *key, const TlGe__AttrDef *value) {
  TlGe__AttrEntry entry = TL_GE__ATTR_ENTRY__INIT;
  size_t i = op->n_attr;
  entry.key = kept(a, key, strlen(key));
  entry.value = kept(a, value, sizeof *value);
  op->attr = grown(a, op->attr, op->n_attr++);
  for (; i && strcmp(op->attr[i - 1]->key, key) > 0; i--)
    op->attr[i] = op->attr[i - 1];
  op->attr[i] = kept(a, &entry, sizeof entry);
}

static void drop_attr(TlGe__OpDef *op, const char *key) {
  size_t k = 0;
  for (size_t i = 0; i < op->n_attr; i++)
    if (strcmp(op->attr[i]->key, key) != 0)
      op->attr[k++] = op->attr[i];
  op->n_attr = k;
}

/* ---- rows of the loader's list ---- */

static void edge_to_nobody(air_model *a) { node(a, "cat")->input[0] = "nobody:0"; }
static void edge_to_other_graph(air_model *a) {
  node(a, "cat")->input[0] = "choose_0_then_branch/neg:0";
}
static void edge_beyond_outputs(air_model *a) { node(a, "cat")->input[0] = "conv:1"; }
static void edge_without_colon(air_model *a) { node(a, "cat")->input[0] = "conv"; }
static void edge_index_is_text(air_model *a) { node(a, "cat")->input[0] = "conv:a"; }
static void edge_index_is_empty(air_model *a) { node(a, "cat")->input[0] = "conv:"; }
static void edge_index_is_below(air_model *a) { node(a, "cat")->input[0] = "conv:-2"; }
static void slot_beyond_descs(air_model *a) { node(a, "cat")->n_input_desc = 1; }
static void desc_without_edge(air_model *a) { node(a, "cat")->n_input = 1; }

static void control_in_front(air_model *a) {
  TlGe__OpDef *cat = node(a, "cat");
  cat->input = grown(a, cat->input, cat->n_input++);
  memmove(cat->input + 1, cat->input, 2 * sizeof *cat->input);
  cat->input[0] = "conv:-1";
}

static void graph_input_missing(air_model *a) { root(a)->input[0] = "nobody:0"; }
static void graph_output_missing(air_model *a) { root(a)->output[0] = "nobody:0"; }
static void graph_output_beyond(air_model *a) { root(a)->output[0] = "cat:1"; }
static void no_graph_outputs(air_model *a) { root(a)->n_output = 0; }

static void subgraph_missing(air_model *a) { node(a, "choose")->subgraph_name[0] = "nobody"; }
static void subgraph_is_root(air_model *a) { node(a, "choose")->subgraph_name[0] = "g"; }
static void subgraph_twice(air_model *a) {
  node(a, "choose")->subgraph_name[0] = node(a, "choose")->subgraph_name[1];
}
static void subgraph_unused(air_model *a) { node(a, "choose")->n_subgraph_name = 1; }
static void graph_name_twice(air_model *a) { a->model->graph[1]->name = "choose_1_else_branch"; }
static void graph_without_name(air_model *a) { a->model->graph[1]->name = ""; }
static void no_graphs(air_model *a) { a->model->n_graph = 0; }
static void name_twice(air_model *a) { node(a, "cat")->name = "conv"; }
static void name_in_two_graphs(air_model *a) { a->model->graph[1]->op[1]->name = "conv"; }

static void attr_without_value(air_model *a) {
  attr(a, "conv", "groups")->value_case = TL_GE__ATTR_DEF__VALUE__NOT_SET;
}

static void attr_expression(air_model *a) {
  TlGe__AttrDef *groups = attr(a, "conv", "groups");
  groups->value_case = TL_GE__ATTR_DEF__VALUE_EXPRESSION;
  groups->expression = (ProtobufCBinaryData){1, (uint8_t *)"n"};
}

static void model_attr_expression(air_model *a) {
  TlGe__AttrEntry entry = TL_GE__ATTR_ENTRY__INIT;
  TlGe__AttrDef value = TL_GE__ATTR_DEF__INIT;
  value.value_case = TL_GE__ATTR_DEF__VALUE_EXPRESSION;
  value.expression = (ProtobufCBinaryData){1, (uint8_t *)"n"};
  entry.key = "k";
  entry.value = kept(a, &value, sizeof value);
  a->model->attr = grown(a, a->model->attr, a->model->n_attr++);
  a->model->attr[a->model->n_attr - 1] = kept(a, &entry, sizeof entry);
}

static void graph_attr_expression(air_model *a) {
  model_attr_expression(a);
  root(a)->attr = a->model->attr;
  root(a)->n_attr = a->model->n_attr;
  a->model->n_attr = 0;
}

static void list_unmarked(air_model *a) { attr(a, "conv", "strides")->list->val_type = 0; }
static void list_of_unknown_kind(air_model *a) { attr(a, "conv", "strides")->list->val_type = 11; }
static void list_of_other_kind(air_model *a) { attr(a, "conv", "strides")->list->val_type = 3; }
static void bookkeeping_marked(air_model *a) {
  attr(a, "conv", "_input_name_key")->list->val_type = 1;
}
static void name_lists_differ(air_model *a) { attr(a, "conv", "_input_name_value")->list->n_i--; }
static void output_lists_differ(air_model *a) { attr(a, "cat", "_output_name_key")->list->n_s = 0; }
static void ir_lists_differ(air_model *a) { attr(a, "conv", "_ir_inputs_value")->list->n_i--; }
static void input_kind_unknown(air_model *a) { attr(a, "cat", "_ir_inputs_value")->list->i[0] = 3; }
static void attrs_out_of_order(air_model *a) {
  TlGe__OpDef *conv = node(a, "conv");
  TlGe__AttrEntry *first = conv->attr[0];
  conv->attr[0] = conv->attr[1];
  conv->attr[1] = first;
}
static void attr_twice(air_model *a) { node(a, "conv")->attr[1] = node(a, "conv")->attr[0]; }

/* ---- constants and inputs ---- */

static void const_too_short(air_model *a) { attr(a, "w", "value")->t->data.len = 12; }
static void const_empty(air_model *a) { attr(a, "w", "value")->t->data.len = 0; }
static void const_of_other_dtype(air_model *a) { attr(a, "w", "value")->t->desc->dtype = 12; }
static void const_of_other_shape(air_model *a) { attr(a, "w", "value")->t->desc->shape->n_dim = 3; }
static void const_dynamic(air_model *a) {
  attr(a, "w", "value")->t->desc->shape->dim[0] = -1;
  node(a, "w")->output_desc[0]->shape->dim[0] = -1;
}
static void const_without_value(air_model *a) { drop_attr(node(a, "w"), "value"); }
static void const_without_desc(air_model *a) { attr(a, "w", "value")->t->desc = NULL; }
static void const_unlike_output(air_model *a) { node(a, "w")->output_desc[0]->dtype = 7; }

static void add_location(air_model *a, int64_t length) {
  TlGe__AttrDef place = TL_GE__ATTR_DEF__INIT;
  TlGe__AttrDef bytes = TL_GE__ATTR_DEF__INIT;
  place.value_case = TL_GE__ATTR_DEF__VALUE_S;
  place.s = (ProtobufCBinaryData){6, (uint8_t *)"folder"};
  bytes.value_case = TL_GE__ATTR_DEF__VALUE_I;
  bytes.i = length;
  attr(a, "w", "value")->t->data.len = 0;
  add_attr(a, node(a, "w"), "location", &place);
  if (length != INT64_MIN)
    add_attr(a, node(a, "w"), "length", &bytes);
}

static void length_zero(air_model *a) { add_location(a, 0); }
static void length_negative(air_model *a) { add_location(a, -1); }
static void length_wrong(air_model *a) { add_location(a, 12); }
static void length_missing(air_model *a) { add_location(a, INT64_MIN); }
static void located_twice(air_model *a) {
  size_t n = attr(a, "w", "value")->t->data.len;
  add_location(a, 16);
  attr(a, "w", "value")->t->data.len = n;
}
static void located_without_value(air_model *a) {
  add_location(a, 16);
  drop_attr(node(a, "w"), "value");
}

static void data_index_hole(air_model *a) { attr(a, "c", "index")->i = 2; }
static void data_index_twice(air_model *a) { attr(a, "c", "index")->i = 0; }
static void data_without_index(air_model *a) { drop_attr(node(a, "c"), "index"); }
static void data_descs_differ(air_model *a) { node(a, "c")->output_desc[0]->dtype = 1; }
static void data_without_desc(air_model *a) {
  node(a, "c")->n_input_desc = 0;
  node(a, "c")->n_input = 0;
}

/* ---- nodes and graphs ---- */

static void cycle(air_model *a) { node(a, "conv")->input[0] = "cat:0"; }
static void self_edge(air_model *a) { node(a, "conv")->input[0] = "conv:0"; }
static void control_cycle(air_model *a) {
  TlGe__OpDef *conv = node(a, "conv");
  conv->input = grown(a, conv->input, conv->n_input++);
  conv->input[conv->n_input - 1] = "cat:-1";
}
static void id_is_not_position(air_model *a) { node(a, "cat")->id = 7; }
static void required_input_open(air_model *a) { node(a, "conv")->input[1] = ""; }
static void dynamic_input_open(air_model *a) { node(a, "cat")->input[1] = ""; }
static void output_open(air_model *a) { node(a, "Node_Output")->input[0] = ""; }
static void output_differs(air_model *a) { node(a, "Node_Output")->input[0] = "conv:0"; }
static void no_output_node(air_model *a) { root(a)->n_op--; }
static void no_name(air_model *a) { node(a, "cat")->name = ""; }
static void no_type(air_model *a) { node(a, "cat")->type = ""; }

static void long_name(air_model *a) {
  char name[257];
  memset(name, 'n', sizeof name - 1);
  name[256] = '\0';
  char *copy = kept(a, name, sizeof name);
  node(a, "cat")->name = copy;
}

static void dim_below(air_model *a) { node(a, "cat")->output_desc[0]->shape->dim[0] = -3; }
static void rank_among_dims(air_model *a) { node(a, "cat")->output_desc[0]->shape->dim[0] = -2; }
static void dtype_unknown(air_model *a) { node(a, "cat")->output_desc[0]->dtype = 42; }
static void no_layout(air_model *a) { node(a, "cat")->output_desc[0]->layout = ""; }

#define FAULT(name, message)                                                                       \
  { #name, name, message }
static const fault faults[] = {FAULT(edge_to_nobody, "does not come earlier"),
                               FAULT(edge_to_other_graph, "does not come earlier"),
                               FAULT(edge_beyond_outputs, "beyond the producer's"),
                               FAULT(edge_without_colon, "NAME:INDEX"),
                               FAULT(edge_index_is_text, "NAME:INDEX"),
                               FAULT(edge_index_is_empty, "NAME:INDEX"),
                               FAULT(edge_index_is_below, "NAME:INDEX"),
                               FAULT(slot_beyond_descs, "differ in number"),
                               FAULT(desc_without_edge, "differ in number"),
                               FAULT(control_in_front, "after a control edge"),
                               FAULT(graph_input_missing, "does not come earlier"),
                               FAULT(graph_output_missing, "does not come earlier"),
                               FAULT(graph_output_beyond, "beyond the producer's"),
                               FAULT(no_graph_outputs, "without outputs"),
                               FAULT(subgraph_missing, "not in the file"),
                               FAULT(subgraph_is_root, "not in the file"),
                               FAULT(subgraph_twice, "subgraph"),
                               FAULT(subgraph_unused, "subgraph"),
                               FAULT(graph_name_twice, "graph name occurs twice"),
                               FAULT(graph_without_name, "without a name"),
                               FAULT(no_graphs, "without a graph"),
                               FAULT(name_twice, "occurs twice"),
                               FAULT(name_in_two_graphs, "occurs twice"),
                               FAULT(attr_without_value, "without a value"),
                               FAULT(attr_expression, "cannot read"),
                               FAULT(model_attr_expression, "cannot read"),
                               FAULT(graph_attr_expression, "cannot read"),
                               FAULT(list_unmarked, "val_type"),
                               FAULT(list_of_unknown_kind, "val_type"),
                               FAULT(list_of_other_kind, "declared kind"),
                               FAULT(bookkeeping_marked, "val_type"),
                               FAULT(name_lists_differ, "unequal length"),
                               FAULT(output_lists_differ, "unequal length"),
                               FAULT(ir_lists_differ, "unequal length"),
                               FAULT(input_kind_unknown, "port kinds"),
                               FAULT(attrs_out_of_order, "out of order"),
                               FAULT(attr_twice, "out of order"),
                               FAULT(const_too_short, "size of its shape"),
                               FAULT(const_empty, "size of its shape"),
                               FAULT(const_of_other_dtype, "size of its shape"),
                               FAULT(const_of_other_shape, "differ in type"),
                               FAULT(const_dynamic, "unknown shape"),
                               FAULT(const_without_value, "without a tensor value"),
                               FAULT(const_without_desc, "without a desc"),
                               FAULT(const_unlike_output, "differ in type"),
                               FAULT(length_zero, "length"),
                               FAULT(length_negative, "length"),
                               FAULT(length_wrong, "length"),
                               FAULT(length_missing, "length"),
                               FAULT(located_twice, "both in the file and outside"),
                               FAULT(located_without_value, "without a tensor value"),
                               FAULT(data_index_hole, "not dense"),
                               FAULT(data_index_twice, "not dense"),
                               FAULT(data_without_index, "not dense"),
                               FAULT(data_descs_differ, "both equal"),
                               FAULT(data_without_desc, "both equal"),
                               FAULT(cycle, "does not come earlier"),
                               FAULT(self_edge, "does not come earlier"),
                               FAULT(control_cycle, "does not come earlier"),
                               FAULT(id_is_not_position, "position"),
                               FAULT(required_input_open, "not connected"),
                               FAULT(dynamic_input_open, "not connected"),
                               FAULT(output_open, "output is missing"),
                               FAULT(output_differs, "graph outputs and NetOutput"),
                               FAULT(no_output_node, "one NetOutput"),
                               FAULT(no_name, "without a name"),
                               FAULT(no_type, "without a name or type"),
                               FAULT(long_name, "255"),
                               FAULT(dim_below, "below -2"),
                               FAULT(rank_among_dims, "unknown rank"),
                               FAULT(dtype_unknown, "unknown dtype"),
                               FAULT(no_layout, "malformed tensor desc")};

static unsigned char *packed(air_model *a, size_t *n) {
  *n = tl_ge__model_def__get_packed_size(a->model);
  unsigned char *p = tl_arena_alloc(&a->arena, *n + 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(p);
  tl_ge__model_def__pack(a->model, p);
  return p;
}

static void make(air_model *a) {
  tl_options o = tl_options_default();
  air_model_make(a, text, &o, 0);
}

/* protobuf-c writes the same bytes, bar fields whose value is the default. */
static void good_file(void) {
  air_model a;
  size_t n;
  make(&a);
  const unsigned char *p = packed(&a, &n);
  CU_ASSERT_EQUAL(tl_air_check(&a.diag, "m.air", p, n), TL_OK);
  CU_ASSERT_EQUAL(a.diag.errors, 0);
  air_model_end(&a);
}

static void weights_outside(void) {
  air_model a;
  size_t n;
  make(&a);
  add_location(&a, 16);
  const unsigned char *p = packed(&a, &n);
  CU_ASSERT_EQUAL(tl_air_check(&a.diag, "m.air", p, n), TL_OK);
  air_model_end(&a);
}

static void every_fault(void) {
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    air_model a;
    size_t n;
    make(&a);
    faults[i].damage(&a);
    const unsigned char *p = packed(&a, &n);
    tl_status status = tl_air_check(&a.diag, "m.air", p, n);
    const char *said = a.messages.p ? a.messages.p : "";
    bool found = status == TL_INTERNAL && a.diag.errors == 1 && strstr(said, faults[i].message);
    if (!found)
      fprintf(stderr, "%s: %s\n", faults[i].name, *said ? said : "accepted");
    CU_ASSERT_TRUE(found);
    air_model_end(&a);
  }
}

/* Bytes cut off anywhere never pass and never crash. */
static void every_cut(void) {
  air_model a;
  size_t n;
  make(&a);
  const unsigned char *p = packed(&a, &n);
  for (size_t i = 0; i < n; i++) {
    unsigned char *copy = kept(&a, p, i); /* so that a sanitizer sees reads beyond the cut */
    CU_ASSERT_EQUAL(tl_air_check(&a.diag, "m.air", copy, i), TL_INTERNAL);
  }
  air_model_end(&a);
}

static const unit_test tests[] = {{"good file", good_file},
                                  {"weights outside", weights_outside},
                                  {"every fault", every_fault},
                                  {"every cut", every_cut},
                                  {NULL, NULL}};
const unit_suite unit_suite_air_check = {"air check", tests};
