/* SPDX-License-Identifier: Apache-2.0 */
/* GraphProto. */
#ifndef TL_FRONTEND_ONNX_GRAPH_H
#define TL_FRONTEND_ONNX_GRAPH_H

#include "frontend/onnx/import.h"

/* Imports a graph with all that it holds: the main graph (owner: TL_NO_NODE), or a body of its
 * owner. Errors are reported but TL_NO_MEMORY. */
tl_status tl_onnx_graph(tl_onnx *x, tl_proto body, tl_node_id owner, tl_graph_id *out) TL_NODISCARD;

#endif
