/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the definitions of tl:: ops: ops that ONNX lacks, defined by rules over ONNX ops. */
#ifndef TL_PASSES_SCOPES_DEFINITIONS_H
#define TL_PASSES_SCOPES_DEFINITIONS_H

#include "passes/edit/pass.h"

/* Returns true if the module has a node with a tl:: op. O(nodes). */
bool tl_has_defined_ops(const tl_module *m);
/* Runs the pass expand-definitions outside a pipeline. Errors are reported. */
tl_status tl_definitions_expand(tl_module *m, const tl_options *options) TL_NODISCARD;
#endif
