/* SPDX-License-Identifier: Apache-2.0 */
/* Values of expressions under a match, and the attributes and constants made of them. */
#ifndef TL_PASSES_ENGINE_RULE_VALUES_H
#define TL_PASSES_ENGINE_RULE_VALUES_H

#include "passes/engine/attempt.h"

/* Evaluates an expression under a match. */
tl_rv tl_rule_eval(tl_match *match, const tl_expr *e);
/* What v is as an attribute; of kind TL_ATTR_NONE where it is none. */
tl_attr tl_rule_attr(tl_module *m, tl_symbol name, tl_attr_kind kind, tl_rv v);

/* Elements of a list or of a tensor, which becomes a list; 1 for a number. */
uint64_t tl_rv_count(const tl_module *m, tl_rv v);
/* Writes element i to data[]; false when v holds none or d cannot hold it. */
bool tl_rv_store(const tl_module *m, tl_rv v, tl_dtype d, uint64_t *data, uint32_t i);
/* Makes a tensor in *out: a number has rank 0, a list rank 1. Returns false if d cannot hold an
 * element; *out is TL_NO_TENSOR if memory is out. */
bool tl_rv_tensor(tl_module *m, tl_arena *scratch, tl_rv v, tl_dtype d, tl_tensor_id *out);

#endif
