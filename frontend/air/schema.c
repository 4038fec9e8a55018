/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of messages (schema.h). */
#include "frontend/air/schema.h"

#include "ir/dtype.h"
#include "ir/ge_fields.h"

#define BYTES(name, number)                                                                        \
  { name, number, TL_TEXT_BYTES, false, NULL, NULL }
#define INT(name, number)                                                                          \
  { name, number, TL_TEXT_INT, false, NULL, NULL }
#define BOOL(name, number)                                                                         \
  { name, number, TL_TEXT_BOOL, false, NULL, NULL }
#define FLOAT(name, number)                                                                        \
  { name, number, TL_TEXT_FLOAT, false, NULL, NULL }
#define ENUM(name, number, values)                                                                 \
  { name, number, TL_TEXT_ENUM, false, NULL, values }
#define MESSAGE(name, number, of)                                                                  \
  { name, number, TL_TEXT_MESSAGE, false, &(of), NULL }
#define SKIPPED(name)                                                                              \
  { name, 0, TL_TEXT_SKIPPED, true, NULL, NULL }
#define MANY_BYTES(name, number)                                                                   \
  { name, number, TL_TEXT_BYTES, true, NULL, NULL }
#define MANY_INTS(name, number)                                                                    \
  { name, number, TL_TEXT_INT, true, NULL, NULL }
#define MANY_BOOLS(name, number)                                                                   \
  { name, number, TL_TEXT_BOOL, true, NULL, NULL }
#define MANY_FLOATS(name, number)                                                                  \
  { name, number, TL_TEXT_FLOAT, true, NULL, NULL }
#define MANY(name, number, of)                                                                     \
  { name, number, TL_TEXT_MESSAGE, true, &(of), NULL }
#define FIELDS(rows) rows, sizeof(rows) / sizeof *(rows)

/* ---- values of enums ------------------------------------------------------------------------- */

int64_t tl_air_dtype_number(tl_sv name) {
  static const struct {
    const char *name;
    int8_t number;
  } others[] = {/* that the IR has no type for */
                {"DT_DUAL_SUB_INT8", 14},
                {"DT_DUAL_SUB_UINT8", 15},
                {"DT_DUAL", 25}};
  for (tl_dtype d = TL_DTYPE_NONE; d < TL_N_DTYPES; d++)
    if (tl_dtype_get(d)->ge_name && tl_sv_is(name, tl_dtype_get(d)->ge_name))
      return tl_dtype_get(d)->ge_proto;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_sv_is(name, others[i].name))
      return others[i].number;
  return -1;
}

static int64_t find_name(tl_sv name, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (tl_sv_is(name, names[i]))
      return (int64_t)i;
  return -1;
}

static int64_t list_type(tl_sv name) {
  static const char *const names[] = {"VT_LIST_NONE",        "VT_LIST_STRING",   "VT_LIST_INT",
                                      "VT_LIST_FLOAT",       "VT_LIST_BOOL",     "VT_LIST_BYTES",
                                      "VT_LIST_TENSOR_DESC", "VT_LIST_TENSOR",   "VT_LIST_GRAPH",
                                      "VT_LIST_NAMED_ATTRS", "VT_LIST_DATA_TYPE"};
  return find_name(name, names, sizeof names / sizeof *names);
}

static int64_t attribute_type(tl_sv name) {
  static const char *const names[] = {"UNDEFINED", "FLOAT", "INT",     "STRING",  "TENSOR", "GRAPH",
                                      "FLOATS",    "INTS",  "STRINGS", "TENSORS", "GRAPHS"};
  return find_name(name, names, sizeof names / sizeof *names);
}

/* ---- ModelDef -------------------------------------------------------------------------------- */

static const tl_text_message attr_entry;
static const tl_text_message graph_def;

static const tl_text_field shape_fields[] = {MANY_INTS("dim", TL_SHAPE_DIM)};
static const tl_text_message shape_def = {"ShapeDef", FIELDS(shape_fields), 0, false};

static const tl_text_field desc_fields[] = {BYTES("name", 1),
                                            ENUM("dtype", TL_DESC_DTYPE, tl_air_dtype_number),
                                            MESSAGE("shape", TL_DESC_SHAPE, shape_def),
                                            BYTES("layout", TL_DESC_LAYOUT),
                                            MANY("attr", TL_DESC_ATTR, attr_entry),
                                            BOOL("has_out_attr", 9),
                                            INT("size", 10),
                                            INT("weight_size", 11),
                                            BOOL("reuse_input", 12),
                                            BOOL("output_tensor", 13),
                                            BYTES("device_type", TL_DESC_DEVICE),
                                            BOOL("input_tensor", 15),
                                            INT("real_dim_cnt", TL_DESC_DIM_COUNT),
                                            INT("reuse_input_index", 17),
                                            INT("data_offset", 18),
                                            INT("cmps_size", 19),
                                            BYTES("cmps_tab", 20),
                                            INT("cmps_tab_offset", 21),
                                            SKIPPED("attr_groups")};
static const tl_text_message tensor_descriptor = {"TensorDescriptor", FIELDS(desc_fields), 0,
                                                  false};

static const tl_text_field tensor_fields[] = {MESSAGE("desc", TL_TENSORDEF_DESC, tensor_descriptor),
                                              BYTES("data", TL_TENSORDEF_DATA)};
static const tl_text_message tensor_def = {"TensorDef", FIELDS(tensor_fields), 0, false};

static const tl_text_field named_fields[] = {BYTES("name", 1), MANY("attr", 2, attr_entry)};
static const tl_text_message named_attrs = {"NamedAttrs", FIELDS(named_fields), 0, false};

static const tl_text_field list_fields[] = {MANY_BYTES("s", TL_LIST_S),
                                            MANY_INTS("i", TL_LIST_I),
                                            MANY_FLOATS("f", TL_LIST_F),
                                            MANY_BOOLS("b", TL_LIST_B),
                                            MANY_BYTES("bt", 7),
                                            MANY("td", 8, tensor_descriptor),
                                            MANY("t", TL_LIST_T, tensor_def),
                                            MANY("g", 10, graph_def),
                                            MANY("na", 11, named_attrs),
                                            MANY_INTS("dt", TL_LIST_DT),
                                            ENUM("val_type", TL_LIST_TYPE, list_type)};
static const tl_text_message list_value = {"ListValue", FIELDS(list_fields), 0, false};

static const tl_text_field int_row_fields[] = {MANY_INTS("list_i", 1)};
static const tl_text_message int_row = {"ListInt", FIELDS(int_row_fields), 0, false};
static const tl_text_field int_rows_fields[] = {MANY("list_list_i", 1, int_row)};
static const tl_text_message int_rows = {"ListListInt", FIELDS(int_rows_fields), 0, false};
static const tl_text_field float_row_fields[] = {MANY_FLOATS("list_f", 1)};
static const tl_text_message float_row = {"ListFloat", FIELDS(float_row_fields), 0, false};
static const tl_text_field float_rows_fields[] = {MANY("list_list_f", 1, float_row)};
static const tl_text_message float_rows = {"ListListFloat", FIELDS(float_rows_fields), 0, false};

static const tl_text_field attr_fields[] = {
    MESSAGE("list", TL_ATTRDEF_LIST, list_value),
    BYTES("s", TL_ATTRDEF_S),
    INT("i", TL_ATTRDEF_I),
    FLOAT("f", TL_ATTRDEF_F),
    BOOL("b", TL_ATTRDEF_B),
    BYTES("bt", TL_ATTRDEF_BT),
    MESSAGE("func", TL_ATTRDEF_FUNC, named_attrs),
    MESSAGE("td", TL_ATTRDEF_TD, tensor_descriptor),
    MESSAGE("t", TL_ATTRDEF_T, tensor_def),
    MESSAGE("g", TL_ATTRDEF_G, graph_def),
    MESSAGE("list_list_int", TL_ATTRDEF_LIST_LIST_INT, int_rows),
    INT("dt", TL_ATTRDEF_DT),
    MESSAGE("list_list_float", TL_ATTRDEF_LIST_LIST_FLOAT, float_rows),
    BYTES("expression", 17)};
static const tl_text_message attr_def = {"AttrDef", FIELDS(attr_fields), 0, true};

static const tl_text_field entry_fields[] = {BYTES("key", 1), MESSAGE("value", 2, attr_def)};
static const tl_text_message attr_entry = {"map entry", FIELDS(entry_fields), 0, false};

static const tl_text_field op_fields[] = {
    BYTES("name", TL_NODE_NAME),
    BYTES("type", TL_NODE_TYPE),
    MANY_BYTES("input", TL_NODE_INPUT),
    MANY("attr", TL_NODE_ATTR, attr_entry),
    BOOL("has_out_attr", TL_NODE_HAS_OUT_ATTR),
    INT("id", TL_NODE_ID),
    INT("stream_id", TL_NODE_STREAM),
    MANY_BYTES("input_name", 23),
    MANY_BYTES("src_name", TL_NODE_SRC_NAME),
    MANY_INTS("src_index", TL_NODE_SRC_INDEX),
    MANY_BYTES("dst_name", 26),
    MANY_INTS("dst_index", 27),
    MANY_INTS("input_i", 28),
    MANY_INTS("output_i", 29),
    MANY_INTS("workspace", 30),
    MANY_INTS("workspace_bytes", 31),
    MANY_BOOLS("is_input_const", TL_NODE_INPUT_CONST),
    MANY("input_desc", TL_NODE_INPUT_DESC, tensor_descriptor),
    MANY("output_desc", TL_NODE_OUTPUT_DESC, tensor_descriptor),
    MANY_BYTES("subgraph_name", TL_NODE_SUBGRAPH),
    SKIPPED("attr_groups")};
static const tl_text_message op_def = {"OpDef", FIELDS(op_fields), TL_NODE_LINE, false};

static const tl_text_field graph_fields[] = {
    BYTES("name", TL_GRAPH_NAME),          MANY_BYTES("input", TL_GRAPH_INPUT),
    MANY_BYTES("output", TL_GRAPH_OUTPUT), MANY("op", TL_GRAPH_NODE, op_def),
    MANY("attr", 11, attr_entry),          SKIPPED("attr_groups")};
static const tl_text_message graph_def = {"GraphDef", FIELDS(graph_fields), 0, false};

static const tl_text_field model_fields[] = {BYTES("name", TL_MODEL_NAME),
                                             INT("version", TL_MODEL_VERSION),
                                             BYTES("custom_version", TL_MODEL_CUSTOM_VERSION),
                                             MANY("graph", TL_MODEL_GRAPH, graph_def),
                                             MANY("attr", TL_MODEL_ATTR, attr_entry),
                                             SKIPPED("attr_groups")};
const tl_text_message tl_air_model_schema = {"ModelDef", FIELDS(model_fields), 0, false};

/* ---- ModelProto ------------------------------------------------------------------------------ */

static const tl_text_message dump_graph;

static const tl_text_field dump_attr_fields[] = {BYTES("name", TL_DUMP_ATTR_NAME),
                                                 FLOAT("f", TL_DUMP_ATTR_F),
                                                 INT("i", TL_DUMP_ATTR_I),
                                                 BYTES("s", TL_DUMP_ATTR_S),
                                                 MESSAGE("g", TL_DUMP_ATTR_G, dump_graph),
                                                 MANY_FLOATS("floats", TL_DUMP_ATTR_FLOATS),
                                                 MANY_INTS("ints", TL_DUMP_ATTR_INTS),
                                                 MANY_BYTES("strings", TL_DUMP_ATTR_STRINGS),
                                                 BYTES("doc_string", 13),
                                                 ENUM("type", TL_DUMP_ATTR_TYPE, attribute_type)};
static const tl_text_message dump_attr = {"AttributeProto", FIELDS(dump_attr_fields), 0, false};

static const tl_text_field dump_node_fields[] = {MANY_BYTES("input", TL_DUMP_NODE_INPUT),
                                                 MANY_BYTES("output", TL_DUMP_NODE_OUTPUT),
                                                 BYTES("name", TL_DUMP_NODE_NAME),
                                                 BYTES("op_type", TL_DUMP_NODE_TYPE),
                                                 MANY("attribute", TL_DUMP_NODE_ATTR, dump_attr),
                                                 BYTES("doc_string", 6),
                                                 BYTES("domain", 7)};
static const tl_text_message dump_node = {"NodeProto", FIELDS(dump_node_fields), TL_DUMP_NODE_LINE,
                                          false};

/* The names of outputs are needed where no NetOutput is, their types never. */
static const tl_text_field dump_value_fields[] = {BYTES("name", 1), SKIPPED("type"),
                                                  SKIPPED("doc_string")};
static const tl_text_message dump_value = {"ValueInfoProto", FIELDS(dump_value_fields), 0, false};

static const tl_text_field dump_graph_fields[] = {
    MANY("node", TL_DUMP_GRAPH_NODE, dump_node), BYTES("name", TL_DUMP_GRAPH_NAME),
    BYTES("doc_string", 10), SKIPPED("input"), MANY("output", TL_DUMP_GRAPH_OUTPUT, dump_value)};
static const tl_text_message dump_graph = {"GraphProto", FIELDS(dump_graph_fields), 0, false};

static const tl_text_field dump_model_fields[] = {INT("ir_version", 1),
                                                  BYTES("producer_name", TL_DUMP_MODEL_NAME),
                                                  BYTES("producer_version", 3),
                                                  BYTES("domain", 4),
                                                  INT("model_version", TL_DUMP_MODEL_VERSION),
                                                  BYTES("doc_string", 6),
                                                  MESSAGE("graph", TL_DUMP_MODEL_GRAPH, dump_graph),
                                                  SKIPPED("opset_import")};
const tl_text_message tl_air_dump_schema = {"ModelProto", FIELDS(dump_model_fields), 0, false};
