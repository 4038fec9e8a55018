/* SPDX-License-Identifier: Apache-2.0 */
/* GE's dumps in the shape of ONNX (ge_onnx_*.pbtxt), turned into ModelDef messages. */
#ifndef TL_FRONTEND_AIR_DUMP_H
#define TL_FRONTEND_AIR_DUMP_H

#include "frontend/air/reader.h"
#include "frontend/air/schema.h"

/* An attribute of a node of the dump. */
typedef struct tl_dump_attr {
  tl_sv name;
  tl_proto body;
  tl_sv s;
  int64_t i;
  float f;
  tl_proto g;
  uint8_t type; /* tl_dump_type */
} tl_dump_attr;

TL_VEC(tl_dump_attr_vec, tl_dump_attr);

#define TL_DUMP_NO_GRAPH UINT32_MAX

/* A graph other than the main one. */
typedef struct tl_dump_graph_row {
  tl_sv name;
  tl_proto body;
  uint32_t next; /* of the same node; TL_DUMP_NO_GRAPH: none */
} tl_dump_graph_row;

TL_VEC(tl_dump_graph_vec, tl_dump_graph_row);

/* A property of a tensor desc: "input_desc_<key>:<index>". */
typedef struct tl_dump_part {
  uint32_t index;
  bool output;
  tl_sv key;
  uint32_t attr; /* position in attrs */
} tl_dump_part;

TL_VEC(tl_dump_part_vec, tl_dump_part);

/* State of turning one dump. */
typedef struct tl_dump {
  tl_air_reader *r;
  tl_buf *out;
  tl_dump_graph_vec graphs;
  tl_u32_vec taken;       /* by symbol: 1 if a graph has the name */
  tl_u32_vec owners;      /* by symbol: first graph of the node + 1, NO_GRAPH: none;
                             0: the node owns no graphs */
  tl_dump_attr_vec attrs; /* of a node, by name */
  tl_dump_part_vec parts; /* of a node, by side and index */
  uint32_t fillers;       /* descs that a node counts and does not describe */
} tl_dump;

/* Where a node is, in messages. */
typedef struct tl_dump_node {
  tl_sv name;
  tl_sv type; /* without "ge:" */
  tl_proto body;
  uint32_t line;
  uint32_t n_inputs;  /* data edges */
  uint32_t n_outputs; /* that others use */
} tl_dump_node;

/* ---- dump_graph.c ---- */
/* Turns a ModelProto into the bytes of a ModelDef. TL_INVALID_MODEL, TL_LIMIT, TL_NO_MEMORY. */
tl_status tl_air_from_dump(tl_air_reader *r, tl_proto model, tl_buf *out) TL_NODISCARD;
static inline tl_location tl_dump_at(const tl_dump *d, const tl_dump_node *n) {
  return (tl_location){.file = d->r->path, .node = n->name, .line = n->line};
}

/* ---- dump_attr.c ---- */
/* Reads the attributes of a node into d->attrs. */
tl_status tl_dump_read_attrs(tl_dump *d, const tl_dump_node *n) TL_NODISCARD;
/* Finds one among them; NULL without it. */
const tl_dump_attr *tl_dump_find(const tl_dump *d, tl_sv stem, const char *suffix);
/* Appends an entry of an attribute map. */
tl_status tl_dump_put(tl_dump *d, const tl_dump_node *n, uint32_t field, tl_sv key,
                      const tl_dump_attr *a) TL_NODISCARD;
/* Append parts of a TensorDescriptor: its element type by name, and its shape; NULL: no dims. */
tl_status tl_dump_put_dtype(tl_dump *d, const tl_dump_node *n, const tl_dump_attr *a) TL_NODISCARD;
void tl_dump_put_shape(tl_buf *out, const tl_dump_attr *a);
/* Appends those that are attributes of the op. */
tl_status tl_dump_put_attrs(tl_dump *d, const tl_dump_node *n, const tl_op *row) TL_NODISCARD;

/* ---- dump_desc.c ---- */
/* Appends the descs of the node. */
tl_status tl_dump_put_descs(tl_dump *d, const tl_dump_node *n) TL_NODISCARD;

#endif
