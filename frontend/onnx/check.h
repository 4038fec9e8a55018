/* SPDX-License-Identifier: Apache-2.0 */
/* Checks nodes in canonical form against the op table. */
#ifndef TL_FRONTEND_ONNX_CHECK_H
#define TL_FRONTEND_ONNX_CHECK_H

#include "frontend/onnx/reader.h"

/* Checks number of operands and results, and attributes. TL_INVALID_MODEL, reported. */
tl_status tl_onnx_check_node(const tl_onnx_reader *r, tl_node_id n) TL_NODISCARD;
/* Checks the operands of a node in a version of its op before the newest, which may have fewer: the
 * first one, and those that it has, are there unless they are optional. TL_INVALID_MODEL,
 * reported. */
tl_status tl_onnx_check_present(const tl_onnx_reader *r, tl_node_id n) TL_NODISCARD;
/* Reports an op that its domain does not have, with the nearest name. TL_INVALID_MODEL. */
tl_status tl_onnx_unknown_op(const tl_onnx_reader *r, tl_symbol domain, tl_sv op_type,
                             tl_location where);

#endif
