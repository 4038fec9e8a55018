/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves external data: ranges of files below the model's folder.
 * Each file is opened once, and the module owns it. */
#include "frontend/onnx/external.h"

static tl_status read_number(tl_onnx_reader *r, tl_sv text, const char *what, tl_location where,
                             uint64_t *out) {
  if (text.p && !tl_parse_u64(text, out))
    return tl_fail(r->d, TL_INVALID_MODEL, where, "external %s '%.*s' is not a number", what,
                   TL_SV_ARG(text));
  return TL_OK;
}

tl_status tl_onnx_external(tl_onnx_reader *r, const tl_external_wire *e, tl_location where,
                           tl_tensor *t) {
  uint64_t offset = 0;
  uint64_t length = t->bytes;
  TL_TRY(read_number(r, e->offset, "offset", where, &offset));
  TL_TRY(read_number(r, e->length, "length", where, &length));
  if (e->location.n == 0)
    return tl_fail(r->d, TL_INVALID_MODEL, where, "external data without a location");
  if (length != t->bytes)
    return tl_fail(r->d, TL_INVALID_MODEL, where,
                   "external length is %llu, the shape needs %llu bytes",
                   (unsigned long long)length, (unsigned long long)t->bytes);
  tl_data_source source = tl_onnx_data(r);
  return tl_data_beside(&source, e->location, offset, where, t);
}
