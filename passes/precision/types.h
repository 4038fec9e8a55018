/* SPDX-License-Identifier: Apache-2.0 */
/* The names by which nodes of a model are judged, and what entries of lists that name types fit. */
#ifndef TL_PASSES_PRECISION_TYPES_H
#define TL_PASSES_PRECISION_TYPES_H

#include "passes/precision/precision.h"

typedef struct tl_precision_types tl_precision_types;

/* One entry for each op and candidate that nodes have. In the arena; TL_NO_MEMORY, not reported.
 * O(nodes). */
tl_status tl_precision_types_find(const tl_module *m, tl_arena *arena,
                                  tl_precision_types **out) TL_NODISCARD;

/* True when some node is judged by the name, or is the op of a name like onnx::MatMul. */
bool tl_precision_types_fit(const tl_precision_types *t, tl_sv entry);

/* Whoever writes the name may mean nodes that are judged as *judged: the next of them from *at on,
 * which moves there. False when there is none left. */
bool tl_precision_types_meant(const tl_precision_types *t, tl_sv entry, uint32_t *at,
                              tl_sv *judged);

/* Where the name is that of an op of the model, or of an NPU op that its nodes may become, but not
 * the one by which they are judged: adds "MatMul here is judged as 'BatchMatMulV2'". False when
 * there is nothing to say. */
bool tl_precision_types_explain(const tl_precision_types *t, tl_sv entry, tl_buf *out);

#endif
