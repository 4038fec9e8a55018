/* SPDX-License-Identifier: Apache-2.0 */
/* Carries documentation, metadata and uninterpreted fields of a message over to the module. */
#ifndef TL_FRONTEND_ONNX_NOTES_H
#define TL_FRONTEND_ONNX_NOTES_H

#include "frontend/onnx/reader.h"

/* Which fields of a message are what. */
typedef struct tl_note_fields {
  uint64_t known;    /* one bit per field number that is interpreted elsewhere */
  uint32_t doc;      /* number of doc_string */
  uint32_t metadata; /* number of metadata_props */
  bool (*drop)(const void *user, const tl_field *f); /* true: leave this field out; may be NULL */
  const void *user;
} tl_note_fields;

/* Copies documentation, metadata_props and uninterpreted fields of a message to the extra of *slot,
 * which is made if there is something to keep. TL_INVALID_MODEL (reported), TL_NO_MEMORY. */
tl_status tl_onnx_carry_notes(tl_onnx_reader *r, tl_proto body, const tl_note_fields *fields,
                              uint32_t *slot) TL_NODISCARD;

#endif
