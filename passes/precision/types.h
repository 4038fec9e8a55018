/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the type names under which nodes are judged, for list entries that name types. */
#ifndef TL_PASSES_PRECISION_TYPES_H
#define TL_PASSES_PRECISION_TYPES_H

#include "ir/module.h"

typedef struct tl_precision_types tl_precision_types;

/* Collects one entry per op and candidate that occurs in the module, in the arena. TL_NO_MEMORY,
 * not reported. O(nodes). */
tl_status tl_precision_types_find(const tl_module *m, tl_arena *arena,
                                  tl_precision_types **out) TL_NODISCARD;

/* Returns true if some node is judged by this name, or is the op of a name like onnx::MatMul.
 * O(types). */
bool tl_precision_types_fit(const tl_precision_types *t, tl_sv entry);

/* Finds the next type, from *at on, whose nodes a user who writes `entry` may mean; *judged is the
 * name they are judged by. Returns false if there is none left. Start with *at = 0 and add 1
 * between calls. */
bool tl_precision_types_meant(const tl_precision_types *t, tl_sv entry, uint32_t *at,
                              tl_sv *judged);

/* Appends an explanation such as "MatMul here is judged as 'BatchMatMulV2'" if the name is that of
 * an op of the model, or of an NPU op that its nodes may become, but not the judged name. Returns
 * false if there is nothing to explain. */
bool tl_precision_types_explain(const tl_precision_types *t, tl_sv entry, tl_buf *out);

/* Returns true if a list entry names the judged type, or the model's op as onnx::TYPE. */
bool tl_precision_names_type(tl_sv entry, tl_sv type, const tl_op *op);

#endif
