/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto. */
#ifndef TL_FRONTEND_ONNX_TENSOR_H
#define TL_FRONTEND_ONNX_TENSOR_H

#include "frontend/onnx/reader.h"

/* Name of a TensorProto or, from its values, of a SparseTensorProto. */
tl_status tl_onnx_tensor_name(const tl_onnx_reader *r, tl_proto body, bool sparse,
                              tl_sv *out) TL_NODISCARD;
/* Tensor of a TensorProto: a view of the file where its bytes are what we use. TL_INVALID_MODEL,
 * TL_UNSUPPORTED, TL_LIMIT, TL_IO, TL_NO_MEMORY. */
tl_status tl_onnx_tensor(tl_onnx_reader *r, tl_proto body, tl_location where,
                         tl_tensor_id *out) TL_NODISCARD;

#endif
