/* SPDX-License-Identifier: Apache-2.0 */
/* Lifts nodes of older opsets to the canonical opset and checks them.
 * Nodes are queued while graphs are read, and lifted by the rows of opset_rows.c when the graphs
 * are complete. */
#ifndef TL_FRONTEND_ONNX_LIFT_H
#define TL_FRONTEND_ONNX_LIFT_H

#include "frontend/onnx/reader.h"

/* A node that has to be lifted from opset `version` and checked afterwards. */
typedef struct tl_lift {
  tl_node_id node;
  int32_t version;
} tl_lift;

TL_VEC(tl_lift_vec, tl_lift);

/* The queue of nodes to lift. */
typedef struct tl_onnx_lifts {
  tl_onnx_reader *r; /* borrowed */
  tl_lift_vec queue;
  tl_u32_vec rows; /* by op: see lift.c */
} tl_onnx_lifts;

/* Releases what *x owns. */
void tl_onnx_lifts_release(tl_onnx_lifts *lifts);

/* Returns true if a node of `op` in opset `version` must be queued for tl_onnx_lift. */
bool tl_onnx_needs_lift(tl_onnx_lifts *lifts, tl_op_id op, int64_t version);
/* Lifts and checks the queued nodes. Graphs must be complete and sorted. TL_INVALID_MODEL,
 * TL_UNSUPPORTED, TL_NO_MEMORY. */
tl_status tl_onnx_lift(tl_onnx_lifts *lifts) TL_NODISCARD;

#endif
