/* SPDX-License-Identifier: Apache-2.0 */
/* Turns Constant nodes into constants of their graph. */
#ifndef TL_FRONTEND_ONNX_CONSTANT_H
#define TL_FRONTEND_ONNX_CONSTANT_H

#include "frontend/onnx/import.h"

/* Makes a constant of graph g from a Constant node. *done: false if it must stay a node (a sparse
 * value that is too large in dense form). The node's attributes are those from first_attr on.
 * TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_onnx_constant(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w,
                           uint32_t first_attr, bool *done) TL_NODISCARD;

#endif
