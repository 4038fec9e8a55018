/* SPDX-License-Identifier: Apache-2.0 */
/* Names files that are no ONNX models: those of other frameworks, archives, web pages. */
#ifndef TL_FRONTEND_ONNX_FOREIGN_H
#define TL_FRONTEND_ONNX_FOREIGN_H

#include "support/diag.h"

/* Refuses bytes that are known to be something else (foreign.tbl): the message says what, the hint
 * what to do. TL_OK says nothing about whether they are a model. Textual IR passes. Looks at the
 * beginning and at the outermost fields of a protobuf message. Returns TL_INVALID_MODEL. */
tl_status tl_foreign_check(tl_diag *d, const char *path, const void *bytes,
                           uint64_t n) TL_NODISCARD;

/* The same for a file called .air whose bytes do not begin as AIR does: an ONNX model is foreign
 * there, too. */
tl_status tl_foreign_check_air(tl_diag *d, const char *path, const void *bytes,
                               uint64_t n) TL_NODISCARD;

#endif
