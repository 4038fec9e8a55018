/* SPDX-License-Identifier: Apache-2.0 */
/* Decides the dtypes of one op: the column of its row that mode, lists and colours lead to. */
#ifndef TL_PASSES_PRECISION_JUDGE_OP_H
#define TL_PASSES_PRECISION_JUDGE_OP_H

#include "passes/precision/walk.h"

/* Decides the slots of node n and fills w->d->nodes[n]. Producers of its operands must have been
 * decided. form: the row of the op, with at least one column. Errors about dtypes are reported and
 * counted in w, and the op keeps its dtypes. TL_NO_MEMORY, reported. O(columns * tensors). */
tl_status tl_precision_judge_op(tl_precision_walk *w, tl_node_id n,
                                const tl_precision_form *form) TL_NODISCARD;

#endif
