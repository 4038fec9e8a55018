/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values to files of their own: ONNX protobuf messages, .npy arrays. */
#ifndef TL_BACKEND_VALUE_VALUE_H
#define TL_BACKEND_VALUE_VALUE_H

#include "ir/host.h"

/* A TensorProto, SequenceProto or, when the value is of an optional type or an empty optional,
 * OptionalProto. */
tl_status tl_value_emit_pb(const tl_host *v, bool optional, tl_sv name,
                           tl_writer *out) TL_NODISCARD;

/* Why the value cannot be a .npy file ("strings ..."); NULL when it can. */
const char *tl_npy_obstacle(const tl_host *v);
/* Version 1.0, row-major, little-endian; the value has no obstacle. */
tl_status tl_value_emit_npy(const tl_host *v, tl_writer *out) TL_NODISCARD;

#endif
