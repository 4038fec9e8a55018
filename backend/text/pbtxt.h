/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a text dump for people, in the form of GE's ge_onnx_*.pbtxt files, which graph viewers
 * open. It is an ONNX ModelProto as protobuf text with op types "ge:<Type>". It contains no data of
 * weights. frontend/air reads such files, as it reads GE's. */
#ifndef TL_BACKEND_TEXT_PBTXT_H
#define TL_BACKEND_TEXT_PBTXT_H

#include "ir/module.h"
#include "support/changes.h"

/* Writes the first root graph of a module in any form; bodies are nested graphs. The module is not
 * changed. path: "-" for standard output. cancel: polled while writing; NULL: never. changes:
 * journal that receives the file; NULL: it appears at once. TL_IO, TL_NO_MEMORY. */
tl_status tl_pbtxt_save(tl_module *m, const char *path, const volatile int *cancel,
                        tl_changes *changes) TL_NODISCARD;

#endif
