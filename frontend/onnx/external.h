/* SPDX-License-Identifier: Apache-2.0 */
/* External data: where a TensorProto says that its bytes are. */
#ifndef TL_FRONTEND_ONNX_EXTERNAL_H
#define TL_FRONTEND_ONNX_EXTERNAL_H

#include "frontend/onnx/reader.h"

typedef struct tl_external_wire {
  tl_sv location;
  tl_sv offset; /* p == NULL: not given */
  tl_sv length;
} tl_external_wire;

/* Fills the source of *t (whose bytes are known) with a range of another file. TL_INVALID_MODEL,
 * TL_UNSUPPORTED for a model in memory, TL_IO, TL_NO_MEMORY. */
tl_status tl_onnx_external(tl_onnx_reader *r, const tl_external_wire *e, tl_location where,
                           tl_tensor *t) TL_NODISCARD;

#endif
