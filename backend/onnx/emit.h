/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the ONNX writer: one function a message, each of them run twice (backend/wire.h). They
 * assume a module that check.c has accepted and named. */
#ifndef TL_BACKEND_ONNX_EMIT_H
#define TL_BACKEND_ONNX_EMIT_H

#include "backend/weight_files.h"
#include "backend/wire.h"
#include "ir/module.h"

/* Nesting of bodies that is written at most; readers give up far below. */
enum { TL_ONNX_MAX_DEPTH = 64 };

/* Where weights are placed in the file beside the model. */
typedef struct tl_onnx_layout {
  uint64_t *offsets; /* owned; by value id; TL_ONNX_INLINE: in the model */
  uint32_t n;        /* entries of offsets; 0: everything is in the model */
  tl_u32_vec values; /* owned; those placed, in file order */
  tl_sv location;    /* name of the file as the model says it; borrowed */
} tl_onnx_layout;

#define TL_ONNX_INLINE UINT64_MAX

/* Types that were described before: a model has few of them, and a use for each value. */
typedef struct tl_onnx_types {
  tl_wire_kept *at; /* owned; [n] by type id */
  uint32_t n;
  uint64_t bytes; /* kept so far */
  tl_arena arena;
} tl_onnx_types;

typedef struct tl_onnx_emit {
  tl_module *m;
  tl_wire *w;
  const tl_onnx_layout *layout;
  tl_onnx_types *types;
  const uint8_t *outputs; /* a bit by value id: is it an output of a graph? */
} tl_onnx_emit;

/* tl_value_is_output without a walk over the users, which are far away in a large model. */
static inline bool tl_onnx_is_output(const tl_onnx_emit *e, tl_value_id v) {
  return e->outputs[v >> 3] >> (v & 7) & 1;
}

/* The contents of a ModelProto. */
void tl_onnx_emit_model(tl_onnx_emit *e);
/* A GraphProto in the given field of the message that is open. */
void tl_onnx_emit_graph(tl_onnx_emit *e, uint32_t field, const tl_graph *g);
/* An AttributeProto of a node. */
void tl_onnx_emit_attr(tl_onnx_emit *e, const tl_attr *a);
/* A TensorProto. v: the constant or input whose data it is, TL_NO_VALUE for attributes. */
void tl_onnx_emit_tensor(tl_onnx_emit *e, uint32_t field, const tl_tensor *t, tl_value_id v);
/* A TypeProto, nothing when the type cannot be said in ONNX. denotation: 0 for none. */
void tl_onnx_emit_type(tl_onnx_emit *e, uint32_t field, tl_type_id type, tl_symbol denotation);
/* A ValueInfoProto. */
void tl_onnx_emit_value(tl_onnx_emit *e, uint32_t field, tl_value_id v);
/* Documentation, metadata_props and unparsed fields of a message; field number 0: not in it. */
void tl_onnx_emit_extra(tl_onnx_emit *e, uint32_t extra, uint32_t doc_field, uint32_t meta_field);

/* True when the type and everything inside it exists in ONNX. */
bool tl_onnx_has_type(const tl_module *m, tl_type_id type);

/* Metadata of the model as it was before notes were put there. */
typedef struct tl_onnx_notes {
  const tl_pair *metadata;
  uint32_t n_metadata;
} tl_onnx_notes;

/* Puts control edges and the declarations of a training step into metadata, and takes them away
 * again. */
tl_status tl_onnx_put_notes(tl_module *m, tl_onnx_notes *before) TL_NODISCARD;
void tl_onnx_drop_notes(tl_module *m, const tl_onnx_notes *before);

/* Refuses what ONNX cannot express, imports the domains in use, names values (check.c). */
tl_status tl_onnx_prepare(tl_module *m) TL_NODISCARD;

/* Decides which weights go beside the model (external.c), into `shared` files or, when that is
 * NULL, one of the model's own; and writes them there. */
tl_status tl_onnx_place_weights(tl_module *m, tl_onnx_layout *layout,
                                tl_weight_files *shared) TL_NODISCARD;
tl_status tl_onnx_write_weights(const tl_module *m, const tl_onnx_layout *layout,
                                tl_writer *out) TL_NODISCARD;
void tl_onnx_layout_release(tl_onnx_layout *layout);

#endif
