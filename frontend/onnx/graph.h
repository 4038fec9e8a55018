/* SPDX-License-Identifier: Apache-2.0 */
/* Imports a GraphProto with everything inside it. */
#ifndef TL_FRONTEND_ONNX_GRAPH_H
#define TL_FRONTEND_ONNX_GRAPH_H

#include "frontend/onnx/import.h"

/* Imports the main graph (owner: TL_NO_NODE) or a body of the node `owner`, with all that it holds.
 * All errors but TL_NO_MEMORY are reported: TL_INVALID_MODEL, TL_UNSUPPORTED, TL_LIMIT, TL_IO. */
tl_status tl_onnx_graph(tl_onnx *reader, tl_proto body, tl_node_id owner,
                        tl_graph_id *out) TL_NODISCARD;

#endif
