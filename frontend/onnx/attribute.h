/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes AttributeProto into attributes of the IR, within model-local functions too. */
#ifndef TL_FRONTEND_ONNX_ATTRIBUTE_H
#define TL_FRONTEND_ONNX_ATTRIBUTE_H

#include "frontend/onnx/frame.h"

/* A body graph to import once its node exists. */
typedef struct tl_body_job {
  tl_proto graph;
  const tl_frame *frame; /* names inside are those of this frame */
  uint32_t attr;         /* index into the node's attributes */
  uint32_t index;        /* within a GRAPHS list */
} tl_body_job;

TL_VEC(tl_attr_vec, tl_attr);
TL_VEC(tl_body_vec, tl_body_job);
TL_VEC(tl_f32_vec, float);

/* Attributes being decoded. */
typedef struct tl_onnx_attributes {
  tl_onnx_reader *r;    /* borrowed */
  tl_onnx_calls *calls; /* borrowed */
  /* stacks: a user remembers their length before its work and cuts back to it */
  tl_attr_vec attrs;
  tl_body_vec bodies;
  /* scratch of one attribute */
  tl_i64_vec ints;
  tl_f32_vec floats;
  tl_u32_vec ids;
} tl_onnx_attributes;

/* Releases what *x owns. */
void tl_onnx_attributes_release(tl_onnx_attributes *reader);

/* Pushes an attribute on attrs. A reference to an attribute of the enclosing call is followed; one
 * that is not set pushes nothing. Graphs are queued on bodies. TL_INVALID_MODEL, TL_LIMIT,
 * TL_NO_MEMORY. */
tl_status tl_onnx_attribute(tl_onnx_attributes *reader, tl_proto body,
                            tl_location where) TL_NODISCARD;

#endif
