/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the fields of a NodeProto, before a node is made. */
#ifndef TL_FRONTEND_ONNX_NODE_WIRE_H
#define TL_FRONTEND_ONNX_NODE_WIRE_H

#include "frontend/onnx/names.h"

/* A decoded NodeProto. Its lists are ranges of stacks. */
typedef struct tl_node_wire {
  tl_proto body;
  tl_sv name;
  uint32_t name_hash;
  tl_sv op_type;
  tl_sv domain;
  tl_sv overload;
  uint32_t first_input; /* keys in inputs */
  uint32_t n_inputs;
  uint32_t first_output; /* keys in outputs */
  uint32_t n_outputs;
  uint32_t first_attr; /* AttributeProto in tl_onnx_calls.attributes */
  uint32_t n_attrs;
  bool has_notes;
} tl_node_wire;

/* A name of a node that is being decoded. */
typedef struct tl_name_ahead {
  tl_sv name;
  uint32_t hash;
  bool output;
} tl_name_ahead;

TL_VEC(tl_ahead_vec, tl_name_ahead);

/* Stacks of keys of operands and results. */
typedef struct tl_onnx_ports {
  tl_ahead_vec ahead; /* of the node being decoded */
  tl_u32_vec inputs;
  tl_u32_vec outputs;
} tl_onnx_ports;

/* Releases the stacks. */
void tl_onnx_ports_release(tl_onnx_ports *p);

/* Decodes a node; its attributes are only listed. TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_onnx_decode_node(tl_onnx_names *names, tl_onnx_ports *ports, tl_proto body,
                              tl_node_wire *w) TL_NODISCARD;
/* Cuts the stacks back to where they were before the node. */
void tl_onnx_drop_node(tl_onnx_names *names, tl_onnx_ports *ports, const tl_node_wire *w);
/* Returns the location of a node that does not exist yet: its name, or "Op->result". */
tl_location tl_onnx_node_where(const tl_onnx_names *names, const tl_onnx_ports *ports,
                               const tl_node_wire *w);
/* Reads op_type, domain and overload only. TL_INVALID_MODEL. */
tl_status tl_onnx_node_header(const tl_onnx_reader *r, tl_proto body,
                              tl_node_wire *out) TL_NODISCARD;

#endif
