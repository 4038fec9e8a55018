/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of the functions that stand for collectives in ONNX, for runtimes of one rank. */
#ifndef TL_PASSES_SCOPES_COLLECTIVE_H
#define TL_PASSES_SCOPES_COLLECTIVE_H

#include "ir/module.h"

/* In a module whose one node is a collective between inputs and outputs: what it does with one
 * rank, or with ranks that all hold the same and sums that are not taken. TL_NO_MEMORY. */
tl_status tl_comm_outline(tl_module *body) TL_NODISCARD;

#endif
