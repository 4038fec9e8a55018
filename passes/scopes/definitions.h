/* SPDX-License-Identifier: Apache-2.0 */
/* What tl:: ops mean: the definitions of the rules, applied. */
#ifndef TL_PASSES_SCOPES_DEFINITIONS_H
#define TL_PASSES_SCOPES_DEFINITIONS_H

#include "passes/edit/pass.h"

/* True when some node of the module is a tl:: op. O(nodes). */
bool tl_has_defined_ops(const tl_module *m);
/* What the pass expand-definitions does, outside a pipeline. */
tl_status tl_definitions_expand(tl_module *m, const tl_options *options) TL_NODISCARD;
/* Type, in the module of a body, of what stands for v there: the sizes stay open. v is a tensor. */
tl_type_id tl_definition_type(const tl_module *m, tl_value_id v, tl_module *body);

#endif
