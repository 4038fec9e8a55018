/* SPDX-License-Identifier: Apache-2.0 */
/* Text dump in the shape of GE's ge_onnx_*.pbtxt files (an ONNX ModelProto as protobuf text with
 * op types "ge:<Type>"), which graph viewers open. For people: weights are named, not contained. */
#ifndef TL_BACKEND_TEXT_PBTXT_H
#define TL_BACKEND_TEXT_PBTXT_H

#include "ir/module.h"
#include "support/changes.h"

/* Writes the first root graph of a module in any form, bodies as nested graphs. path "-": standard
 * output. cancel: polled while writing, NULL: never. changes: journal that receives the
 * file; NULL: it appears at once. TL_IO, TL_NO_MEMORY. */
tl_status tl_pbtxt_save(tl_module *m, const char *path, const volatile int *cancel,
                        tl_changes *changes) TL_NODISCARD;

#endif
