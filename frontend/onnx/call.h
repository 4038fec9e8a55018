/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a function, which the nodes of the function replace: names, attributes and results of
 * the caller stand for those of the function while the call is open. */
#ifndef TL_FRONTEND_ONNX_CALL_H
#define TL_FRONTEND_ONNX_CALL_H

#include "frontend/onnx/import.h"

/* Opens the frame of a call; the caller keeps it until tl_onnx_close_call. TL_INVALID_MODEL,
 * TL_LIMIT, TL_NO_MEMORY: nothing is open then. */
tl_status tl_onnx_open_call(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_function *fn,
                            tl_frame *frame) TL_NODISCARD;
/* Declared types of the function's values, while its frame is open. */
tl_status tl_onnx_describe_call(tl_onnx *x, tl_graph_id g) TL_NODISCARD;
/* Closes the innermost frame, whatever has failed inside. */
void tl_onnx_close_call(tl_onnx *x);
/* Refuses a call whose function has not defined all its results. */
tl_status tl_onnx_check_call(tl_onnx *x, const tl_function *fn, const tl_node_wire *w) TL_NODISCARD;

#endif
