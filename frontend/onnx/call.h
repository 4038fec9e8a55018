/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes one call of a model-local function while the function is inlined.
 * While a call is open, names and attribute references of the function resolve to values and
 * attributes of the caller. */
#ifndef TL_FRONTEND_ONNX_CALL_H
#define TL_FRONTEND_ONNX_CALL_H

#include "frontend/onnx/import.h"

/* Opens the frame of a call; the caller keeps it until tl_onnx_close_call. TL_INVALID_MODEL,
 * TL_LIMIT, TL_NO_MEMORY: nothing is open then. */
tl_status tl_onnx_open_call(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w, tl_function *fn,
                            tl_frame *frame) TL_NODISCARD;
/* Applies the declared types of the function's values, while its frame is open. TL_INVALID_MODEL,
 * TL_LIMIT, TL_NO_MEMORY. */
tl_status tl_onnx_describe_call(tl_onnx *reader, tl_graph_id g) TL_NODISCARD;
/* Closes the innermost frame; also after a failure inside. */
void tl_onnx_close_call(tl_onnx *reader);
/* Refuses a call whose function has not defined all its results. TL_INVALID_MODEL, reported. */
tl_status tl_onnx_check_call(tl_onnx *reader, const tl_function *fn,
                             const tl_node_wire *w) TL_NODISCARD;

#endif
