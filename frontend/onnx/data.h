/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values from protobuf files, in the form of the test data of ONNX models.
 * A file holds a TensorProto, a SequenceProto or an OptionalProto. It does not say which of them,
 * so the caller must. */
#ifndef TL_FRONTEND_ONNX_DATA_H
#define TL_FRONTEND_ONNX_DATA_H

#include "ir/host.h"

/* Reads one value. kind: TL_KIND_TENSOR, TL_KIND_SEQUENCE or TL_KIND_OPTIONAL; any other is
 * refused. store: owns the file and what is decoded from it; the value must not outlive it. *name:
 * name in the file, may be empty; `name` may be NULL. Reports to the store's sink: TL_IO,
 * TL_INVALID_MODEL, TL_UNSUPPORTED, TL_LIMIT, TL_NO_MEMORY. */
tl_status tl_onnx_load_value(tl_module *store, const char *path, tl_type_kind kind,
                             tl_host_heap *heap, tl_host **out, tl_sv *name) TL_NODISCARD;

#endif
