/* SPDX-License-Identifier: Apache-2.0 */
/* training_info: algorithms that follow the graph of the model, and what they update. */
#ifndef TL_FRONTEND_ONNX_TRAINING_H
#define TL_FRONTEND_ONNX_TRAINING_H

#include "frontend/onnx/names.h"

typedef struct tl_onnx_training {
  tl_onnx_reader *r;        /* borrowed */
  tl_onnx_names *names;     /* borrowed */
  tl_proto_vec algorithms;  /* graphs; a training_info without one has p == NULL */
  tl_proto_vec nodes;       /* of each from the first node to the end of the last */
  tl_u32_vec first_nodes;   /* of each the first id, and the end of the last */
  tl_u32_vec last_bindings; /* of each: length of bindings behind its own */
  tl_u32_vec bindings;      /* pairs of keys, initializer and next value */
  tl_u32_vec is_output;     /* value -> 1: of the main graph, where there are bindings */
} tl_onnx_training;

void tl_onnx_training_release(tl_onnx_training *x);

/* Reads all training_info of the model, before the graph is read. TL_INVALID_MODEL, TL_LIMIT,
 * TL_NO_MEMORY. */
tl_status tl_onnx_read_training(tl_onnx_training *x) TL_NODISCARD;
/* Declares what the bindings name as states, while the scope of the main graph is open. */
tl_status tl_onnx_states(tl_onnx_training *x) TL_NODISCARD;
/* training_order.c: lets later ones of several training_info run on what earlier ones have updated;
 * all nodes have their final ops. TL_UNSUPPORTED where that cannot be said in one graph.
 * O(training_info * (nodes + uses)). */
tl_status tl_onnx_training_order(tl_onnx_training *x) TL_NODISCARD;

#endif
