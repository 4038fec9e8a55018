/* SPDX-License-Identifier: Apache-2.0 */
/* Field numbers of the messages of an AIR file: those of GE's ge_ir.proto, which the file of that
 * name in backend/air describes. frontend/air reads them, backend/air writes them. */
#ifndef TL_IR_GE_FIELDS_H
#define TL_IR_GE_FIELDS_H

enum { /* TL_<message>_<field> */
       TL_MODEL_NAME = 1,
       TL_MODEL_VERSION = 2,
       TL_MODEL_CUSTOM_VERSION = 3,
       TL_MODEL_GRAPH = 7,
       TL_MODEL_ATTR = 11,
       TL_GRAPH_NAME = 1,
       TL_GRAPH_INPUT = 4,
       TL_GRAPH_OUTPUT = 5,
       TL_GRAPH_NODE = 6,
       TL_GRAPH_ATTR = 11,
       TL_NODE_NAME = 1,
       TL_NODE_TYPE = 2,
       TL_NODE_INPUT = 5,
       TL_NODE_ATTR = 10,
       TL_NODE_HAS_OUT_ATTR = 20,
       TL_NODE_ID = 21,
       TL_NODE_STREAM = 22,
       TL_NODE_SRC_NAME = 24,
       TL_NODE_SRC_INDEX = 25,
       TL_NODE_INPUT_CONST = 32,
       TL_NODE_INPUT_DESC = 33,
       TL_NODE_OUTPUT_DESC = 34,
       TL_NODE_SUBGRAPH = 35,
       TL_NODE_LINE = 1000, /* no field of GE's: the line of a text that was read */
       TL_DESC_DTYPE = 2,
       TL_DESC_SHAPE = 3,
       TL_DESC_LAYOUT = 4,
       TL_DESC_ATTR = 5,
       TL_DESC_DEVICE = 14,
       TL_DESC_DIM_COUNT = 16,
       TL_ATTRDEF_LIST = 1,
       TL_ATTRDEF_S = 2,
       TL_ATTRDEF_I = 3,
       TL_ATTRDEF_F = 4,
       TL_ATTRDEF_B = 5,
       TL_ATTRDEF_BT = 7,
       TL_ATTRDEF_FUNC = 10,
       TL_ATTRDEF_TD = 11,
       TL_ATTRDEF_T = 12,
       TL_ATTRDEF_G = 13,
       TL_ATTRDEF_LIST_LIST_INT = 14,
       TL_ATTRDEF_DT = 15,
       TL_ATTRDEF_LIST_LIST_FLOAT = 16,
       TL_LIST_S = 2,
       TL_LIST_I = 3,
       TL_LIST_F = 4,
       TL_LIST_B = 5,
       TL_LIST_T = 9,
       TL_LIST_DT = 12,
       TL_LIST_TYPE = 20,
       TL_SHAPE_DIM = 1,
       TL_TENSORDEF_DESC = 1,
       TL_TENSORDEF_DATA = 2
};

/* Attribute of a constant that a dump has without its data: the constant's name, so that no two
 * such nodes are equal. */
#define TL_AIR_NO_DATA "_tailor_no_data"
/* What to say of such a node where the data is needed. */
#define TL_AIR_NO_DATA_SAYS                                                                        \
  "a constant without data\vthe dump that the model is from lacks weights; DUMP_GE_GRAPH=1 and "   \
  "the .air file have them"

#endif
