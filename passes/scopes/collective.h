/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies for collectives in ONNX output, as functions that a runtime of one rank can run. */
#ifndef TL_PASSES_SCOPES_COLLECTIVE_H
#define TL_PASSES_SCOPES_COLLECTIVE_H

#include "ir/module.h"

/* Replaces the only node of the module, a collective between inputs and outputs, by what it
 * computes if all ranks hold the same data and sums are not taken. TL_NO_MEMORY, reported. */
tl_status tl_comm_outline(tl_module *body) TL_NODISCARD;

#endif
