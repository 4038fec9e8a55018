/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves external data: bytes of a tensor that lie in another file. */
#ifndef TL_FRONTEND_ONNX_EXTERNAL_H
#define TL_FRONTEND_ONNX_EXTERNAL_H

#include "frontend/onnx/reader.h"

/* The external_data entries of a TensorProto, as the file gives them. */
typedef struct tl_external_wire {
  tl_sv location;
  tl_sv offset; /* p == NULL: not given */
  tl_sv length;
} tl_external_wire;

/* Sets the source of *t, whose size is known, to a range of another file. The file must lie below
 * the model's folder. TL_INVALID_MODEL, TL_UNSUPPORTED for a model in memory, TL_IO, TL_NO_MEMORY.
 */
tl_status tl_onnx_external(tl_onnx_reader *r, const tl_external_wire *e, tl_location where,
                           tl_tensor *t) TL_NODISCARD;

#endif
