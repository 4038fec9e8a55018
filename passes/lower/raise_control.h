/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow of the NPU as ONNX's. On the NPU a graph of a node sees nothing but its inputs; in
 * ONNX it uses values from outside. Each function replaces node n, or leaves it as it is where it
 * has no ONNX form. */
#ifndef TL_PASSES_LOWER_RAISE_CONTROL_H
#define TL_PASSES_LOWER_RAISE_CONTROL_H

#include "ir/graph.h"

/* If: its branches use the operands, instead of inputs of their own. TL_NO_MEMORY. */
tl_status tl_raise_if(tl_module *m, tl_node_id n) TL_NODISCARD;
/* Case: a tree of Ifs that halve the range of the index. TL_NO_MEMORY. */
tl_status tl_raise_case(tl_module *m, tl_node_id n) TL_NODISCARD;
/* While: a Loop whose condition is computed before it and at the end of each iteration.
 * TL_NO_MEMORY. */
tl_status tl_raise_while(tl_module *m, tl_node_id n) TL_NODISCARD;
/* PartitionedCall: its graph stands in its place. TL_NO_MEMORY. */
tl_status tl_raise_call(tl_module *m, tl_node_id n) TL_NODISCARD;

#endif
