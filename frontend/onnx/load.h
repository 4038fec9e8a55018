/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an ONNX model into a module. Nodes of every opset are lifted to the canonical one
 * (TL_ONNX_CANONICAL_OPSET; a newer model keeps its own), model-local functions are inlined,
 * weights stay views of the file. On failure nothing is returned and one diagnostic says why. */
#ifndef TL_FRONTEND_ONNX_LOAD_H
#define TL_FRONTEND_ONNX_LOAD_H

#include "ir/module.h"
#include "ir/options/options.h"

enum {
  TL_ONNX_CANONICAL_OPSET = 21,
  TL_ONNX_NEWEST_OPSET = 28, /* of the default domain; later ones are refused */
  TL_ONNX_DEFAULT_MAX_NODES = 4000000
};

typedef struct tl_onnx_load_options {
  tl_file_mode mode;         /* how to read the model and its external data */
  const tl_options *options; /* op renames are applied; NULL: none */
  uint32_t max_nodes;        /* bound on nodes after inlining; 0: TL_ONNX_DEFAULT_MAX_NODES */
  bool training;             /* the step of training_info, instead of carrying that along */
} tl_onnx_load_options;

/* Loads a model file. External data is looked up below the folder of `path`. The module owns every
 * file it views. o may be NULL. Errors: TL_IO, TL_INVALID_MODEL, TL_UNSUPPORTED, TL_LIMIT,
 * TL_NO_MEMORY. */
tl_status tl_onnx_load(tl_diag *d, const char *path, const tl_onnx_load_options *o,
                       tl_module **out) TL_NODISCARD;
/* Loads a second model beside the first: its graph becomes another root graph of *m, which keeps
 * what it says of itself (versions, producer, metadata). Files and weights are the module's from
 * then on. Models newer than the canonical opset must be of one opset. After a failure the module
 * is only good for destruction. Errors as above. */
tl_status tl_onnx_load_beside(tl_diag *d, const char *path, const tl_onnx_load_options *o,
                              tl_module *m) TL_NODISCARD;
/* Loads a model from memory; the bytes must outlive the module. `name` stands for the file in
 * messages. External data is refused: there is no folder to look in. */
tl_status tl_onnx_load_bytes(tl_diag *d, const char *name, const void *bytes, size_t n,
                             const tl_onnx_load_options *o, tl_module **out) TL_NODISCARD;

#endif
