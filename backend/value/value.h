/* SPDX-License-Identifier: Apache-2.0 */
/* Writes single values to files: as ONNX protobuf messages or as .npy arrays. */
#ifndef TL_BACKEND_VALUE_VALUE_H
#define TL_BACKEND_VALUE_VALUE_H

#include "ir/host.h"

/* Writes a TensorProto or a SequenceProto; if `optional` (the declared type is optional) or if the
 * value is an empty optional, an OptionalProto. TL_NO_MEMORY (unreported); TL_IO. */
tl_status tl_value_emit_pb(const tl_host *v, bool optional, tl_sv name,
                           tl_writer *out) TL_NODISCARD;

/* Returns why the value cannot be a .npy file, as a static sentence; NULL if it can. */
const char *tl_npy_obstacle(const tl_host *v);
/* Writes a .npy file of version 1.0: row-major, little-endian. The value must have no obstacle.
 * TL_NO_MEMORY (unreported); TL_IO. */
tl_status tl_value_emit_npy(const tl_host *v, tl_writer *out) TL_NODISCARD;

#endif
