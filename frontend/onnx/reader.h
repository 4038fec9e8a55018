/* SPDX-License-Identifier: Apache-2.0 */
/* The file being read and the module it becomes: what every file of this room needs. Also tables
 * indexed by symbol, which the parts above the reader keep. */
#ifndef TL_FRONTEND_ONNX_READER_H
#define TL_FRONTEND_ONNX_READER_H

#include "frontend/onnx/wire.h"
#include "ir/module.h"

enum { TL_ONNX_MAX_DEPTH = 64 }; /* bodies within bodies, types within types */

/* A file of external data that was opened. */
typedef struct tl_external_file {
  tl_symbol location;
  const tl_file *file;
} tl_external_file;

TL_VEC(tl_external_vec, tl_external_file);
TL_VEC(tl_proto_vec, tl_proto);

/* Zero-initialise but for the members up to `mode`; the leaf is set up by tl_onnx_reader_init. */
typedef struct tl_onnx_reader {
  tl_diag *d;
  const char *path;
  tl_module *m;
  const tl_file *file; /* NULL: the model is in the caller's memory */
  tl_proto model;      /* all of it; places in messages count from its start */
  tl_file_mode mode;   /* of external data */
  tl_external_vec externals;
  uint64_t dense_bytes; /* made from sparse tensors so far */
  tl_arena leaf;        /* what protobuf-c decodes; rewound after each leaf */
  tl_u32_vec ops;       /* op type of the default domain -> op + 1 (ops.c) */
} tl_onnx_reader;

void tl_onnx_reader_init(tl_onnx_reader *r);
void tl_onnx_reader_release(tl_onnx_reader *r);

/* TL_INVALID_MODEL, reported: the message `what` is malformed at this byte. */
tl_status tl_onnx_malformed(const tl_onnx_reader *r, const unsigned char *at, const char *what);

/* Symbol of bytes of the model file, which the symbol views; TL_NO_SYMBOL when memory is out. */
static inline tl_symbol tl_onnx_symbol(tl_onnx_reader *r, tl_sv s) {
  return s.n ? tl_intern_view(&r->m->symbols, s) : 0;
}
static inline tl_location tl_onnx_at(const tl_onnx_reader *r, tl_sv node) {
  return TL_AT_NODE(r->path, node);
}
static inline tl_location tl_onnx_at_value(const tl_onnx_reader *r, tl_sv value) {
  return (tl_location){.file = r->path, .attr = value};
}

/* at[i] of a table indexed by symbol or id, 0 beyond its end. */
static inline uint32_t tl_onnx_slot(const tl_u32_vec *v, uint32_t i) {
  return i < v->n ? v->at[i] : 0;
}
/* Sets it, growing the table. TL_NO_MEMORY. */
tl_status tl_onnx_set_slot(tl_u32_vec *v, uint32_t i, uint32_t value) TL_NODISCARD;

#endif
