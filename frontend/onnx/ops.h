/* SPDX-License-Identifier: Apache-2.0 */
/* Domains, imports of opsets, and ops of the table. */
#ifndef TL_FRONTEND_ONNX_OPS_H
#define TL_FRONTEND_ONNX_OPS_H

#include "frontend/onnx/reader.h"

/* Symbol of a domain; "ai.onnx" is the empty one, 0. TL_NO_SYMBOL when memory is out. */
tl_symbol tl_onnx_domain(tl_onnx_reader *r, tl_sv domain);
/* Reads an OperatorSetIdProto; the default domain is 0. TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_onnx_read_opset(tl_onnx_reader *r, tl_proto w, tl_symbol *domain,
                             int64_t *version) TL_NODISCARD;
/* Op of the table, UINT32_MAX when it has none. */
tl_op_id tl_onnx_table_op(tl_onnx_reader *r, tl_symbol domain, tl_symbol name);

#endif
