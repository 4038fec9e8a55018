/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the state of reading (reader.h). */
#include "frontend/onnx/reader.h"

void tl_onnx_reader_init(tl_onnx_reader *r) { tl_arena_init(&r->leaf, 0); }

void tl_onnx_reader_release(tl_onnx_reader *r) {
  tl_side_file_vec_release(&r->externals);
  tl_u32_vec_release(&r->ops);
  tl_arena_release(&r->leaf);
}

tl_status tl_onnx_malformed(const tl_onnx_reader *r, const unsigned char *at, const char *what) {
  tl_location where = {.file = r->path, .offset = (uint64_t)(at - r->model.p), .has_offset = true};
  return tl_fail(r->d, TL_INVALID_MODEL, where,
                 "malformed %s\vthe file is damaged, truncated, or not an ONNX model", what);
}
