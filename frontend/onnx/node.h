/* SPDX-License-Identifier: Apache-2.0 */
/* One node of a graph, driven by the op table. graph.c calls these in order, and imports what lies
 * between: bodies, and the nodes of a function. */
#ifndef TL_FRONTEND_ONNX_NODE_H
#define TL_FRONTEND_ONNX_NODE_H

#include "frontend/onnx/import.h"

/* What a node is: an op, or the call of a function (*call; NULL for an op). TL_INVALID_MODEL,
 * TL_NO_MEMORY. */
tl_status tl_onnx_resolve(tl_onnx *x, const tl_node_wire *w, tl_op_id *op,
                          tl_function **call) TL_NODISCARD;
/* Appends the node to the graph; TL_NO_NODE when it became a constant. Bodies wait on
 * attributes.bodies, with indices of this node's attributes. TL_INVALID_MODEL, TL_LIMIT,
 * TL_NO_MEMORY. */
tl_status tl_onnx_make_node(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_op_id op,
                            tl_node_id *out) TL_NODISCARD;
/* Carries notes and defines the results, once the bodies are there. */
tl_status tl_onnx_finish_node(tl_onnx *x, tl_graph_id g, const tl_node_wire *w,
                              tl_node_id n) TL_NODISCARD;

#endif
