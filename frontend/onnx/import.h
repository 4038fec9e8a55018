/* SPDX-License-Identifier: Apache-2.0 */
/* State of one import, for the files that make nodes and graphs. */
#ifndef TL_FRONTEND_ONNX_IMPORT_H
#define TL_FRONTEND_ONNX_IMPORT_H

#include "frontend/onnx/attribute.h"
#include "frontend/onnx/functions.h"
#include "frontend/onnx/lift.h"
#include "frontend/onnx/load.h"
#include "frontend/onnx/node_wire.h"
#include "frontend/onnx/training.h"

/* A field met while scanning a GraphProto. */
typedef struct tl_part {
  uint32_t number;
  tl_proto body;
} tl_part;

TL_VEC(tl_part_vec, tl_part);

/* All parts of one import. Parts hold borrowed pointers to those above them. */
typedef struct tl_onnx {
  const tl_onnx_load_options *o;
  tl_onnx_reader r;
  tl_onnx_calls calls;
  tl_onnx_names names;
  tl_onnx_ports ports;
  tl_onnx_attributes attributes;
  tl_onnx_functions functions;
  tl_onnx_training training;
  tl_onnx_lifts lifts;
  tl_u32_vec call_paths; /* path of an inlined call -> how often it was asked for */
  tl_u32_vec values;     /* scratch: operands of a node, outputs of a graph */
  tl_part_vec parts;     /* a stack */
  uint64_t n_nodes;      /* nodes imported so far */
  uint64_t max_nodes;    /* upper bound; beyond it the import fails with TL_LIMIT */
} tl_onnx;

#endif
