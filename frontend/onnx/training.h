/* SPDX-License-Identifier: Apache-2.0 */
/* Imports training_info: algorithms that run behind the model's graph, and the states they update.
 */
#ifndef TL_FRONTEND_ONNX_TRAINING_H
#define TL_FRONTEND_ONNX_TRAINING_H

#include "frontend/onnx/names.h"

/* All training_info of a model. */
typedef struct tl_onnx_training {
  tl_onnx_reader *r;        /* borrowed */
  tl_onnx_names *names;     /* borrowed */
  tl_proto_vec algorithms;  /* graphs; a training_info without one has p == NULL */
  tl_proto_vec nodes;       /* of each: the bytes from its first node to the end of its last */
  tl_u32_vec first_nodes;   /* of each: the first node id; one more entry, the end of the last */
  tl_u32_vec last_bindings; /* of each: where its part of `bindings` ends */
  tl_u32_vec bindings;      /* pairs of keys, initializer and next value */
  tl_u32_vec is_output;     /* value -> 1: of the main graph, where there are bindings */
} tl_onnx_training;

/* Releases what *x owns. */
void tl_onnx_training_release(tl_onnx_training *training);

/* Reads all training_info of the model, before the graph is read. TL_INVALID_MODEL, TL_LIMIT,
 * TL_NO_MEMORY. */
tl_status tl_onnx_read_training(tl_onnx_training *training) TL_NODISCARD;
/* Declares the bound initializers as states. The scope of the main graph must be open.
 * TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_onnx_states(tl_onnx_training *training) TL_NODISCARD;
/* Makes a later training_info read the values that earlier ones have updated (training_order.c).
 * All nodes must be lifted by then. TL_UNSUPPORTED if one graph cannot express it; TL_NO_MEMORY.
 * O(training_info * (nodes + uses)). */
tl_status tl_onnx_training_order(tl_onnx_training *training) TL_NODISCARD;

#endif
