/* SPDX-License-Identifier: Apache-2.0 */
/* State that every file of this room needs: the file being read and the module it becomes.
 * It also has the tables indexed by symbol that other parts keep. */
#ifndef TL_FRONTEND_ONNX_READER_H
#define TL_FRONTEND_ONNX_READER_H

#include "frontend/data/view.h"
#include "frontend/wire/wire.h"
#include "ir/module.h"
#include "support/slots.h"

enum { TL_ONNX_MAX_DEPTH = 64 }; /* most levels of nested bodies, and of nested types */

TL_VEC(tl_proto_vec, tl_proto);

/* The caller sets the members up to `mode` and zeroes the others; then tl_onnx_reader_init. */
typedef struct tl_onnx_reader {
  tl_diag *d;
  const char *path;
  tl_module *m;
  const tl_file *file;     /* NULL: the model is in the caller's memory */
  tl_proto model;          /* the whole model; offsets in messages count from its start */
  tl_file_mode mode;       /* of external data */
  const tl_beside *beside; /* who opens it; NULL: it lies in the folder of the model */
  tl_side_file_vec externals;
  uint64_t dense_bytes; /* size of all dense tensors made from sparse ones so far */
  tl_arena leaf;        /* what protobuf-c decodes; rewound after each leaf */
  tl_u32_vec ops;       /* op type of the default domain -> op + 1 (ops.c) */
} tl_onnx_reader;

/* Sets up the arena for decoded leaves. */
void tl_onnx_reader_init(tl_onnx_reader *r);
/* Releases what *r owns; the module and the files stay. */
void tl_onnx_reader_release(tl_onnx_reader *r);

/* Reports that the message `what` is malformed at byte `at`, and returns TL_INVALID_MODEL. */
tl_status tl_onnx_malformed(const tl_onnx_reader *r, const unsigned char *at, const char *what);

/* Returns the symbol of bytes of the model file, which it views; TL_NO_SYMBOL if memory is out. */
static inline tl_symbol tl_onnx_symbol(tl_onnx_reader *r, tl_sv s) {
  return s.n ? tl_intern_view(&r->m->symbols, s) : 0;
}
/* Return the location of a node, or of a value, in messages. */
static inline tl_location tl_onnx_at(const tl_onnx_reader *r, tl_sv node) {
  return TL_AT_NODE(r->path, node);
}
static inline tl_location tl_onnx_at_value(const tl_onnx_reader *r, tl_sv value) {
  return (tl_location){.file = r->path, .attr = value};
}

/* Returns where data of the model lies. */
static inline tl_data_source tl_onnx_data(tl_onnx_reader *r) {
  return (tl_data_source){.d = r->d,
                          .path = r->path,
                          .m = r->m,
                          .file = r->file,
                          .start = r->model.p,
                          .mode = r->mode,
                          .beside = r->beside,
                          .opened = &r->externals};
}

#endif
