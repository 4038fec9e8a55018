/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages of GE's text dumps contain: tables for the reader of protobuf text. */
#ifndef TL_FRONTEND_AIR_SCHEMA_H
#define TL_FRONTEND_AIR_SCHEMA_H

#include "frontend/prototext/prototext.h"

/* A ModelDef (ge_proto_*.txt), with the field numbers of AIR. */
extern const tl_text_message tl_air_model_schema;
/* A ModelProto as GE dumps it (ge_onnx_*.pbtxt), with the field numbers below. */
extern const tl_text_message tl_air_dump_schema;

/* Field numbers of the second, which are ONNX's. */
enum {
  TL_DUMP_MODEL_NAME = 2, /* producer_name */
  TL_DUMP_MODEL_VERSION = 5,
  TL_DUMP_MODEL_GRAPH = 7,
  TL_DUMP_GRAPH_NODE = 1,
  TL_DUMP_GRAPH_NAME = 2,
  TL_DUMP_GRAPH_OUTPUT = 12,
  TL_DUMP_NODE_INPUT = 1,
  TL_DUMP_NODE_OUTPUT = 2,
  TL_DUMP_NODE_NAME = 3,
  TL_DUMP_NODE_TYPE = 4,
  TL_DUMP_NODE_ATTR = 5,
  TL_DUMP_NODE_LINE = 1000,
  TL_DUMP_ATTR_NAME = 1,
  TL_DUMP_ATTR_F = 2,
  TL_DUMP_ATTR_I = 3,
  TL_DUMP_ATTR_S = 4,
  TL_DUMP_ATTR_G = 6,
  TL_DUMP_ATTR_FLOATS = 7,
  TL_DUMP_ATTR_INTS = 8,
  TL_DUMP_ATTR_STRINGS = 9,
  TL_DUMP_ATTR_TYPE = 20
};

/* Values of TL_DUMP_ATTR_TYPE. */
typedef enum tl_dump_type {
  TL_DUMP_NONE,
  TL_DUMP_FLOAT,
  TL_DUMP_INT,
  TL_DUMP_STRING,
  TL_DUMP_TENSOR,
  TL_DUMP_GRAPH,
  TL_DUMP_FLOATS,
  TL_DUMP_INTS,
  TL_DUMP_STRINGS
} tl_dump_type;

/* Returns the serialized number of an element type, as in "DT_FLOAT"; -1 for none. */
int64_t tl_air_dtype_number(tl_sv name);

#endif
