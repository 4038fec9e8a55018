/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one node of a graph, driven by the op table.
 * graph.c calls these functions in order; between the calls it imports bodies, or the nodes of a
 * called function. */
#ifndef TL_FRONTEND_ONNX_NODE_H
#define TL_FRONTEND_ONNX_NODE_H

#include "frontend/onnx/import.h"

/* Finds what a node is: an op, or the call of a function. *call: the function, NULL for an op.
 * TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_onnx_resolve(tl_onnx *reader, const tl_node_wire *w, tl_op_id *op,
                          tl_function **call) TL_NODISCARD;
/* Appends the node to the graph. *out: TL_NO_NODE if it became a constant. Its bodies are queued on
 * attributes.bodies, with indices of this node's attributes. TL_INVALID_MODEL, TL_LIMIT,
 * TL_NO_MEMORY. */
tl_status tl_onnx_make_node(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w, tl_op_id op,
                            tl_node_id *out) TL_NODISCARD;
/* Copies documentation and metadata and defines the results. The bodies must be imported by then.
 * TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_onnx_finish_node(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w,
                              tl_node_id n) TL_NODISCARD;

#endif
