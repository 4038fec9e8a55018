/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the parts of the ONNX writer: one function for each protobuf message, and the
 * preparation of a module. Every tl_onnx_emit_ function runs twice, to count and to write
 * (backend/wire.h), and reports no errors: it assumes a module that tl_onnx_prepare has
 * accepted. */
#ifndef TL_BACKEND_ONNX_EMIT_H
#define TL_BACKEND_ONNX_EMIT_H

#include "backend/weight_files.h"
#include "backend/wire.h"
#include "ir/module.h"

/* Most levels of nested bodies that are written. */
enum { TL_ONNX_MAX_DEPTH = 64 };

/* Where weights lie in the file beside the model. */
typedef struct tl_onnx_layout {
  uint64_t *offsets; /* owned; by value id, bytes in the file; TL_ONNX_INLINE: in the model */
  uint32_t n;        /* entries of offsets; 0: everything is in the model */
  tl_u32_vec values; /* owned; values beside the model, in file order */
  tl_sv location;    /* name of the file as the model says it; borrowed */
} tl_onnx_layout;

#define TL_ONNX_INLINE UINT64_MAX

/* Encoded types. Each value has a type but a model has few distinct ones, so they are kept. */
typedef struct tl_onnx_types {
  tl_wire_kept *at; /* owned; [n] by type id */
  uint32_t n;
  uint64_t bytes; /* total size of the kept types */
  tl_arena arena;
} tl_onnx_types;

/* State of one emission. All pointers are borrowed. */
typedef struct tl_onnx_emit {
  tl_module *m;
  tl_wire *w;
  const tl_onnx_layout *layout;
  tl_onnx_types *types;
  const uint8_t *outputs; /* one bit per value id: is it an output of a graph? */
} tl_onnx_emit;

/* Returns the same as tl_value_is_output. O(1): it does not walk the users of the value. */
static inline bool tl_onnx_is_output(const tl_onnx_emit *e, tl_value_id v) {
  return e->outputs[v >> 3] >> (v & 7) & 1;
}

/* Appends the contents of a ModelProto. */
void tl_onnx_emit_model(tl_onnx_emit *e);
/* Appends a GraphProto as the given field. */
void tl_onnx_emit_graph(tl_onnx_emit *e, uint32_t field, const tl_graph *g);
/* Appends an AttributeProto of a node. */
void tl_onnx_emit_attr(tl_onnx_emit *e, const tl_attr *a);
/* Appends a TensorProto. v: the constant or input whose data it is; TL_NO_VALUE for attributes. */
void tl_onnx_emit_tensor(tl_onnx_emit *e, uint32_t field, const tl_tensor *t, tl_value_id v);
/* Appends a TypeProto; nothing if ONNX cannot express the type. denotation: 0 for none. */
void tl_onnx_emit_type(tl_onnx_emit *e, uint32_t field, tl_type_id type, tl_symbol denotation);
/* Appends a ValueInfoProto. */
void tl_onnx_emit_value(tl_onnx_emit *e, uint32_t field, tl_value_id v);
/* Appends documentation, metadata_props and uninterpreted fields of a message. A field number of 0
 * leaves the documentation, or the rest, out: fields are written in ascending order, so the two
 * often go to different places. */
void tl_onnx_emit_extra(tl_onnx_emit *e, uint32_t extra, uint32_t doc_field, uint32_t meta_field);

/* Returns true if the type and everything inside it exists in ONNX. */
bool tl_onnx_has_type(const tl_module *m, tl_type_id type);

/* Metadata of the model before tl_onnx_put_notes. */
typedef struct tl_onnx_notes {
  const tl_pair *metadata;
  uint32_t n_metadata;
} tl_onnx_notes;

/* Adds control edges and the declarations of a training step to the metadata of nodes and model,
 * and removes them again. The module changes only for the time of writing, apart from names of
 * nodes. TL_NO_MEMORY; drop returns false for lack of memory, which it does not report, and some
 * notes stay. */
tl_status tl_onnx_put_notes(tl_module *m, tl_onnx_notes *before) TL_NODISCARD;
bool tl_onnx_drop_notes(tl_module *m, const tl_onnx_notes *before) TL_NODISCARD;

/* Refuses what ONNX cannot express, imports the domains in use, and names values (check.c).
 * TL_UNSUPPORTED, TL_LIMIT, TL_NO_MEMORY. */
tl_status tl_onnx_prepare(tl_module *m) TL_NODISCARD;

/* Decides which weights go beside the model: into the files of `shared` or, if that is NULL, into a
 * file of this model only (external.c). TL_NO_MEMORY, unreported; release *layout in any case. */
tl_status tl_onnx_place_weights(tl_module *m, tl_onnx_layout *layout,
                                tl_weight_files *shared) TL_NODISCARD;
/* Writes the model's own file of weights. Returns the writer's error. */
tl_status tl_onnx_write_weights(const tl_module *m, const tl_onnx_layout *layout,
                                tl_writer *out) TL_NODISCARD;
/* Releases what the layout owns; does nothing the second time. */
void tl_onnx_layout_release(tl_onnx_layout *layout);

#endif
