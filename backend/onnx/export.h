/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a module as an ONNX model that any runtime loads. Never writes NPU ops. */
#ifndef TL_BACKEND_ONNX_EXPORT_H
#define TL_BACKEND_ONNX_EXPORT_H

#include "backend/weight_files.h"
#include "ir/module.h"

/* How to write an ONNX model; all zero for the defaults. All pointers are borrowed. */
typedef struct tl_onnx_save_options {
  bool external_data;         /* weights beside the model even when they would fit inside */
  const char *external_name;  /* file name without folder; NULL: "<name of the model>.data" */
  const volatile int *cancel; /* polled while writing; non-zero stops with TL_IO. May be NULL */
  tl_changes *changes;        /* journal that receives the files, to be applied by the caller or,
                                  also after a failure, undone. NULL: they appear at once */
  tl_weight_files *shared;    /* with external_data: weights go to these files, which the caller
                                  writes while the module lives. NULL: a file of this model's own */
} tl_onnx_save_options;

/* Writes the first root graph of m (canonical or selected form) to `path`, "-" for standard output.
 * The model appears complete or not at all, and so does its file of weights. That file is written
 * if the options ask for it or if the model would exceed what protobuf can hold (2 GiB). Weights of
 * 1 KiB and more go there, at offsets that are multiples of 4096. Weights from other files are
 * copied, so that the result depends on no other file.
 *
 * Constants become initializers in their order; an overridable input becomes an input with an
 * initializer. IR version: that of the model, at least 10. Opset imports: those of the module;
 * version 1 is added for domains that nodes use without an import. Fields that were carried along
 * unparsed are written back. Values that need a name and have none get a fresh one in m.
 *
 * o: NULL for the defaults. TL_UNSUPPORTED: NPU ops or attributes, element types that ONNX lacks,
 * several root graphs. TL_LIMIT: too large even without weights. TL_INVALID_ARGUMENT: a bad name
 * for the file of weights. TL_IO, TL_NO_MEMORY. */
tl_status tl_onnx_save(tl_module *m, const char *path, const tl_onnx_save_options *o) TL_NODISCARD;

#endif
