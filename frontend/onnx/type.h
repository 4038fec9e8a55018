/* SPDX-License-Identifier: Apache-2.0 */
/* Reads TypeProto and ValueInfoProto. */
#ifndef TL_FRONTEND_ONNX_TYPE_H
#define TL_FRONTEND_ONNX_TYPE_H

#include "frontend/onnx/reader.h"

/* A ValueInfoProto; its members view the file. */
typedef struct tl_value_wire {
  tl_proto body;
  tl_sv name;
  tl_proto type; /* p == NULL: none */
  bool has_notes;
} tl_value_wire;

/* Splits a ValueInfoProto into its fields. TL_INVALID_MODEL. */
tl_status tl_onnx_value_info(const tl_onnx_reader *r, tl_proto body,
                             tl_value_wire *out) TL_NODISCARD;
/* Interns the type of a TypeProto. *denotation: 0 if there is none. TL_INVALID_MODEL, TL_LIMIT,
 * TL_NO_MEMORY. */
tl_status tl_onnx_type(tl_onnx_reader *r, tl_proto type, tl_location where, tl_type_id *out,
                       tl_symbol *denotation) TL_NODISCARD;
/* Gives v its declared type, unless it has a type, and its documentation and metadata.
 * TL_INVALID_MODEL, TL_LIMIT, TL_NO_MEMORY. */
tl_status tl_onnx_describe_value(tl_onnx_reader *r, tl_value_id v,
                                 const tl_value_wire *info) TL_NODISCARD;

#endif
