/* SPDX-License-Identifier: Apache-2.0 */
/* Indices and sizes that ONNX gives as int64 and an NPU port takes as int32 alone. A port that
 * takes nothing but int32 holds indices, sizes or counts, never data: any valid one fits. */
#ifndef TL_PASSES_NPU_LOWER_INDEX_H
#define TL_PASSES_NPU_LOWER_INDEX_H

#include "ir/graph.h"
#include "ir/ops_gen.h"

/* Does value v reach port p of the op only by a change from int64 to int32 (or back)? */
bool tl_index_narrows(const tl_module *m, const tl_op *op, const tl_op_port *p, tl_value_id v);
/* False when v is a constant with an element that int32 cannot hold. */
bool tl_index_fits(const tl_module *m, tl_value_id v);
/* The int32 form of v, in front of node n: a constant, or what a Cast makes. TL_NO_VALUE when
 * memory is out. */
tl_value_id tl_index_narrow(tl_module *m, tl_node_id n, tl_value_id v);
/* Result v of n, typed int64, becomes int32 and a Cast behind n gives users what they had. */
tl_status tl_index_widen(tl_module *m, tl_node_id n, tl_value_id v) TL_NODISCARD;

#endif
