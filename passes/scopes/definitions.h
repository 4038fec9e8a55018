/* SPDX-License-Identifier: Apache-2.0 */
/* Applies definitions: what tl:: ops and ops of users mean, in ONNX ops. */
#ifndef TL_PASSES_SCOPES_DEFINITIONS_H
#define TL_PASSES_SCOPES_DEFINITIONS_H

#include "passes/edit/pass.h"

/* Replaces ops that --rules files define by their definitions, where wants(user, node) allows it
 * (NULL: everywhere). Ops of the op table stay. Errors are reported. */
tl_status tl_expand_users_ops(tl_pass *p, tl_module *m, bool (*wants)(void *, tl_node_id),
                              void *user) TL_NODISCARD;
/* Runs the pass expand-definitions outside a pipeline. Errors are reported. */
tl_status tl_definitions_expand(tl_module *m, const tl_options *options) TL_NODISCARD;
#endif
