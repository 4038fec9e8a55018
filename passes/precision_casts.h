/* SPDX-License-Identifier: Apache-2.0 */
/* Casts that this compiler inserts: how they look, wherever they come from. */
#ifndef TL_PASSES_PRECISION_CASTS_H
#define TL_PASSES_PRECISION_CASTS_H

#include "passes/pass.h"
#include "passes/precision.h"

/* Value v as dtype `to`, made right before node `before` (which may be RETURN): a new node with the
 * metadata `inserted`, or for a constant a new constant that is computed when it is read. Elements
 * of a constant beyond the finite range of f16 or bf16 become its limit when `clamp` is set.
 * TL_NO_VALUE when memory is out. */
tl_value_id tl_cast_insert(tl_module *m, tl_value_id v, tl_dtype to, tl_node_id before, bool clamp);
/* True for a node that tl_cast_insert made. */
bool tl_cast_is_inserted(const tl_module *m, tl_node_id n);
/* Key of that metadata, and name of the attribute in AIR. */
#define TL_CAST_INSERTED "inserted"

/* Type of v with another element type; TL_NO_TYPE when memory is out. */
tl_type_id tl_cast_type(tl_module *m, tl_value_id v, tl_dtype to);

/* Do element types of the node fit its op as ONNX has it? Only f32, f16 and bf16 are asked about.
 * Sets node->mixed accordingly. */
void tl_cast_mark_mixed(tl_module *m, tl_node_id n);

/* Makes a decision so: types of values, casts on operands, casts of constants. *n_casts counts new
 * nodes. */
tl_status tl_precision_apply(tl_pass *p, tl_module *m, const tl_precision *d,
                             uint32_t *n_casts) TL_NODISCARD;

#endif
