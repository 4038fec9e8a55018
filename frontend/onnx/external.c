/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves external data: ranges of files below the model's folder.
 * Each file is opened once, and the module owns it. */
#include "frontend/onnx/external.h"

static tl_status find_file(tl_onnx_reader *r, tl_sv name, tl_symbol location, tl_location where,
                           const tl_file **out) {
  tl_file *opened;
  for (uint32_t i = r->externals.n; i > 0; i--) {
    if (r->externals.at[i - 1].location == location) {
      *out = r->externals.at[i - 1].file;
      return TL_OK;
    }
  }
  TL_TRY(tl_file_open_beside(r->d, r->path, name, r->mode, where, &opened));
  TL_TRY(tl_module_add_file(r->m, opened));
  *out = opened;
  tl_external_file row = {location, opened};
  return tl_external_vec_push(&r->externals, row) ? TL_OK : TL_NO_MEMORY;
}

static tl_status read_number(tl_onnx_reader *r, tl_sv text, const char *what, tl_location where,
                             uint64_t *out) {
  if (text.p && !tl_parse_u64(text, out))
    return tl_fail(r->d, TL_INVALID_MODEL, where, "external %s '%.*s' is not a number", what,
                   TL_SV_ARG(text));
  return TL_OK;
}

tl_status tl_onnx_external(tl_onnx_reader *r, const tl_external_wire *e, tl_location where,
                           tl_tensor *t) {
  const tl_file *file;
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
  if (!r->file)
    return tl_fail(r->d, TL_UNSUPPORTED, where,
                   "external data '%.*s' of a model in memory\vload the model from its file",
                   TL_SV_ARG(e->location));
  t->location = tl_onnx_symbol(r, e->location);
  if (t->location == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  TL_TRY(find_file(r, e->location, t->location, where, &file));
  if (offset > file->size || length > file->size - offset)
    return tl_fail(r->d, TL_INVALID_MODEL, where,
                   "bytes %llu + %llu are beyond the end of '%.*s' (%llu bytes)",
                   (unsigned long long)offset, (unsigned long long)length, TL_SV_ARG(e->location),
                   (unsigned long long)file->size);
  t->kind = TL_SOURCE_FILE;
  t->external = true;
  t->u.view.file = file;
  t->u.view.offset = offset;
  return TL_OK;
}
