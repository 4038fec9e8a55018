/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a TensorProto into a tensor of the module. */
#ifndef TL_FRONTEND_ONNX_TENSOR_H
#define TL_FRONTEND_ONNX_TENSOR_H

#include "frontend/onnx/reader.h"

/* Reads the name of a TensorProto or (`sparse`) of a SparseTensorProto, whose values bear the name.
 * TL_INVALID_MODEL. */
tl_status tl_onnx_tensor_name(const tl_onnx_reader *r, tl_proto body, bool sparse,
                              tl_sv *out) TL_NODISCARD;
/* Makes a tensor of a TensorProto: a view of the file if its bytes can be used as they are, else a
 * copy. TL_INVALID_MODEL, TL_UNSUPPORTED, TL_LIMIT, TL_IO, TL_NO_MEMORY. */
tl_status tl_onnx_tensor(tl_onnx_reader *r, tl_proto body, tl_location where,
                         tl_tensor_id *out) TL_NODISCARD;

#endif
