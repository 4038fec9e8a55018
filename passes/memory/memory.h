/* SPDX-License-Identifier: Apache-2.0 */
/* What a model takes of a device's memory: weights, inputs and outputs, and activations at their
 * peak, which depends on the order of the nodes. It is an estimate from shapes: the device compiler
 * pads tensors and needs workspace for kernels, and buffer fusion keeps tensors in the cores. */
#ifndef TL_PASSES_MEMORY_MEMORY_H
#define TL_PASSES_MEMORY_MEMORY_H

#include "ir/chip/op_info.h"
#include "ir/module.h"

typedef struct tl_memory {
  uint64_t weights;          /* bytes of the constants of all graphs */
  uint64_t inputs;           /* bytes of the main graph's inputs, which the caller holds */
  uint64_t outputs;          /* likewise */
  uint64_t peak;             /* bytes of activations at one time, in the order of the graph */
  uint64_t bound;            /* no order of its nodes needs less */
  tl_node_id at;             /* where the peak is first reached; TL_NO_NODE: nowhere */
  uint64_t n_unsized;        /* values without a fixed size, which count 0 */
  tl_value_id first_unsized; /* TL_NO_VALUE: there is none */
} tl_memory;

/* Measures the main graph, with what its bodies need. Outputs are not among the activations; a view
 * and what it shows are counted once, and so are the result and the operand of an elementwise node
 * that may compute in place. TL_NO_MEMORY, unreported. O(nodes + edges). */
tl_status tl_memory_measure(const tl_module *m, const tl_op_info_set *info,
                            tl_memory *out) TL_NODISCARD;

/* Returns the bytes that the device needs at least: weights, inputs, outputs and activations. */
uint64_t tl_memory_total(const tl_memory *t);

#endif
