/* SPDX-License-Identifier: Apache-2.0 */
/* Constant nodes. */
#ifndef TL_FRONTEND_ONNX_CONSTANT_H
#define TL_FRONTEND_ONNX_CONSTANT_H

#include "frontend/onnx/import.h"

/* A Constant node becomes a constant of the graph. *done: false when it must stay a node (a sparse
 * value too large to write out). Its attributes are those from first_attr on. TL_INVALID_MODEL,
 * TL_NO_MEMORY. */
tl_status tl_onnx_constant(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, uint32_t first_attr,
                           bool *done) TL_NODISCARD;

#endif
