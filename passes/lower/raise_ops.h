/* SPDX-License-Identifier: Apache-2.0 */
/* NPU ops with any number of results, collectives, and those whose operands are read as bits. Each
 * function replaces node n, or leaves it as it is where it has no ONNX form. */
#ifndef TL_PASSES_LOWER_RAISE_OPS_H
#define TL_PASSES_LOWER_RAISE_OPS_H

#include "ir/graph.h"

/* The ops of raise_splits.tbl: Split. TL_NO_MEMORY. */
tl_status tl_raise_split(tl_module *m, tl_node_id n) TL_NODISCARD;
/* Sums of integer products with constant scales: floats. TL_NO_MEMORY. */
tl_status tl_raise_dequant(tl_module *m, tl_node_id n) TL_NODISCARD;
/* The same, rounded to 8-bit integers. TL_NO_MEMORY. */
tl_status tl_raise_requant(tl_module *m, tl_node_id n) TL_NODISCARD;
/* Constants that are nodes. TL_NO_MEMORY. */
tl_status tl_raise_const(tl_module *m, tl_node_id n) TL_NODISCARD;
/* Collectives, which ONNX files have as ops of the domain npu.hcom. TL_NO_MEMORY. */
tl_status tl_raise_collective(tl_module *m, tl_node_id n) TL_NODISCARD;

#endif
