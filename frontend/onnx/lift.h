/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of older opsets: queued while graphs are read, then lifted to the canonical opset by the
 * rows of opset_rows.c, and checked. */
#ifndef TL_FRONTEND_ONNX_LIFT_H
#define TL_FRONTEND_ONNX_LIFT_H

#include "frontend/onnx/reader.h"

/* A node that has to be lifted from opset `version` and checked afterwards. */
typedef struct tl_lift {
  tl_node_id node;
  int32_t version;
} tl_lift;

TL_VEC(tl_lift_vec, tl_lift);

typedef struct tl_onnx_lifts {
  tl_onnx_reader *r; /* borrowed */
  tl_lift_vec queue;
  tl_u32_vec rows; /* by op: see lift.c */
} tl_onnx_lifts;

void tl_onnx_lifts_release(tl_onnx_lifts *x);

/* True when a node of an opset version has to wait for tl_onnx_lift. */
bool tl_onnx_needs_lift(tl_onnx_lifts *x, tl_op_id op, int64_t version);
/* Lifts and checks the queue, once graphs are complete and sorted. TL_INVALID_MODEL,
 * TL_UNSUPPORTED, TL_NO_MEMORY. */
tl_status tl_onnx_lift(tl_onnx_lifts *x) TL_NODISCARD;

#endif
