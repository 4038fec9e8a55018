/* SPDX-License-Identifier: Apache-2.0 */
/* Converts indices and sizes that ONNX has as int64 to ports that take int32 only. Such a port
 * holds indices, sizes or counts, never data, hence any valid value fits into int32. */
#ifndef TL_PASSES_NPU_LOWER_INDEX_H
#define TL_PASSES_NPU_LOWER_INDEX_H

#include "ir/graph.h"
#include "ir/ops_gen.h"

/* Returns true if v is int64 and port p takes int32 only. */
bool tl_index_narrows(const tl_module *m, const tl_op *op, const tl_op_port *p, tl_value_id v);
/* Returns false if v is a constant with an element beyond int32. O(elements). */
bool tl_index_fits(const tl_module *m, tl_value_id v);
/* Returns the int32 form of v for node n: a new constant, or the result of a Cast in front of n.
 * Returns TL_NO_VALUE if memory is out. */
tl_value_id tl_index_narrow(tl_module *m, tl_node_id n, tl_value_id v);
/* Makes result v of n, typed int64, an int32 and adds a Cast to int64 behind n for its users. The
 * Cast's result takes over the name, because v may be a graph output. TL_NO_MEMORY, reported. */
tl_status tl_index_widen(tl_module *m, tl_node_id n, tl_value_id v) TL_NODISCARD;

#endif
