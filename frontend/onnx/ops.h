/* SPDX-License-Identifier: Apache-2.0 */
/* Finds domains, opset imports and ops of the op table. */
#ifndef TL_FRONTEND_ONNX_OPS_H
#define TL_FRONTEND_ONNX_OPS_H

#include "frontend/onnx/reader.h"

/* Returns the symbol of a domain; "ai.onnx" is the same as "", 0. TL_NO_SYMBOL if memory is out. */
tl_symbol tl_onnx_domain(tl_onnx_reader *r, tl_sv domain);
/* Reads an OperatorSetIdProto. *domain: 0 for the default domain. TL_INVALID_MODEL, TL_NO_MEMORY.
 */
tl_status tl_onnx_read_opset(tl_onnx_reader *r, tl_proto w, tl_symbol *domain,
                             int64_t *version) TL_NODISCARD;
/* Returns an op of the op table, UINT32_MAX if it has none of that name. */
tl_op_id tl_onnx_table_op(tl_onnx_reader *r, tl_symbol domain, tl_symbol name);

#endif
