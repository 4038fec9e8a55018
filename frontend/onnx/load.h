/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an ONNX model into a module.
 * Nodes of older opsets are lifted to TL_ONNX_CANONICAL_OPSET (a newer model keeps its own opset),
 * model-local functions are inlined, and weights stay views of the file. Optimizes nothing. After a
 * failure there is no module, and one diagnostic says why. */
#ifndef TL_FRONTEND_ONNX_LOAD_H
#define TL_FRONTEND_ONNX_LOAD_H

#include "frontend/data/view.h"
#include "ir/module.h"
#include "ir/options/options.h"

enum { TL_ONNX_DEFAULT_MAX_NODES = 4000000 };

/* How to load a model; all zero for the defaults. Pointers are borrowed. */
typedef struct tl_onnx_load_options {
  tl_file_mode mode;         /* how to read the model and its external data */
  const tl_options *options; /* op renames are applied; NULL: none */
  uint32_t max_nodes;        /* bound on nodes after inlining; 0: TL_ONNX_DEFAULT_MAX_NODES */
  bool training;             /* import the training step of training_info; false: carry it along
                                uninterpreted */
  const tl_beside *beside;   /* opens external data; NULL: it lies in the folder of the model */
} tl_onnx_load_options;

/* Loads a model file. External data is looked up below the folder of `path`. The module owns every
 * file it views. o may be NULL. Errors: TL_IO, TL_INVALID_MODEL, TL_UNSUPPORTED, TL_LIMIT,
 * TL_NO_MEMORY. */
tl_status tl_onnx_load(tl_diag *d, const char *path, const tl_onnx_load_options *o,
                       tl_module **out) TL_NODISCARD;
/* Loads a second model: its graph becomes another root graph of *m. Versions, producer and metadata
 * of *m stay. The module owns the files and weights. Two models newer than the canonical opset must
 * have the same opset. After a failure the module may only be destroyed. Errors as above. */
tl_status tl_onnx_load_beside(tl_diag *d, const char *path, const tl_onnx_load_options *o,
                              tl_module *m) TL_NODISCARD;
/* Loads a model from memory; the bytes must outlive the module. `name` stands for the file in
 * messages. External data is refused unless o->beside opens it: there is no folder to look in. */
tl_status tl_onnx_load_bytes(tl_diag *d, const char *name, const void *bytes, size_t n,
                             const tl_onnx_load_options *o, tl_module **out) TL_NODISCARD;

#endif
