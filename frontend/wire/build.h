/* SPDX-License-Identifier: Apache-2.0 */
/* Appends fields of protobuf messages to a buffer, for readers that turn another form of a model
 * into the messages that they know. Writers of files have backend/wire.h, which needs no buffer.
 * Lack of memory is sticky in the buffer. */
#ifndef TL_FRONTEND_WIRE_BUILD_H
#define TL_FRONTEND_WIRE_BUILD_H

#include "support/str.h"

/* Appends a varint without a tag. */
void tl_build_varint(tl_buf *b, uint64_t v);
/* Append one field. */
void tl_build_int(tl_buf *b, uint32_t field, int64_t v);
void tl_build_float(tl_buf *b, uint32_t field, float v);
void tl_build_bytes(tl_buf *b, uint32_t field, tl_sv s);
/* Appends four bytes of a float without a tag. */
void tl_build_bare_float(tl_buf *b, float v);

/* Begins a nested message or packed numbers, and returns where its contents start. */
size_t tl_build_open(tl_buf *b, uint32_t field);
/* Ends the one whose contents start there, and gives it its length. Contents move by a few bytes if
 * they are longer than 127. */
void tl_build_close(tl_buf *b, size_t start);

#endif
