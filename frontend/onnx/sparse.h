/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a SparseTensorProto into a dense tensor. */
#ifndef TL_FRONTEND_ONNX_SPARSE_H
#define TL_FRONTEND_ONNX_SPARSE_H

#include "frontend/onnx/reader.h"

/* Makes the dense form of a sparse tensor. *out: TL_NO_TENSOR if that would be too large.
 * TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_onnx_sparse(tl_onnx_reader *r, tl_proto body, tl_location where,
                         tl_tensor_id *out) TL_NODISCARD;

#endif
